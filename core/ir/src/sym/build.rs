//! Arithmetic that keeps expressions canonical. An overflow yields an opaque integer, never a wrong one.

use smallvec::SmallVec;

use super::size::{MAX_FACTORS, MAX_PARTS, MAX_TERMS};
use super::{Dim, Expr, Symbols, Term};

impl Symbols {
    /// `a + b`.
    pub fn add(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Const(x), Dim::Const(y)) => {
                return x.checked_add(y).map_or_else(|| self.opaque(), Dim::Const);
            }
            (Dim::Const(0), other) | (other, Dim::Const(0)) => return other,
            _ => {}
        }
        let mut terms = self.terms(a);
        terms.extend(self.terms(b));
        self.sum(terms)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Dim, b: Dim) -> Dim {
        let negative = self.mul(b, Dim::Const(-1));
        self.add(a, negative)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: Dim, b: Dim) -> Dim {
        if let (Dim::Const(x), Dim::Const(y)) = (a, b) {
            return x.checked_mul(y).map_or_else(|| self.opaque(), Dim::Const);
        }
        let (left, right) = (self.terms(a), self.terms(b));
        let count = left.len().saturating_mul(right.len());
        if count > MAX_TERMS || degree(&left).saturating_add(degree(&right)) > MAX_FACTORS {
            return self.opaque();
        }
        let mut terms = Vec::with_capacity(count);
        for l in &left {
            for r in &right {
                let Some(coefficient) = l.coefficient.checked_mul(r.coefficient) else {
                    return self.opaque();
                };
                let mut factors = l.factors.clone();
                factors.extend_from_slice(&r.factors);
                factors.sort_unstable();
                terms.push(Term { factors, coefficient });
            }
        }
        self.sum(terms)
    }

    /// The product of all, 1 for none.
    pub fn product(&mut self, dims: impl IntoIterator<Item = Dim>) -> Dim {
        dims.into_iter().fold(Dim::Const(1), |n, d| self.mul(n, d))
    }

    /// `floor(a / b)`; opaque when `b` is 0.
    pub fn floor_div(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (_, Dim::Const(0)) => return self.opaque(),
            (_, Dim::Const(1)) | (Dim::Const(0), _) => return a,
            (Dim::Const(x), Dim::Const(y)) => {
                return floored_div(x, y).map_or_else(|| self.opaque(), Dim::Const);
            }
            _ => {}
        }
        self.exact_div(a, b).unwrap_or_else(|| self.intern(Expr::FloorDiv(a, b)))
    }

    /// `a / b` where every term of `a` is divisible by the single term `b`, else `None`.
    pub fn exact_div(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        if a == b {
            return Some(Dim::Const(1));
        }
        let [divisor] = self.terms(b).try_into().ok().map(|d: [Term; 1]| d)?;
        let mut terms = self.terms(a);
        for term in &mut terms {
            if term.coefficient.checked_rem(divisor.coefficient)? != 0 {
                return None;
            }
            term.coefficient = term.coefficient.checked_div(divisor.coefficient)?;
            for factor in &divisor.factors {
                let at = term.factors.iter().position(|f| f == factor)?;
                term.factors.remove(at);
            }
        }
        Some(self.sum(terms))
    }

    /// `a mod b`, with the sign of `b`; opaque when `b` is 0.
    pub fn modulo(&mut self, a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (_, Dim::Const(0)) => self.opaque(),
            (_, Dim::Const(1 | -1)) => Dim::Const(0),
            (Dim::Const(x), Dim::Const(y)) => floored_rem(x, y).map_or_else(|| self.opaque(), Dim::Const),
            _ if self.exact_div(a, b).is_some() => Dim::Const(0),
            _ => self.intern(Expr::Mod(a, b)),
        }
    }

    /// The smaller of the two.
    pub fn min(&mut self, a: Dim, b: Dim) -> Dim {
        self.extreme(a, b, true)
    }

    /// The larger of the two.
    pub fn max(&mut self, a: Dim, b: Dim) -> Dim {
        self.extreme(a, b, false)
    }

    fn extreme(&mut self, a: Dim, b: Dim, smallest: bool) -> Dim {
        if a == b {
            return a;
        }
        if let (Dim::Const(x), Dim::Const(y)) = (a, b) {
            return Dim::Const(if smallest { x.min(y) } else { x.max(y) });
        }
        let difference = self.sub(a, b);
        let range = self.range(difference);
        if range.min.is_some_and(|n| n >= 0) {
            return if smallest { b } else { a };
        }
        if range.max.is_some_and(|n| n <= 0) {
            return if smallest { a } else { b };
        }
        let mut operands = Vec::new();
        for dim in [a, b] {
            match dim {
                Dim::Expr(id) => match (self.expr(id), smallest) {
                    (Expr::Min(inner), true) | (Expr::Max(inner), false) => {
                        operands.extend_from_slice(inner);
                    }
                    _ => operands.push(dim),
                },
                Dim::Const(_) => operands.push(dim),
            }
        }
        operands.sort_unstable();
        operands.dedup();
        if operands.len() > MAX_PARTS {
            return self.opaque();
        }
        let operands = operands.into_boxed_slice();
        self.intern(if smallest { Expr::Min(operands) } else { Expr::Max(operands) })
    }

    fn terms(&self, dim: Dim) -> Vec<Term> {
        match dim {
            Dim::Const(0) => Vec::new(),
            Dim::Const(n) => vec![Term { factors: SmallVec::new(), coefficient: n }],
            Dim::Expr(id) => match self.expr(id) {
                Expr::Sum(terms) => terms.to_vec(),
                _ => vec![Term { factors: SmallVec::from_slice(&[id]), coefficient: 1 }],
            },
        }
    }

    /// The canonical form of a sum of `terms`.
    fn sum(&mut self, mut terms: Vec<Term>) -> Dim {
        terms.sort_unstable();
        let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match merged.last_mut() {
                Some(last) if last.factors == term.factors => {
                    match last.coefficient.checked_add(term.coefficient) {
                        Some(coefficient) => last.coefficient = coefficient,
                        None => return self.opaque(),
                    }
                }
                _ => merged.push(term),
            }
        }
        merged.retain(|t| t.coefficient != 0);
        match merged.as_slice() {
            [] => Dim::Const(0),
            [Term { factors, coefficient }] if factors.is_empty() => Dim::Const(*coefficient),
            [Term { factors, coefficient: 1 }] if let [factor] = factors.as_slice() => Dim::Expr(*factor),
            _ if merged.len() > MAX_PARTS => self.opaque(),
            _ => self.intern(Expr::Sum(merged.into_boxed_slice())),
        }
    }

    /// The value of `dim` when every symbol has the value that `value_of` gives, or `None` when one
    /// has none, something is opaque or the arithmetic overflows.
    pub fn eval(&self, dim: Dim, value_of: &dyn Fn(super::SymId) -> Option<i64>) -> Option<i64> {
        match dim {
            Dim::Const(n) => Some(n),
            Dim::Expr(id) => Self::apply(self.expr(id), value_of, &|part| self.eval(part, value_of)),
        }
    }

    /// The values of all expressions, as [`eval`](Self::eval) has them, by [`ExprId::raw`]; in linear time.
    pub fn eval_all(&self, value_of: &dyn Fn(super::SymId) -> Option<i64>) -> Vec<Option<i64>> {
        let mut values: Vec<Option<i64>> = Vec::with_capacity(self.exprs.len());
        // What an expression is made of was there before it.
        for expr in &self.exprs {
            let part = |dim: Dim| match dim {
                Dim::Const(n) => Some(n),
                Dim::Expr(id) => values.get(id.0 as usize).copied().flatten(),
            };
            let value = Self::apply(expr, value_of, &part);
            values.push(value);
        }
        values
    }

    /// The value of an expression whose parts have these values.
    fn apply(
        expr: &Expr,
        value_of: &dyn Fn(super::SymId) -> Option<i64>,
        part: &dyn Fn(Dim) -> Option<i64>,
    ) -> Option<i64> {
        match expr {
            Expr::Sym(sym) => value_of(*sym),
            Expr::Sum(terms) => terms.iter().try_fold(0i64, |sum, term| {
                let product = term
                    .factors
                    .iter()
                    .try_fold(term.coefficient, |p, f| p.checked_mul(part(Dim::Expr(*f))?))?;
                sum.checked_add(product)
            }),
            Expr::FloorDiv(a, b) => floored_div(part(*a)?, part(*b)?),
            Expr::Mod(a, b) => floored_rem(part(*a)?, part(*b)?),
            Expr::Min(operands) => operands.iter().try_fold(i64::MAX, |m, d| Some(m.min(part(*d)?))),
            Expr::Max(operands) => operands.iter().try_fold(i64::MIN, |m, d| Some(m.max(part(*d)?))),
            Expr::Opaque(_) => None,
        }
    }
}

/// The most factors that one of the terms has.
fn degree(terms: &[Term]) -> usize {
    terms.iter().map(|term| term.factors.len()).max().unwrap_or(0)
}

/// `floor(x / y)`, unless it is undefined or does not fit.
fn floored_div(x: i64, y: i64) -> Option<i64> {
    let (q, r) = (x.checked_div(y)?, x.checked_rem(y)?);
    if r != 0 && (r < 0) != (y < 0) { q.checked_sub(1) } else { Some(q) }
}

/// `x mod y` with the sign of `y`, unless it is undefined.
fn floored_rem(x: i64, y: i64) -> Option<i64> {
    let r = x.checked_rem(y)?;
    if r != 0 && (r < 0) != (y < 0) { r.checked_add(y) } else { Some(r) }
}

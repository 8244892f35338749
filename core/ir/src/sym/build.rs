//! Arithmetic that keeps expressions canonical. An overflow yields an opaque integer, never a wrong one.

use smallvec::SmallVec;

use super::size::{MAX_COMPARED, MAX_FACTORS, MAX_PARTS, MAX_TERMS};
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
        if let Some(quotient) = self.exact_div(a, b) {
            return quotient;
        }
        if self.is_remainder(a, b) {
            return Dim::Const(0);
        }
        match b {
            Dim::Const(divisor @ 2..) => self.floor_div_by(a, divisor),
            _ => self.intern(Expr::FloorDiv(a, b)),
        }
    }

    /// Returns `floor(a / divisor)`, with multiples of the divisor moved out: `(s0 + 5)//2` is `(s0 + 1)//2 + 2`.
    /// Nested quotients are merged: `((s0//2) + 1)//2` is `(s0 + 2)//4`.
    fn floor_div_by(&mut self, a: Dim, divisor: i64) -> Dim {
        let (mut whole, mut rest, mut common, mut constant) = (Vec::new(), Vec::new(), divisor, 0);
        for mut term in self.terms(a) {
            let quotient = term.coefficient.div_euclid(divisor);
            let remainder = term.coefficient.rem_euclid(divisor);
            if term.factors.is_empty() {
                constant = remainder;
                whole.push(Term { coefficient: quotient, ..term });
            } else if remainder == 0 {
                term.coefficient = quotient;
                whole.push(term);
            } else {
                common = gcd(common, remainder);
                rest.push(term);
            }
        }
        if let (false, Some(divisor)) = (rest.is_empty(), divisor.checked_div(common)) {
            let divide = |n: i64| n.checked_div(common).unwrap_or(0);
            for term in &mut rest {
                term.coefficient = divide(term.coefficient);
            }
            // `floor((g x + r) / (g k))` is `floor((x + floor(r / g)) / k)`.
            let constant = divide(constant);
            let inner = match self.only_quotient(&rest) {
                Some((a, b)) => b.checked_mul(divisor).zip(b.checked_mul(constant)).map(|(b, c)| (a, b, c)),
                None => None,
            };
            let quotient = match inner {
                Some((a, b, constant)) => {
                    let a = self.add(a, Dim::Const(constant));
                    self.floor_div(a, Dim::Const(b))
                }
                None => {
                    rest.push(Term { factors: SmallVec::new(), coefficient: constant });
                    let rest = self.sum(rest);
                    match divisor {
                        1 => rest,
                        _ => self.intern(Expr::FloorDiv(rest, Dim::Const(divisor))),
                    }
                }
            };
            whole.extend(self.terms(quotient));
        }
        self.sum(whole)
    }

    /// `(a, b)` where `terms` are `a // b` with a positive number `b`.
    fn only_quotient(&self, terms: &[Term]) -> Option<(Dim, i64)> {
        let [Term { factors, coefficient: 1 }] = terms else { return None };
        let [factor] = factors.as_slice() else { return None };
        match self.expr(*factor) {
            Expr::FloorDiv(a, Dim::Const(b @ 1..)) => Some((*a, *b)),
            _ => None,
        }
    }

    /// Whether `a` is at least 0 and below `b` at every size.
    fn is_remainder(&mut self, a: Dim, b: Dim) -> bool {
        let range = self.range(a);
        range.min.is_some_and(|n| n >= 0)
            && match b {
                Dim::Const(divisor) => range.max.is_some_and(|n| n < divisor),
                Dim::Expr(_) => {
                    let apart = self.sub(b, a);
                    self.range(apart).min.is_some_and(|n| n > 0)
                }
            }
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
            _ if self.is_remainder(a, b) => a,
            (_, Dim::Const(divisor @ 2..)) => self.modulo_by(a, divisor),
            _ => self.intern(Expr::Mod(a, b)),
        }
    }

    /// `a mod divisor`, with coefficients of at most half of the divisor.
    fn modulo_by(&mut self, a: Dim, divisor: i64) -> Dim {
        let mut terms = self.terms(a);
        for term in &mut terms {
            let least = term.coefficient.rem_euclid(divisor);
            let below = least.saturating_sub(divisor);
            let is_short = term.factors.is_empty() || least <= below.saturating_neg();
            term.coefficient = if is_short { least } else { below };
        }
        match self.sum(terms) {
            Dim::Const(n) => Dim::Const(n.rem_euclid(divisor)),
            rest @ Dim::Expr(_) if self.is_remainder(rest, Dim::Const(divisor)) => rest,
            rest @ Dim::Expr(_) => self.intern(Expr::Mod(rest, Dim::Const(divisor))),
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
        if let Some(found) = self.decided(a, b, smallest) {
            return found;
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
        if operands.len() <= MAX_COMPARED {
            self.retain_extremes(&mut operands, smallest);
        }
        match operands.as_slice() {
            [only] => *only,
            _ => {
                let operands = operands.into_boxed_slice();
                self.intern(if smallest { Expr::Min(operands) } else { Expr::Max(operands) })
            }
        }
    }

    /// The smaller of the two, or the larger, where their ranges tell which it is.
    fn decided(&mut self, a: Dim, b: Dim, smallest: bool) -> Option<Dim> {
        match (a, b) {
            _ if a == b => return Some(a),
            (Dim::Const(x), Dim::Const(y)) => {
                return Some(Dim::Const(if smallest { x.min(y) } else { x.max(y) }));
            }
            _ => {}
        }
        let difference = self.sub(a, b);
        let range = self.range(difference);
        if range.min.is_some_and(|n| n >= 0) {
            return Some(if smallest { b } else { a });
        }
        if range.max.is_some_and(|n| n <= 0) {
            return Some(if smallest { a } else { b });
        }
        None
    }

    /// Leaves out each operand of a minimum or a maximum that another one makes superfluous.
    fn retain_extremes(&mut self, operands: &mut Vec<Dim>, smallest: bool) {
        let mut kept: Vec<Dim> = Vec::with_capacity(operands.len());
        for operand in operands.drain(..) {
            let mut superfluous = false;
            kept.retain(|other| match self.decided(*other, operand, smallest) {
                Some(chosen) if chosen == *other => {
                    superfluous = true;
                    true
                }
                Some(_) => false,
                None => true,
            });
            if !superfluous {
                kept.push(operand);
            }
        }
        *operands = kept;
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
        // The operands of an expression precede it.
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

/// The greatest common divisor of two positive numbers.
fn gcd(a: i64, b: i64) -> i64 {
    match a.checked_rem(b) {
        None | Some(0) => b.max(1),
        Some(rest) => gcd(b, rest),
    }
}

/// `floor(x / y)`, unless it is undefined or does not fit.
pub(super) fn floored_div(x: i64, y: i64) -> Option<i64> {
    let (q, r) = (x.checked_div(y)?, x.checked_rem(y)?);
    if r != 0 && (r < 0) != (y < 0) { q.checked_sub(1) } else { Some(q) }
}

/// `x mod y` with the sign of `y`, unless it is undefined.
fn floored_rem(x: i64, y: i64) -> Option<i64> {
    let r = x.checked_rem(y)?;
    if r != 0 && (r < 0) != (y < 0) { r.checked_add(y) } else { Some(r) }
}

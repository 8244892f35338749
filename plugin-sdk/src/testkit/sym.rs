//! Extents as expressions over symbols, each kept once, so that equality is that of handles.

use std::collections::BTreeMap;

use crate::abi::lowering::dim_op;
use crate::{Dim, Range};

/// A product of atoms, sorted.
type Factors = Vec<u32>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expr {
    Symbol(String),
    /// A sum of products with their coefficients; not a single atom.
    Sum(BTreeMap<Factors, i64>),
    /// An operation of [`dim_op`] that is not a sum.
    Operation(u32, Dim, Dim),
}

/// The expressions of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbols {
    exprs: Vec<Expr>,
    ranges: BTreeMap<String, Range>,
}

/// The values of symbols.
pub(super) type Binding = BTreeMap<String, i64>;

impl Symbols {
    fn intern(&mut self, expr: Expr) -> Dim {
        let found = self.exprs.iter().position(|e| *e == expr);
        Dim::Expr(found.unwrap_or_else(|| {
            self.exprs.push(expr);
            self.exprs.len() - 1
        }) as u32)
    }

    pub(super) fn symbol(&mut self, name: &str) -> Dim {
        self.intern(Expr::Symbol(name.to_owned()))
    }

    pub(super) fn bound(&mut self, name: &str, range: Range) {
        self.ranges.insert(name.to_owned(), range);
    }

    /// Whether `dim` comes from here.
    pub(super) fn knows(&self, dim: Dim) -> bool {
        !matches!(dim, Dim::Expr(id) if id as usize >= self.exprs.len())
    }

    /// The name, when `dim` is a symbol.
    pub(super) fn name(&self, dim: Dim) -> Option<&str> {
        match dim {
            Dim::Expr(id) => match self.exprs.get(id as usize)? {
                Expr::Symbol(name) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// One of [`dim_op`]; unknown where an operand is, on overflow and for a division by zero.
    pub(super) fn apply(&mut self, op: u32, a: Dim, b: Dim) -> Dim {
        self.checked(op, a, b).unwrap_or(Dim::Unknown)
    }

    fn checked(&mut self, op: u32, a: Dim, b: Dim) -> Option<Dim> {
        if a == Dim::Unknown || b == Dim::Unknown || !self.knows(a) || !self.knows(b) {
            return None;
        }
        if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
            return compute(op, a, b).map(Dim::Const);
        }
        match op {
            dim_op::ADD | dim_op::SUB => {
                let sign = if op == dim_op::ADD { 1 } else { -1 };
                let mut terms = self.terms(a);
                for (factors, coefficient) in self.terms(b) {
                    let term = terms.entry(factors).or_insert(0);
                    *term = term.checked_add(coefficient.checked_mul(sign)?)?;
                }
                Some(self.sum(terms))
            }
            dim_op::MUL => {
                let mut terms = BTreeMap::new();
                for (left, m) in self.terms(a) {
                    for (right, n) in &self.terms(b) {
                        let mut factors = [left.as_slice(), right.as_slice()].concat();
                        factors.sort_unstable();
                        let term: &mut i64 = terms.entry(factors).or_insert(0);
                        *term = term.checked_add(m.checked_mul(*n)?)?;
                    }
                }
                Some(self.sum(terms))
            }
            dim_op::FLOOR_DIV | dim_op::MOD => {
                if let Dim::Const(divisor) = b {
                    if divisor == 0 {
                        return None;
                    }
                    let terms = self.terms(a);
                    if terms.values().all(|n| n % divisor == 0) {
                        let quotient = terms.into_iter().map(|(f, n)| (f, n / divisor)).collect();
                        return Some(if op == dim_op::MOD { Dim::Const(0) } else { self.sum(quotient) });
                    }
                }
                Some(self.intern(Expr::Operation(op, a, b)))
            }
            dim_op::MIN | dim_op::MAX if a == b => Some(a),
            dim_op::MIN | dim_op::MAX => Some(self.intern(Expr::Operation(op, a, b))),
            _ => None,
        }
    }

    fn terms(&self, dim: Dim) -> BTreeMap<Factors, i64> {
        match dim {
            Dim::Const(n) => BTreeMap::from([(Vec::new(), n)]),
            Dim::Expr(id) => match &self.exprs[id as usize] {
                Expr::Sum(terms) => terms.clone(),
                _ => BTreeMap::from([(vec![id], 1)]),
            },
            Dim::Unknown => BTreeMap::new(),
        }
    }

    fn sum(&mut self, mut terms: BTreeMap<Factors, i64>) -> Dim {
        terms.retain(|_, coefficient| *coefficient != 0);
        let mut all = terms.iter();
        match (all.next(), all.next()) {
            (None, _) => Dim::Const(0),
            (Some((factors, n)), None) if factors.is_empty() => Dim::Const(*n),
            (Some((factors, 1)), None) if factors.len() == 1 => Dim::Expr(factors[0]),
            _ => self.intern(Expr::Sum(terms)),
        }
    }

    /// The bounds of `dim`. A symbol without bounds is an extent: it is not negative.
    pub(super) fn range(&self, dim: Dim) -> Range {
        let open = Range { min: i64::MIN, max: i64::MAX };
        let id = match dim {
            Dim::Const(n) => return Range { min: n, max: n },
            Dim::Expr(id) => id,
            Dim::Unknown => return open,
        };
        match self.exprs.get(id as usize) {
            Some(Expr::Symbol(name)) => {
                self.ranges.get(name).copied().unwrap_or(Range { min: 0, max: i64::MAX })
            }
            Some(Expr::Sum(terms)) => {
                let mut total = Range { min: 0, max: 0 };
                for (factors, coefficient) in terms {
                    let mut term = Range { min: 1, max: 1 };
                    for factor in factors {
                        term = product(term, self.range(Dim::Expr(*factor)));
                    }
                    term = product(term, Range { min: *coefficient, max: *coefficient });
                    total = Range {
                        min: total.min.saturating_add(term.min),
                        max: total.max.saturating_add(term.max),
                    };
                }
                total
            }
            Some(Expr::Operation(op, a, b)) => match (*op, self.range(*a), self.range(*b)) {
                (dim_op::MIN, a, b) => Range { min: a.min.min(b.min), max: a.max.min(b.max) },
                (dim_op::MAX, a, b) => Range { min: a.min.max(b.min), max: a.max.max(b.max) },
                (dim_op::MOD, _, b) if b.min > 0 => Range { min: 0, max: b.max.saturating_sub(1) },
                (dim_op::FLOOR_DIV, a, b) if a.min >= 0 && b.min > 0 => Range { min: 0, max: a.max },
                _ => open,
            },
            None => open,
        }
    }

    /// The value of `dim`, or the symbol that has none.
    pub(super) fn eval(&self, dim: Dim, binding: &Binding) -> Result<i64, String> {
        let id = match dim {
            Dim::Const(n) => return Ok(n),
            Dim::Expr(id) => id,
            Dim::Unknown => return Err("an extent is not known".to_owned()),
        };
        match &self.exprs[id as usize] {
            Expr::Symbol(name) => binding.get(name).copied().ok_or_else(|| {
                format!("no input has the extent `{name}` as an axis of its own, so its value is not known")
            }),
            Expr::Sum(terms) => {
                let mut total = 0_i64;
                for (factors, coefficient) in terms {
                    let mut term = *coefficient;
                    for factor in factors {
                        term = term.wrapping_mul(self.eval(Dim::Expr(*factor), binding)?);
                    }
                    total = total.wrapping_add(term);
                }
                Ok(total)
            }
            Expr::Operation(op, a, b) => {
                let (a, b) = (self.eval(*a, binding)?, self.eval(*b, binding)?);
                compute(*op, a, b).ok_or_else(|| format!("`{}` cannot be computed", self.display(dim)))
            }
        }
    }

    pub(super) fn display(&self, dim: Dim) -> String {
        let id = match dim {
            Dim::Const(n) => return n.to_string(),
            Dim::Unknown => return "?".to_owned(),
            Dim::Expr(id) => id,
        };
        match &self.exprs[id as usize] {
            Expr::Symbol(name) => name.clone(),
            Expr::Sum(terms) => {
                let mut text = String::new();
                // The constant comes last.
                for (factors, coefficient) in terms.iter().rev() {
                    let sign = match (text.is_empty(), *coefficient < 0) {
                        (true, false) => "",
                        (true, true) => "-",
                        (false, false) => " + ",
                        (false, true) => " - ",
                    };
                    let size = coefficient.unsigned_abs();
                    let mut parts: Vec<String> =
                        factors.iter().map(|factor| self.atom(Dim::Expr(*factor))).collect();
                    if size != 1 || parts.is_empty() {
                        parts.insert(0, size.to_string());
                    }
                    text = format!("{text}{sign}{}", parts.join("*"));
                }
                text
            }
            Expr::Operation(op, a, b) => match *op {
                dim_op::FLOOR_DIV => format!("{}//{}", self.atom(*a), self.atom(*b)),
                dim_op::MOD => format!("{}%{}", self.atom(*a), self.atom(*b)),
                dim_op::MIN => format!("min({}, {})", self.display(*a), self.display(*b)),
                _ => format!("max({}, {})", self.display(*a), self.display(*b)),
            },
        }
    }

    fn atom(&self, dim: Dim) -> String {
        let text = self.display(dim);
        let plain = text.chars().all(|c| c.is_alphanumeric() || c == '_') || text.ends_with(')');
        if plain { text } else { format!("({text})") }
    }

    pub(super) fn list(&self, dims: &[Dim]) -> String {
        dims.iter().map(|dim| self.display(*dim)).collect::<Vec<_>>().join(", ")
    }
}

fn compute(op: u32, a: i64, b: i64) -> Option<i64> {
    match op {
        dim_op::ADD => a.checked_add(b),
        dim_op::SUB => a.checked_sub(b),
        dim_op::MUL => a.checked_mul(b),
        dim_op::FLOOR_DIV => {
            let quotient = a.checked_div(b)?;
            Some(quotient - i64::from(a % b != 0 && (a < 0) != (b < 0)))
        }
        dim_op::MOD => {
            let remainder = a.checked_rem(b)?;
            Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
        }
        dim_op::MIN => Some(a.min(b)),
        dim_op::MAX => Some(a.max(b)),
        _ => None,
    }
}

fn product(a: Range, b: Range) -> Range {
    let ends = [
        a.min.saturating_mul(b.min),
        a.min.saturating_mul(b.max),
        a.max.saturating_mul(b.min),
        a.max.saturating_mul(b.max),
    ];
    Range { min: ends.into_iter().min().unwrap_or(i64::MIN), max: ends.into_iter().max().unwrap_or(i64::MAX) }
}

//! Bounds of symbols and of expressions over them.

use super::{Dim, Expr, Symbols, Term};

/// Inclusive bounds; `None` is unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Range {
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
}

impl Range {
    /// No bounds.
    pub const ANY: Self = Self { min: None, max: None };

    /// Both bounds.
    pub const fn new(min: i64, max: i64) -> Self {
        Self { min: Some(min), max: Some(max) }
    }

    /// Whether `n` is within the bounds.
    pub fn contains(self, n: i64) -> bool {
        self.min.is_none_or(|m| m <= n) && self.max.is_none_or(|m| n <= m)
    }

    /// The values within both; `None` where there are none.
    pub fn and(self, other: Self) -> Option<Self> {
        let min = [self.min, other.min].into_iter().flatten().max();
        let max = [self.max, other.max].into_iter().flatten().min();
        min.zip(max).is_none_or(|(min, max)| min <= max).then_some(Self { min, max })
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.zip(other.min).and_then(|(a, b)| a.checked_add(b)),
            max: self.max.zip(other.max).and_then(|(a, b)| a.checked_add(b)),
        }
    }

    pub(super) fn mul(self, other: Self) -> Self {
        if let (Self { min: Some(a), max: Some(b) }, Self { min: Some(c), max: Some(d) }) = (self, other) {
            let corners = [a.checked_mul(c), a.checked_mul(d), b.checked_mul(c), b.checked_mul(d)];
            let bound = |pick: fn(i64, i64) -> i64| {
                corners.iter().copied().collect::<Option<Vec<_>>>()?.into_iter().reduce(pick)
            };
            return Self { min: bound(i64::min), max: bound(i64::max) };
        }
        let nonnegative = |r: Self| r.min.is_some_and(|m| m >= 0);
        if nonnegative(self) && nonnegative(other) {
            return Self { min: self.min.zip(other.min).and_then(|(a, b)| a.checked_mul(b)), max: None };
        }
        // A constant times a half-open range keeps one bound.
        let scale = |k: i64, r: Self| {
            let (lo, hi) = (r.min.and_then(|n| n.checked_mul(k)), r.max.and_then(|n| n.checked_mul(k)));
            if k < 0 { Self { min: hi, max: lo } } else { Self { min: lo, max: hi } }
        };
        match (self.single(), other.single()) {
            (Some(k), _) => scale(k, other),
            (_, Some(k)) => scale(k, self),
            _ => Self::ANY,
        }
    }

    fn single(self) -> Option<i64> {
        self.min.filter(|_| self.min == self.max)
    }
}

impl Symbols {
    /// Bounds that hold for every value of the symbols within their ranges.
    pub fn range(&self, dim: Dim) -> Range {
        let id = match dim {
            Dim::Const(n) => return Range::new(n, n),
            Dim::Expr(id) => id,
        };
        match self.expr(id) {
            Expr::Sym(sym) => self.get(*sym).range,
            Expr::Sum(terms) => {
                terms.iter().fold(Range::new(0, 0), |sum, term| sum.add(self.range_of_term(term)))
            }
            // Every operand is visited once: twice per level would be exponential in the depth.
            Expr::FloorDiv(a, b) => match (self.range(*a), self.range(*b)) {
                (r, divisor) if divisor.single().is_some_and(|k| k > 0) => {
                    let divide = |n: i64| divisor.single().and_then(|k| n.checked_div_euclid(k));
                    Range { min: r.min.and_then(divide), max: r.max.and_then(divide) }
                }
                (Range { min: Some(0..), max }, Range { min: Some(1..), .. }) => Range { min: Some(0), max },
                _ => Range::ANY,
            },
            Expr::Mod(_, b) => match self.range(*b) {
                Range { min: Some(1..), max: Some(k) } => Range { min: Some(0), max: k.checked_sub(1) },
                _ => Range::ANY,
            },
            Expr::Min(operands) => operands.iter().map(|d| self.range(*d)).fold(
                Range { min: Some(i64::MAX), max: None },
                |r, o| Range {
                    min: r.min.zip(o.min).map(|(a, b)| a.min(b)),
                    max: [r.max, o.max].into_iter().flatten().min(),
                },
            ),
            Expr::Max(operands) => operands.iter().map(|d| self.range(*d)).fold(
                Range { min: None, max: Some(i64::MIN) },
                |r, o| Range {
                    min: [r.min, o.min].into_iter().flatten().max(),
                    max: r.max.zip(o.max).map(|(a, b)| a.max(b)),
                },
            ),
            Expr::Opaque(_) => Range::ANY,
        }
    }

    pub(super) fn range_of_term(&self, term: &Term) -> Range {
        let k = Range::new(term.coefficient, term.coefficient);
        term.factors.iter().fold(k, |product, factor| product.mul(self.range(Dim::Expr(*factor))))
    }
}

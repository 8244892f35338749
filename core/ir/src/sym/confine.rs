//! Narrowing the ranges of symbols by the bounds of an expression over them.

use super::build::floored_div;
use super::{Dim, Expr, ExprId, Range, Symbols, Term};

/// No value of the symbols within their ranges is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Empty;

/// Whether a range became smaller.
type Narrowed = Result<bool, Empty>;

impl Symbols {
    /// Narrows the ranges of symbols to those values for which `dim` can be within `to`. No value is lost for which it is;
    /// some may be left for which it is not. Each expression that is visited takes from `budget`, and where that is spent
    /// the ranges stay as they are.
    ///
    /// # Errors
    /// [`Empty`] where `dim` cannot be within `to`.
    pub fn confine(&mut self, dim: Dim, to: Range, budget: &mut u32) -> Narrowed {
        let now = self.range(dim);
        let both = now.and(to).ok_or(Empty)?;
        let (false, Dim::Expr(id)) = (both == now, dim) else { return Ok(false) };
        match budget.checked_sub(self.nodes(id)) {
            Some(left) => *budget = left,
            None => return Ok(false),
        }
        match self.expr(id).clone() {
            Expr::Sym(symbol) => {
                self.get_mut(symbol).range = both;
                Ok(true)
            }
            Expr::Sum(terms) => self.confine_terms(&terms, both, budget),
            Expr::FloorDiv(a, Dim::Const(k @ 1..)) => {
                let min = both.min.and_then(|n| n.checked_mul(k));
                let above = k.saturating_sub(1);
                let max = both.max.and_then(|n| n.checked_mul(k)?.checked_add(above));
                self.confine(a, Range { min, max }, budget)
            }
            Expr::Mod(a, Dim::Const(k @ 1..)) => {
                let range = self.range(a);
                let period = |n: Option<i64>| n.and_then(|n| n.checked_div_euclid(k));
                match (period(range.min), period(range.max)) {
                    (Some(first), Some(last)) if first == last => {
                        let start = first.checked_mul(k);
                        let from = |n: Option<i64>| n.zip(start).and_then(|(n, start)| n.checked_add(start));
                        self.confine(a, Range { min: from(both.min), max: from(both.max) }, budget)
                    }
                    _ => Ok(false),
                }
            }
            Expr::Min(operands) => {
                let least = Range { min: both.min, max: None };
                let most = Range { min: None, max: both.max };
                self.confine_operands(&operands, least, most, budget)
            }
            Expr::Max(operands) => {
                let least = Range { min: both.min, max: None };
                let most = Range { min: None, max: both.max };
                self.confine_operands(&operands, most, least, budget)
            }
            Expr::FloorDiv(..) | Expr::Mod(..) | Expr::Opaque(_) => Ok(false),
        }
    }

    /// Every operand is within `every`, and at least one within `one`.
    fn confine_operands(&mut self, operands: &[Dim], every: Range, one: Range, budget: &mut u32) -> Narrowed {
        let mut changed = false;
        for operand in operands {
            changed |= self.confine(*operand, every, budget)?;
        }
        let mut able = operands.iter().filter(|operand| self.range(**operand).and(one).is_some());
        match (able.next().copied(), able.next()) {
            (None, _) => Err(Empty),
            (Some(only), None) => Ok(changed | self.confine(only, one, budget)?),
            (Some(_), Some(_)) => Ok(changed),
        }
    }

    fn confine_terms(&mut self, terms: &[Term], sum: Range, budget: &mut u32) -> Narrowed {
        let mut changed = false;
        for (index, term) in terms.iter().enumerate() {
            // The time is quadratic in the terms, of which there is a bound.
            let others = terms.iter().enumerate().filter(|(other, _)| *other != index);
            let rest = others.fold(Range::new(0, 0), |rest, (_, other)| rest.add(self.range_of_term(other)));
            let product = rest.below(sum).over(term.coefficient);
            changed |= self.confine_product(&term.factors, product, budget)?;
        }
        Ok(changed)
    }

    fn confine_product(&mut self, factors: &[ExprId], product: Range, budget: &mut u32) -> Narrowed {
        if let [only] = factors {
            return self.confine(Dim::Expr(*only), product, budget);
        }
        let mut changed = false;
        for (index, factor) in factors.iter().enumerate() {
            let others = factors.iter().enumerate().filter(|(other, _)| *other != index);
            let rest =
                others.fold(Range::new(1, 1), |rest, (_, other)| rest.mul(self.range(Dim::Expr(*other))));
            changed |= self.confine(Dim::Expr(*factor), product.over_positive(rest), budget)?;
        }
        Ok(changed)
    }
}

impl Range {
    /// The bounds of the number that, added to one within these bounds, gives a sum within `sum`.
    fn below(self, sum: Self) -> Self {
        Self {
            min: sum.min.zip(self.max).and_then(|(sum, most)| sum.checked_sub(most)),
            max: sum.max.zip(self.min).and_then(|(sum, least)| sum.checked_sub(least)),
        }
    }

    /// The integers whose product with `factor` is within these bounds.
    fn over(self, factor: i64) -> Self {
        let (min, max) = if factor < 0 { (self.max, self.min) } else { (self.min, self.max) };
        Self { min: min.and_then(|n| ceiled_div(n, factor)), max: max.and_then(|n| floored_div(n, factor)) }
    }

    /// The integers whose product with a number within `rest` can be within these bounds, where that is positive.
    fn over_positive(self, rest: Self) -> Self {
        let Some(least) = rest.min.filter(|n| *n > 0) else { return Self::ANY };
        let max = match self.max {
            Some(n) if n < 0 => rest.max.map_or(Some(-1), |most| floored_div(n, most)),
            Some(n) => floored_div(n, least),
            None => None,
        };
        let min = match self.min {
            Some(n) if n > 0 => rest.max.map_or(Some(1), |most| ceiled_div(n, most)),
            Some(n) => ceiled_div(n, least),
            None => None,
        };
        Self { min, max }
    }
}

/// `x / y`, rounded up, unless it is undefined or does not fit.
fn ceiled_div(x: i64, y: i64) -> Option<i64> {
    let quotient = floored_div(x, y)?;
    if x.checked_rem(y)? == 0 { Some(quotient) } else { quotient.checked_add(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranges of `a` and `b`, which start as given, where `text` is within `to`.
    fn confined(text: &str, ranges: [Range; 2], to: Range) -> Result<[Range; 2], Empty> {
        let mut symbols = Symbols::default();
        for (name, range) in ["a", "b"].into_iter().zip(ranges) {
            let symbol = symbols.symbol(name);
            let id = symbols.as_symbol(symbol).expect("a symbol");
            symbols.get_mut(id).range = range;
        }
        let dim = symbols.parse(text).expect("an expression");
        symbols.confine(dim, to, &mut 10_000)?;
        Ok(["a", "b"].map(|name| symbols.get(symbols.find(name).expect("known")).range))
    }

    fn at_least(min: i64) -> Range {
        Range { min: Some(min), max: None }
    }

    fn at_most(max: i64) -> Range {
        Range { min: None, max: Some(max) }
    }

    #[test]
    fn linear_bounds_are_exact() {
        let open = [at_least(2), at_least(2)];
        assert_eq!(confined("3*a - 10", open, at_most(0)), Ok([Range::new(2, 3), at_least(2)]));
        assert_eq!(confined("20 - 3*a", open, at_most(0)), Ok([at_least(7), at_least(2)]));
        assert_eq!(confined("a + b", open, at_most(9)), Ok([Range::new(2, 7), Range::new(2, 7)]));
        assert_eq!(confined("a - 2*b", open, Range::new(0, 0)), Ok([at_least(4), at_least(2)]));
        assert_eq!(confined("a + b", open, at_most(3)), Err(Empty));
    }

    #[test]
    fn products_quotients_remainders_and_extremes_bound_their_operands() {
        let open = [at_least(2), at_least(2)];
        assert_eq!(confined("a*b", open, at_most(21)), Ok([Range::new(2, 10), Range::new(2, 10)]));
        assert_eq!(confined("a//4", open, Range::new(1, 2)), Ok([Range::new(4, 11), at_least(2)]));
        let one_period = [Range::new(8, 15), at_least(2)];
        assert_eq!(confined("a%8", one_period, at_most(3)), Ok([Range::new(8, 11), at_least(2)]));
        assert_eq!(confined("min(a, b)", open, at_least(5)), Ok([at_least(5), at_least(5)]));
        assert_eq!(confined("min(a, 9)", open, at_most(5)), Ok([Range::new(2, 5), at_least(2)]));
        assert_eq!(confined("max(a, b)", open, at_most(5)), Ok([Range::new(2, 5), Range::new(2, 5)]));
        // The guard of a branch on a size that is padded to a multiple of eight.
        assert_eq!(confined("a + (0 - a)%8", open, at_most(8)), Ok([Range::new(2, 8), at_least(2)]));
    }

    #[test]
    fn numbers_at_the_end_of_the_range_are_no_panic() {
        let wide = [Range::new(i64::MIN, i64::MAX), Range::ANY];
        for text in ["a + b", "0 - a", "a*b", "a//3", "a%3", "max(a, b)", "3*a - 9223372036854775807"] {
            for to in
                [Range::new(i64::MIN, i64::MIN), Range::new(i64::MAX, i64::MAX), at_most(-1), at_least(1)]
            {
                let _ = confined(text, wide, to);
            }
        }
    }
}

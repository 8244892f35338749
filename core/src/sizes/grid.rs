//! Sizes at equal distances: the values of a symbol under divisibility and equations between integers.

use crate::sym::{Dim, Empty, Expr, Range, SymId, Symbols, Term};

/// Steps beyond this are not combined.
const MAX_STEP: i64 = 1 << 40;

/// The integers that leave the remainder `start` when they are divided by `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// The distance, at least 1.
    pub step: i64,
    /// At least 0 and below the distance.
    pub start: i64,
}

impl Grid {
    /// All integers.
    pub(super) const ALL: Self = Self { step: 1, start: 0 };

    /// The solutions of `factor * x = number` modulo `modulus`, which is at least 1.
    fn solving(factor: i64, number: i64, modulus: i64) -> Result<Self, Empty> {
        let [factor, number, modulus] = [factor, number, modulus].map(i128::from);
        let common = gcd(factor, modulus);
        let (Some(0), Some(step)) = (number.checked_rem(common), modulus.checked_div(common)) else {
            return Err(Empty);
        };
        let part = |n: i128| n.checked_div(common).unwrap_or(0).rem_euclid(step);
        let start = part(number).saturating_mul(inverse(part(factor), step)).rem_euclid(step);
        Ok(Self { step: narrow(step), start: narrow(start) })
    }

    /// The integers of both; of one of them where the step would be too large.
    pub(super) fn and(self, other: Self) -> Result<Self, Empty> {
        let (step, start) = (i128::from(self.step), i128::from(self.start));
        let apart = i128::from(other.start).saturating_sub(start);
        let common = gcd(step, i128::from(other.step));
        if apart.checked_rem(common) != Some(0) {
            return Err(Empty);
        }
        let divided = |n: i128| n.checked_div(common).unwrap_or(1);
        let further = divided(i128::from(other.step));
        let joined = step.saturating_mul(further);
        if joined > i128::from(MAX_STEP) {
            return Ok(self);
        }
        let times = divided(apart).saturating_mul(inverse(divided(step).rem_euclid(further), further));
        let start = step.saturating_mul(times.rem_euclid(further)).saturating_add(start);
        Ok(Self { step: narrow(joined), start: narrow(start.rem_euclid(joined)) })
    }

    /// Whether `n` is one of them.
    pub(super) fn contains(self, n: i64) -> bool {
        n.checked_rem_euclid(self.step) == Some(self.start)
    }

    /// The bounds moved inwards to integers of the grid.
    pub(super) fn trim(self, range: Range) -> Result<Range, Empty> {
        let up = |n: i64| {
            let by = self.start.checked_sub(n.checked_rem_euclid(self.step)?)?;
            n.checked_add(by.checked_rem_euclid(self.step)?)
        };
        let down = |n: i64| {
            let by = n.checked_rem_euclid(self.step)?.checked_sub(self.start)?;
            n.checked_sub(by.checked_rem_euclid(self.step)?)
        };
        // A bound that does not fit after it was moved stays.
        let min = range.min.map(|n| up(n).unwrap_or(n));
        let max = range.max.map(|n| down(n).unwrap_or(n));
        if min.zip(max).is_some_and(|(min, max)| min > max) { Err(Empty) } else { Ok(Range { min, max }) }
    }
}

/// The grids of symbols with which `sum` can be 0, and whether they say all that this says.
pub(super) fn of_equation(symbols: &Symbols, sum: Dim) -> Result<(Vec<(SymId, Grid)>, bool), Empty> {
    let (terms, modulus) = congruence(symbols, sum);
    let constant = terms.iter().find(|term| term.factors.is_empty()).map_or(0, |term| term.coefficient);
    let Some(number) = constant.checked_neg() else { return Ok((Vec::new(), false)) };
    let open: Vec<&Term> = terms.iter().filter(|term| !term.factors.is_empty()).collect();
    let mut grids = Vec::new();
    for (index, term) in open.iter().enumerate() {
        let [factor] = term.factors.as_slice() else { continue };
        let Some(symbol) = symbols.as_symbol(Dim::Expr(*factor)) else { continue };
        let others = open.iter().enumerate().filter(|(other, _)| *other != index);
        let common =
            others.fold(i128::from(modulus), |common, (_, term)| gcd(common, i128::from(term.coefficient)));
        if let (true, Ok(common)) = (common > 1, i64::try_from(common)) {
            grids.push((symbol, Grid::solving(term.coefficient, number, common)?));
        }
    }
    let exact = open.len() == 1 && grids.len() == 1;
    Ok((grids, exact))
}

/// `sum = 0` as `terms = 0` modulo a number, which is 0 where it is no more than an equation: `a % k - r = 0` is `a - r = 0`
/// modulo `k`.
fn congruence(symbols: &Symbols, sum: Dim) -> (Vec<Term>, i64) {
    let terms = terms(symbols, sum);
    let rest = terms.iter().find(|term| term.factors.is_empty()).map_or(0, |term| term.coefficient);
    let mut open = terms.iter().filter(|term| !term.factors.is_empty());
    let (Some(Term { factors, coefficient }), None) = (open.next(), open.next()) else { return (terms, 0) };
    let [factor] = factors.as_slice() else { return (terms, 0) };
    let Expr::Mod(a, Dim::Const(modulus @ 2..)) = symbols.expr(*factor) else { return (terms, 0) };
    let (Some(0), Some(remainder)) = (rest.checked_rem(*coefficient), rest.checked_div(*coefficient)) else {
        return (terms, 0);
    };
    let mut inner = self::terms(symbols, *a);
    let constant = inner.iter().position(|term| term.factors.is_empty());
    let constant = constant.map_or(0, |at| inner.remove(at).coefficient);
    // `rest` is negated on the side of the remainder.
    let Some(constant) = constant.checked_add(remainder) else { return (terms, 0) };
    inner.push(Term { factors: smallvec::SmallVec::new(), coefficient: constant });
    (inner, *modulus)
}

/// The terms of a sum, which an expression of another kind is alone.
pub(super) fn terms(symbols: &Symbols, dim: Dim) -> Vec<Term> {
    let term =
        |factors: &[_], coefficient| Term { factors: smallvec::SmallVec::from_slice(factors), coefficient };
    match dim {
        Dim::Const(n) => vec![term(&[], n)],
        Dim::Expr(id) => match symbols.expr(id) {
            Expr::Sum(terms) => terms.to_vec(),
            _ => vec![term(&[id], 1)],
        },
    }
}

/// The greatest common divisor, at least 0.
fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while let Some(rest) = a.checked_rem(b) {
        (a, b) = (b, rest);
    }
    a
}

/// The number whose product with `n` is 1 modulo `modulus`, which has no divisor in common with it.
fn inverse(n: i128, modulus: i128) -> i128 {
    let (mut old, mut new) = ((modulus, 0_i128), (n, 1_i128));
    while let Some(quotient) = old.0.checked_div(new.0) {
        let less = |a: i128, b: i128| a.saturating_sub(quotient.saturating_mul(b));
        (old, new) = (new, (less(old.0, new.0), less(old.1, new.1)));
    }
    old.1.rem_euclid(modulus.max(1))
}

/// Numbers here are below a modulus that was an `i64`.
fn narrow(n: i128) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_and_intersections_are_those_of_the_definition() {
        for modulus in 1..=12 {
            for factor in -12..=12 {
                for number in -12..=12 {
                    let holds = |x: i64| (factor * x - number).rem_euclid(modulus) == 0;
                    let grid = Grid::solving(factor, number, modulus);
                    for x in 0..24 {
                        let found = grid.is_ok_and(|grid| grid.contains(x));
                        assert_eq!(found, holds(x), "{factor} * {x} = {number} mod {modulus}");
                    }
                }
            }
        }
        let all = |most: i64| (1..=most).flat_map(|step| (0..step).map(move |start| Grid { step, start }));
        for a in all(7) {
            for b in all(7) {
                let both = a.and(b);
                for x in -50..50 {
                    let found = both.is_ok_and(|both| both.contains(x));
                    assert_eq!(found, a.contains(x) && b.contains(x), "{a:?} {b:?} {x}");
                }
            }
        }
    }

    #[test]
    fn bounds_move_inwards() {
        let grid = Grid { step: 4, start: 1 };
        assert_eq!(grid.trim(Range::new(2, 16)), Ok(Range::new(5, 13)));
        assert_eq!(grid.trim(Range::new(2, 4)), Err(Empty));
        let edge = Range::new(i64::MAX, i64::MAX);
        assert_eq!(grid.trim(edge).map(|range| range.min), Err(Empty));
    }
}

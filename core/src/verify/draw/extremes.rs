//! Sizes at the bounds of symbols: the smallest, primes in the middle, and the largest that memory allows.

use crate::sizes::{Constraints, Sizes};
use crate::sym::{SymId, Symbols};

/// How often sizes that are refused are moved on.
const TRIES: i64 = 64;
/// How many times the recorded size the largest one is at most, as a power of two.
const HIGHEST: f64 = 20.0;
/// Halvings of the range in which the largest sizes are searched.
const HALVINGS: usize = 40;

/// The criteria for sizes.
pub(super) struct Extremes<'a> {
    /// The symbols.
    pub symbols: &'a Symbols,
    /// The recorded sizes.
    pub traced: &'a Sizes,
    /// The constraints on sizes.
    pub constraints: &'a Constraints,
    /// The bytes of all values at some sizes; `None` where they are more than can be counted.
    pub cost: &'a dyn Fn(&Sizes) -> Option<u64>,
    /// The most bytes.
    pub most: u64,
}

/// Sizes and their names, as far as there are any besides the recorded ones and those in `seen`.
pub(super) fn at_extremes(extremes: &Extremes<'_>, seen: &mut Vec<Sizes>) -> Vec<(&'static str, Sizes)> {
    let largest = extremes.largest();
    let found = [
        ("minimum", extremes.smallest()),
        ("prime", extremes.primes(largest.as_ref())),
        ("maximum", largest),
    ];
    let mut new = Vec::new();
    for (name, sizes) in found {
        if let Some(sizes) = sizes.filter(|sizes| !seen.contains(sizes)) {
            seen.push(sizes.clone());
            new.push((name, sizes));
        }
    }
    new
}

impl Extremes<'_> {
    /// The smallest and the largest size that a symbol may have. No size is 0, which few programs mean.
    fn range(&self, symbol: SymId) -> (i64, i64) {
        let range = self.symbols.get(symbol).range;
        let low = range.min.unwrap_or(1).max(1);
        (low, range.max.unwrap_or(i64::MAX).max(low))
    }

    /// The sizes that `size` gives for a symbol and its recorded size, moved to where the relations hold.
    fn repaired(&self, size: impl Fn(SymId, i64) -> i64) -> Sizes {
        let mut sizes: Sizes =
            self.traced.iter().map(|(symbol, traced)| (*symbol, size(*symbol, *traced))).collect();
        self.constraints.repair(&mut sizes);
        sizes
    }

    fn fits(&self, sizes: &Sizes) -> bool {
        (self.cost)(sizes).is_some_and(|bytes| bytes <= self.most)
    }

    fn admitted(&self, mut tries: impl Iterator<Item = Sizes>) -> Option<Sizes> {
        if self.traced.is_empty() {
            return None;
        }
        tries.find(|sizes| self.constraints.admit(sizes) && self.fits(sizes))
    }

    fn smallest(&self) -> Option<Sizes> {
        let at = |up: i64| {
            self.repaired(|symbol, _| {
                let (low, high) = self.range(symbol);
                low.saturating_add(up).min(high)
            })
        };
        self.admitted((0..TRIES).map(at))
    }

    /// All sizes grow alike, from the recorded ones up.
    fn largest(&self) -> Option<Sizes> {
        let scaled = |exponent: f64, down: i64| {
            self.repaired(|symbol, traced| {
                let (low, high) = self.range(symbol);
                let size = (traced.max(1) as f64 * exponent.exp2()) as i64;
                size.min(high).saturating_sub(down).max(low)
            })
        };
        if !self.fits(&scaled(0.0, 0)) {
            return None;
        }
        let (mut fitting, mut above) = (0.0, HIGHEST);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(fitting, above);
            if self.fits(&scaled(middle, 0)) { fitting = middle } else { above = middle }
        }
        self.admitted((0..TRIES).map(|down| scaled(fitting, down)))
    }

    /// Primes around the geometric mean of the smallest and the largest size: mixed up, padded or split axes show
    /// there. Symbols of one recorded size have the same one, since they may have to be equal.
    fn primes(&self, largest: Option<&Sizes>) -> Option<Sizes> {
        let limit = |symbol: SymId, traced: i64| {
            let found = largest.and_then(|sizes| sizes.iter().find(|(id, _)| *id == symbol));
            found.map_or(traced, |(_, size)| *size).max(traced)
        };
        let class = |traced: i64| self.traced.iter().position(|(_, size)| *size == traced).unwrap_or(0);
        let at = |further: i64| {
            self.repaired(|symbol, traced| {
                let (low, high) = self.range(symbol);
                let high = limit(symbol, traced).min(high);
                let middle = (low as f64).sqrt() * (high as f64).sqrt();
                let nth = class(traced) as i64 + further;
                let above =
                    (middle as i64..=high).filter(|n| is_prime(*n)).nth(usize::try_from(nth).unwrap_or(0));
                let below = || (low..=high.min(middle as i64)).rev().find(|n| is_prime(*n));
                above.filter(|n| *n >= low).or_else(below).unwrap_or(traced)
            })
        };
        self.admitted((0..TRIES).map(at))
    }
}

fn is_prime(n: i64) -> bool {
    n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::Implied;
    use crate::sizes::Port;
    use crate::sym::{Dim, Range};

    /// The names and the sizes that are chosen for symbols of these ranges and recorded sizes, where all values take
    /// the product of the sizes.
    fn chosen(given: &[(&str, i64, i64, i64)], guards: &[&str], most: u64) -> Vec<(&'static str, Vec<i64>)> {
        let mut symbols = Symbols::default();
        let mut traced = Sizes::new();
        let mut ports: Vec<(&str, [Dim; 1])> = Vec::new();
        for (name, low, high, size) in given {
            ports.push((name, [symbols.symbol(name)]));
            let id = symbols.find(name).unwrap();
            symbols.get_mut(id).range = Range::new(*low, *high);
            traced.push((id, *size));
        }
        let guards: Vec<_> = guards.iter().map(|guard| (*guard).to_owned().into()).collect();
        let known = ports.iter().map(|(name, dims)| Port { name, leaf: None, dims, number: None });
        let constraints = Constraints::new(Implied::nothing(&symbols), &guards, known);
        let cost = |sizes: &Sizes| {
            sizes.iter().try_fold(1u64, |bytes, (_, size)| bytes.checked_mul(u64::try_from(*size).ok()?))
        };
        let extremes =
            Extremes { symbols: &symbols, traced: &traced, constraints: &constraints, cost: &cost, most };
        let found = at_extremes(&extremes, &mut vec![traced.clone()]);
        found.into_iter().map(|(name, sizes)| (name, sizes.into_iter().map(|(_, n)| n).collect())).collect()
    }

    #[test]
    fn sizes_are_the_smallest_primes_and_the_largest_that_fit() {
        let found = chosen(&[("batch", 2, 1 << 40, 4)], &[], 1000);
        assert_eq!(found, [("minimum", vec![2]), ("prime", vec![47]), ("maximum", vec![1000])]);
        let found = chosen(&[("batch", 2, 100, 4)], &[], 1000);
        assert_eq!(found, [("minimum", vec![2]), ("prime", vec![17]), ("maximum", vec![100])]);
        let found = chosen(&[("a", 1, 4096, 4), ("b", 3, 4096, 8), ("c", 1, 4096, 4)], &[], 1 << 20);
        let [(_, smallest), (_, primes), (_, largest)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(smallest, &[1, 3, 1]);
        assert!(primes[0] == primes[2] && primes[0] != primes[1] && primes.iter().all(|n| is_prime(*n)));
        assert!(largest.iter().product::<i64>() <= 1 << 20 && largest.iter().product::<i64>() > 1 << 19);
    }

    #[test]
    fn guards_hold_at_every_size() {
        let guards =
            ["L['past'].size()[0] + L['new'].size()[0] == L['mask'].size()[0]", "L['new'].size()[0] != 1"];
        let given = [("past", 1, 512, 5), ("new", 1, 512, 3), ("mask", 1, 512, 8)];
        let found = chosen(&given, &guards, 1 << 16);
        assert_eq!(found.len(), 3, "{found:?}");
        for (name, sizes) in found {
            let [past, new, mask] = sizes[..] else { panic!() };
            assert!(past + new == mask && new != 1 && past * new * mask <= 1 << 16, "{name}: {sizes:?}");
        }
    }

    #[test]
    fn what_does_not_fit_or_does_not_vary_is_left_out() {
        assert!(chosen(&[], &[], 1000).is_empty());
        assert_eq!(chosen(&[("a", 2, 1 << 20, 4)], &[], 3), [("minimum", vec![2]), ("prime", vec![2])][..1]);
        assert!(chosen(&[("a", 4, 4, 4)], &[], 1000).is_empty());
    }
}

//! The values of symbols with which conditions hold: bounds are propagated until they stay, within a budget.

use rustc_hash::FxHashMap;

use super::conditions::{Condition, Related};
use super::constraints::Relation;
use super::grid::{self, Grid};
use crate::sym::{Dim, Empty, Expr, Range, SymId, Symbols};

/// How often all conditions are applied.
const ROUNDS: usize = 64;

/// The nodes of expressions that are visited.
const VISITS: u32 = 1 << 22;

/// How many sizes of symbols are tried one by one for a condition.
const TRIED: usize = 4096;

/// How many sizes are tried in total.
const TRIED_IN_ALL: usize = 1 << 18;

/// A condition, prepared for solving.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Its relations; see [`Condition::any`].
    pub any: Vec<Related>,
    /// The differences that must be related to 0, of each relation. All forms of one have the same value.
    forms: Vec<Vec<(Dim, Relation)>>,
    /// The symbols in it, sorted.
    pub symbols: Vec<SymId>,
    grids: Vec<(SymId, Grid)>,
    /// Whether the grids say all that the condition does.
    exact: bool,
}

/// Whether a condition holds for the values that symbols have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Always,
    /// There are values for which it does not.
    Sometimes,
    Unknown,
}

/// Symbols, whose ranges become smaller, and the conditions for it.
#[derive(Debug)]
pub(super) struct Solver {
    pub symbols: Symbols,
    pub all: Vec<Prepared>,
    grids: FxHashMap<SymId, Grid>,
    visits: u32,
    tries: usize,
}

impl Solver {
    /// # Errors
    /// [`Empty`] where a condition has no solution at all.
    pub(super) fn new(mut symbols: Symbols, conditions: &[Condition]) -> Result<Self, Empty> {
        let all = conditions
            .iter()
            .map(|condition| Prepared::new(&mut symbols, condition))
            .collect::<Result<_, _>>()?;
        Ok(Self { symbols, all, grids: FxHashMap::default(), visits: VISITS, tries: TRIED_IN_ALL })
    }

    /// Makes the ranges smaller until they stay. No value is lost for which all conditions hold.
    ///
    /// # Errors
    /// [`Empty`] where there is none.
    pub(super) fn solve(&mut self) -> Result<(), Empty> {
        for index in 0..self.all.len() {
            let grids = self.all.get(index).map(|condition| condition.grids.clone()).unwrap_or_default();
            for (symbol, grid) in grids {
                let both = self.grid(symbol).and(grid)?;
                self.grids.insert(symbol, both);
            }
        }
        let only: Vec<(SymId, usize)> = (self.all.iter().enumerate())
            .filter_map(|(index, condition)| match condition.symbols.as_slice() {
                [only] => Some((*only, index)),
                _ => None,
            })
            .collect();
        for _ in 0..ROUNDS {
            let mut changed = false;
            for condition in &self.all {
                let [forms] = condition.forms.as_slice() else { continue };
                for (apart, relation) in forms {
                    changed |= self.symbols.confine(*apart, relation.apart(), &mut self.visits)?;
                }
            }
            for (symbol, grid) in &self.grids {
                let symbol = self.symbols.get_mut(*symbol);
                let trimmed = grid.trim(symbol.range)?;
                changed |= trimmed != symbol.range;
                symbol.range = trimmed;
            }
            for (symbol, index) in &only {
                changed |= self.trim(*symbol, *index)?;
            }
            if !changed {
                break;
            }
        }
        Ok(())
    }

    /// Gives up the grids, so that [`held`](Self::held) asks about all values within the ranges.
    pub(super) fn forget(&mut self) {
        self.grids.clear();
    }

    /// Moves the bounds of a symbol over sizes for which a condition does not hold.
    fn trim(&mut self, symbol: SymId, index: usize) -> Result<bool, Empty> {
        let step = self.grid(symbol).step;
        let mut changed = false;
        for upwards in [true, false] {
            for _ in 0..TRIED {
                let range = self.symbols.get(symbol).range;
                let Some(size) = (if upwards { range.min } else { range.max }) else { break };
                if self.tries == 0 || self.holds(index, &[(symbol, size)]) != Some(false) {
                    break;
                }
                self.tries = self.tries.saturating_sub(1);
                let next = if upwards { size.checked_add(step) } else { size.checked_sub(step) };
                let Some(next) = next else { break };
                let left = if upwards {
                    Range { min: Some(next), ..range }
                } else {
                    Range { max: Some(next), ..range }
                };
                self.symbols.get_mut(symbol).range = left.and(Range::ANY).ok_or(Empty)?;
                changed = true;
            }
        }
        Ok(changed)
    }

    /// The sizes that the equations leave of a symbol.
    pub(super) fn grid(&self, symbol: SymId) -> Grid {
        self.grids.get(&symbol).copied().unwrap_or(Grid::ALL)
    }

    fn holds(&self, index: usize, sizes: &[(SymId, i64)]) -> Option<bool> {
        let size = |id| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
        let mut known = true;
        for (a, relation, b) in &self.all.get(index)?.any {
            match (self.symbols.eval(*a, &size), self.symbols.eval(*b, &size)) {
                (Some(a), Some(b)) if relation.holds(a, b) => return Some(true),
                (Some(_), Some(_)) => {}
                _ => known = false,
            }
        }
        known.then_some(false)
    }

    /// Whether the condition with this index holds within the ranges of all symbols, and on their grids.
    pub(super) fn held(&mut self, index: usize) -> Held {
        let Some(condition) = self.all.get(index).filter(|condition| !condition.any.is_empty()) else {
            return Held::Unknown;
        };
        let certain = |(apart, relation): &(Dim, Relation)| relation.certain(self.symbols.range(*apart));
        if condition.forms.iter().flatten().any(certain) {
            return Held::Always;
        }
        let on_grid =
            |(symbol, grid): &(SymId, Grid)| self.grid(*symbol).and(*grid) == Ok(self.grid(*symbol));
        if condition.exact && condition.grids.iter().all(on_grid) {
            return Held::Always;
        }
        let [forms] = condition.forms.as_slice() else { return self.tried(index) };
        // The bounds of a sum of different symbols are taken.
        match forms.first() {
            Some((apart, Relation::Unequal)) => match self.symbols.linear(*apart) {
                Some((factor, symbol, offset)) => {
                    let equal = offset.checked_neg().filter(|n| n.checked_rem(factor) == Some(0));
                    let equal = equal.and_then(|n| n.checked_div(factor));
                    let taken =
                        |n: i64| self.symbols.get(symbol).range.contains(n) && self.grid(symbol).contains(n);
                    if equal.is_some_and(taken) { Held::Sometimes } else { Held::Always }
                }
                None => self.tried(index),
            },
            Some((apart, _)) if self.is_affine(*apart) => Held::Sometimes,
            _ => self.tried(index),
        }
    }

    /// Whether `sum` is a sum of multiples of different symbols.
    fn is_affine(&self, sum: Dim) -> bool {
        let single = |factor| self.symbols.as_symbol(Dim::Expr(factor)).is_some();
        grid::terms(&self.symbols, sum).iter().all(|term| match term.factors.as_slice() {
            [] => true,
            [factor] => single(*factor),
            _ => false,
        })
    }

    /// [`held`](Self::held), by sizes from the lower bounds on.
    fn tried(&mut self, index: usize) -> Held {
        let Some(condition) = self.all.get(index) else { return Held::Unknown };
        let mut sides = Vec::new();
        // So many of each symbol that the combinations are at most `TRIED`.
        let each = (1..=TRIED).rev().find(|n| {
            let exponent = u32::try_from(condition.symbols.len()).unwrap_or(u32::MAX);
            n.checked_pow(exponent).is_some_and(|all| all <= TRIED)
        });
        let mut complete = true;
        for symbol in &condition.symbols {
            let range = self.symbols.get(*symbol).range;
            let step = self.grid(*symbol).step;
            let mut sizes = Vec::new();
            let mut next = range.min;
            while let Some(size) = next.filter(|size| range.contains(*size)) {
                if sizes.len() >= each.unwrap_or(1) {
                    break;
                }
                sizes.push(size);
                next = size.checked_add(step);
            }
            complete &= range.min.is_some() && next.is_none_or(|next| !range.contains(next));
            sides.push((*symbol, sizes));
        }
        let count = sides.iter().fold(1_usize, |count, (_, sizes)| count.saturating_mul(sizes.len()));
        for number in 0..count.min(TRIED) {
            if self.tries == 0 {
                return Held::Unknown;
            }
            self.tries = self.tries.saturating_sub(1);
            let mut rest = number;
            let mut sizes = Vec::with_capacity(sides.len());
            for (symbol, choice) in &sides {
                let (at, left) = (rest.checked_rem(choice.len()), rest.checked_div(choice.len()));
                sizes.extend(at.and_then(|at| choice.get(at)).map(|size| (*symbol, *size)));
                rest = left.unwrap_or(0);
            }
            match self.holds(index, &sizes) {
                Some(true) => {}
                Some(false) => return Held::Sometimes,
                None => complete = false,
            }
        }
        if complete && count > 0 { Held::Always } else { Held::Unknown }
    }
}

impl Prepared {
    fn new(symbols: &mut Symbols, condition: &Condition) -> Result<Self, Empty> {
        let (mut found, mut forms) = (Vec::new(), Vec::new());
        for (a, relation, b) in &condition.any {
            let apart = symbols.sub(*a, *b);
            let mut same = vec![(apart, *relation)];
            same.extend(with_remainders(symbols, apart).map(|apart| (apart, *relation)));
            forms.push(same);
            // Both sides: terms that cancel in their difference may overflow in them.
            symbols_in(symbols, *a, &mut found);
            symbols_in(symbols, *b, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        let (mut grids, mut exact) = (Vec::new(), false);
        if let [forms] = forms.as_slice() {
            for (apart, _) in forms.iter().filter(|(_, relation)| *relation == Relation::Equal) {
                let (more, all) = grid::of_equation(symbols, *apart)?;
                grids.extend(more);
                exact |= all;
            }
        }
        Ok(Self { any: condition.any.clone(), forms, symbols: found, grids, exact })
    }

    /// Whether all that it says is that two expressions are equal.
    pub(super) fn is_equality(&self) -> bool {
        matches!(self.any.as_slice(), [(_, Relation::Equal, _)])
    }

    /// Whether all that it says is that two expressions differ.
    pub(super) fn is_inequality(&self) -> bool {
        matches!(self.any.as_slice(), [(_, Relation::Unequal, _)])
    }

    /// The number that must not be positive, where that is all that it says.
    pub(super) fn at_most_zero(&self, symbols: &mut Symbols) -> Option<Dim> {
        let [(a, relation, b)] = self.any.as_slice() else { return None };
        let (less, more, apart) = match relation {
            Relation::AtMost => (*a, *b, 0),
            Relation::Below => (*a, *b, 1),
            Relation::AtLeast => (*b, *a, 0),
            Relation::Above => (*b, *a, 1),
            Relation::Equal | Relation::Unequal => return None,
        };
        let apart = symbols.add(less, Dim::Const(apart));
        Some(symbols.sub(apart, more))
    }
}

/// `sum`, or a positive multiple of it, with `a - a % k` for `k * (a // k)`, where there are quotients: it has fewer terms that
/// depend on each other.
fn with_remainders(symbols: &mut Symbols, sum: Dim) -> Option<Dim> {
    let mut sum = sum;
    let mut changed = false;
    // A quotient may hold another one.
    for _ in 0..4 {
        let quotient = grid::terms(symbols, sum).into_iter().find_map(|term| match term.factors.as_slice() {
            [factor] => match symbols.expr(*factor) {
                Expr::FloorDiv(a, Dim::Const(k @ 2..)) => Some((term.coefficient, *factor, *a, *k)),
                _ => None,
            },
            _ => None,
        });
        let Some((coefficient, factor, a, k)) = quotient else { break };
        // `k * sum`, where `k` times the quotient is `a - a % k`.
        let scaled = symbols.mul(sum, Dim::Const(k));
        let whole = symbols.mul(Dim::Expr(factor), Dim::Const(k));
        let remainder = symbols.modulo(a, Dim::Const(k));
        let exact = symbols.sub(a, remainder);
        let difference = symbols.sub(exact, whole);
        let difference = symbols.mul(difference, Dim::Const(coefficient));
        sum = symbols.add(scaled, difference);
        changed = true;
    }
    changed.then_some(sum)
}

/// Adds the symbols in `dim`.
pub(super) fn symbols_in(symbols: &Symbols, dim: Dim, found: &mut Vec<SymId>) {
    let Dim::Expr(id) = dim else { return };
    match symbols.expr(id) {
        Expr::Sym(symbol) => found.push(*symbol),
        Expr::Sum(terms) => {
            for factor in terms.iter().flat_map(|term| &term.factors) {
                symbols_in(symbols, Dim::Expr(*factor), found);
            }
        }
        Expr::FloorDiv(a, b) | Expr::Mod(a, b) => {
            symbols_in(symbols, *a, found);
            symbols_in(symbols, *b, found);
        }
        Expr::Min(operands) | Expr::Max(operands) => {
            operands.iter().for_each(|operand| symbols_in(symbols, *operand, found));
        }
        Expr::Opaque(_) => {}
    }
}

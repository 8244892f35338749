//! Constraints on the sizes that the program accepts: the guards that it records, and the
//! equalities between axes that its calls imply.

use super::Port;
use crate::meta::Implied;
use crate::program::Guard;
use crate::sym::{Dim, Range, SymId, Symbols};

/// A relation between two sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Unequal,
    AtMost,
    Below,
    AtLeast,
    Above,
}

/// As guards spell them; longer ones first.
const RELATIONS: [(&str, Relation); 6] = [
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Below),
    (">", Relation::Above),
];

/// How often equalities are applied one after another.
const ROUNDS: usize = 8;

/// Sizes of symbols.
pub(crate) type Sizes = Vec<(SymId, i64)>;

/// Relations that hold for all sizes that the program takes, as far as they are understood.
pub(crate) struct Constraints {
    pub(super) symbols: Symbols,
    pub(super) all: Vec<(Dim, Relation, Dim)>,
    /// The guards that are not understood.
    pub(super) unread: usize,
}

impl Constraints {
    /// The constraints of `guards`, Python expressions over the inputs `ports`, and of `implied`.
    pub(crate) fn new<'p>(
        implied: Implied,
        guards: &[Guard],
        ports: impl IntoIterator<Item = Port<'p>>,
    ) -> Self {
        let Implied { symbols, pairs } = implied;
        let all = pairs.into_iter().map(|(a, b)| (a, Relation::Equal, b)).collect();
        let mut constraints = Self { symbols, all, unread: 0 };
        let ports: Vec<Port<'_>> = ports.into_iter().collect();
        for part in guards.iter().flat_map(|guard| conjuncts(&guard.text)) {
            match relation(&mut constraints.symbols, part, &ports) {
                Some(constraint) => constraints.all.push(constraint),
                None => constraints.unread = constraints.unread.saturating_add(1),
            }
        }
        constraints
    }

    fn eval(&self, dim: Dim, sizes: &[(SymId, i64)]) -> Option<i64> {
        self.symbols.eval(dim, &|id| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size))
    }

    /// Changes sizes until the relations hold that say how large one of them is, one after another.
    pub(crate) fn repair(&self, sizes: &mut Sizes) {
        for _ in 0..ROUNDS {
            let mut changed = false;
            for (a, relation, b) in &self.all {
                let (Some(x), Some(y)) = (self.eval(*a, sizes), self.eval(*b, sizes)) else { continue };
                if !relation.holds(x, y) && !matches!(relation, Relation::Unequal) {
                    changed |= self.equalise(*a, *b, x.saturating_sub(y), sizes);
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Changes one size so that `a` and `b`, which are `apart`, are equal: rather one that is a whole side.
    fn equalise(&self, a: Dim, b: Dim, apart: i64, sizes: &mut Sizes) -> bool {
        let whole = [b, a].map(|side| self.symbols.as_symbol(side));
        let mut order: Vec<usize> = (0..sizes.len()).rev().collect();
        order.sort_by_key(|i| sizes.get(*i).is_none_or(|(id, _)| !whole.contains(&Some(*id))));
        for index in order {
            for by in [apart, apart.saturating_neg()] {
                let mut changed = sizes.clone();
                let Some((id, size)) = changed.get_mut(index) else { continue };
                *size = size.saturating_add(by);
                let fits = self.symbols.get(*id).range.contains(*size);
                if fits && self.eval(a, &changed) == self.eval(b, &changed) {
                    *sizes = changed;
                    return true;
                }
            }
        }
        false
    }

    /// Whether nothing that is known speaks against `sizes`.
    pub(crate) fn admit(&self, sizes: &[(SymId, i64)]) -> bool {
        let in_range = |(symbol, size): &(SymId, i64)| self.symbols.get(*symbol).range.contains(*size);
        let holds = |(a, relation, b): &(Dim, Relation, Dim)| {
            let (Some(x), Some(y)) = (self.eval(*a, sizes), self.eval(*b, sizes)) else { return true };
            relation.holds(x, y)
        };
        sizes.iter().all(in_range) && self.all.iter().all(holds)
    }
}

impl Relation {
    /// As guards spell it.
    pub(super) fn spelled(self) -> &'static str {
        RELATIONS.iter().find(|(_, relation)| *relation == self).map_or("", |(spelled, _)| spelled)
    }

    pub(super) fn opposite(self) -> Self {
        match self {
            Self::Equal => Self::Unequal,
            Self::Unequal => Self::Equal,
            Self::AtMost => Self::Above,
            Self::Below => Self::AtLeast,
            Self::AtLeast => Self::Below,
            Self::Above => Self::AtMost,
        }
    }

    /// The differences, of the first less the second, with which it holds; unequal numbers have any.
    pub(super) fn apart(self) -> Range {
        match self {
            Self::Equal => Range::new(0, 0),
            Self::Unequal => Range::ANY,
            Self::AtMost => Range { min: None, max: Some(0) },
            Self::Below => Range { min: None, max: Some(-1) },
            Self::AtLeast => Range { min: Some(0), max: None },
            Self::Above => Range { min: Some(1), max: None },
        }
    }

    /// Whether it holds between all numbers whose difference, the first less the second, is in `apart`.
    pub(super) fn certain(self, apart: Range) -> bool {
        match self {
            Self::Unequal => !apart.contains(0),
            _ => apart.and(self.apart()) == Some(apart),
        }
    }

    /// Whether it can hold between two numbers whose difference, the first less the second, is in `apart`.
    pub(super) fn possible(self, apart: Range) -> bool {
        match self {
            Self::Unequal => (apart.min, apart.max) != (Some(0), Some(0)),
            _ => apart.and(self.apart()).is_some(),
        }
    }

    pub(super) fn holds(self, x: i64, y: i64) -> bool {
        match self {
            Self::Equal => x == y,
            Self::Unequal => x != y,
            Self::AtMost => x <= y,
            Self::Below => x < y,
            Self::AtLeast => x >= y,
            Self::Above => x > y,
        }
    }
}

/// Parses a guard that is a single relation between two expressions.
pub(super) fn relation(
    symbols: &mut Symbols,
    text: &str,
    ports: &[Port<'_>],
) -> Option<(Dim, Relation, Dim)> {
    if [" or ", " if "].iter().any(|word| text.contains(word)) {
        return None;
    }
    let negated = text.trim().strip_prefix("not ").map(unwrapped);
    let text = over_symbols(symbols, negated.unwrap_or(text), ports)?;
    let (left, relation, right) = RELATIONS.iter().find_map(|(spelled, relation)| {
        let (left, right) = text.split_once(spelled)?;
        Some((left, *relation, right))
    })?;
    let relation = if negated.is_some() { relation.opposite() } else { relation };
    Some((symbols.parse(left).ok()?, relation, symbols.parse(right).ok()?))
}

/// The guard with every `L['x'][0].size()[1]` replaced by the expression that the program states for it.
fn over_symbols(symbols: &Symbols, text: &str, ports: &[Port<'_>]) -> Option<String> {
    let mut rest = text;
    let mut out = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once("L[") {
        out.push_str(before);
        let (name, after) = path(after)?;
        let port = ports.iter().find(|port| port.is(&name))?;
        let (dim, after) = match after.strip_prefix(".size()[") {
            Some(after) => {
                let (axis, after) = after.split_once(']')?;
                (*port.dims.get(axis.parse::<usize>().ok()?)?, after)
            }
            None => (port.number?, after),
        };
        out.push('(');
        out.push_str(&symbols.display(dim));
        out.push(')');
        rest = after;
    }
    out.push_str(rest);
    Some(out.replace("torch.sym_max", "max").replace("torch.sym_min", "min"))
}

/// The inputs that a guard is about.
pub(super) fn inputs_of(text: &str) -> Vec<String> {
    text.split("L[").skip(1).filter_map(|part| path(part)).map(|(name, _)| name).collect()
}

/// The parts of a guard that hold all at once.
pub(super) fn conjuncts(guard: &str) -> Vec<&str> {
    const AND: &str = " and ";
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, c) in guard.char_indices() {
        match c {
            '(' | '[' => depth = depth.saturating_add(1),
            ')' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && guard.get(at..).is_some_and(|rest| rest.starts_with(AND)) => {
                parts.extend(guard.get(start..at));
                start = at.saturating_add(AND.len());
            }
            _ => {}
        }
    }
    parts.extend(guard.get(start..));
    // Where one of several alternatives holds, no part of it needs to.
    if guard.contains(" or ") || guard.contains(" if ") { vec![guard] } else { parts }
}

/// The text without parentheses around all of it.
fn unwrapped(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text)
}

/// The placeholder that `'past'][0][1]…` means after its `L[`, and the rest.
fn path(text: &str) -> Option<(String, &str)> {
    let (first, mut rest) = text.split_once(']')?;
    let key = |text: &str| text.trim_matches(['\'', '"']).to_owned();
    let mut name = key(first);
    while let Some(after) = rest.strip_prefix('[') {
        let (next, after) = after.split_once(']')?;
        name = format!("{name}_{}", key(next));
        rest = after;
    }
    Some((name, rest))
}

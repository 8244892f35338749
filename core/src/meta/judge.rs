//! Whether two sizes can be the same.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::sym::{Dim, SymId, Symbols};

/// A size computed by a meta function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Extent {
    /// An expression.
    Dim(Dim),
    /// The value at the traced sizes.
    Traced(i64),
    /// Nothing is known.
    Unknown,
}

impl From<Dim> for Extent {
    fn from(dim: Dim) -> Self {
        Extent::Dim(dim)
    }
}

/// The symbols of a program, and their values when it was traced.
pub(super) struct Judge {
    /// Expressions, to compute with.
    pub(super) symbols: Symbols,
    traced: FxHashMap<SymId, i64>,
    /// Pairs of sizes with different expressions that must be equal.
    pub(super) equal: FxHashSet<(Dim, Dim)>,
}

impl Judge {
    pub(super) fn new(symbols: &Symbols) -> Self {
        let traced = symbols.iter().filter_map(|(id, symbol)| Some((id, symbol.hint?))).collect();
        // A copy: new expressions must not affect how the program's are printed.
        Self { symbols: symbols.clone(), traced, equal: FxHashSet::default() }
    }

    /// With these symbols themselves, and without the sizes at which the program was traced.
    pub(super) fn from_symbols(symbols: Symbols) -> Self {
        Self { symbols, traced: FxHashMap::default(), equal: FxHashSet::default() }
    }

    /// The value of `dim` when the program was traced.
    pub(super) fn traced(&self, dim: Dim) -> Option<i64> {
        self.symbols.eval(dim, &|symbol| self.traced.get(&symbol).copied())
    }

    /// Whether the two cannot be the same size.
    pub(super) fn differ(&mut self, extent: Extent, stated: Dim) -> bool {
        match extent {
            Extent::Unknown => false,
            Extent::Traced(n) => self.traced(stated).is_some_and(|s| s != n),
            Extent::Dim(dim) => self.distinct(dim, stated),
        }
    }

    /// Whether the two differ for all values of their symbols, or differed when the program was traced.
    pub(super) fn distinct(&mut self, a: Dim, b: Dim) -> bool {
        if a == b {
            return false;
        }
        if let (Dim::Const(a), Dim::Const(b)) = (a, b) {
            return a != b;
        }
        if let (Some(x), Some(y)) = (self.traced(a), self.traced(b)) {
            if x == y {
                self.equal.insert((a.min(b), a.max(b)));
            }
            return x != y;
        }
        let difference = self.symbols.sub(a, b);
        !self.symbols.range(difference).contains(0)
    }

    /// The size as a message spells it.
    pub(super) fn show(&self, extent: Extent) -> String {
        match extent {
            Extent::Dim(dim) => self.symbols.display(dim),
            Extent::Traced(n) => n.to_string(),
            Extent::Unknown => "?".to_owned(),
        }
    }
}

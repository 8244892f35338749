//! Symbolic dimensions: integer expressions over the exported program's symbols.
//!
//! A [`Dim`] is a small copyable handle; equal expressions have equal handles because the
//! [`Symbols`] table keeps every expression once, in a canonical form (a sum of products whose
//! factors are symbols or opaque operations such as a floor division).
//!
//! Expressions come from files, so each is bounded before it is built, and so is the table: beyond the bounds in
//! `size.rs` the result is an opaque, unknown integer.

#![deny(clippy::arithmetic_side_effects)]

mod build;
mod confine;
mod print;
mod range;
mod read;
mod size;
mod substitute;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

pub use confine::Empty;
pub use range::Range;
pub use read::ParseError;
pub use substitute::Substitution;

use crate::arena::{Arena, Id};
use size::Size;

/// A dimension or another integer of the program: a constant or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// A known number.
    Const(i64),
    /// An expression over symbols.
    Expr(ExprId),
}

impl Dim {
    /// The number, if the dimension is one.
    pub const fn as_const(self) -> Option<i64> {
        match self {
            Dim::Const(n) => Some(n),
            Dim::Expr(_) => None,
        }
    }
}

impl From<i64> for Dim {
    fn from(n: i64) -> Self {
        Dim::Const(n)
    }
}

/// A handle of an expression in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ExprId(u32);

impl ExprId {
    /// The handle as a number, for the binary contract.
    pub const fn raw(self) -> u32 {
        self.0
    }
}

/// Whether a text names a symbol: anything else reads as a number or as an expression.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// A symbol such as `s38` (backed by an input's size) or `u0` (known only at run time).
#[derive(Clone, Debug)]
pub struct Symbol {
    /// The name, as the program or the user spells it.
    pub name: String,
    /// The values that it may take.
    pub range: Range,
    /// The value it had when the program was traced.
    pub hint: Option<i64>,
}

/// The id of a [`Symbol`].
pub type SymId = Id<Symbol>;

/// A product of factors with an integer coefficient; no factors make it the constant term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term {
    /// The factors, sorted; a repeated factor is a power.
    pub factors: SmallVec<[ExprId; 2]>,
    /// The coefficient, never 0.
    pub coefficient: i64,
}

/// A canonical expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A symbol.
    Sym(SymId),
    /// A sum of at least one non-constant term, sorted by factors.
    Sum(Box<[Term]>),
    /// `floor(a / b)`.
    FloorDiv(Dim, Dim),
    /// `a mod b`, with the sign of `b`.
    Mod(Dim, Dim),
    /// The smallest of the operands.
    Min(Box<[Dim]>),
    /// The largest of the operands.
    Max(Box<[Dim]>),
    /// An integer about which nothing is known; each is distinct.
    Opaque(u32),
}

/// The program's symbols and every expression built from them.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    symbols: Arena<Symbol>,
    by_name: FxHashMap<String, SymId>,
    exprs: IndexSet<Expr, FxBuildHasher>,
    /// The size of each expression, by [`ExprId::raw`].
    sizes: Vec<Size>,
    opaque: u32,
    /// The handles that all expressions hold together.
    held: usize,
}

impl Symbols {
    /// The symbol called `name`, made with an unbounded range when it is new.
    pub fn symbol(&mut self, name: &str) -> Dim {
        let id = match self.by_name.get(name) {
            Some(id) => *id,
            None => {
                let symbol = Symbol { name: name.to_owned(), range: Range::ANY, hint: None };
                let id = self.symbols.push(symbol);
                self.by_name.insert(name.to_owned(), id);
                id
            }
        };
        self.intern(Expr::Sym(id))
    }

    /// A fresh integer about which nothing is known.
    pub fn opaque(&mut self) -> Dim {
        self.opaque = self.opaque.saturating_add(1);
        self.insert(Expr::Opaque(self.opaque), Size::LEAF)
    }

    /// The id of the symbol called `name`.
    pub fn find(&self, name: &str) -> Option<SymId> {
        self.by_name.get(name).copied()
    }

    /// The symbol behind `id`.
    pub fn get(&self, id: SymId) -> &Symbol {
        &self.symbols[id]
    }

    /// The symbol behind `id`, to set its range or hint.
    pub fn get_mut(&mut self, id: SymId) -> &mut Symbol {
        &mut self.symbols[id]
    }

    /// Gives a symbol the name that the user chose.
    pub fn rename(&mut self, id: SymId, name: &str) {
        let old = std::mem::replace(&mut self.symbols[id].name, name.to_owned());
        self.by_name.remove(&old);
        self.by_name.insert(name.to_owned(), id);
    }

    /// Every symbol in the order in which it was first met.
    pub fn iter(&self) -> impl Iterator<Item = (SymId, &Symbol)> {
        self.symbols.iter()
    }

    /// The expression behind a handle.
    #[expect(clippy::indexing_slicing, reason = "this table gave out the handle, and nothing is removed")]
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    /// The handle with this number, if there is one.
    pub fn check(&self, raw: u32) -> Option<ExprId> {
        ((raw as usize) < self.exprs.len()).then_some(ExprId(raw))
    }

    /// The symbol, when the dimension is nothing but one.
    pub fn as_symbol(&self, dim: Dim) -> Option<SymId> {
        match dim {
            Dim::Expr(id) => match self.expr(id) {
                Expr::Sym(sym) => Some(*sym),
                _ => None,
            },
            Dim::Const(_) => None,
        }
    }

    /// The handle of `expr`, or an opaque integer where it would be too large.
    fn intern(&mut self, expr: Expr) -> Dim {
        if let Some(at) = self.exprs.get_index_of(&expr) {
            return Dim::Expr(ExprId(at as u32));
        }
        match self.measure(&expr) {
            Some(size) => self.insert(expr, size),
            None => self.opaque(),
        }
    }

    fn insert(&mut self, expr: Expr, size: Size) -> Dim {
        let (at, is_new) = self.exprs.insert_full(expr);
        if is_new {
            self.sizes.push(size);
        }
        Dim::Expr(ExprId(at as u32))
    }
}

#[cfg(test)]
mod tests;

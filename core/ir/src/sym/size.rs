//! Bounds on the size of expressions.
//!
//! Equal parts are stored once, so a file of `n` operators can name an expression whose text has `2^n` letters.
//! Ranges, texts, values and substitutions walk an expression as a tree; the bound on the tree bounds them all.

use super::{Dim, Expr, ExprId, Symbols};

/// The most products of terms that a multiplication makes.
pub(super) const MAX_TERMS: usize = 64;

/// The most factors of a term.
pub(super) const MAX_FACTORS: usize = 32;

/// The most terms of a sum, and operands of a minimum or a maximum.
pub(super) const MAX_PARTS: usize = 256;

/// The most operands of a minimum or a maximum that are compared with each other.
pub(super) const MAX_COMPARED: usize = 8;

/// The most nodes of an expression, written out as a tree.
const MAX_NODES: u32 = 1 << 11;

/// How deep expressions nest at most.
const MAX_DEPTH: u32 = 1 << 8;

/// The most handles that all expressions of a table hold together.
const MAX_HELD: usize = 1 << 20;

/// The size of an expression, written out as a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    nodes: u32,
    depth: u32,
}

impl Size {
    /// Of a symbol, a number or an opaque integer.
    pub(super) const LEAF: Self = Self { nodes: 1, depth: 1 };

    fn around(self, inner: Self) -> Self {
        let depth = self.depth.max(inner.depth.saturating_add(1));
        Self { nodes: self.nodes.saturating_add(inner.nodes), depth }
    }
}

impl Symbols {
    /// The nodes of an expression, written out as a tree.
    pub(super) fn nodes(&self, id: ExprId) -> u32 {
        self.sizes.get(id.0 as usize).map_or(1, |size| size.nodes)
    }

    /// The size of a new expression; `None` where it or the table would become too large.
    pub(super) fn measure(&mut self, expr: &Expr) -> Option<Size> {
        let of = |id: ExprId| self.sizes.get(id.0 as usize).copied().unwrap_or(Size::LEAF);
        let part = |dim: &Dim| match dim {
            Dim::Const(_) => Size::LEAF,
            Dim::Expr(id) => of(*id),
        };
        let (size, handles) = match expr {
            Expr::Sym(_) | Expr::Opaque(_) => (Size::LEAF, 0),
            Expr::Sum(terms) => {
                let factors = terms.iter().flat_map(|term| &term.factors);
                let handles = factors.clone().count().saturating_add(terms.len());
                (factors.fold(Size::LEAF, |size, id| size.around(of(*id))), handles)
            }
            Expr::FloorDiv(a, b) | Expr::Mod(a, b) => (Size::LEAF.around(part(a)).around(part(b)), 2),
            Expr::Min(operands) | Expr::Max(operands) => {
                (operands.iter().fold(Size::LEAF, |size, dim| size.around(part(dim))), operands.len())
            }
        };
        let held = self.held.saturating_add(handles);
        if size.nodes > MAX_NODES || size.depth > MAX_DEPTH || held > MAX_HELD {
            return None;
        }
        self.held = held;
        Some(size)
    }
}

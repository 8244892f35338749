//! Sizes at run time: the axes and numbers of the model that hold each expression, and the arithmetic
//! that computes the others. Everything is computed once per block.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::driver::Driver;
use crate::ir::{Attr, Attribute, BlockId, ValueId};
use crate::op;
use crate::sym::{Dim, Expr, ExprId, SymId, Symbols, Term};

/// A source of an expression's value.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// An i64 value of shape `[1]`.
    Value(ValueId),
    /// An axis of a tensor.
    Axis(ValueId, usize),
}

/// The values that are known to hold an expression.
#[derive(Debug, Default)]
pub(super) struct DimValues {
    /// Per expression, the first source of each block.
    sources: FxHashMap<ExprId, SmallVec<[(BlockId, Source); 1]>>,
    /// Per symbol, an expression that is linear in it alone: `(expression, factor, offset)`.
    linear: FxHashMap<SymId, (ExprId, i64, i64)>,
    /// The changes since the outermost nested graph began, while there is one.
    changes: Vec<Change>,
    /// The number of nested graphs that are being lowered.
    depth: usize,
}

/// A change that ends with the nested graph that made it.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// The source of an expression in a block, with the earlier one.
    Source(ExprId, BlockId, Option<Source>),
    /// A symbol got its linear expression.
    Linear(SymId),
}

impl DimValues {
    /// Axis `axis` of `value` has the size `dim`.
    pub(super) fn offer_axis(
        &mut self,
        symbols: &Symbols,
        block: BlockId,
        dim: Dim,
        value: ValueId,
        axis: usize,
    ) {
        let Dim::Expr(id) = dim else { return };
        self.offer(block, id, Source::Axis(value, axis));
        if let Expr::Sum(_) = symbols.expr(id)
            && let Some((factor, symbol, offset)) = symbols.linear(dim)
            && let Entry::Vacant(place) = self.linear.entry(symbol)
        {
            place.insert((id, factor, offset));
            if self.depth > 0 {
                self.changes.push(Change::Linear(symbol));
            }
        }
    }

    /// Begins a nested graph, and returns the mark at which `leave` ends it.
    ///
    /// Its symbols are known inside only: lowered again, with other inputs, they have other values.
    pub(super) fn enter(&mut self) -> usize {
        self.depth += 1;
        self.changes.len()
    }

    /// Undoes the changes since `enter` returned `mark`.
    pub(super) fn leave(&mut self, mark: usize) {
        self.depth = self.depth.saturating_sub(1);
        while self.changes.len() > mark {
            match self.changes.pop() {
                Some(Change::Linear(symbol)) => drop(self.linear.remove(&symbol)),
                Some(Change::Source(id, block, old)) => {
                    let places = self.sources.entry(id).or_default();
                    places.retain(|(b, _)| *b != block);
                    places.extend(old.map(|source| (block, source)));
                }
                None => return,
            }
        }
    }

    /// `value`, an i64 of shape `[1]`, equals `dim`.
    pub(super) fn offer_value(&mut self, block: BlockId, dim: Dim, value: ValueId) {
        if let Dim::Expr(id) = dim {
            self.offer(block, id, Source::Value(value));
        }
    }

    fn offer(&mut self, block: BlockId, id: ExprId, source: Source) {
        let places = self.sources.entry(id).or_default();
        let old = match places.iter_mut().find(|(b, _)| *b == block) {
            // A number is cheaper to use than an axis.
            Some((_, old @ Source::Axis(..))) if matches!(source, Source::Value(_)) => {
                Some(std::mem::replace(old, source))
            }
            Some(_) => return,
            None => {
                places.push((block, source));
                None
            }
        };
        if self.depth > 0 {
            self.changes.push(Change::Source(id, block, old));
        }
    }
}

impl Driver<'_> {
    /// Returns an i64 vector of `dims`; `None` if one of them cannot be computed from existing values.
    pub(super) fn dims_value(&mut self, dims: &[Dim]) -> Option<ValueId> {
        if let Some(ints) = dims.iter().map(|d| d.as_const()).collect::<Option<Vec<i64>>>() {
            return Some(self.int_constant(&ints));
        }
        if let Some(whole) = self.whole_shape(dims) {
            return Some(whole);
        }
        let mut parts = Vec::new();
        for run in dims.chunk_by(|a, b| a.as_const().is_some() && b.as_const().is_some()) {
            match run {
                [dim @ Dim::Expr(_)] => parts.push(self.dim_value(*dim)?),
                _ => {
                    let run: Vec<i64> = run.iter().filter_map(|d| d.as_const()).collect();
                    parts.push(self.int_constant(&run));
                }
            }
        }
        if let [single] = parts.as_slice() {
            return Some(*single);
        }
        let axis = Attribute { name: "axis".into(), value: Attr::Int(0) };
        Some(self.append_with(op::Concat, &parts, vec![axis]))
    }

    /// Returns the dims as one `Shape` node, if they are consecutive axes of one value.
    fn whole_shape(&mut self, dims: &[Dim]) -> Option<ValueId> {
        let first = dims.iter().position(|d| matches!(d, Dim::Expr(_)))?;
        let Dim::Expr(id) = *dims.get(first)? else { return None };
        let Source::Axis(value, axis) = self.source(id)? else { return None };
        let start = axis.checked_sub(first)?;
        let shape = self.model.graph.values[value].ty.shape()?.dims()?;
        let covered = shape.get(start..start.checked_add(dims.len())?)?;
        if dims.len() < 2 || !covered.iter().zip(dims).all(|(have, want)| *have == Some(*want)) {
            return None;
        }
        let end = start + dims.len();
        let whole = start == 0 && end == shape.len();
        let attributes = if whole { Vec::new() } else { range(start, end) };
        Some(self.append_with(op::Shape, &[value], attributes))
    }

    /// Returns `dim` as an i64 of shape `[1]`; `None` if it cannot be computed from existing values.
    pub(super) fn dim_value(&mut self, dim: Dim) -> Option<ValueId> {
        let id = match dim {
            Dim::Const(n) => return Some(self.int_constant(&[n])),
            Dim::Expr(id) => id,
        };
        let value = match self.source(id) {
            Some(Source::Value(value)) => return Some(value),
            Some(Source::Axis(value, axis)) => self.append_with(op::Shape, &[value], range(axis, axis + 1)),
            None => self.compute(id)?,
        };
        self.model.graph.set_shape_value(value, smallvec::smallvec![dim]);
        self.dims.offer_value(self.block, dim, value);
        Some(value)
    }

    /// Returns a source of an expression that is visible in the current block.
    fn source(&self, id: ExprId) -> Option<Source> {
        let places = self.dims.sources.get(&id)?;
        let mut block = Some(self.block);
        while let Some(current) = block {
            if let Some((_, source)) = places.iter().find(|(b, _)| *b == current) {
                return Some(*source);
            }
            block = self.model.graph.blocks.find(current)?.parent;
        }
        None
    }

    fn compute(&mut self, id: ExprId) -> Option<ValueId> {
        match self.model.symbols.expr(id).clone() {
            Expr::Sym(symbol) => {
                // Solve factor * symbol + offset = size.
                let (carrier, factor, offset) = *self.dims.linear.get(&symbol)?;
                let extent = self.dim_value(Dim::Expr(carrier))?;
                let shifted = if offset == 0 { extent } else { self.arithmetic(op::Sub, extent, offset) };
                Some(if factor == 1 { shifted } else { self.arithmetic(op::Div, shifted, factor) })
            }
            Expr::Sum(terms) => {
                let mut total: Option<ValueId> = None;
                let mut constant = 0;
                for Term { factors, coefficient } in terms {
                    if factors.is_empty() {
                        constant = coefficient;
                        continue;
                    }
                    let mut product: Option<ValueId> = None;
                    for factor in factors {
                        let value = self.dim_value(Dim::Expr(factor))?;
                        product = Some(product.map_or(value, |p| self.append(op::Mul, &[p, value])));
                    }
                    let product = product?;
                    let term = if coefficient == 1 {
                        product
                    } else {
                        self.arithmetic(op::Mul, product, coefficient)
                    };
                    total = Some(total.map_or(term, |t| self.append(op::Add, &[t, term])));
                }
                let total = total?;
                Some(if constant == 0 { total } else { self.arithmetic(op::Add, total, constant) })
            }
            Expr::FloorDiv(a, b) => {
                // ONNX divides integers towards zero, which is the floor only for nonnegative ones.
                let (x, y) = (self.dim_value(a)?, self.dim_value(b)?);
                let nonnegative = |d| self.model.symbols.range(d).min.is_some_and(|n| n >= 0);
                if nonnegative(a) && nonnegative(b) {
                    return Some(self.append(op::Div, &[x, y]));
                }
                // floor(x / y) = (x - (x mod y)) / y, where Mod takes the divisor's sign.
                let remainder = self.append(op::Mod, &[x, y]);
                let exact = self.append(op::Sub, &[x, remainder]);
                Some(self.append(op::Div, &[exact, y]))
            }
            Expr::Mod(a, b) => {
                let (x, y) = (self.dim_value(a)?, self.dim_value(b)?);
                Some(self.append(op::Mod, &[x, y]))
            }
            Expr::Min(operands) => self.extreme(op::Min, &operands),
            Expr::Max(operands) => self.extreme(op::Max, &operands),
            Expr::Opaque(_) => None,
        }
    }

    fn extreme(&mut self, op: &str, operands: &[Dim]) -> Option<ValueId> {
        let values = operands.iter().map(|d| self.dim_value(*d)).collect::<Option<Vec<_>>>()?;
        Some(self.append(op, &values))
    }

    fn arithmetic(&mut self, op: &str, value: ValueId, constant: i64) -> ValueId {
        let constant = self.int_constant(&[constant]);
        self.append(op, &[value, constant])
    }
}

fn range(start: usize, end: usize) -> Vec<Attribute> {
    let int = |name: &str, n: usize| Attribute { name: name.into(), value: Attr::Int(n as i64) };
    vec![int("start", start), int("end", end)]
}

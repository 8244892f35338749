//! Elementwise operators.

use smallvec::smallvec;

use super::cx::{Cx, Dims, Shapes, one};
use crate::ir::Shape;
use crate::sym::{Dim, Symbols};

/// The first output has the shape of the first input.
pub(in crate::ops) fn same(cx: &mut Cx<'_>) -> Option<Shapes> {
    one(cx.dims(0)?.iter().copied())
}

/// The shape of an input.
pub(in crate::ops) fn shape_of(cx: &Cx<'_>, index: usize) -> Shape {
    cx.dims(index).map_or(Shape::Unranked, |d| Shape::Ranked(d.into()))
}

/// Every input is broadcast to the output.
pub(in crate::ops) fn all(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut dims = Dims::new();
    for index in 0..cx.node.inputs.len() {
        dims = together(cx.symbols, &dims, cx.dims(index)?)?;
    }
    Some(smallvec![Shape::Ranked(dims)])
}

/// Operators that return one number.
pub(in crate::ops) fn scalar(_: &mut Cx<'_>) -> Option<Shapes> {
    one([])
}

/// The broadcast of two shapes, `None` when they do not fit.
pub(in crate::ops) fn together(symbols: &Symbols, a: &[Option<Dim>], b: &[Option<Dim>]) -> Option<Dims> {
    let rank = a.len().max(b.len());
    let from_end = |dims: &[Option<Dim>], back: usize| match dims.len().checked_sub(back) {
        Some(at) => dims[at],
        None => Some(Dim::Const(1)),
    };
    let fits = (1..=rank).rev().map(|back| extent(symbols, from_end(a, back), from_end(b, back)));
    fits.collect::<Result<_, Misfit>>().ok()
}

/// Two extents that cannot be broadcast.
struct Misfit;

/// The broadcast of two extents, where it is known.
fn extent(symbols: &Symbols, a: Option<Dim>, b: Option<Dim>) -> Result<Option<Dim>, Misfit> {
    // An extent that is never 1 is the result's, whatever the other one is.
    let decides = |d: Dim| match d {
        Dim::Const(n) => n != 1,
        Dim::Expr(_) => symbols.range(d).min.is_some_and(|n| n > 1),
    };
    Ok(match (a, b) {
        (Some(Dim::Const(1)), other) | (other, Some(Dim::Const(1))) => other,
        (Some(Dim::Const(x)), Some(Dim::Const(y))) if x != y => return Err(Misfit),
        (a, b) if a == b => a,
        (Some(a @ Dim::Const(_)), _) | (_, Some(a @ Dim::Const(_))) => Some(a),
        (Some(a), _) if decides(a) => Some(a),
        (_, Some(b)) if decides(b) => Some(b),
        _ => None,
    })
}

//! Elementwise operators.

use smallvec::smallvec;

use super::cx::{Cx, Dims, Shapes, may_equal, one};
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

/// [`same`], with an attribute `axis` that names one of its axes.
pub(in crate::ops) fn along(cx: &mut Cx<'_>) -> Option<Shapes> {
    if let (Some(dims), Some(at)) = (cx.dims(0), cx.node.int("axis")) {
        cx.exists(at, dims.len())?;
    }
    same(cx)
}

/// [`same`], with an input that broadcasts to the first one.
pub(in crate::ops) fn scaled(cx: &mut Cx<'_>, by: usize) -> Option<Shapes> {
    onto(cx, by, cx.dims(0)?)?;
    same(cx)
}

/// Every input is broadcast to the output.
pub(in crate::ops) fn all(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut dims = Dims::new();
    for index in 0..cx.node.inputs.len() {
        dims = together(cx, &dims, cx.dims(index)?)?;
    }
    Some(smallvec![Shape::Ranked(dims)])
}

/// Operators that return one number.
pub(in crate::ops) fn scalar(_: &mut Cx<'_>) -> Option<Shapes> {
    one([])
}

/// The broadcast of two shapes; refutes shapes that do not fit.
pub(in crate::ops) fn together(cx: &mut Cx<'_>, a: &[Option<Dim>], b: &[Option<Dim>]) -> Option<Dims> {
    let rank = a.len().max(b.len());
    let from_end = |dims: &[Option<Dim>], back: usize| match dims.len().checked_sub(back) {
        Some(at) => dims[at],
        None => Some(Dim::Const(1)),
    };
    let mut out = Dims::new();
    for back in (1..=rank).rev() {
        let (x, y) = (from_end(a, back), from_end(b, back));
        if let Some((x, y)) = x.zip(y).filter(|(x, y)| clash(cx.symbols, *x, *y)) {
            let (x, y) = (cx.symbols.display(x), cx.symbols.display(y));
            return cx.refute(format!("the sizes {x} and {y} of axis -{back} do not broadcast"));
        }
        if let Some((x, y)) = x.zip(y)
            && x != y
            && !may_be(cx.symbols, x, 1)
            && !may_be(cx.symbols, y, 1)
        {
            cx.equal.push((x, y));
        }
        out.push(extent(cx.symbols, x, y));
    }
    Some(out)
}

/// Refutes an input that does not broadcast to the sizes `to` without changing them.
pub(in crate::ops) fn onto(cx: &mut Cx<'_>, index: usize, to: &[Option<Dim>]) -> Option<()> {
    let Some(dims) = cx.dims(index) else { return Some(()) };
    let Some(ahead) = to.len().checked_sub(dims.len()) else {
        return cx.refute(format!(
            "input {index} has {} axes, more than the {} of the result",
            dims.len(),
            to.len()
        ));
    };
    for (dim, to) in dims.iter().zip(&to[ahead..]) {
        if let Some(dim) = dim.filter(|d| !may_be(cx.symbols, *d, 1)) {
            cx.equal(Some(dim), *to, &format!("input {index} does not broadcast to the result"))?;
        }
    }
    Some(())
}

/// Whether no sizes make two sizes broadcast.
fn clash(symbols: &mut Symbols, a: Dim, b: Dim) -> bool {
    let nonsense = |d: Dim| d.as_const().is_some_and(|n| n < 0);
    !nonsense(a)
        && !nonsense(b)
        && !may_be(symbols, a, 1)
        && !may_be(symbols, b, 1)
        && !may_equal(symbols, a, b)
}

fn may_be(symbols: &Symbols, dim: Dim, n: i64) -> bool {
    symbols.range(dim).contains(n)
}

/// The broadcast of two sizes, where it is known.
fn extent(symbols: &Symbols, a: Option<Dim>, b: Option<Dim>) -> Option<Dim> {
    // A size that is never 1 is the result's, whatever the other one is.
    let decides = |d: Dim| match d {
        Dim::Const(n) => n != 1,
        Dim::Expr(_) => symbols.range(d).min.is_some_and(|n| n > 1),
    };
    match (a, b) {
        (Some(Dim::Const(1)), other) | (other, Some(Dim::Const(1))) => other,
        (a, b) if a == b => a,
        (Some(a @ Dim::Const(_)), _) | (_, Some(a @ Dim::Const(_))) => Some(a),
        (Some(a), _) if decides(a) => Some(a),
        (_, Some(b)) if decides(b) => Some(b),
        _ => None,
    }
}

//! Reductions.

use smallvec::SmallVec;

use super::cx::{Cx, Shapes, one};
use crate::sym::Dim;

/// The `Reduce…` operators.
pub(super) fn reduce(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let keep = cx.int("keepdims", 1) != 0;
    let given = cx.input(1).is_some() || cx.node.ints("axes").is_some();
    let axes = cx.axes(1, dims.len());
    let empty = axes.as_ref().is_some_and(SmallVec::is_empty);
    if !given || empty {
        // Without axes every axis is reduced, or none when the node says so.
        if cx.int("noop_with_empty_axes", 0) != 0 {
            return one(dims.iter().copied());
        }
        return removed(dims, |_| true, keep);
    }
    match axes {
        Some(axes) => removed(dims, |axis| axes.contains(&axis), keep),
        None if keep => one(dims.iter().map(|_| None)),
        None => None,
    }
}

/// `ArgMax` and `ArgMin`.
pub(super) fn arg(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let axis = cx.axis(0, dims.len())?;
    removed(dims, |a| a == axis, cx.int("keepdims", 1) != 0)
}

fn removed(dims: &[Option<Dim>], gone: impl Fn(usize) -> bool, keep: bool) -> Option<Shapes> {
    one(dims.iter().enumerate().filter_map(|(axis, dim)| match (gone(axis), keep) {
        (false, _) => Some(*dim),
        (true, true) => Some(Some(Dim::Const(1))),
        (true, false) => None,
    }))
}

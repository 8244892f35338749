//! The same elements with axes in another order.

use onnxport_sdk::prelude::*;

/// `x` with its axes in the order of `perm`; the pair axis of a complex tensor stays last.
pub(crate) fn permuted(cx: &Lower, x: Value, mut perm: Vec<usize>) -> Res<Value> {
    let rank = cx.rank(x)?;
    perm.extend(perm.len()..rank);
    Ok(cx.transpose(x, &perm))
}

fn swapped(cx: &Lower, x: Value, dim0: i64, dim1: i64) -> Res<Value> {
    let rank = cx.result(0)?.rank();
    let (a, b) = (cx.axis(dim0, rank)?, cx.axis(dim1, rank)?);
    let swap = |axis| {
        if axis == a {
            b
        } else if axis == b {
            a
        } else {
            axis
        }
    };
    permuted(cx, x, (0..rank).map(swap).collect())
}

/// `result[i_0, …] = self[…]` with axis `k` of the result being axis `dims[k]` of `self`.
#[lowering("aten.permute.default", "aten.permute_copy.default", complex)]
fn permute(cx: &Lower, x: Value, dims: Axes) -> Res<Value> {
    permuted(cx, x, dims.0)
}

/// As `permute`.
#[lowering("prims.transpose.default", complex)]
fn prims_transpose(cx: &Lower, x: Value, permutation: Axes) -> Res<Value> {
    permuted(cx, x, permutation.0)
}

/// `self` with axes `dim0` and `dim1` exchanged.
#[lowering("aten.transpose.int", "aten.transpose_copy.int", "aten.swapdims.default", complex)]
fn transpose(cx: &Lower, x: Value, dim0: i64, dim1: i64) -> Res<Value> {
    swapped(cx, x, dim0, dim1)
}

/// `self` with axes `axis0` and `axis1` exchanged.
#[lowering("aten.swapaxes.default", complex)]
fn swapaxes(cx: &Lower, x: Value, axis0: i64, axis1: i64) -> Res<Value> {
    swapped(cx, x, axis0, axis1)
}

/// `self` with its last two axes exchanged; a vector stays as it is.
#[lowering("aten.t.default", "aten.t_copy.default", "aten.mT.default", complex)]
fn matrix_transpose(cx: &Lower, x: Value) -> Res<Value> {
    if cx.result(0)?.rank() < 2 { Ok(x) } else { swapped(cx, x, -2, -1) }
}

/// The conjugate transpose of real matrices: the last two axes exchanged.
#[lowering("aten.mH.default", "aten.matrix_H.default", "aten.adjoint.default")]
fn adjoint(cx: &Lower, x: Value) -> Res<Value> {
    matrix_transpose(cx, x)
}

/// `self` with its axes in reverse.
#[lowering("aten.numpy_T.default", complex)]
fn numpy_t(cx: &Lower, x: Value) -> Res<Value> {
    let rank = cx.result(0)?.rank();
    permuted(cx, x, (0..rank).rev().collect())
}

/// Axis `source[k]` of `self` becomes axis `destination[k]` of the result; the others keep their order.
#[lowering("aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int", "aten.moveaxis.intlist", complex)]
fn movedim(cx: &Lower, x: Value, source: Axes, destination: Axes) -> Res<Value> {
    let rank = cx.result(0)?.rank();
    let mut others = (0..rank).filter(|a| !source.0.contains(a));
    let perm = (0..rank).map(|a| match destination.0.iter().position(|d| *d == a) {
        Some(k) => source.0.get(k).copied(),
        None => others.next(),
    });
    let perm: Option<Vec<usize>> = perm.collect();
    permuted(cx, x, perm.ok_or("arguments `source` and `destination` differ in length")?)
}

//! Products of vectors, matrices and stacks of them.

use onnxport_sdk::prelude::*;

use super::{matmul, swap_last};
use crate::support::empty;

/// The matrix product, with NumPy's rules for one and for more than two axes.
#[lowering(
    "aten.matmul.default",
    "aten.linalg_matmul.default",
    "aten.mm.default",
    "aten.bmm.default",
    "aten.mv.default",
    "aten.dot.default",
    multilinear
)]
fn product(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    if let Some(nothing) = empty(cx)? {
        return Ok(nothing);
    }
    let dtype = cx.result(0)?.dtype;
    Ok(matmul(cx, a, b, dtype))
}

/// The product of two real vectors.
#[lowering("aten.vdot.default")]
fn vdot(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    product(cx, a, b)
}

/// `sum_k a[..., k] * b[..., k]` for all leading axes of both.
#[lowering("aten.inner.default", multilinear)]
fn inner(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (left, right) = (cx.rank(a)?, cx.rank(b)?);
    if left == 0 || right == 0 {
        return Ok(a * b);
    }
    if right == 1 {
        return Ok(matmul(cx, a, b, dtype));
    }
    let last = cx.dim(b, right - 1);
    let flat = if right == 2 {
        b
    } else {
        let rows = cx.shape(b)?[..right - 1].iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
        cx.reshape_to(b, &[rows, last])
    };
    let product = matmul(cx, a, swap_last(cx, flat)?, dtype);
    if right == 2 { Ok(product) } else { cx.reshape_to_result(product, 0) }
}

/// `a[i] * b[j]`.
#[lowering("aten.outer.default", "aten.ger.default", multilinear)]
fn outer(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, b) = (cx.cast(a, dtype), cx.cast(b, dtype));
    let column = cx.unsqueeze(a, &[1]);
    Ok(if dtype == DType::Bool { column & b } else { column * b })
}

/// The product of a chain of matrices, from the left; the first and the last may be vectors.
#[lowering("aten.chain_matmul.default", "aten.linalg_multi_dot.default", multilinear)]
fn chain(cx: &Lower, x: Vec<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (first, rest) = x.split_first().ok_or("the list of matrices is empty")?;
    Ok(rest.iter().fold(*first, |product, matrix| matmul(cx, product, *matrix, dtype)))
}

/// `a[i] * b[j]` at `[i * len(b) + j]`, for every axis; the shorter shape gets leading ones.
#[lowering("aten.kron.default", multilinear)]
fn kron(cx: &Lower, a: Value, b: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (left, right) = (cx.rank(a)? as i64, cx.rank(b)? as i64);
    let rank = left.max(right);
    // Both get twice the axes: those of `a` stand at even positions, those of `b` at odd ones.
    let spread = |x: Value, own: i64, offset: i64| {
        let kept: Vec<i64> = (rank - own..rank).map(|i| 2 * i + offset).collect();
        let axes: Vec<i64> = (0..2 * rank).filter(|i| !kept.contains(i)).collect();
        cx.unsqueeze(cx.cast(x, dtype), &axes)
    };
    let (a, b) = (spread(a, left, 0), spread(b, right, 1));
    let product = if dtype == DType::Bool { a & b } else { a * b };
    cx.reshape_to_result(product, 0)
}

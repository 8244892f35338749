//! Products of matrices, and distances.

mod distance;
mod einsum;
mod grouped;
mod linear;
mod products;

use onnxport_sdk::prelude::*;

pub(crate) use distance::difference;

/// `MatMul` of operands of type `dtype`; narrow integers, for which ONNX has no product, compute in
/// i32 and wrap back.
pub(crate) fn matmul(cx: &Lower, a: Value, b: Value, dtype: DType) -> Value {
    let compute = match dtype {
        DType::I8 | DType::U8 | DType::I16 | DType::Bool => DType::I32,
        other => other,
    };
    cx.cast(cx.matmul(cx.cast(a, compute), cx.cast(b, compute)), dtype)
}

/// `x` with its last two axes swapped.
pub(crate) fn swap_last(cx: &Lower, x: Value) -> Res<Value> {
    let rank = cx.rank(x)?;
    let mut perm: Vec<usize> = (0..rank).collect();
    if let [.., a, b] = perm.as_mut_slice() {
        std::mem::swap(a, b);
    }
    Ok(cx.transpose(x, &perm))
}

/// `factor * x`; a factor of one costs nothing.
pub(crate) fn scaled(cx: &Lower, x: Value, factor: &Scalar, dtype: DType) -> Value {
    if factor.is(1.0) {
        return x;
    }
    x * cx.number(factor, dtype)
}

/// The products of matrices `[m, n]` with the vectors of `n` elements along `axis`.
pub(crate) fn along(cx: &Lower, weights: Value, x: Value, axis: usize) -> Res<Value> {
    let rank = cx.rank(x)?;
    if axis + 2 == rank {
        return Ok(cx.matmul(weights, x));
    }
    // ONNX has no product along another axis.
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(axis, rank.saturating_sub(2));
    Ok(cx.transpose(cx.matmul(weights, cx.transpose(x, &perm)), &perm))
}

//! Products with something added.

use onnxport_sdk::prelude::*;

use super::{matmul, scaled, swap_last};
use crate::support::empty;

/// `input @ weight^T + bias`, over the last axis of `input`.
#[lowering("aten.linear.default")]
fn linear(cx: &Lower, x: Value, weight: Value, bias: Option<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if let Some(nothing) = empty(cx)? {
        return Ok(nothing);
    }
    if let Some(product) = crate::quantize::linear(cx, x, weight)? {
        return Ok(bias.map_or(product, |bias| product + bias));
    }
    if cx.rank(x)? == 2 && cx.rank(weight)? == 2 && !cx.dim(x, 1).is(0) && dtype.kind() == Kind::Float {
        return Ok(cx.op(op::Gemm).input(x).input(weight).maybe(bias).trans_b(1).one());
    }
    let product = matmul(cx, x, swap_last(cx, weight)?, dtype);
    Ok(match bias {
        Some(bias) => product + bias,
        None => product,
    })
}

/// `beta * self + alpha * (mat1 @ mat2)`: a `Gemm` where the type has one. ONNX Runtime forgets
/// `beta` when the product sums nothing.
#[lowering("aten.addmm.default")]
fn addmm(cx: &Lower, x: Value, mat1: Value, mat2: Value, beta: Scalar, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if let (Kind::Float, Some(alpha), Some(beta), false) =
        (dtype.kind(), alpha.as_f64(), beta.as_f64(), cx.dim(mat1, 1).is(0))
    {
        let base = (beta != 0.0).then_some(x);
        let mut node = cx.op(op::Gemm).input(mat1).input(mat2).maybe(base);
        if alpha != 1.0 {
            node = node.alpha(alpha);
        }
        if base.is_some() && beta != 1.0 {
            node = node.beta(beta);
        }
        return Ok(node.one());
    }
    Ok(blend(cx, (x, &beta), (matmul(cx, mat1, mat2, dtype), &alpha), dtype))
}

/// `beta * self + alpha * (mat @ vec)`.
#[lowering("aten.addmv.default")]
fn addmv(cx: &Lower, x: Value, mat: Value, vec: Value, beta: Scalar, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(blend(cx, (x, &beta), (matmul(cx, mat, vec, dtype), &alpha), dtype))
}

/// `beta * self + alpha * (batch1 @ batch2)`, matrix by matrix.
#[lowering("aten.baddbmm.default")]
fn baddbmm(cx: &Lower, x: Value, batch1: Value, batch2: Value, beta: Scalar, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(blend(cx, (x, &beta), (matmul(cx, batch1, batch2, dtype), &alpha), dtype))
}

/// `beta * self + alpha * sum(batch1 @ batch2)`, summed over the matrices.
#[lowering("aten.addbmm.default")]
fn addbmm(cx: &Lower, x: Value, batch1: Value, batch2: Value, beta: Scalar, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let product = matmul(cx, batch1, batch2, dtype);
    Ok(blend(
        cx,
        (x, &beta),
        (crate::reduce::reduce(cx, op::ReduceSum, product, &[0], false)?, &alpha),
        dtype,
    ))
}

/// `beta * self + alpha * outer(vec1, vec2)`.
#[lowering("aten.addr.default")]
fn addr(cx: &Lower, x: Value, vec1: Value, vec2: Value, beta: Scalar, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (vec1, vec2, x) = (cx.cast(vec1, dtype), cx.cast(vec2, dtype), cx.cast(x, dtype));
    let column = cx.unsqueeze(vec1, &[1]);
    if dtype == DType::Bool {
        // Sum and product of truth values are `or` and `and`.
        let scaled = |cx: &Lower, x, factor: &Scalar| x & cx.number(factor, DType::Bool);
        let product = column & vec2;
        return Ok(scaled(cx, x, &beta) | scaled(cx, product, &alpha));
    }
    Ok(blend(cx, (x, &beta), (column * vec2, &alpha), dtype))
}

/// `beta * base + alpha * product`; a `beta` of zero drops `base`, NaN and all.
fn blend(cx: &Lower, base: (Value, &Scalar), product: (Value, &Scalar), dtype: DType) -> Value {
    let product = scaled(cx, product.0, product.1, dtype);
    if base.1.is(0.0) {
        return product;
    }
    scaled(cx, base.0, base.1, dtype) + product
}

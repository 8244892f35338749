//! Tables: rows by number, numbers by position.

use onnxport_sdk::prelude::*;

use super::columns::as_index;
use super::scatter::{filled_like, scattered};
use crate::reduce::vector_norm;

/// `weight[indices]`.
#[lowering("aten.embedding.default")]
fn embedding(cx: &Lower, weight: Value, indices: Value) -> Res<Value> {
    Ok(cx.gather(weight, as_index(cx, indices), 0))
}

/// The gradient of `embedding`: the rows of `grad_output` summed by index, none at `padding_idx`.
#[lowering("aten.embedding_dense_backward.default")]
fn embedding_backward(
    cx: &Lower,
    grad_output: Value,
    indices: Value,
    num_weights: SymInt,
    padding_idx: i64,
    scale_grad_by_freq: bool,
) -> Res<Value> {
    if scale_grad_by_freq {
        return Err("argument `scale_grad_by_freq`: scaling by frequency is not supported".into());
    }
    let result = cx.result(0)?;
    let indices = cx.cast(indices, DType::I64);
    let mut grad = grad_output;
    if padding_idx >= 0 {
        let (padding, zero) = (cx.int(padding_idx), cx.number(&Scalar::Int(0), result.dtype));
        grad = cx.select(cx.unsqueeze(cx.equal(indices, padding), &[-1]), zero, grad);
    }
    let width = cx.rank(grad)?.saturating_sub(1);
    let places = cx.unsqueeze(indices, &[-1]);
    let columns = cx.extent(grad, width);
    let shape = cx.concat(&[cx.sym_ints(&[num_weights]), columns], 0);
    let table = cx.constant_of_shape(shape, cx.filled(&Scalar::Int(0), result.dtype, &[1]));
    Ok(cx.op(op::ScatterND).input(table).input(places).input(grad).reduction("add").one())
}

/// `self` with the rows at `indices` scaled to a norm of `max_norm` where theirs is larger.
#[lowering("aten.embedding_renorm.default")]
fn embedding_renorm(cx: &Lower, x: Value, indices: Value, max_norm: f64, norm_type: f64) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let rows = cx.reshape(as_index(cx, indices), &[-1]);
    let none = cx.constant_of_shape(cx.extent(x, 0), cx.filled(&Scalar::Int(0), DType::I32, &[1]));
    let ones = filled_like(cx, &Scalar::Int(1), DType::I32, rows);
    let named = cx.cast(scattered(cx, none, 0, rows, ones, "none")?, DType::Bool);
    let norms = vector_norm(cx, x, norm_type, &[1], true)?;
    let large = cx.unsqueeze(named, &[1]) & cx.greater(norms, max_norm);
    // The constant is that of PyTorch's kernel (`embedding_renorm_cpu_` in ATen's `Embedding.cpp`).
    let scale = cx.float(max_norm, dtype) / (norms + 1e-7);
    Ok(cx.select(large, x * scale, x))
}

/// The elements of the flattened `self` at `index`.
#[lowering("aten.take.default", parts)]
fn take(cx: &Lower, x: Value, index: Value) -> Res<Value> {
    Ok(cx.gather(cx.reshape(x, &[-1]), as_index(cx, index), 0))
}

/// `self` with the elements of its flattening at `index` set to, or increased by, those of `source`.
#[lowering("aten.put.default", parts(source))]
fn put(cx: &Lower, x: Value, index: Value, source: Value, accumulate: bool) -> Res<Value> {
    let [flat, index, source] = [x, index, source].map(|v| cx.reshape(v, &[-1]));
    cx.reshape_to_result(scattered(cx, flat, 0, index, source, if accumulate { "add" } else { "none" })?, 0)
}

/// 1 at the class that `self` names, 0 elsewhere, along a new last axis. Without a number of classes it
/// is one more than the largest.
#[lowering("aten.one_hot.default")]
fn one_hot(cx: &Lower, x: Value, num_classes: i64) -> Res<Value> {
    let x = cx.cast(x, DType::I64);
    let depth = if num_classes >= 0 {
        cx.ints(&[num_classes])
    } else {
        cx.reduce(op::ReduceMax, x, &[], false) + cx.ints(&[1])
    };
    let values = cx.ints(&[0, 1]);
    let scalar = cx.rank(x)? == 0;
    let x = if scalar { cx.unsqueeze(x, &[0]) } else { x };
    let hot = cx.op(op::OneHot).input(x).input(depth).input(values).axis(-1).one();
    Ok(if scalar { cx.squeeze(hot, &[0]) } else { hot })
}

/// How often each number stands in `self`, or the sum of its `weights`, for `minlength` numbers or more.
#[lowering("aten.bincount.default")]
fn bincount(cx: &Lower, x: Value, weights: Option<Value>, minlength: SymInt) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, one) = (cx.cast(x, DType::I64), cx.ints(&[1]));
    // The last number that counts, also when there is none.
    let least = match minlength {
        SymInt::Const(n) => cx.ints(&[n - 1]),
        n @ SymInt::Value(_) => cx.sym_ints(&[n]) - one,
    };
    let largest = cx.reduce(op::ReduceMax, cx.concat(&[x, least], 0), &[0], true);
    let table = cx.constant_of_shape(largest + one, cx.filled(&Scalar::Int(0), dtype, &[1]));
    let updates = match weights {
        Some(weights) => cx.cast(weights, dtype),
        None => filled_like(cx, &Scalar::Int(1), dtype, x),
    };
    scattered(cx, table, 0, x, updates, "add")
}

/// How many elements lie in each of `bins` intervals of equal width from `min` to `max`, or from the
/// least to the largest element where these are equal; elements outside count nowhere.
#[lowering("aten.histc.default")]
fn histc(cx: &Lower, x: Value, bins: i64, min: Scalar, max: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let x = cx.reshape_dynamic(cx.cast(x, wide), cx.ints(&[-1]));
    let (from, to) = if min == max {
        let (least, largest) =
            (cx.reduce(op::ReduceMin, x, &[0], true), cx.reduce(op::ReduceMax, x, &[0], true));
        let same = cx.equal(least, largest);
        let (below, above) = (least - 1.0, largest + 1.0);
        (cx.select(same, below, least), cx.select(same, above, largest))
    } else {
        (cx.number(&min, wide), cx.number(&max, wide))
    };
    let inside = cx.greater_equal(x, from) & cx.less_equal(x, to);
    let (offset, span) = (x - from, to - from);
    let place = offset * (bins as f64);
    let place = cx.clip(cx.cast(place / span, DType::I64), Some(cx.int(0)), Some(cx.int(bins - 1)));
    let table = cx.filled(&Scalar::Int(0), wide, &[bins.max(0) as u64]);
    Ok(cx.cast(scattered(cx, table, 0, place, cx.cast(inside, wide), "add")?, dtype))
}

//! Tables: rows by number, numbers by position.

use onnxport_sdk::prelude::*;

use super::columns::as_index;
use super::scatter::{filled_like, scattered};

/// `weight[indices]`.
#[lowering("aten.embedding.default")]
fn embedding(cx: &mut Lower, weight: Value, indices: Value) -> Res<Value> {
    let indices = as_index(cx, indices);
    Ok(cx.gather(weight, indices, 0))
}

/// The gradient of `embedding`: the rows of `grad_output` summed by index, none at `padding_idx`.
#[lowering("aten.embedding_dense_backward.default")]
fn embedding_backward(
    cx: &mut Lower,
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
        let padded = cx.equal(indices, padding);
        let padded = cx.unsqueeze(padded, &[-1]);
        grad = cx.select(padded, zero, grad);
    }
    let width = cx.rank(grad)?.saturating_sub(1);
    let places = cx.unsqueeze(indices, &[-1]);
    let columns = cx.extent(grad, width);
    let rows = cx.sym_ints(&[num_weights]);
    let shape = cx.concat(&[rows, columns], 0);
    let zero = cx.filled(&Scalar::Int(0), result.dtype, &[1]);
    let table = cx.constant_of_shape(shape, zero);
    Ok(cx.op("ScatterND").input(table).input(places).input(grad).str("reduction", "add").one())
}

/// The elements of the flattened `self` at `index`.
#[lowering("aten.take.default")]
fn take(cx: &mut Lower, x: Value, index: Value) -> Res<Value> {
    let (flat, index) = (cx.reshape(x, &[-1]), as_index(cx, index));
    Ok(cx.gather(flat, index, 0))
}

/// `self` with the elements of its flattening at `index` set to, or increased by, those of `source`.
#[lowering("aten.put.default")]
fn put(cx: &mut Lower, x: Value, index: Value, source: Value, accumulate: bool) -> Res<Value> {
    let [flat, index, source] = [x, index, source].map(|v| cx.reshape(v, &[-1]));
    let written = scattered(cx, flat, 0, index, source, if accumulate { "add" } else { "none" })?;
    cx.reshape_to_result(written, 0)
}

/// 1 at the class that `self` names, 0 elsewhere, along a new last axis. Without a number of classes it
/// is one more than the largest.
#[lowering("aten.one_hot.default")]
fn one_hot(cx: &mut Lower, x: Value, num_classes: i64) -> Res<Value> {
    let x = cx.cast(x, DType::I64);
    let depth = if num_classes >= 0 {
        cx.ints(&[num_classes])
    } else {
        let (largest, one) = (cx.reduce("ReduceMax", x, &[], false), cx.ints(&[1]));
        cx.add(largest, one)
    };
    let values = cx.ints(&[0, 1]);
    let scalar = cx.rank(x)? == 0;
    let x = if scalar { cx.unsqueeze(x, &[0]) } else { x };
    let hot = cx.op("OneHot").input(x).input(depth).input(values).int("axis", -1).one();
    Ok(if scalar { cx.squeeze(hot, &[0]) } else { hot })
}

/// How often each number stands in `self`, or the sum of its `weights`, for `minlength` numbers or more.
#[lowering("aten.bincount.default")]
fn bincount(cx: &mut Lower, x: Value, weights: Option<Value>, minlength: SymInt) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (x, one) = (cx.cast(x, DType::I64), cx.ints(&[1]));
    // The last number that counts, also when there is none.
    let least = match minlength {
        SymInt::Const(n) => cx.ints(&[n - 1]),
        n @ SymInt::Value(_) => {
            let n = cx.sym_ints(&[n]);
            cx.sub(n, one)
        }
    };
    let all = cx.concat(&[x, least], 0);
    let largest = cx.reduce("ReduceMax", all, &[0], true);
    let count = cx.add(largest, one);
    let zero = cx.filled(&Scalar::Int(0), dtype, &[1]);
    let table = cx.constant_of_shape(count, zero);
    let updates = match weights {
        Some(weights) => cx.cast(weights, dtype),
        None => filled_like(cx, &Scalar::Int(1), dtype, x),
    };
    scattered(cx, table, 0, x, updates, "add")
}

/// How many elements lie in each of `bins` intervals of equal width from `min` to `max`, or from the
/// least to the largest element where these are equal; elements outside count nowhere.
#[lowering("aten.histc.default")]
fn histc(cx: &mut Lower, x: Value, bins: i64, min: Scalar, max: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let (x, all) = (cx.cast(x, wide), cx.ints(&[-1]));
    let x = cx.reshape_dynamic(x, all);
    let (from, to) = if min == max {
        let (least, largest) = (cx.reduce("ReduceMin", x, &[0], true), cx.reduce("ReduceMax", x, &[0], true));
        let (same, one) = (cx.equal(least, largest), cx.float(1.0, wide));
        let (below, above) = (cx.sub(least, one), cx.add(largest, one));
        (cx.select(same, below, least), cx.select(same, above, largest))
    } else {
        (cx.number(&min, wide), cx.number(&max, wide))
    };
    let (above, below) = (cx.greater_equal(x, from), cx.less_equal(x, to));
    let inside = cx.and(above, below);
    let (offset, span) = (cx.sub(x, from), cx.sub(to, from));
    let count = cx.float(bins as f64, wide);
    let place = cx.mul(offset, count);
    let place = cx.div(place, span);
    let place = cx.cast(place, DType::I64);
    let (first, last) = (cx.int(0), cx.int(bins - 1));
    let place = cx.clip(place, Some(first), Some(last));
    let (table, updates) = (cx.filled(&Scalar::Int(0), wide, &[bins.max(0) as u64]), cx.cast(inside, wide));
    let counts = scattered(cx, table, 0, place, updates, "add")?;
    Ok(cx.cast(counts, dtype))
}

//! Sums, means and maxima of rows of a table, a bag of rows each.

use onnxport_sdk::prelude::*;

use super::scatter::filled_like;

/// The rows `weight[indices]` reduced per bag: bag `b` holds the positions from `offsets[b]` up to the
/// next offset. `mode` is 0 for the sum, 1 for the mean, 2 for the maximum; `padding_idx` does not count.
/// With `include_last_offset` the last offset ends the last bag, and positions behind it are in none.
#[lowering(
    "aten.embedding_bag.default",
    "aten.embedding_bag.padding_idx",
    "aten._embedding_bag.default",
    "aten._embedding_bag_forward_only.default"
)]
fn embedding_bag(
    cx: &Lower,
    weight: Value,
    indices: Value,
    offsets: Value,
    mode: i64,
    per_sample_weights: Option<Value>,
    include_last_offset: bool,
    padding_idx: Option<i64>,
) -> Res<Vec<Option<Value>>> {
    let dtype = cx.result(0)?.dtype;
    let (mut indices, mut offsets) = (cx.cast(indices, DType::I64), cx.cast(offsets, DType::I64));
    let (zero, one) = (cx.int(0), cx.int(1));
    let mut factors = per_sample_weights;
    if include_last_offset {
        let (start, end) = (cx.ints(&[0]), cx.slice(offsets, 0, -1, i64::MAX, 1));
        indices = cx.slice_dynamic(indices, 0, start, end, 1);
        factors = factors.map(|factors| cx.slice_dynamic(factors, 0, start, end, 1));
        offsets = cx.slice(offsets, 0, 0, -1, 1);
    }
    // The bag of a position: how many bags have begun, less one.
    let positions = cx.unsqueeze(cx.range(zero, cx.squeeze(cx.extent(indices, 0), &[0]), one), &[1]);
    let begun = cx.reduce(op::ReduceSum, cx.cast(cx.less_equal(offsets, positions), DType::I64), &[1], true);
    let ones = cx.ints(&[1]);
    let bags = begun - ones;

    let mut rows = cx.gather(weight, indices, 0);
    if let Some(factors) = factors {
        rows = rows * cx.unsqueeze(cx.cast(factors, dtype), &[1]);
    }
    let neutral = Scalar::Float(if mode == 2 { f64::NEG_INFINITY } else { 0.0 });
    let mut kept = filled_like(cx, &Scalar::Int(1), dtype, bags);
    if let Some(padding) = padding_idx.filter(|p| *p >= 0) {
        let padded = cx.unsqueeze(cx.equal(indices, cx.int(padding)), &[1]);
        rows = cx.select(padded, neutral, rows);
        kept = cx.select(padded, 0, kept);
    }
    let (bag_count, width) = (cx.extent(offsets, 0), cx.extent(weight, 1));
    let table = cx.constant_of_shape(cx.concat(&[bag_count, width], 0), cx.filled(&neutral, dtype, &[1]));
    let reduction = if mode == 2 { "max" } else { "add" };
    let total = cx.op(op::ScatterND).input(table).input(bags).input(rows).reduction(reduction).one();
    if mode == 0 {
        return Ok(vec![Some(total), None, None, None]);
    }
    let sizes = cx.concat(&[bag_count, ones], 0);
    let table = cx.constant_of_shape(sizes, cx.filled(&Scalar::Int(0), dtype, &[1]));
    let counts = cx.op(op::ScatterND).input(table).input(bags).input(kept).reduction("add").one();
    let reduced = if mode == 1 {
        total / cx.max(counts, 1)
    } else {
        // An empty bag is zero.
        let none = cx.number(&Scalar::Int(0), dtype);
        cx.select(cx.greater(counts, none), total, none)
    };
    Ok(vec![Some(reduced), None, None, None])
}

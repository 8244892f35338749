//! Repetition.

use onnxport_sdk::prelude::*;

use super::expand_to;

/// `x` laid out `repeats[k]` times along axis `k`, after new leading axes where `repeats` is longer.
fn repeated(cx: &Lower, x: Value, mut repeats: Vec<SymInt>) -> Res<Value> {
    let result = cx.result(0)?;
    if result.is_complex() {
        repeats.push(SymInt::Const(1));
    }
    let shape = cx.shape(x)?;
    let added = repeats.len().saturating_sub(shape.len());
    let once = |r: &SymInt| *r == SymInt::Const(1);
    if repeats.iter().all(once) {
        return cx.reshape_to_result(x, 0);
    }
    if repeats.iter().skip(added).zip(&shape).all(|(r, d)| once(r) || d.is(1)) {
        return expand_to(cx, x, &result.real_shape());
    }
    let axes: Vec<i64> = (0..added as i64).collect();
    Ok(cx.tile(cx.unsqueeze(x, &axes), cx.sym_ints(&repeats)))
}

/// `self` repeated `repeats[k]` times along axis `k`.
#[lowering("aten.repeat.default", complex)]
fn repeat(cx: &Lower, x: Value, repeats: Vec<SymInt>) -> Res<Value> {
    repeated(cx, x, repeats)
}

/// As `repeat`; a short `dims` is preceded by ones.
#[lowering("aten.tile.default", complex)]
fn tile(cx: &Lower, x: Value, dims: Vec<SymInt>) -> Res<Value> {
    let missing = cx.result(0)?.rank().saturating_sub(dims.len());
    repeated(cx, x, std::iter::repeat_n(SymInt::Const(1), missing).chain(dims).collect())
}

/// Every element along `dim` repeated `repeats` times; without `dim`, of the flattened tensor.
#[lowering("aten.repeat_interleave.self_int", complex)]
fn repeat_interleave(cx: &Lower, x: Value, repeats: SymInt, dim: Option<Axis>) -> Res<Value> {
    let result = cx.result(0)?;
    let pair = usize::from(result.is_complex());
    let (x, axis) = flattened(cx, x, dim, pair)?;
    if repeats == SymInt::Const(1) {
        return Ok(x);
    }
    if let (Some(n), SymInt::Const(r)) = (cx.dim(x, axis).as_const(), repeats) {
        let picks: Vec<i64> = (0..n).flat_map(|i| std::iter::repeat_n(i, r.max(0) as usize)).collect();
        return Ok(cx.gather(x, cx.ints(&picks), axis as i64));
    }
    let rank = cx.rank(x)?;
    let mut counts = vec![SymInt::Const(1); rank + 1];
    if let Some(count) = counts.get_mut(axis + 1) {
        *count = repeats;
    }
    cx.reshape_to_result(cx.expand(cx.unsqueeze(x, &[axis as i64 + 1]), cx.sym_ints(&counts)), 0)
}

/// Element `i` along `dim` repeated `repeats[i]` times; without `dim`, of the flattened tensor.
#[lowering("aten.repeat_interleave.self_Tensor", complex)]
fn repeat_interleave_tensor(cx: &Lower, x: Value, repeats: Value, dim: Option<Axis>) -> Res<Value> {
    let pair = usize::from(cx.result(0)?.is_complex());
    let (x, axis) = flattened(cx, x, dim, pair)?;
    let extent = cx.dim(x, axis);
    Ok(cx.gather(x, positions(cx, expand_to(cx, repeats, &[extent])?), axis as i64))
}

/// `i` repeated `repeats[i]` times, for every `i`.
#[lowering("aten.repeat_interleave.Tensor")]
fn repeat_interleave_range(cx: &Lower, repeats: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(positions(cx, repeats), dtype))
}

/// The index of the element from which position `p` of the repeated vector comes: how many of the
/// cumulated counts are at most `p`.
fn positions(cx: &Lower, repeats: Value) -> Value {
    if let Some(counts) = cx.literal(repeats).and_then(|l| l.ints()) {
        let picks: Vec<i64> = counts
            .iter()
            .enumerate()
            .flat_map(|(i, n)| std::iter::repeat_n(i as i64, (*n).max(0) as usize))
            .collect();
        return cx.ints(&picks);
    }
    let repeats = cx.cast(repeats, DType::I64);
    let (zero, one) = (cx.int(0), cx.int(1));
    let ends = cx.op(op::CumSum).input(repeats).input(zero).one();
    let places = cx.range(zero, cx.reduce(op::ReduceSum, repeats, &[], false), one);
    cx.reduce(
        op::ReduceSum,
        cx.cast(cx.less_equal(ends, cx.unsqueeze(places, &[1])), DType::I64),
        &[1],
        false,
    )
}

/// `x` and the axis `dim`, or `x` flattened and its only axis.
fn flattened(cx: &Lower, x: Value, dim: Option<Axis>, pair: usize) -> Res<(Value, usize)> {
    let rank = cx.rank(x)?;
    match dim {
        Some(Axis(axis)) if rank > pair => Ok((x, axis)),
        _ if rank == pair + 1 => Ok((x, 0)),
        _ if pair == 1 => Ok((cx.reshape(x, &[-1, 2]), 0)),
        _ => Ok((cx.reshape(x, &[-1]), 0)),
    }
}

//! Rotations of queries and keys by their positions, as an operator of ONNX or of ONNX Runtime.

use onnxport_sdk::prelude::*;

use crate::is_short;
use crate::kernels::pays;

rules! {
    /// Fuses `x * cos + rotated * sin`, where `rotated` is `x` with swapped halves, one of them negated, into a
    /// `RotaryEmbedding`. In half precision the angles are float32, and their cosines and sines are cast.
    rotary (class = bounded(relative = 1e-6, ulps = 4), opset = 23..):
        let angles = shared Concat(half: [B, S, W], half, axis = last);
        let cos = shared Unsqueeze(shared maybe Cast(shared Cos(angles), to = _narrow, ..), 1);
        let sin = shared Unsqueeze(shared maybe Cast(shared Sin(angles), to = _narrow, ..), 1);
        let upper = Slice(x, const middle, const end, const axis, step?);
        let lower = Slice(x, 0, const middle, const axis, step?);
        Add(Mul(x: [B, _, S, D], cos), Mul(Concat(Neg(upper), lower, axis = turn), sin))
        if is_short(x).and_then(|()| rotates([W, D], [last, turn], [middle, end, axis], step))
        => embedded(cx, x, half);

    /// Fuses `x * cos + rotated * sin`, where `rotated` is `x` with swapped halves, one of them negated, and all rows
    /// of the batch have the same positions, into ONNX Runtime's `RotaryEmbedding`, at every opset. In half precision
    /// results are rounded once.
    rotary_of_runtime (class = target("onnxruntime", relative = 1e-6, ulps = 4)):
        let angles = shared Concat(half: [1, S, W], half, axis = last);
        let cos = shared Unsqueeze(shared maybe Cast(shared Cos(angles), to = _narrow, ..), 1);
        let sin = shared Unsqueeze(shared maybe Cast(shared Sin(angles), to = _narrow, ..), 1);
        let upper = Slice(x, const middle, const end, const axis, step?);
        let lower = Slice(x, 0, const middle, const axis, step?);
        Add(Mul(x: [B, H, S, D], cos), Mul(Concat(Neg(upper), lower, axis = turn), sin))
        if is_faster(x).and_then(|()| rotates([W, D], [last, turn], [middle, end, axis], step))
        => rotated(cx, x, half);
}

/// Whether the kernel is faster for the type of `x`. It takes no bf16.
fn is_faster(x: ValueRef<'_>) -> Res<()> {
    match x.dtype() {
        Some(DType::F32) => pays("com.microsoft.RotaryEmbedding"),
        Some(DType::F16) => pays("com.microsoft.RotaryEmbedding, f16"),
        _ => Err("it is neither f32 nor f16".into()),
    }
}

/// Whether `width` is half of the size `whole` of the last axis, along which a value is divided in the middle and
/// joined again.
fn rotates(
    [width, whole]: [Dim; 2],
    [last, turn]: [&Attribute; 2],
    bounds: [ValueRef<'_>; 3],
    step: Option<ValueRef<'_>>,
) -> Res<()> {
    let only = |value: ValueRef<'_>| match value.constant()?.ints()?.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let (Some(width), Some(whole)) = (width.as_const(), whole.as_const()) else {
        return Err("the width of a head is not known".into());
    };
    let [middle, end, axis] = bounds.map(only);
    let along = matches!(last.int(), Some(-1 | 2)) && matches!(turn.int(), Some(-1 | 3));
    let forward = step.is_none_or(|step| only(step) == Some(1));
    let divided =
        middle == Some(width) && end.is_some_and(|end| end >= whole) && matches!(axis, Some(-1 | 3));
    if along && forward && divided && width > 0 && Some(whole) == width.checked_mul(2) {
        Ok(())
    } else {
        Err("it is not the last axis, divided in the middle".into())
    }
}

/// `x: [B, H, S, D]`, rotated by the angles `half: [B, S, D / 2]`, whose cosines and sines take the type of `x`.
fn embedded<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, half: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let [cos, sin] = tables(cx, x, half)?;
    Ok(cx.op(op::RotaryEmbedding).input(x).input(cos).input(sin).one())
}

/// The cosines and sines of `angles`, in the type of `x`.
fn tables<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, angles: ValueRef<'h>) -> Res<[ValueRef<'h>; 2]> {
    let (dtype, own) = (cx.dtype(x)?, cx.dtype(angles)?);
    Ok([op::Cos.named(), op::Sin.named()].map(|op| {
        let made = cx.op(op).input(angles).one();
        if dtype == own { made } else { cx.cast(made, dtype) }
    }))
}

/// `x: [B, H, S, D]`, rotated by the angles `half: [1, S, D / 2]`, whose cosines and sines take the type of `x`.
fn rotated<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, half: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let [cos, sin] = tables(cx, x, cx.squeeze(half, &[0]))?;
    // One position counts the rows of the tables from there on.
    let made =
        cx.op(op::microsoft::RotaryEmbedding).input(x).input(cx.ints(&[0])).input(cos).input(sin).one();
    cx.set_type(made, cx.dtype(x)?, Some(&cx.shape(x)?));
    Ok(made)
}

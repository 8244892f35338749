//! Padding. PyTorch lists pairs of counts from the last axis on, ONNX all starts and then all ends.

use onnxport_sdk::prelude::*;

use crate::support::empty;

/// The counts of `pad` as `(before, after)` per axis, first axis first.
fn sides(pad: &[SymInt], rank: usize) -> Res<Vec<(SymInt, SymInt)>> {
    let mut sides = vec![(SymInt::Const(0), SymInt::Const(0)); rank];
    let (pairs, odd) = pad.as_chunks::<2>();
    if !odd.is_empty() || pairs.len() > rank {
        return Err("argument `pad` does not fit the tensor's axes".into());
    }
    for (side, [before, after]) in sides.iter_mut().rev().zip(pairs) {
        *side = (*before, *after);
    }
    Ok(sides)
}

/// `Pad` in `mode`.
///
/// The axes are stated because ONNX Runtime fuses a `Pad` without them into a following `MaxPool`,
/// which pads with minus infinity whatever this one pads with.
fn emit(cx: &Lower, x: Value, sides: &[(SymInt, SymInt)], mode: &str, fill: Option<Value>) -> Value {
    let nothing = (SymInt::Const(0), SymInt::Const(0));
    let (axes, sides): (Vec<i64>, Vec<_>) =
        (0..).zip(sides.iter().copied()).filter(|(_, side)| *side != nothing).unzip();
    if axes.is_empty() {
        return x;
    }
    let counts: Vec<SymInt> = sides.iter().map(|s| s.0).chain(sides.iter().map(|s| s.1)).collect();
    let (counts, axes) = (cx.sym_ints(&counts), cx.ints(&axes));
    cx.op(op::Pad).input(x).input(counts).maybe(fill).input(axes).mode(mode).one()
}

/// Constant padding; negative counts crop.
fn constant(cx: &Lower, x: Value, pad: &[SymInt], value: &Scalar) -> Res<Value> {
    let sides = sides(pad, cx.rank(x)?)?;
    let dtype = cx.dtype(x)?;
    let fill = match value {
        zero if zero.is(0.0) => None,
        Scalar::Sym(number) => Some(cx.squeeze(cx.cast(*number, dtype), &[0])),
        number => Some(cx.number(number, dtype)),
    };
    Ok(emit(cx, x, &sides, "constant", fill))
}

/// `x`, cropped by negative counts.
fn cropped(cx: &Lower, mut x: Value, sides: &[(SymInt, SymInt)]) -> Value {
    let negative = |n: &SymInt| n.as_const().filter(|n| *n < 0);
    for (axis, (before, after)) in sides.iter().enumerate() {
        let (before, after) = (negative(before), negative(after));
        if before.is_some() || after.is_some() {
            let start = before.map_or(0, i64::saturating_neg);
            x = cx.slice(x, axis as i64, start, after.unwrap_or(i64::MAX), 1);
        }
    }
    x
}

/// Padding with the tensor's own elements. Negative counts crop what the others padded; what goes in
/// circles is cropped before.
fn mirrored(cx: &Lower, x: Value, pad: &[SymInt], mode: &str) -> Res<Value> {
    if let Some(nothing) = empty(cx)? {
        return Ok(nothing);
    }
    let sides = sides(pad, cx.rank(x)?)?;
    let negative = |n: &SymInt| n.as_const().is_some_and(|n| n < 0);
    let grown: Vec<_> = sides
        .iter()
        .map(|(a, b)| {
            let keep = |n: &SymInt| if negative(n) { SymInt::Const(0) } else { *n };
            (keep(a), keep(b))
        })
        .collect();
    if mode == "wrap" {
        let x = cropped(cx, x, &sides);
        return if cx.opset() < 19 { wrapped(cx, x, &grown) } else { Ok(emit(cx, x, &grown, mode, None)) };
    }
    Ok(cropped(cx, emit(cx, x, &grown, mode, None), &sides))
}

/// Circular padding before opset 19: the tensor between its own end and start.
fn wrapped(cx: &Lower, mut x: Value, sides: &[(SymInt, SymInt)]) -> Res<Value> {
    for (axis, (before, after)) in sides.iter().enumerate() {
        let (Some(before), Some(after)) = (before.as_const(), after.as_const()) else {
            return Err(Refusal::new("argument `pad`: circular padding by a symbolic count needs opset 19")
                .help("convert with `--opset 19` or higher"));
        };
        let mut parts = vec![x];
        if before > 0 {
            parts.insert(0, cx.slice(x, axis as i64, -before, i64::MAX, 1));
        }
        if after > 0 {
            parts.push(cx.slice(x, axis as i64, 0, after, 1));
        }
        x = cx.concat(&parts, axis as i64);
    }
    Ok(x)
}

/// `self` padded in `mode`.
#[lowering("aten.pad.default", parts(value))]
fn pad(cx: &Lower, x: Value, pad: Vec<SymInt>, mode: Str, value: Option<Scalar>) -> Res<Value> {
    match mode.0 {
        "constant" => constant(cx, x, &pad, &value.unwrap_or(Scalar::Int(0))),
        "reflect" => mirrored(cx, x, &pad, "reflect"),
        "replicate" => mirrored(cx, x, &pad, "edge"),
        "circular" => mirrored(cx, x, &pad, "wrap"),
        other => Err(format!("argument `mode`: `{other}` is not a padding mode").into()),
    }
}

/// As `pad` with PyTorch's number of the mode.
#[lowering("aten._pad_enum.default", parts(value))]
fn pad_enum(cx: &Lower, x: Value, pad: Vec<SymInt>, mode: i64, value: Option<Scalar>) -> Res<Value> {
    match mode {
        0 => mirrored(cx, x, &pad, "reflect"),
        1 => mirrored(cx, x, &pad, "edge"),
        2 => mirrored(cx, x, &pad, "wrap"),
        3 => constant(cx, x, &pad, &value.unwrap_or(Scalar::Int(0))),
        other => Err(format!("argument `mode`: {other} is not a padding mode").into()),
    }
}

/// `self` surrounded by `value`.
#[lowering("aten.constant_pad_nd.default", parts(value))]
fn constant_pad(cx: &Lower, x: Value, pad: Vec<SymInt>, value: Scalar) -> Res<Value> {
    constant(cx, x, &pad, &value)
}

/// `self` continued periodically.
#[lowering("aten._pad_circular.default", parts)]
fn circular_pad(cx: &Lower, x: Value, pad: Vec<SymInt>) -> Res<Value> {
    mirrored(cx, x, &pad, "wrap")
}

/// `self` mirrored at its edges, which are not repeated.
#[lowering(
    "aten.reflection_pad1d.default",
    "aten.reflection_pad2d.default",
    "aten.reflection_pad3d.default",
    parts
)]
fn reflection_pad(cx: &Lower, x: Value, padding: Vec<SymInt>) -> Res<Value> {
    mirrored(cx, x, &padding, "reflect")
}

/// `self` with its edges repeated.
#[lowering(
    "aten.replication_pad1d.default",
    "aten.replication_pad2d.default",
    "aten.replication_pad3d.default",
    parts
)]
fn replication_pad(cx: &Lower, x: Value, padding: Vec<SymInt>) -> Res<Value> {
    mirrored(cx, x, &padding, "edge")
}

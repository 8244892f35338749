//! Normalisation over groups of channels.

use onnxport_sdk::prelude::*;

use super::{or_filled, per_channel, standardised};
use crate::support::{empty, fits_attribute, full};

/// The channels in groups, each normalised; then `* weight + bias` for each channel.
#[lowering("aten.group_norm.default")]
fn group_norm(
    cx: &Lower,
    x: Value,
    num_groups: i64,
    weight: Option<Value>,
    bias: Option<Value>,
    eps: f64,
) -> Res<Value> {
    if let Some(nothing) = empty(cx)? {
        return Ok(nothing);
    }
    let (dtype, channels) = (cx.dtype(x)?, cx.dim(x, 1));
    if cx.opset() >= 21 && fits_attribute(eps, dtype) {
        let scale = or_filled(cx, weight, 1.0, &[channels], dtype);
        let bias = or_filled(cx, bias, 0.0, &[channels], dtype);
        let node = cx.op(op::GroupNormalization).input(x).input(scale).input(bias);
        return Ok(node.num_groups(num_groups).epsilon(eps).one());
    }
    let batch = cx.dim(x, 0);
    let grouped = match batch {
        Dim::Const(n) if n != 0 => cx.reshape(x, &[n, num_groups, -1]),
        _ => cx.reshape(x, &[0, num_groups, -1]),
    };
    let y = if fits_attribute(eps, dtype) {
        let groups = [Dim::Const(num_groups)];
        let (ones, zeros) =
            (or_filled(cx, None, 1.0, &groups, dtype), or_filled(cx, None, 0.0, &groups, dtype));
        let node = cx.op(op::InstanceNormalization).input(grouped).input(ones).input(zeros);
        node.epsilon(eps).one()
    } else {
        standardised(cx, grouped, &[2], eps)?[0]
    };
    per_channel(cx, cx.reshape_to_result(y, 0)?, weight, bias)
}

/// The same, with the mean and `1 / sqrt(var + eps)` of every group.
#[lowering("aten.native_group_norm.default")]
fn native_group_norm(
    cx: &Lower,
    x: Value,
    weight: Option<Value>,
    bias: Option<Value>,
    group: i64,
    eps: f64,
) -> Res<[Value; 3]> {
    if let Some(nothing) = empty(cx)? {
        let (means, dtype) = (cx.result(1)?.shape, cx.dtype(x)?);
        if !means.contains(&Dim::Const(0)) {
            return Err("groups without elements are not supported".into());
        }
        let none = full(cx, &means, &Scalar::Int(0), dtype);
        return Ok([nothing, none, none]);
    }
    let [y, mean, inverse] = standardised(cx, cx.reshape(x, &[0, group, -1]), &[2], eps)?;
    let y = cx.reshape_to_result(y, 0)?;
    Ok([per_channel(cx, y, weight, bias)?, cx.squeeze(mean, &[2]), cx.squeeze(inverse, &[2])])
}

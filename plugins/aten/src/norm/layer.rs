//! Normalisation over the last axes.

use onnxport_sdk::prelude::*;

use super::or_filled;

/// `(x - mean) / sqrt(var + eps) * weight + bias` over the last axes.
#[lowering("aten.layer_norm.default")]
fn layer_norm(
    cx: &Lower,
    x: Value,
    normalized_shape: Vec<SymInt>,
    weight: Option<Value>,
    bias: Option<Value>,
    eps: f64,
) -> Res<Value> {
    let scale = scale(cx, x, &normalized_shape, weight)?;
    let bias = bias.map(|b| cx.dtype(x).map(|dtype| cx.cast(b, dtype))).transpose()?;
    let node = cx.op(op::LayerNormalization).input(x).input(scale).maybe(bias);
    Ok(node.axis(-(normalized_shape.len() as i64)).epsilon(eps).one())
}

/// The same, with the mean and `1 / sqrt(var + eps)`.
#[lowering("aten.native_layer_norm.default")]
fn native_layer_norm(
    cx: &Lower,
    x: Value,
    normalized_shape: Vec<SymInt>,
    weight: Option<Value>,
    bias: Option<Value>,
    eps: f64,
) -> Res<[Value; 3]> {
    let scale = scale(cx, x, &normalized_shape, weight)?;
    let node = cx.op(op::LayerNormalization).input(x).input(scale).maybe(bias);
    let [y, mean, inverse] = node.axis(-(normalized_shape.len() as i64)).epsilon(eps).outs::<3>();
    let dtype = cx.result(1)?.dtype;
    Ok([y, cx.cast(mean, dtype), cx.cast(inverse, dtype)])
}

/// The scale that ONNX requires; it may differ in type from `x` under autocast.
fn scale(cx: &Lower, x: Value, normalized: &[SymInt], weight: Option<Value>) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let extents: Vec<Dim> = normalized.iter().map(|n| cx.as_dim(n)).collect();
    Ok(or_filled(cx, weight, 1.0, &extents, dtype))
}

/// `x / sqrt(mean(x^2) + eps) * weight` over the last axes; `eps` is by default that of the type.
#[lowering("aten.rms_norm.default")]
fn rms_norm(
    cx: &Lower,
    x: Value,
    normalized_shape: Vec<SymInt>,
    weight: Option<Value>,
    eps: Option<f64>,
) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if cx.opset() >= 23 && eps.is_some() {
        let scale = scale(cx, x, &normalized_shape, weight)?;
        let node = cx.op(op::RMSNormalization).input(x).input(scale).epsilon(eps.unwrap_or_default());
        return Ok(node.axis(-(normalized_shape.len() as i64)).one());
    }
    let (y, _) = root_mean_square(cx, x, normalized_shape.len(), weight, eps)?;
    Ok(cx.cast(y, dtype))
}

/// The same, with `1 / sqrt(mean(x^2) + eps)`.
#[lowering("aten._fused_rms_norm.default")]
fn fused_rms_norm(
    cx: &Lower,
    x: Value,
    normalized_shape: Vec<SymInt>,
    weight: Option<Value>,
    eps: Option<f64>,
) -> Res<(Value, Value)> {
    let (y, root) = root_mean_square(cx, x, normalized_shape.len(), weight, eps)?;
    let inverse = cx.reciprocal(root);
    Ok((cx.cast(y, cx.result(0)?.dtype), cx.cast(inverse, cx.result(1)?.dtype)))
}

/// Narrow floats compute in f32.
fn root_mean_square(
    cx: &Lower,
    x: Value,
    axes: usize,
    weight: Option<Value>,
    eps: Option<f64>,
) -> Res<(Value, Value)> {
    let dtype = cx.dtype(x)?;
    let compute = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let eps = eps.unwrap_or(match compute {
        DType::F64 => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    });
    let axes: Vec<i64> = (-(axes as i64)..0).collect();
    let x = cx.cast(x, compute);
    let root = cx.sqrt(cx.reduce(op::ReduceMean, x * x, &axes, true) + eps);
    let mut y = x / root;
    if let Some(weight) = weight {
        y = y * cx.cast(weight, compute);
    }
    Ok((y, root))
}

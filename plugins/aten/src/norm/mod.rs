//! Normalisation.

mod batch;
mod group;
mod layer;
mod weight;

use onnxport_sdk::prelude::*;

use crate::reduce::reduce;

/// `weight`, or as many ones (for `bias`: zeros) as `extents` says.
fn or_filled(cx: &Lower, value: Option<Value>, fill: f64, extents: &[Dim], dtype: DType) -> Value {
    if let Some(value) = value {
        return cx.cast(value, dtype);
    }
    let number = Scalar::Float(fill);
    match extents.iter().map(|d| d.as_const().map(|n| n as u64)).collect::<Option<Vec<u64>>>() {
        Some(shape) => cx.filled(&number, dtype, &shape),
        None => cx.constant_of_shape(cx.dims_value(extents), cx.filled(&number, dtype, &[1])),
    }
}

/// `x` with mean zero and variance one over `axes`, its mean, and `1 / sqrt(variance + eps)`.
fn standardised(cx: &Lower, x: Value, axes: &[i64], eps: f64) -> Res<[Value; 3]> {
    let mean = reduce(cx, op::ReduceMean, x, axes, true)?;
    let centred = x - mean;
    let variance = reduce(cx, op::ReduceMean, centred * centred, axes, true)?;
    let inverse = cx.reciprocal(cx.sqrt(variance + eps));
    Ok([centred * inverse, mean, inverse])
}

/// `x * weight + bias`, with one weight for each size of axis 1.
fn per_channel(cx: &Lower, x: Value, weight: Option<Value>, bias: Option<Value>) -> Res<Value> {
    let (dtype, rank) = (cx.dtype(x)?, cx.rank(x)? as i64);
    let after: Vec<i64> = (1..rank - 1).collect();
    let mut y = x;
    if let Some(weight) = weight {
        y = y * cx.unsqueeze(cx.cast(weight, dtype), &after);
    }
    if let Some(bias) = bias {
        y = y + cx.unsqueeze(cx.cast(bias, dtype), &after);
    }
    Ok(y)
}

//! Normalisation.

mod batch;
mod group;
mod layer;
mod weight;

use onnxport_sdk::prelude::*;

use crate::reduce::reduce;

/// `weight`, or as many ones (for `bias`: zeros) as `extents` says.
fn or_filled(cx: &mut Lower, value: Option<Value>, fill: f64, extents: &[Dim], dtype: DType) -> Value {
    if let Some(value) = value {
        return cx.cast(value, dtype);
    }
    let number = Scalar::Float(fill);
    match extents.iter().map(|d| d.as_const().map(|n| n as u64)).collect::<Option<Vec<u64>>>() {
        Some(shape) => cx.filled(&number, dtype, &shape),
        None => {
            let (shape, fill) = (cx.dims_value(extents), cx.filled(&number, dtype, &[1]));
            cx.constant_of_shape(shape, fill)
        }
    }
}

/// `x` with mean zero and variance one over `axes`, its mean, and `1 / sqrt(variance + eps)`.
fn standardised(cx: &mut Lower, x: Value, axes: &[i64], eps: f64) -> Res<[Value; 3]> {
    let dtype = cx.dtype(x)?;
    let mean = reduce(cx, "ReduceMean", x, axes, true)?;
    let centred = cx.sub(x, mean);
    let squares = cx.mul(centred, centred);
    let variance = reduce(cx, "ReduceMean", squares, axes, true)?;
    let eps = cx.float(eps, dtype);
    let variance = cx.add(variance, eps);
    let deviation = cx.sqrt(variance);
    let inverse = cx.reciprocal(deviation);
    Ok([cx.mul(centred, inverse), mean, inverse])
}

/// `x * weight + bias`, with one weight for each extent of axis 1.
fn per_channel(cx: &mut Lower, x: Value, weight: Option<Value>, bias: Option<Value>) -> Res<Value> {
    let (dtype, rank) = (cx.dtype(x)?, cx.rank(x)? as i64);
    let after: Vec<i64> = (1..rank - 1).collect();
    let mut y = x;
    if let Some(weight) = weight {
        let weight = cx.cast(weight, dtype);
        let weight = cx.unsqueeze(weight, &after);
        y = cx.mul(y, weight);
    }
    if let Some(bias) = bias {
        let bias = cx.cast(bias, dtype);
        let bias = cx.unsqueeze(bias, &after);
        y = cx.add(y, bias);
    }
    Ok(y)
}

//! Weights given as direction and length.

use onnxport_sdk::prelude::*;

use crate::linalg::entries::Entries;
use crate::reduce::vector_norm;

/// `v * g / |v|`, with the norm over every axis but `dim`.
#[lowering("aten._weight_norm.default")]
fn weight_norm(cx: &Lower, v: Value, g: Value, dim: i64) -> Res<Value> {
    Ok(normalised(cx, v, g, dim)?.0)
}

/// The same, with the norm.
#[lowering("aten._weight_norm_interface.default")]
fn weight_norm_interface(cx: &Lower, v: Value, g: Value, dim: i64) -> Res<(Value, Value)> {
    normalised(cx, v, g, dim)
}

fn normalised(cx: &Lower, v: Value, g: Value, dim: i64) -> Res<(Value, Value)> {
    let rank = cx.rank(v)? as i64;
    let axes: Vec<i64> = (0..rank).filter(|axis| *axis != dim).collect();
    let norm = vector_norm(cx, v, 2.0, &axes, dim != -1)?;
    Ok((v * (g / norm), norm))
}

/// The slices along `dim`, those with a larger p-norm shrunk to `maxnorm`.
#[lowering("aten.renorm.default", complex)]
fn renorm(cx: &Lower, p: f64, dim: Axis, maxnorm: f64) -> Res<Value> {
    let x = Entries::argument(cx, "x")?;
    let axes: Vec<i64> = (0..cx.rank(x.re)? as i64).filter(|axis| *axis != dim.0 as i64).collect();
    let sizes = if x.im.is_some() { x.sizes(cx) } else { x.re };
    let norm = vector_norm(cx, sizes, p, &axes, true)?;
    let factor = cx.select(cx.greater(norm, maxnorm), maxnorm / (norm + 1e-7), 1.0);
    Ok(x.map(|part| part * factor).value(cx))
}

//! Quantisation that stays in floating point.

use onnxport_sdk::prelude::*;

/// `(clamp(round(self / scale) + zero_point, quant_min, quant_max) - zero_point) * scale`.
#[lowering("aten.fake_quantize_per_tensor_affine.default")]
fn fake_quantize(
    cx: &mut Lower,
    x: Value,
    scale: f64,
    zero_point: i64,
    quant_min: i64,
    quant_max: i64,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // PyTorch multiplies by the inverse, in f32.
    let inverse = cx.float(f64::from(1.0 / scale as f32), dtype);
    let scaled = cx.mul(x, inverse);
    let code = cx.round(scaled);
    let [low, high] = [quant_min, quant_max].map(|bound| cx.float((bound - zero_point) as f64, dtype));
    let kept = cx.clip(code, Some(low), Some(high));
    let step = cx.float(scale, dtype);
    Ok(cx.mul(kept, step))
}

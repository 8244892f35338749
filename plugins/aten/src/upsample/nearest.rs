//! Resampling by the nearest element.

use onnxport_sdk::prelude::*;

use super::resize::Sizes;

/// Element `floor(i * n / m)` for place `i`: the older of PyTorch's two forms.
#[lowering(
    "aten.upsample_nearest1d.default",
    "aten.upsample_nearest1d.vec",
    "aten.upsample_nearest2d.default",
    "aten.upsample_nearest2d.vec",
    "aten.upsample_nearest3d.default",
    "aten.upsample_nearest3d.vec"
)]
fn nearest(cx: &Lower, x: Value) -> Res<Value> {
    sampled(cx, x, false)
}

/// Element `floor((i + 1/2) * n / m)` for place `i`: the centre's.
#[lowering(
    "aten._upsample_nearest_exact1d.default",
    "aten._upsample_nearest_exact1d.vec",
    "aten._upsample_nearest_exact2d.default",
    "aten._upsample_nearest_exact2d.vec",
    "aten._upsample_nearest_exact3d.default",
    "aten._upsample_nearest_exact3d.vec"
)]
fn nearest_exact(cx: &Lower, x: Value) -> Res<Value> {
    sampled(cx, x, true)
}

/// `Resize` where its arithmetic meets the same elements, else a gather for every axis.
fn sampled(cx: &Lower, x: Value, exact: bool) -> Res<Value> {
    let sizes = Sizes::new(cx, x)?;
    let scale = |i: usize| sizes.scales.as_ref().and_then(|s| s.get(i).copied());
    let factors = sizes.factors();
    let factor = |i: usize| factors.as_ref().and_then(|f| f.get(i).copied());
    if let Some(extents) = sizes.constant() {
        let tables: Vec<[Vec<i64>; 2]> = extents
            .iter()
            .enumerate()
            .map(|(i, (n, m))| [theirs(*n, *m, scale(i), exact), onnx(*n, *m, factor(i), exact)])
            .collect();
        if tables.iter().any(|[theirs, onnx]| theirs != onnx) || (factors.is_none() && sizes.scales.is_some())
        {
            let mut y = x;
            for (i, [table, _]) in tables.iter().enumerate() {
                if !table.iter().copied().eq(0..extents[i].0) {
                    y = cx.gather(y, cx.ints(table), sizes.axis(i) as i64);
                }
            }
            return Ok(y);
        }
    }
    let (coordinates, rounding) =
        if exact { ("half_pixel", "round_prefer_ceil") } else { ("asymmetric", "floor") };
    sizes.resize(cx, x, false, |node| {
        node.mode("nearest").coordinate_transformation_mode(coordinates).nearest_mode(rounding)
    })
}

/// The elements that PyTorch takes, in its single precision.
fn theirs(n: i64, m: i64, scale: Option<f64>, exact: bool) -> Vec<i64> {
    let ratio = scale.map_or(n as f32 / m as f32, |s| (1.0 / s) as f32);
    let offset = if exact { 0.5 } else { 0.0 };
    let place = |i: i64| match (exact, m == n, m == 2 * n) {
        (false, true, _) => i,
        (false, _, true) => i / 2,
        _ => (((i as f32 + offset) * ratio).floor() as i64).min(n - 1),
    };
    (0..m).map(place).collect()
}

/// The elements that ONNX Runtime takes, in its single precision.
fn onnx(n: i64, m: i64, factor: Option<f32>, exact: bool) -> Vec<i64> {
    let factor = factor.unwrap_or(m as f32 / n as f32);
    let place = |i: i64| {
        let place =
            if exact { ((i as f32 + 0.5) / factor - 0.5).round() } else { (i as f32 / factor).floor() };
        (place as i64).clamp(0, n - 1)
    };
    if factor == 1.0 { (0..m).collect() } else { (0..m).map(place).collect() }
}

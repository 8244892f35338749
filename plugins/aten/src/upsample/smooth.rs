//! Resampling by interpolation.

use onnxport_sdk::prelude::*;

use super::exact::Filter;
use super::resize::Sizes;
use crate::support::is_storable;

/// Interpolation between the nearest two elements of every axis.
#[lowering(
    "aten.upsample_linear1d.default",
    "aten.upsample_linear1d.vec",
    "aten.upsample_bilinear2d.default",
    "aten.upsample_bilinear2d.vec",
    "aten.upsample_trilinear3d.default",
    "aten.upsample_trilinear3d.vec",
    "aten._upsample_bilinear2d_aa.default",
    "aten._upsample_bilinear2d_aa.vec"
)]
fn linear(cx: &Lower, x: Value, align_corners: bool) -> Res<Value> {
    interpolated(cx, x, "linear", align_corners)
}

/// Interpolation by a cubic through the nearest four elements of every axis. The coefficient is
/// PyTorch's -0.75, or -0.5 where it smooths.
#[lowering(
    "aten.upsample_bicubic2d.default",
    "aten.upsample_bicubic2d.vec",
    "aten._upsample_bicubic2d_aa.default",
    "aten._upsample_bicubic2d_aa.vec"
)]
fn cubic(cx: &Lower, x: Value, align_corners: bool) -> Res<Value> {
    interpolated(cx, x, "cubic", align_corners)
}

fn interpolated(cx: &Lower, x: Value, mode: &'static str, corners: bool) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let sizes = Sizes::new(cx, x)?;
    if sizes.inner == sizes.outer && sizes.scales.is_none() {
        return Ok(x);
    }
    let antialias = cx.target().contains("_aa.");
    // `Resize` computes positions in float32, and smooths between aligned corners otherwise than PyTorch.
    let stored = |extents: &Vec<(i64, i64)>| extents.iter().all(|(n, m)| is_storable(*n, *m));
    if let Some(extents) =
        sizes.constant().filter(|_| dtype == DType::F64 || (antialias && corners)).filter(stored)
    {
        let filter = Filter { cubic: mode == "cubic", corners, antialias };
        return filter.resampled(cx, x, &sizes, &extents);
    }
    if antialias && corners {
        return Err("`antialias` with aligned corners weighs other elements in ONNX".into());
    }
    let coordinates = if corners { "align_corners" } else { "half_pixel" };
    if dtype.kind() != Kind::Float {
        return Err(Refusal::new("PyTorch interpolates bytes in fixed point, which ONNX cannot express")
            .help("convert the operand to float first"));
    }
    sizes.resize(cx, x, corners, |node| {
        let mut node = node.mode(mode).coordinate_transformation_mode(coordinates);
        if mode == "cubic" {
            node = node.cubic_coeff_a(if antialias { -0.5 } else { -0.75 });
        }
        // PyTorch omits positions outside the image from the weights.
        if antialias { node.antialias(1).exclude_outside(1) } else { node }
    })
}

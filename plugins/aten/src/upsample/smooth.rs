//! Resampling by interpolation.

use onnxport_sdk::prelude::*;

use super::exact::{Filter, Kernel};
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
    interpolated(cx, x, Kernel::Linear, align_corners)
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
    interpolated(cx, x, Kernel::Cubic, align_corners)
}

/// Interpolation by a windowed sinc, which ONNX lacks: by stored weights.
#[lowering("aten._upsample_lanczos2d_aa.default", "aten._upsample_lanczos2d_aa.vec")]
fn lanczos(cx: &Lower, x: Value, align_corners: bool) -> Res<Value> {
    interpolated(cx, x, Kernel::Lanczos, align_corners)
}

fn interpolated(cx: &Lower, x: Value, kernel: Kernel, corners: bool) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let sizes = Sizes::new(cx, x)?;
    if sizes.inner == sizes.outer && sizes.scales.is_none() {
        return Ok(x);
    }
    if dtype.kind() != Kind::Float {
        return Err(Refusal::new("PyTorch interpolates bytes in fixed point, which ONNX cannot express")
            .help("convert the operand to float first"));
    }
    let antialias = cx.target().contains("_aa.");
    let needs_weights = kernel == Kernel::Lanczos || (antialias && corners);
    // `Resize` computes positions in float32, and smooths between aligned corners otherwise than PyTorch.
    let stored = |extents: &Vec<(i64, i64)>| extents.iter().all(|(n, m)| is_storable(*n, *m));
    if let Some(extents) = sizes.constant().filter(|_| dtype == DType::F64 || needs_weights).filter(stored) {
        let filter = Filter { kernel, corners, antialias };
        return filter.resampled(cx, x, &sizes, &extents);
    }
    let mode = match kernel {
        Kernel::Linear if !needs_weights => "linear",
        Kernel::Cubic if !needs_weights => "cubic",
        _ => {
            return Err(
                "ONNX cannot weigh elements as PyTorch does, and stored weights need constant sizes".into()
            );
        }
    };
    let coordinates = if corners { "align_corners" } else { "half_pixel" };
    sizes.resize(cx, x, corners, |node| {
        let mut node = node.mode(mode).coordinate_transformation_mode(coordinates);
        if kernel == Kernel::Cubic {
            node = node.cubic_coeff_a(if antialias { -0.5 } else { -0.75 });
        }
        // PyTorch omits positions outside the image from the weights.
        if antialias { node.antialias(1).exclude_outside(1) } else { node }
    })
}

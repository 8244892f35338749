//! PyTorch's three kernels, to which its transforms decompose.

use onnxport_sdk::prelude::*;

use super::{Scaling, dft, from_half, scaled};

/// Complex to complex, over several axes.
#[lowering("aten._fft_c2c.default", complex)]
fn c2c(cx: &Lower, x: Value, dim: Axes, normalization: i64, forward: bool) -> Res<Value> {
    let extents: Vec<Dim> = dim.0.iter().map(|axis| cx.dim(x, *axis)).collect();
    let y = dim.0.iter().fold(x, |y, axis| dft(cx, y, *axis, None, !forward, false));
    scaled(cx, y, &extents, !forward, Scaling::numbered(normalization)?)
}

/// Real to complex: the last of the axes gives half a spectrum where `onesided`.
#[lowering("aten._fft_r2c.default", complex)]
fn r2c(cx: &Lower, x: Value, dim: Axes, normalization: i64, onesided: bool) -> Res<Value> {
    let extents: Vec<Dim> = dim.0.iter().map(|axis| cx.dim(x, *axis)).collect();
    let mut y = cx.unsqueeze(x, &[-1]);
    if let Some((last, rest)) = dim.0.split_last() {
        y = dft(cx, y, *last, None, false, onesided);
        y = rest.iter().fold(y, |y, axis| dft(cx, y, *axis, None, false, false));
    }
    scaled(cx, y, &extents, false, Scaling::numbered(normalization)?)
}

/// Complex to real: the last of the axes takes half a spectrum.
#[lowering("aten._fft_c2r.default", complex)]
fn c2r(cx: &Lower, x: Value, dim: Axes, normalization: i64) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    let extents: Vec<Dim> = dim.0.iter().filter_map(|axis| shape.get(*axis).copied()).collect();
    let (Some((last, rest)), Some(n)) = (dim.0.split_last(), extents.last()) else {
        return Err("the argument `dim` is empty".into());
    };
    let y = rest.iter().fold(x, |y, axis| dft(cx, y, *axis, None, true, false));
    scaled(cx, from_half(cx, y, *last, *n)?, &extents, true, Scaling::numbered(normalization)?)
}

//! The transforms of `torch.fft`.

use onnxport_sdk::prelude::*;

use super::{Scaling, dft, from_half, scaled};
use crate::complex::with_zeros;

/// The transform along one axis, of `n` positions: more are filled with zeros, others cut off.
#[lowering("aten.fft_fft.default", complex)]
fn fft(cx: &Lower, n: Option<SymInt>, dim: Axis, norm: Option<Str>) -> Res<Value> {
    full(cx, n.map(|n| vec![n]), &[dim.0], norm, false)
}

/// The inverse transform along one axis.
#[lowering("aten.fft_ifft.default", complex)]
fn ifft(cx: &Lower, n: Option<SymInt>, dim: Axis, norm: Option<Str>) -> Res<Value> {
    full(cx, n.map(|n| vec![n]), &[dim.0], norm, true)
}

/// The transform over several axes; by default over all, or the last ones that `s` has sizes for.
#[lowering("aten.fft_fft2.default", "aten.fft_fftn.default", complex)]
fn fftn(cx: &Lower, s: Option<Vec<SymInt>>, dim: Option<Axes>, norm: Option<Str>) -> Res<Value> {
    let axes = axes(cx, dim, s.as_ref())?;
    full(cx, s, &axes, norm, false)
}

/// The inverse transform over several axes.
#[lowering("aten.fft_ifft2.default", "aten.fft_ifftn.default", complex)]
fn ifftn(cx: &Lower, s: Option<Vec<SymInt>>, dim: Option<Axes>, norm: Option<Str>) -> Res<Value> {
    let axes = axes(cx, dim, s.as_ref())?;
    full(cx, s, &axes, norm, true)
}

/// Half the spectrum of real numbers along one axis.
#[lowering("aten.fft_rfft.default", complex)]
fn rfft(cx: &Lower, x: Value, n: Option<SymInt>, dim: Axis, norm: Option<Str>) -> Res<Value> {
    half(cx, x, n.map(|n| vec![n]), &[dim.0], norm)
}

/// The spectrum of real numbers over several axes, half of it along the last.
#[lowering("aten.fft_rfft2.default", "aten.fft_rfftn.default", complex)]
fn rfftn(cx: &Lower, x: Value, s: Option<Vec<SymInt>>, dim: Option<Axes>, norm: Option<Str>) -> Res<Value> {
    let axes = axes(cx, dim, s.as_ref())?;
    half(cx, x, s, &axes, norm)
}

/// Real numbers from half a spectrum, along one axis or several of which the last is halved.
#[lowering("aten.fft_irfft.default", "aten.fft_irfft2.default", "aten.fft_irfftn.default", complex)]
fn irfft(cx: &Lower, s: Option<Vec<SymInt>>, dim: Option<Axes>, norm: Option<Str>) -> Res<Value> {
    let axes = axes(cx, dim, s.as_ref())?;
    from_halves(cx, pairs(cx)?, s, &axes, Scaling::named(norm, true)?)
}

/// The real spectrum over several axes of numbers whose other half mirrors them along the last.
#[lowering("aten.fft_hfft2.default", "aten.fft_hfftn.default", complex)]
fn hfftn(cx: &Lower, s: Option<Vec<SymInt>>, dim: Option<Axes>, norm: Option<Str>) -> Res<Value> {
    let axes = axes(cx, dim, s.as_ref())?;
    from_halves(cx, conjugate(cx, pairs(cx)?)?, s, &axes, Scaling::named(norm, false)?)
}

/// Half the inverse spectrum of real numbers over several axes.
#[lowering("aten.fft_ihfft2.default", "aten.fft_ihfftn.default", complex)]
fn ihfftn(cx: &Lower, x: Value, s: Option<Vec<SymInt>>, dim: Option<Axes>, norm: Option<Str>) -> Res<Value> {
    let axes = axes(cx, dim, s.as_ref())?;
    let x = cx.unsqueeze(real(cx, x)?, &[-1]);
    conjugate(cx, over(cx, x, s.as_deref(), &axes, Scaling::named(norm, true)?, false, true)?)
}

/// Real numbers from half a spectrum along `axes`, of which the last is halved.
fn from_halves(cx: &Lower, x: Value, s: Option<Vec<SymInt>>, axes: &[usize], scaling: Scaling) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    let extents: Vec<Dim> = axes.iter().filter_map(|axis| shape.get(*axis).copied()).collect();
    let (Some((last, rest)), Some(n)) = (axes.split_last(), extents.last()) else {
        return Err("the argument `dim` is empty".into());
    };
    let mut y = x;
    for (i, axis) in rest.iter().enumerate() {
        let n = s.as_ref().and_then(|s| s.get(i)).map(|n| cx.sym_int_scalar(n));
        y = dft(cx, y, *axis, n, true, false);
    }
    scaled(cx, from_half(cx, y, *last, *n)?, &extents, true, scaling)
}

/// Every axis, or the named ones, or the last ones with sizes.
fn axes(cx: &Lower, dim: Option<Axes>, s: Option<&Vec<SymInt>>) -> Res<Vec<usize>> {
    if let Some(dim) = dim {
        return Ok(dim.0);
    }
    let rank = cx.result(0)?.rank();
    let first = s.map_or(0, |s| rank.saturating_sub(s.len()));
    Ok((first..rank).collect())
}

/// The first argument as pairs: a real one gets the imaginary part 0.
fn pairs(cx: &Lower) -> Res<Value> {
    let (arg, x): (Arg, Value) = (cx.argument("x")?, cx.argument("x")?);
    if arg.is_complex() {
        return Ok(x);
    }
    let x = real(cx, x)?;
    let dtype = cx.dtype(x)?;
    Ok(with_zeros(cx, cx.unsqueeze(x, &[-1]), dtype))
}

/// The spectrum of numbers whose other half mirrors them: real, of `n` positions.
#[lowering("aten.fft_hfft.default", complex)]
fn hfft(cx: &Lower, dim: Axis, norm: Option<Str>) -> Res<Value> {
    let n = cx.result(0)?.shape.get(dim.0).copied().unwrap_or(Dim::Unknown);
    scaled(cx, from_half(cx, conjugate(cx, pairs(cx)?)?, dim.0, n)?, &[n], true, Scaling::named(norm, false)?)
}

/// The inverse of `hfft`: half of the inverse spectrum of real numbers.
#[lowering("aten.fft_ihfft.default", complex)]
fn ihfft(cx: &Lower, x: Value, n: Option<SymInt>, dim: Axis, norm: Option<Str>) -> Res<Value> {
    let extent = n.as_ref().map_or_else(|| cx.dim(x, dim.0), |n| cx.as_dim(n));
    let x = cx.unsqueeze(real(cx, x)?, &[-1]);
    let n = n.map(|n| cx.sym_int_scalar(&n));
    conjugate(
        cx,
        scaled(cx, dft(cx, x, dim.0, n, false, true), &[extent], false, Scaling::named(norm, true)?)?,
    )
}

fn conjugate(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    Ok(x * cx.numbers(&[1.0, -1.0], dtype))
}

fn full(cx: &Lower, s: Option<Vec<SymInt>>, axes: &[usize], norm: Option<Str>, inverse: bool) -> Res<Value> {
    let arg: Arg = cx.argument("x")?;
    let mut y: Value = cx.argument("x")?;
    if !arg.is_complex() {
        y = real(cx, y)?;
        y = cx.unsqueeze(y, &[-1]);
    }
    over(cx, y, s.as_deref(), axes, Scaling::named(norm, inverse)?, inverse, false)
}

fn half(cx: &Lower, x: Value, s: Option<Vec<SymInt>>, axes: &[usize], norm: Option<Str>) -> Res<Value> {
    over(cx, cx.unsqueeze(real(cx, x)?, &[-1]), s.as_deref(), axes, Scaling::named(norm, false)?, false, true)
}

/// `x` in the type of the parts of the result.
fn real(cx: &Lower, x: Value) -> Res<Value> {
    let wide = matches!(cx.result(0)?.dtype, DType::C128 | DType::F64);
    let dtype = if wide { DType::F64 } else { DType::F32 };
    Ok(cx.cast(x, dtype))
}

/// Transforms the last axis first, which may be halved.
fn over(
    cx: &Lower,
    x: Value,
    s: Option<&[SymInt]>,
    axes: &[usize],
    scaling: Scaling,
    inverse: bool,
    halved: bool,
) -> Res<Value> {
    let size = |i: usize| s.and_then(|s| s.get(i)).filter(|n| n.as_const() != Some(-1));
    let extents: Vec<Dim> = axes
        .iter()
        .enumerate()
        .map(|(i, axis)| size(i).map_or_else(|| cx.dim(x, *axis), |n| cx.as_dim(n)))
        .collect();
    let mut y = x;
    for (i, axis) in axes.iter().enumerate().rev() {
        let n = size(i).map(|n| cx.sym_int_scalar(n));
        y = dft(cx, y, *axis, n, inverse, halved && i + 1 == axes.len());
    }
    scaled(cx, y, &extents, inverse, scaling)
}

/// The frequencies of the positions of a transform: `[0, 1, .., -2, -1] / (d * n)`.
#[lowering("aten.fft_fftfreq.default", "aten.fft_rfftfreq.default")]
fn frequencies(cx: &Lower, n: i64, d: f64) -> Res<Value> {
    let result = cx.result(0)?;
    let count = if cx.target().contains("rfft") { n / 2 + 1 } else { n };
    let place = |k: i64| if cx.target().contains("rfft") || k < (n + 1) / 2 { k } else { k - n };
    let values: Vec<f64> = (0..count).map(|k| place(k) as f64 / (n as f64 * d)).collect();
    Ok(cx.numbers(&values, result.dtype))
}

//! Fourier transforms, windows, filter banks.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use std::f64::consts::TAU;

use super::call::{Call, axis, one};
use super::error::invalid;
use super::strides::Cut;
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("BlackmanWindow")
        .dtypes(infer::output_type)
        .infer(infer::window)
        .eval(|c| window(c, [0.42, 0.5, 0.08])),
    Op::new("DFT").infer(infer::dft).eval(dft),
    Op::new("HammingWindow")
        .dtypes(infer::output_type)
        .infer(infer::window)
        .eval(|c| window(c, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    Op::new("HannWindow")
        .dtypes(infer::output_type)
        .infer(infer::window)
        .eval(|c| window(c, [0.5, 0.5, 0.0])),
    Op::new("MelWeightMatrix").dtypes(infer::output_type).infer(infer::mel).eval(mel_weight_matrix),
    Op::new("STFT").eval(stft),
];

/// A count that input `index` states.
fn count(c: &Call<'_>, index: usize) -> Res<Option<usize>> {
    match c.long(index)?.map(usize::try_from) {
        None => Ok(None),
        Some(Ok(n)) if n > 0 => Ok(Some(n)),
        Some(_) => invalid!("input {index} is not positive"),
    }
}

/// `a[0] - a[1] cos(2πn / N) + a[2] cos(4πn / N)`, where `N` is the size, or one less of a symmetric window.
fn window(c: &mut Call<'_>, a: [f64; 3]) -> Res<Vec<Value>> {
    let Some(size) = c.long(0)?.and_then(|n| usize::try_from(n).ok()) else {
        return invalid!("the size of the window is negative or missing");
    };
    let dtype = c.dtype("output_datatype")?;
    c.count(&[size])?;
    let period = if c.flag("periodic") { size as f64 } else { size as f64 - 1.0 };
    let angle = |n: usize| TAU * n as f64 / period;
    let items = (0..size).map(|n| a[0] - a[1] * angle(n).cos() + a[2] * (2.0 * angle(n)).cos()).collect();
    one(Tensor::of_numbers(dtype, vec![size], items)?)
}

/// Sums of `length` complex numbers against the roots of unity; the angle of each root is exact up to one rounding.
struct Transform {
    roots: Vec<[f64; 2]>,
    scale: f64,
}

impl Transform {
    fn new(length: usize, inverse: bool) -> Self {
        let sign = if inverse { 1.0 } else { -1.0 };
        let root = |k: usize| {
            let (sin, cos) = (TAU * k as f64 / length as f64).sin_cos();
            [cos, sign * sin]
        };
        let roots = (0..length).map(root).collect();
        Self { roots, scale: if inverse { length as f64 } else { 1.0 } }
    }

    /// The first `bins` elements of the transform.
    fn of(&self, items: &[[f64; 2]], bins: usize) -> impl Iterator<Item = [f64; 2]> {
        (0..bins).map(move |k| {
            let (mut re, mut im) = (0.0, 0.0);
            let mut turn = 0;
            for [a, b] in items {
                let [cos, sin] = self.roots[turn];
                re += a * cos - b * sin;
                im += a * sin + b * cos;
                turn = (turn + k) % self.roots.len();
            }
            [re / self.scale, im / self.scale]
        })
    }
}

/// The elements with their imaginary parts, of which the last axis of real ones has none.
fn complex(x: &Tensor) -> Res<(Vec<[f64; 2]>, bool)> {
    let items = x.floats()?;
    match x.shape() {
        [.., 1] => Ok((items.into_iter().map(|re| [re, 0.0]).collect(), false)),
        [.., 2] => Ok((items.as_chunks::<2>().0.to_vec(), true)),
        _ => invalid!("the last axis of {} does not hold real and imaginary parts", x.describe()),
    }
}

fn dft(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let at = if c.opset < 20 { c.int("axis")? } else { c.long(2)?.unwrap_or(-2) };
    let (inverse, onesided) = (c.flag("inverse"), c.flag("onesided"));
    let (items, has_imaginary) = complex(x)?;
    let axes = x.rank().saturating_sub(1);
    let at = axis(if at < 0 { at.saturating_add(1) } else { at }, axes)?;
    let mut shape = x.shape().get(..axes).unwrap_or_default().to_vec();
    let from = Cut::at(&shape, at);
    let mirrored = onesided && inverse;
    if onesided && !inverse && has_imaginary {
        return invalid!("a transform of complex numbers is not one-sided");
    }
    let natural = if mirrored { 2 * from.extent.saturating_sub(1) } else { from.extent };
    let length = count(c, 1)?.unwrap_or(natural);
    shape[at] = if onesided && !inverse { length / 2 + 1 } else { length };
    let to = Cut::at(&shape, at);
    let parts = if mirrored { 1 } else { 2 };
    shape.push(parts);
    let mut out = vec![0.0; c.count(&shape)?];
    c.spend((out.len() as u64).saturating_mul(length as u64))?;
    c.count(&[length])?;
    let transform = Transform::new(length, inverse);
    for (source, target) in from.lines().zip(to.lines()) {
        let mut line: Vec<[f64; 2]> = from.line(source).filter_map(|at| items.get(at).copied()).collect();
        if mirrored {
            // The other half is conjugate.
            line.resize(length / 2 + 1, [0.0; 2]);
            line.truncate(length);
            for k in line.len()..length {
                let [re, im] = line[length - k];
                line.push([re, -im]);
            }
        }
        line.resize(length, [0.0; 2]);
        for (place, value) in to.line(target).zip(transform.of(&line, to.extent)) {
            if let Some(slot) = out.get_mut(place * parts..(place + 1) * parts) {
                slot.copy_from_slice(&value[..parts]);
            }
        }
    }
    one(Tensor::of_floats(x.dtype(), shape, out)?)
}

fn stft(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let signal = c.tensor(0)?;
    let (items, has_imaginary) = complex(signal)?;
    let &[batch, samples, _] = signal.shape() else {
        return invalid!("{} is not a signal", signal.describe());
    };
    let Some(step) = count(c, 1)? else { return invalid!("the step between frames is missing") };
    let window = c.optional(2)?.map(Tensor::floats).transpose()?;
    let length = count(c, 3)?.or(window.as_ref().map(Vec::len)).unwrap_or(samples);
    if length == 0 || length > samples || window.as_ref().is_some_and(|w| w.len() != length) {
        return invalid!("frames of {length} do not fit the window and a signal of {samples}");
    }
    let onesided = c.flag("onesided");
    if onesided && has_imaginary {
        return invalid!("a transform of complex numbers is not one-sided");
    }
    let frames = (samples - length) / step + 1;
    let bins = if onesided { length / 2 + 1 } else { length };
    let shape = vec![batch, frames, bins, 2];
    let mut out = Vec::with_capacity(c.count(&shape)?);
    c.spend((out.capacity() as u64).saturating_mul(length as u64))?;
    let transform = Transform::new(length, false);
    for signal in items.chunks(samples) {
        for frame in 0..frames {
            let part = signal.iter().skip(frame * step).take(length).enumerate();
            let weight = |at: usize| window.as_ref().and_then(|w| w.get(at)).copied().unwrap_or(1.0);
            let part: Vec<[f64; 2]> = part.map(|(at, [re, im])| [re * weight(at), im * weight(at)]).collect();
            out.extend(transform.of(&part, bins).flatten());
        }
    }
    one(Tensor::of_floats(signal.dtype(), shape, out)?)
}

/// Triangles whose corners lie at equal steps on the mel scale, in whole bins of the spectrum.
fn mel_weight_matrix(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (Some(bands), Some(length), Some(rate)) = (count(c, 0)?, count(c, 1)?, count(c, 2)?) else {
        return invalid!("a size is missing");
    };
    let (Some(low), Some(high)) = (c.number(3)?, c.number(4)?) else {
        return invalid!("a frequency is missing");
    };
    let dtype = c.dtype("output_datatype")?;
    let bins = length / 2 + 1;
    let mut out = vec![0.0; c.count(&[bins, bands])?];
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let step = (mel(high) - mel(low)) / (bands + 2) as f64;
    let corner = |index: usize| {
        let hertz = 700.0 * (10f64.powf((index as f64 * step + mel(low)) / 2595.0) - 1.0);
        ((length + 1) as f64 * hertz / rate as f64).floor().clamp(-1e15, 1e15) as i64
    };
    for band in 0..bands {
        let (left, centre, right) = (corner(band), corner(band + 1), corner(band + 2));
        let rise = |bin: i64| if centre == left { 1.0 } else { (bin - left) as f64 / (centre - left) as f64 };
        let fall = |bin: i64| (right - bin) as f64 / (right - centre) as f64;
        let height = |bin: i64| match bin {
            _ if bin < left || bin > centre.max(right - 1) => 0.0,
            _ if bin < centre || right <= centre => rise(bin),
            _ => fall(bin),
        };
        for bin in 0..bins {
            out[bin * bands + band] = height(bin as i64);
        }
    }
    one(Tensor::of_numbers(dtype, vec![bins, bands], out)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes, one};
    use crate::sym::Dim;

    /// The attribute `output_datatype`.
    pub(super) fn output_type(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype_attr("output_datatype", || None)]
    }

    /// `MelWeightMatrix`: a row for each bin of the spectrum, a column for each band.
    pub(super) fn mel(cx: &mut Cx<'_>) -> Option<Shapes> {
        let single = |cx: &Cx<'_>, i: usize| cx.contents(i).filter(|c| c.len() == 1).map(|c| c[0]);
        let (bands, length) = (single(cx, 0), single(cx, 1));
        let bins = length.map(|length| {
            let half = cx.symbols.floor_div(length, Dim::Const(2));
            cx.plus(half, 1)
        });
        one([bins, bands])
    }

    /// `DFT`; the axis is an attribute before opset 20 and an input from then on.
    pub(super) fn dft(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 2)?;
        let mut out: Dims = cx.dims(0)?.into();
        let inverse = cx.flag("inverse")?;
        let one_sided = cx.flag("onesided")?;
        let rank = out.len();
        let at = match (cx.input(2), cx.int("axis")) {
            (Some(_), _) => {
                let at = cx.ints(2)?.first().copied()?;
                cx.exists(at, rank)?
            }
            (None, Some(at)) => cx.exists(at, rank)?,
            // Since opset 20.
            (None, None) => cx.exists(-2, rank)?,
        };
        let length = match cx.input(1) {
            Some(_) => cx.contents(1).filter(|c| c.len() == 1).map(|c| c[0]),
            None => out[at],
        };
        if inverse && one_sided {
            return one(out.iter().map(|_| None));
        }
        out[at] = match (length, one_sided) {
            (Some(length), true) => {
                let half = cx.symbols.floor_div(length, Dim::Const(2));
                Some(cx.plus(half, 1))
            }
            (length, _) => length,
        };
        *out.last_mut()? = Some(Dim::Const(2));
        one(out)
    }

    /// The window functions.
    pub(super) fn window(cx: &mut Cx<'_>) -> Option<Shapes> {
        one([cx.contents(0).filter(|c| c.len() == 1).map(|c| c[0])])
    }
}

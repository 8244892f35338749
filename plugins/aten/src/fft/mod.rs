//! Fourier transforms.

mod frames;
mod kernels;
mod named;

use onnxport_sdk::prelude::*;

/// How a transform is scaled, for `n` positions in all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    /// Not at all.
    None,
    /// By `1 / sqrt(n)`.
    Root,
    /// By `1 / n`.
    Whole,
}

impl Scaling {
    /// From the names in `torch.fft`.
    pub(super) fn named(norm: Option<Str>, inverse: bool) -> Res<Self> {
        match (norm.map_or("backward", |n| n.0), inverse) {
            ("backward", false) | ("forward", true) => Ok(Self::None),
            ("backward", true) | ("forward", false) => Ok(Self::Whole),
            ("ortho", _) => Ok(Self::Root),
            (other, _) => Err(format!("the argument `norm` is `{other}`, which is not known").into()),
        }
    }

    /// From the numbers of PyTorch's kernels.
    pub(super) fn numbered(normalization: i64) -> Res<Self> {
        match normalization {
            0 => Ok(Self::None),
            1 => Ok(Self::Root),
            2 => Ok(Self::Whole),
            other => Err(format!("the argument `normalization` is {other}, which is not known").into()),
        }
    }
}

/// `DFT` of pairs (or of reals with a last axis of size 1) along an axis counted from the front.
pub(super) fn dft(
    cx: &Lower,
    x: Value,
    axis: usize,
    n: Option<Value>,
    inverse: bool,
    onesided: bool,
) -> Value {
    let place = (cx.opset() >= 20).then(|| cx.int(axis as i64));
    let mut node = cx.op(op::DFT).input(x).maybe(n).maybe(place);
    if place.is_none() {
        node = node.axis(axis as i64);
    }
    if inverse {
        node = node.inverse(1);
    }
    if onesided {
        node = node.onesided(1);
    }
    node.one()
}

/// `y`, transformed over `axes` by nodes of which an inverse one already divides by the size,
/// scaled as asked.
pub(super) fn scaled(cx: &Lower, y: Value, extents: &[Dim], inverse: bool, scaling: Scaling) -> Res<Value> {
    let dtype = cx.dtype(y)?;
    let total = extents.iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
    let (divide, root) = match (inverse, scaling) {
        (false, Scaling::None) | (true, Scaling::Whole) => return Ok(y),
        (false, scaling) => (true, scaling == Scaling::Root),
        (true, scaling) => (false, scaling == Scaling::Root),
    };
    if let Some(n) = total.as_const() {
        let n = if root { (n as f64).sqrt() } else { n as f64 };
        return Ok(y * (if divide { 1.0 / n } else { n }));
    }
    let total = cx.cast(cx.dims_value(&[total]), dtype);
    let total = if root { cx.sqrt(total) } else { total };
    Ok(if divide { y / total } else { y * total })
}

/// The real parts of the inverse transform along `axis` of half a spectrum whose other half mirrors
/// it; the result has `n` positions.
pub(super) fn from_half(cx: &Lower, x: Value, axis: usize, n: Dim) -> Res<Value> {
    let (Dim::Const(n), Dim::Const(have)) = (n, cx.dim(x, axis)) else {
        return from_dynamic_half(cx, x, axis, n);
    };
    let half = n / 2 + 1;
    let (dtype, rank) = (cx.dtype(x)?, cx.rank(x)?);
    let mut x = x;
    if have < half {
        let mut pads = vec![0; 2 * rank];
        if let Some(end) = pads.get_mut(rank + axis) {
            *end = half - have;
        }
        x = cx.op(op::Pad).input(x).input(cx.ints(&pads)).one();
    }
    let places: Vec<i64> = (0..n).map(|k| if k < half { k } else { n - k }).collect();
    let full = cx.gather(x, cx.ints(&places), axis as i64);
    let signs: Vec<f64> = (0..n).flat_map(|k| [1.0, if k < half { 1.0 } else { -1.0 }]).collect();
    let mut shape = vec![1; rank - axis];
    if let [first, .., last] = shape.as_mut_slice() {
        (*first, *last) = (n as u64, 2);
    }
    let signs = cx.numbers_shaped(&signs, &shape, dtype);
    Ok(cx.gather(dft(cx, full * signs, axis, None, true, false), cx.int(0), -1))
}

/// The same where a size is known only at run time.
fn from_dynamic_half(cx: &Lower, x: Value, axis: usize, n: Dim) -> Res<Value> {
    let (dtype, rank) = (cx.dtype(x)?, cx.rank(x)?);
    let count = cx.dims_value(&[n]);
    let half = count / 2i64 + 1i64;
    let missing = cx.max(half - cx.extent(x, axis), cx.ints(&[0]));
    let (before, after) = (cx.ints(&vec![0; rank + axis]), cx.ints(&vec![0; rank - axis - 1]));
    let pads = cx.concat(&[before, missing, after], 0);
    let x = cx.op(op::Pad).input(x).input(pads).one();
    let places = cx.range(cx.int(0), cx.squeeze(count, &[0]), cx.int(1));
    let mirrored = cx.greater_equal(places, half);
    let full = cx.gather(x, cx.select(mirrored, count - places, places), axis as i64);
    let one = cx.float(1.0, dtype);
    let axes: Vec<i64> = (1..(rank - axis) as i64).collect();
    let signs = cx.unsqueeze(cx.select(mirrored, -one, one), &axes);
    let signs = cx.concat(&[signs * 0.0 + 1.0, signs], -1);
    Ok(cx.gather(dft(cx, full * signs, axis, None, true, false), cx.int(0), -1))
}

//! Shapes of parts of tensors, and of tensors made of parts.

use smallvec::{SmallVec, smallvec};

use crate::ir::Shape;
use crate::ops::infer::cx::{Cx, Dims, Shapes, axis, either, one};
use crate::sym::Dim;

/// `Concat`.
pub(super) fn concat(cx: &mut Cx<'_>) -> Option<Shapes> {
    let count = cx.node.inputs.len();
    let mut out: Option<Dims> = None;
    let mut total = Some(Dim::Const(0));
    for index in 0..count {
        let Some(dims) = cx.dims(index) else {
            total = None;
            continue;
        };
        let at = cx.axis(0, dims.len())?;
        total = total.zip(dims[at]).map(|(a, b)| cx.symbols.add(a, b));
        match &mut out {
            None => out = Some(dims.into()),
            Some(out) if out.len() != dims.len() => return None,
            Some(out) => out.iter_mut().zip(dims).for_each(|(o, d)| *o = either(*o, *d)),
        }
    }
    let mut out = out?;
    let at = cx.axis(0, out.len())?;
    out[at] = total;
    one(out)
}

/// `Split`.
pub(super) fn split(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let at = cx.axis(0, dims.len())?;
    let count = cx.node.outputs.len();
    let sizes: SmallVec<[Option<Dim>; 4]> = match (cx.input(1), dims[at]) {
        (Some(_), _) => match cx.contents(1) {
            Some(sizes) => sizes.into_iter().map(Some).collect(),
            None => smallvec![None; count],
        },
        (None, Some(dim)) if count > 0 => {
            // Equal chunks, the last one smaller.
            let n = Dim::Const(cx.int("num_outputs", count as i64).max(1));
            let rounded = cx.plus(dim, count as i64 - 1);
            let chunk = cx.symbols.floor_div(rounded, n);
            let before = cx.symbols.mul(chunk, Dim::Const(count as i64 - 1));
            let last = cx.symbols.sub(dim, before);
            (0..count).map(|i| Some(if i + 1 == count { last } else { chunk })).collect()
        }
        _ => smallvec![None; count],
    };
    Some(
        (0..count)
            .map(|i| {
                let mut out: Dims = dims.into();
                out[at] = sizes.get(i).copied().flatten();
                Shape::Ranked(out)
            })
            .collect(),
    )
}

/// `Pad`.
pub(super) fn pad(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let unknown = || one(dims.iter().map(|_| None));
    let axes: SmallVec<[usize; 4]> = match cx.input(3) {
        Some(_) => match cx.axes(3, dims.len()) {
            Some(axes) => axes,
            None => return unknown(),
        },
        None => (0..dims.len()).collect(),
    };
    let Some(pads) = cx.contents(1).filter(|p| p.len() == 2 * axes.len()) else { return unknown() };
    let mut out: Dims = dims.into();
    for (index, at) in axes.iter().enumerate() {
        let both = cx.symbols.add(pads[index], pads[index + axes.len()]);
        out[*at] = dims[*at].map(|d| cx.symbols.add(d, both));
    }
    one(out)
}

/// `CenterCropPad`.
pub(super) fn center_crop_pad(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut out: Dims = cx.dims(0)?.into();
    let axes: SmallVec<[usize; 4]> = match cx.node.ints("axes") {
        Some(axes) => axes.iter().map(|a| axis(*a, out.len())).collect::<Option<_>>()?,
        None => (0..out.len()).collect(),
    };
    let shape = cx.contents(1);
    for (index, at) in axes.into_iter().enumerate() {
        out[at] = shape.as_ref().and_then(|s| s.get(index).copied());
    }
    one(out)
}

/// Ends at or beyond this stand for "to the end".
const FAR: i64 = i64::MAX / 2;

/// `Slice`: extents that symbolic bounds leave open stay unknown.
pub(super) fn slice(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let count = [1, 2, 3, 4].into_iter().find_map(|i| Some(cx.contents(i)?.len()));
    let axes: Option<SmallVec<[usize; 4]>> = match (cx.input(3), count) {
        (Some(_), _) => cx.axes(3, dims.len()),
        (None, Some(count)) => (0..count as i64).map(|a| axis(a, dims.len())).collect(),
        (None, None) => None,
    };
    let Some(axes) = axes else { return one(dims.iter().map(|_| None)) };
    let (starts, ends) = (cx.contents(1), cx.contents(2));
    let steps = match cx.input(4) {
        Some(_) => cx.contents(4),
        None => Some(axes.iter().map(|_| Dim::Const(1)).collect()),
    };
    let mut out: Dims = dims.into();
    for (index, at) in axes.into_iter().enumerate() {
        let pick = |from: &Option<crate::ir::ShapeValue>| from.as_ref()?.get(index).copied();
        out[at] = match (pick(&starts), pick(&ends), pick(&steps)) {
            (Some(start), Some(end), Some(Dim::Const(step))) => {
                dims[at].and_then(|dim| length(cx, dim, start, end, step))
            }
            _ => None,
        };
    }
    one(out)
}

fn length(cx: &mut Cx<'_>, dim: Dim, start: Dim, end: Dim, step: i64) -> Option<Dim> {
    match step {
        1.. => {
            let start = bound(cx, dim, start)?;
            let end = bound(cx, dim, end)?;
            let span = cx.symbols.sub(end, start);
            let rounded = cx.plus(span, step.checked_sub(1)?);
            let count = cx.symbols.floor_div(rounded, Dim::Const(step));
            Some(cx.symbols.max(count, Dim::Const(0)))
        }
        _ => backwards(cx, dim, start.as_const()?, end.as_const()?, step),
    }
}

/// A bound of a forward slice as an index in `0..=dim`.
fn bound(cx: &mut Cx<'_>, dim: Dim, at: Dim) -> Option<Dim> {
    if at.as_const().is_some_and(|n| n >= FAR) {
        return Some(dim);
    }
    if at.as_const().is_some_and(|n| n <= -FAR) {
        return Some(Dim::Const(0));
    }
    let range = cx.symbols.range(at);
    let at = match (range.min, range.max) {
        (Some(0..), _) => at,
        (_, Some(..=-1)) => {
            let back = cx.symbols.add(at, dim);
            cx.symbols.max(back, Dim::Const(0))
        }
        // Its sign decides what it means.
        _ => return None,
    };
    Some(cx.symbols.min(at, dim))
}

fn backwards(cx: &mut Cx<'_>, dim: Dim, start: i64, end: i64, step: i64) -> Option<Dim> {
    if let Dim::Const(n) = dim {
        if step == 0 || n < 1 {
            return (n == 0).then_some(dim);
        }
        let from_front = |at: i64| if at < 0 { at.saturating_add(n) } else { at };
        let start = from_front(start).clamp(0, n - 1);
        let end = from_front(end).clamp(-1, n - 1);
        let count = (i128::from(end) - i128::from(start)).div_euclid(i128::from(step));
        // Division by a negative step rounds up, as the operator's formula does.
        return i64::try_from(count.max(0)).ok().map(Dim::Const);
    }
    // The whole axis, reversed.
    (start == -1 || start >= FAR).then_some(())?;
    (end <= -FAR).then_some(())?;
    let rounded = cx.plus(dim, step.checked_neg()?.checked_sub(1)?);
    Some(cx.symbols.floor_div(rounded, Dim::Const(-step)))
}

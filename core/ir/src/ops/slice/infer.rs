//! Shapes of parts of tensors, and of tensors made of parts.

use smallvec::{SmallVec, smallvec};

use crate::ir::{MAX_CONTENTS, Shape, ShapeValue};
use crate::ops::infer::cx::{Contents, Cx, Dims, Shapes, either, held, one};
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
        let at = cx.axis(dims.len())?;
        total = total.zip(dims[at]).map(|(a, b)| cx.symbols.add(a, b));
        let Some(out) = &mut out else {
            out = Some(dims.into());
            continue;
        };
        let rank = out.len();
        cx.demand(rank == dims.len(), || {
            format!("input {index} has {} axes, those before it have {rank}", dims.len())
        })?;
        for (axis, (out, dim)) in out.iter_mut().zip(dims).enumerate().filter(|(axis, _)| *axis != at) {
            cx.equal(*out, *dim, &format!("input {index} differs in axis {axis}"))?;
            *out = either(*out, *dim);
        }
    }
    let mut out = out?;
    let at = cx.axis(out.len())?;
    out[at] = total;
    one(out)
}

/// `Split`.
pub(super) fn split(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let at = cx.axis(dims.len())?;
    let count = cx.node.outputs.len();
    if cx.input(1).is_some() {
        cx.counts(1, count, "outputs")?;
        if let Some(sizes) = cx.contents(1) {
            let negative = sizes.iter().any(|d| d.as_const().is_some_and(|n| n < 0));
            cx.demand(!negative, || "a part has a negative size".to_owned())?;
            let total = sizes.into_iter().fold(Dim::Const(0), |a, b| cx.symbols.add(a, b));
            cx.equal(Some(total), dims[at], "the sum of the parts is not the size")?;
        }
    } else if let (Some(Dim::Const(n)), true) = (dims[at], count > 0) {
        equal_parts(cx, n, i64::try_from(count).ok()?)?;
    }
    let sizes: SmallVec<[Option<Dim>; 4]> = match (cx.input(1), dims[at]) {
        (Some(_), _) => match cx.contents(1) {
            Some(sizes) => sizes.into_iter().map(Some).collect(),
            None => smallvec![None; count],
        },
        (None, Some(dim)) if count > 0 => {
            // Equal chunks, the last one smaller.
            let n = cx.int("num_outputs").unwrap_or(i64::try_from(count).ok()?).max(1);
            let whole = n.checked_sub(1)?;
            let rounded = cx.plus(dim, whole);
            let chunk = cx.symbols.floor_div(rounded, Dim::Const(n));
            let before = cx.symbols.mul(chunk, Dim::Const(whole));
            let last = cx.symbols.sub(dim, before);
            (0..count).map(|i| Some(if i64::try_from(i) == Ok(whole) { last } else { chunk })).collect()
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

/// Refutes `count` equal parts of `n`; the last one may be smaller from opset 18 on.
fn equal_parts(cx: &mut Cx<'_>, n: i64, count: i64) -> Option<()> {
    if cx.opset < 18 {
        return cx.demand(n.checked_rem(count) == Some(0), || {
            format!("{n} does not split into {count} equal parts")
        });
    }
    let parts = cx.int("num_outputs").unwrap_or(count);
    // Branches that are not taken for such a size may say so.
    cx.demand(parts <= n || !cx.always_runs(), || format!("{n} does not split into {parts} parts"))
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
    let ends = axes.len().saturating_mul(2);
    cx.counts(1, ends, "ends of axes")?;
    let Some(pads) = cx.contents(1).filter(|p| p.len() == ends) else { return unknown() };
    let (before, after) = pads.split_at(axes.len());
    let mut out: Dims = dims.into();
    for ((at, before), after) in axes.iter().zip(before).zip(after) {
        let both = cx.symbols.add(*before, *after);
        out[*at] = dims[*at].map(|d| cx.symbols.add(d, both));
        let negative = out[*at].and_then(Dim::as_const).filter(|n| *n < 0);
        cx.demand(negative.is_none(), || format!("axis {at} would have a size below 0"))?;
    }
    one(out)
}

/// `CenterCropPad`.
pub(super) fn center_crop_pad(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut out: Dims = cx.dims(0)?.into();
    let axes: SmallVec<[usize; 4]> = match cx.node.ints("axes") {
        Some(axes) => axes.iter().map(|a| cx.exists(*a, out.len())).collect::<Option<_>>()?,
        None => (0..out.len()).collect(),
    };
    cx.counts(1, axes.len(), "axes")?;
    let shape = cx.contents(1);
    for (index, at) in axes.into_iter().enumerate() {
        out[at] = shape.as_ref().and_then(|s| s.get(index).copied());
    }
    one(out)
}

/// Ends at or beyond this stand for "to the end".
const FAR: i64 = i64::MAX / 2;

/// `Slice`: sizes that symbolic bounds leave open stay unknown.
pub(super) fn slice(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let count = [1, 2, 3, 4].into_iter().find_map(|i| Some(cx.contents(i)?.len()));
    let axes: Option<SmallVec<[usize; 4]>> = match (cx.input(3), count) {
        (Some(_), _) => cx.axes(3, dims.len()),
        (None, Some(count)) => (0..count as i64).map(|a| cx.exists(a, dims.len())).collect(),
        (None, None) => None,
    };
    let Some(axes) = axes else { return one(dims.iter().map(|_| None)) };
    for index in 1..5 {
        cx.counts(index, axes.len(), "axes")?;
    }
    let (starts, ends) = (cx.contents(1), cx.contents(2));
    let steps = match cx.input(4) {
        Some(_) => cx.contents(4),
        None => Some(axes.iter().map(|_| Dim::Const(1)).collect()),
    };
    let mut out: Dims = dims.into();
    for (index, at) in axes.into_iter().enumerate() {
        let pick = |from: &Option<ShapeValue>| from.as_ref()?.get(index).copied();
        out[at] = match (pick(&starts), pick(&ends), pick(&steps)) {
            (_, _, Some(Dim::Const(0))) => return cx.refute("a step is 0"),
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
        // Its meaning depends on its sign.
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
        let last = n.checked_sub(1)?;
        let start = from_front(start).clamp(0, last);
        let end = from_front(end).clamp(-1, last);
        // Division by a negative step rounds up, as the operator's formula does.
        return Some(Dim::Const(end.checked_sub(start)?.checked_div_euclid(step)?.max(0)));
    }
    // The whole axis, reversed.
    (start == -1 || start >= FAR).then_some(())?;
    (end <= -FAR).then_some(())?;
    let step = step.checked_neg()?;
    let rounded = cx.plus(dim, step.checked_sub(1)?);
    Some(cx.symbols.floor_div(rounded, Dim::Const(step)))
}

/// `Concat` of lists.
pub(super) fn joined(cx: &mut Cx<'_>) -> Option<Contents> {
    let mut all = ShapeValue::new();
    for index in 0..cx.node.inputs.len() {
        all.extend(cx.contents(index)?);
        (all.len() <= MAX_CONTENTS).then_some(())?;
    }
    held(all)
}

/// `Slice` of a list.
pub(super) fn sliced(cx: &mut Cx<'_>) -> Option<Contents> {
    let data = cx.contents(0)?;
    cx.dims(0).filter(|d| d.len() == 1)?;
    let n = data.len() as i64;
    let single = |cx: &Cx<'_>, index: usize| cx.ints(index)?.first().copied();
    let step = if cx.input(4).is_some() { single(cx, 4)? } else { 1 };
    if step < 1 {
        return None;
    }
    let clamp = |at: i64| (if at < 0 { at.saturating_add(n) } else { at }).clamp(0, n) as usize;
    let (start, end) = (clamp(single(cx, 1)?), clamp(single(cx, 2)?));
    held(data.get(start..end).unwrap_or_default().iter().step_by(step as usize).copied().collect())
}

/// `Split` of a list.
pub(super) fn parts(cx: &mut Cx<'_>) -> Option<Contents> {
    let data = cx.contents(0)?;
    let count = cx.node.outputs.len();
    let sizes: SmallVec<[i64; 4]> = if cx.input(1).is_some() {
        cx.ints(1)?
    } else {
        let chunk = data.len().div_ceil(count.max(1));
        (0..count).map(|i| data.len().saturating_sub(i.saturating_mul(chunk)).min(chunk) as i64).collect()
    };
    let mut rest = data.as_slice();
    let mut out = Contents::new();
    for size in sizes {
        let (part, next) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        out.push(Some(part.into()));
        rest = next;
    }
    Some(out)
}

//! Parts of tensors, and tensors made of parts.

mod infer;

use super::call::{Call, axis, one, sizes};
use super::error::invalid;
use super::strides::{Cut, Walk, dense};
use super::{Axes, Op, Res, Tensor, Value};
use crate::tensor::Kind;

pub(super) const OPS: &[Op] = &[
    Op::new("CenterCropPad").infer(infer::center_crop_pad).eval(center_crop_pad),
    Op::new("Concat").along(1).infer(infer::concat).contents(infer::joined).eval(|c| {
        let inputs = c.tensors(0)?;
        let rank = inputs.first().map_or(0, |t| t.rank());
        // An attribute that had a default before opset 4.
        let at = axis(c.int_if_any("axis").unwrap_or(1), rank)?;
        one(concat(c, &inputs, at)?)
    }),
    Op::new("Pad").axes(Axes::PerAxis(&[(1, 2)])).infer(infer::pad).eval(pad),
    Op::new("Slice").moves().axes(Axes::Listed(3)).infer(infer::slice).contents(infer::sliced).eval(slice),
    Op::new("Split").moves().along(1).infer(infer::split).contents(infer::parts).eval(split),
];

/// `inputs` one behind the other along `axis`.
pub(super) fn concat(c: &Call<'_>, inputs: &[&Tensor], axis: usize) -> Res<Tensor> {
    let Some(first) = inputs.first() else { return invalid!("there is nothing to join") };
    let mut shape = first.shape().to_vec();
    let fits = |t: &&&Tensor| {
        t.rank() == first.rank() && (0..t.rank()).all(|a| a == axis || t.dim(a) == first.dim(a))
    };
    if let Some(other) = inputs.iter().find(|t| !fits(t)) {
        return invalid!(
            "the shapes {:?} and {:?} do not join along axis {axis}",
            first.shape(),
            other.shape()
        );
    }
    let Some(total) = shape.get_mut(axis) else { return invalid!("axis {axis} is out of range") };
    *total = inputs.iter().fold(0, |sum, t| sum.saturating_add(t.dim(axis)));
    c.count(&shape)?;
    let outer = Cut::at(&shape, axis).outer;
    let runs: Vec<usize> = inputs
        .iter()
        .map(|t| Cut::at(t.shape(), axis))
        .map(|cut| cut.extent.saturating_mul(cut.inner))
        .collect();
    let places = (0..outer).flat_map(|o| {
        runs.iter().enumerate().flat_map(move |(which, run)| {
            let first = o.saturating_mul(*run);
            (first..first.saturating_add(*run)).map(move |at| (which, at))
        })
    });
    let joined = Tensor::mix(shape.clone(), inputs, places)?;
    Ok(joined)
}

/// The part of `x` from `starts`, of size `shape`, by `steps` elements.
fn part(c: &Call<'_>, x: &Tensor, starts: &[usize], shape: Vec<usize>, steps: &[i64]) -> Res<Tensor> {
    c.count(&shape)?;
    let strides = dense(x.shape());
    let places = strides.iter().zip(starts).map(|(stride, start)| stride.saturating_mul(*start as isize));
    let offset = places.fold(0isize, isize::saturating_add);
    // A step beyond the end is not taken.
    let step = |(stride, (step, extent)): (&isize, (&i64, &usize))| {
        if *extent > 1 { stride.saturating_mul(*step as isize) } else { 0 }
    };
    let strides: Vec<isize> = strides.iter().zip(steps.iter().zip(&shape)).map(step).collect();
    let walk = Walk::new(&shape, &strides, offset);
    x.pick(shape, walk)
}

/// The elements `from..from + extent` along `axis`.
pub(super) fn range(c: &Call<'_>, x: &Tensor, axis: usize, from: usize, extent: usize) -> Res<Tensor> {
    let (mut starts, mut shape) = (vec![0; x.rank()], x.shape().to_vec());
    if from.saturating_add(extent) > x.dim(axis) || axis >= x.rank() {
        return invalid!("{from} and {extent} more are beyond the size {} of axis {axis}", x.dim(axis));
    }
    (starts[axis], shape[axis]) = (from, extent);
    part(c, x, &starts, shape, &vec![1; x.rank()])
}

/// Bounds beyond the ends are the ends; a negative step walks backwards.
fn slice(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let list = |index: usize, name: &str| Ok(c.longs(index)?.or_else(|| c.ints(name).map(<[i64]>::to_vec)));
    let (starts, ends) = (list(1, "starts")?.unwrap_or_default(), list(2, "ends")?.unwrap_or_default());
    let axes = match c.axes(3, x.rank())? {
        Some(axes) => axes,
        None => (0..starts.len()).map(|a| axis(a as i64, x.rank())).collect::<Res<_>>()?,
    };
    let given = c.longs(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || given.len() != starts.len() {
        return invalid!("starts, ends, axes and steps are not equally many");
    }
    let (mut first, mut shape, mut steps) =
        (vec![0usize; x.rank()], x.shape().to_vec(), vec![1i64; x.rank()]);
    for (((start, end), step), at) in starts.iter().zip(&ends).zip(&given).zip(&axes) {
        let extent = x.dim(*at) as i64;
        let front = |n: i64| if n < 0 { n.saturating_add(extent) } else { n };
        let (from, count) = match *step {
            0 => return invalid!("a step is 0"),
            step @ 1.. => {
                let (from, to) = (front(*start).clamp(0, extent), front(*end).clamp(0, extent));
                (from, to.saturating_sub(from).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
            }
            step => {
                let last = extent.saturating_sub(1);
                let (from, to) = (front(*start).clamp(-1, last), front(*end).clamp(-1, last));
                (from, from.saturating_sub(to).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
            }
        };
        first[*at] = if count == 0 { 0 } else { from.max(0) as usize };
        shape[*at] = count as usize;
        steps[*at] = *step;
    }
    one(part(c, x, &first, shape, &steps)?)
}

/// The sizes of parts along an axis: given ones, or `count` of `parts` equal ones with a smaller last one.
pub(super) fn extents(c: &Call<'_>, extent: usize, parts: usize, count: usize) -> Res<Vec<usize>> {
    let given = match c.longs(1)? {
        Some(sizes) => Some(sizes),
        None => c.ints("split").map(<[i64]>::to_vec),
    };
    let Some(given) = given else {
        let parts = parts.max(1);
        let chunk = extent.div_ceil(parts);
        let part = |i: usize| extent.saturating_sub(i.saturating_mul(chunk)).min(chunk);
        return Ok((0..parts.min(count)).map(part).collect());
    };
    let given = sizes(&given)?;
    if given.iter().try_fold(0usize, |n, d| n.checked_add(*d)) != Some(extent) {
        return invalid!("the parts {given:?} do not make the size {extent}");
    }
    Ok(given)
}

fn split(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let at = c.axis(x.rank())?;
    let parts = usize::try_from(c.int_if_any("num_outputs").unwrap_or(c.outputs() as i64)).unwrap_or(0);
    let mut from = 0;
    let mut out = Vec::new();
    for extent in extents(c, x.dim(at), parts, c.outputs())? {
        out.push(Value::Tensor(range(c, x, at, from, extent)?));
        from = from.saturating_add(extent);
    }
    Ok(out)
}

/// The size of a padded axis, unless it does not fit.
fn padded(extent: usize, before: i64, after: i64) -> Option<i64> {
    let total = i128::try_from(extent).ok()?.checked_add(before.into())?.checked_add(after.into())?;
    i64::try_from(total).ok()
}

/// How one axis is extended: the place in the input of each position in the output, `None` for the constant.
fn border(mode: &str, extent: usize, before: i64, after: i64) -> Res<Vec<Option<usize>>> {
    let n = extent as i64;
    let total = padded(extent, before, after);
    let last = n.saturating_sub(1);
    let at = |out: i64| -> Option<usize> {
        let at = out.checked_sub(before)?;
        let at = match mode {
            "edge" => at.clamp(0, last),
            "wrap" => at.checked_rem_euclid(n)?,
            "reflect" if n == 1 => 0,
            "reflect" => {
                let period = last.checked_mul(2)?;
                let folded = at.checked_rem_euclid(period)?;
                folded.min(period.checked_sub(folded)?)
            }
            _ => at,
        };
        usize::try_from(at).ok().filter(|at| *at < extent)
    };
    if !matches!(mode, "constant" | "edge" | "reflect" | "wrap") {
        return invalid!("unknown mode `{mode}`");
    }
    if extent == 0 && mode != "constant" && total.is_none_or(|total| total > 0) {
        return invalid!("an axis without elements cannot be extended by mode `{mode}`");
    }
    match total {
        Some(total) if (0..=i64::from(u32::MAX)).contains(&total) => Ok((0..total).map(at).collect()),
        _ => invalid!("an axis of size {extent} cannot be padded by {before} and {after}"),
    }
}

/// Negative pads cut off.
fn pad(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let pads = match c.longs(1)? {
        Some(pads) => pads,
        None => c.ints("pads").or_else(|| c.ints("paddings")).unwrap_or_default().to_vec(),
    };
    let axes: Vec<usize> = match c.longs(3)? {
        Some(axes) => axes.iter().map(|a| axis(*a, x.rank())).collect::<Res<_>>()?,
        None => (0..x.rank()).collect(),
    };
    let (before, after) = pads.split_at(pads.len() / 2);
    if before.len() != axes.len() || after.len() != axes.len() {
        return invalid!("{} pads are given for {} axes", pads.len(), axes.len());
    }
    let fill = match c.optional(2)? {
        Some(fill) => fill.scalar()?,
        None => zero(x, c.float_if_any("value").unwrap_or(0.0))?,
    };
    let mode = c.text("mode")?;
    let mut borders: Vec<Vec<Option<usize>>> = Vec::with_capacity(x.rank());
    let mut total = 1usize;
    for (index, extent) in x.shape().iter().enumerate() {
        let place = axes.iter().position(|a| *a == index);
        let at = |pads: &[i64]| place.and_then(|p| pads.get(p).copied()).unwrap_or(0);
        let (front, back) = (at(before), at(after));
        // Before the positions of one axis are listed.
        let longer = padded(*extent, front, back).map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(0));
        total = total.saturating_mul(longer);
        c.count(&[total])?;
        borders.push(border(mode, *extent, front, back)?);
    }
    one(mapped(x, &fill, &borders)?)
}

/// The tensor whose axes are `places` of those of `x`, with `fill` where there is none.
fn mapped(x: &Tensor, fill: &Tensor, places: &[Vec<Option<usize>>]) -> Res<Tensor> {
    let shape: Vec<usize> = places.iter().map(Vec::len).collect();
    let strides = dense(x.shape());
    let walk = Walk::new(&shape, &dense(&shape), 0);
    let source = walk.map(|mut at| {
        let mut from = 0;
        for ((places, extent), stride) in places.iter().zip(&shape).zip(&strides).rev() {
            let index = at.checked_rem(*extent).unwrap_or(0);
            match places.get(index).copied().flatten() {
                Some(place) => from = place.saturating_mul(*stride as usize).saturating_add(from),
                None => return (1, 0),
            }
            at = at.checked_div(*extent).unwrap_or(0);
        }
        (0, from)
    });
    Tensor::mix(shape.clone(), &[x, fill], source)
}

/// One element of the type of `x`: a number, or the empty text.
fn zero(x: &Tensor, value: f64) -> Res<Tensor> {
    match x.dtype().kind() {
        Kind::Text => Tensor::of_texts(Vec::new(), vec![String::new()]),
        _ => Tensor::of_numbers(x.dtype(), Vec::new(), vec![value]),
    }
}

/// The middle of each axis, cropped or padded with zeros; an odd element is at the end.
fn center_crop_pad(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let target = sizes(&c.longs(1)?.unwrap_or_default())?;
    let axes: Vec<usize> = match c.ints("axes") {
        Some(axes) => axes.iter().map(|a| axis(*a, x.rank())).collect::<Res<_>>()?,
        None => (0..x.rank()).collect(),
    };
    let mut shape = x.shape().to_vec();
    for (at, extent) in axes.iter().zip(&target) {
        shape[*at] = *extent;
    }
    c.count(&shape)?;
    let places: Vec<Vec<Option<usize>>> = x
        .shape()
        .iter()
        .zip(&shape)
        .map(|(from, to)| {
            let (cut, pad) = (from.saturating_sub(*to) / 2, to.saturating_sub(*from) / 2);
            (0..*to).map(|at| at.checked_add(cut)?.checked_sub(pad).filter(|at| at < from)).collect()
        })
        .collect();
    one(mapped(x, &zero(x, 0.0)?, &places)?)
}

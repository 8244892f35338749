//! Parts of tensors, and tensors made of parts.

use onnxport_ir::ops::Res;

use super::layout::{front, invalid, one, sizes};
use super::moves::{Side, kernel, moved, picked};
use super::{Line, Operand, Output, Pointer, Request, Scratch, Step, Work, dense, longs, volume};
use crate::executor::device::{Grid, NUMBERS};
use crate::executor::source::width;

pub(super) const OPS: &[Line] = &[
    ("Concat", &[], concat),
    ("Pad", &[1, 3], pad),
    ("Slice", &[1, 2, 3, 4], slice),
    ("Split", &[1], split),
];

/// The result of laying `parts` behind each other along `axis`.
pub(crate) fn joined(parts: &[&Operand], axis: usize) -> Res<Option<Work>> {
    let Some(first) = parts.first() else { return invalid("there is nothing to join".to_owned()) };
    let mut shape = first.shape.clone();
    let fits = |part: &&Operand| {
        part.dtype == first.dtype
            && part.shape.len() == shape.len()
            && part.shape.iter().zip(&shape).enumerate().all(|(at, (a, b))| at == axis || a == b)
    };
    if !parts.iter().all(fits) || axis >= shape.len() {
        return invalid("tensors of different types or sizes are joined".to_owned());
    }
    shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    let steps = dense(&shape);
    let (mut launches, mut offset) = (Vec::new(), 0);
    for (index, part) in parts.iter().enumerate() {
        let from = Side { place: Pointer::Input(index), offset: 0, steps: dense(&part.shape) };
        let to = Side { place: Pointer::Output(0), offset, steps: steps.clone() };
        let Some(step) = moved(part.dtype, &part.shape, &from, &to) else { return Ok(None) };
        launches.push(step);
        offset += part.shape[axis] as i64 * steps[axis];
    }
    Ok(Some(Work::new(first.dtype, shape, launches)))
}

fn concat(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let parts: Vec<&Operand> = (0..r.operands.len()).map(|index| r.operand(index)).collect::<Res<_>>()?;
    let rank = parts.first().map_or(0, |part| part.shape.len());
    joined(&parts, r.call.axis(rank)?)
}

fn split(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let axis = r.call.axis(x.shape.len())?;
    let extent = x.shape[axis];
    let given = match r.call.longs(1)? {
        Some(parts) => Some(parts),
        None => r.call.ints("split").map(<[i64]>::to_vec),
    };
    let parts = match given {
        Some(parts) => sizes(&parts)?,
        None => {
            let count = r.call.outputs().max(1);
            let size = extent.div_ceil(count);
            (0..count).map(|k| size.min(extent.saturating_sub(k * size))).collect()
        }
    };
    if parts.iter().sum::<usize>() != extent || parts.len() != r.call.outputs() {
        return invalid(format!("the parts {parts:?} do not make {extent} in {} outputs", r.call.outputs()));
    }
    let own = dense(&x.shape);
    let (mut work, mut offset) = (Work::default(), 0);
    for (index, part) in parts.iter().enumerate() {
        let mut shape = x.shape.clone();
        shape[axis] = *part;
        let from = Side { place: Pointer::Input(0), offset, steps: own.clone() };
        let to = Side { place: Pointer::Output(index), offset: 0, steps: dense(&shape) };
        let Some(step) = moved(x.dtype, &shape, &from, &to) else { return Ok(None) };
        work.steps.push(step);
        work.made.push(Output::new(x.dtype, shape));
        offset += *part as i64 * own[axis];
    }
    Ok(Some(work))
}

fn slice(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let list = |index: usize, name: &str| -> Res<Option<Vec<i64>>> {
        Ok(match r.call.longs(index)? {
            Some(items) => Some(items),
            None => r.call.ints(name).map(<[i64]>::to_vec),
        })
    };
    let (Some(starts), Some(ends)) = (list(1, "starts")?, list(2, "ends")?) else {
        return invalid("starts and ends are missing".to_owned());
    };
    let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let paces = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), paces.len()] != [starts.len(); 3] {
        return invalid("starts, ends, axes and steps are not as many".to_owned());
    }
    let (mut shape, mut steps, mut offset) = (x.shape.clone(), dense(&x.shape), 0);
    for (((start, end), axis), pace) in starts.iter().zip(&ends).zip(&axes).zip(&paces) {
        let axis = front(*axis, x.shape.len())?;
        let extent = x.shape[axis] as i64;
        let from = |n: i64| if n < 0 { n.saturating_add(extent) } else { n };
        let (first, count) = match *pace {
            0 => return invalid("a step is 0".to_owned()),
            p if p > 0 => {
                let (start, end) = (from(*start).clamp(0, extent), from(*end).clamp(0, extent));
                (start, (end - start).max(0).unsigned_abs().div_ceil(p.unsigned_abs()))
            }
            p => {
                let (start, end) = (from(*start).clamp(-1, extent - 1), from(*end).clamp(-1, extent - 1));
                (start, (start - end).max(0).unsigned_abs().div_ceil(p.unsigned_abs()))
            }
        };
        if count > 0 {
            offset += first * steps[axis];
        }
        shape[axis] = count as usize;
        // Of one element no step is taken, however large it is.
        steps[axis] = if count > 1 { steps[axis] * pace } else { 0 };
    }
    let step = picked(x.dtype, &shape, offset, steps);
    Ok(one(x.dtype, shape, step))
}

/// Constant padding fills the result and copies the remaining input; other modes ask each element for its source.
fn pad(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let rank = x.shape.len();
    if r.call.opset < 11 {
        return Ok(None);
    }
    let Some(pads) = r.call.longs(1)? else { return invalid("pads are missing".to_owned()) };
    let axes = r.call.axes(3, rank)?.unwrap_or_else(|| (0..rank).collect());
    if pads.len() != 2 * axes.len() {
        return invalid(format!("{} pads are given for {} axes", pads.len(), axes.len()));
    }
    let (mut before, mut after) = (vec![0i64; rank], vec![0i64; rank]);
    for (index, axis) in axes.iter().enumerate() {
        (before[*axis], after[*axis]) = (pads[index], pads[index + axes.len()]);
    }
    let grown = x.shape.iter().zip(before.iter().zip(&after)).map(|(d, (b, a))| *d as i64 + b + a);
    let shape = sizes(&grown.collect::<Vec<_>>())?;
    let mode = match r.call.text("mode")? {
        "constant" => return Ok(padded(r, x, shape, &before, &after)),
        "edge" => 1,
        "reflect" => 2,
        "wrap" => 3,
        other => return invalid(format!("unknown mode `{other}`")),
    };
    if x.shape.contains(&0) && !shape.contains(&0) {
        return Ok(None);
    }
    let mut numbers = vec![volume(&shape) as i64, rank as i64, mode];
    numbers.extend(longs(&shape).chain(longs(&x.shape)).chain(before));
    if numbers.len() > NUMBERS {
        return Ok(None);
    }
    let Some(kernel) = kernel("pad", x.dtype) else { return Ok(None) };
    let places = vec![Pointer::Input(0), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(volume(&shape) as u64), places, numbers);
    Ok(one(x.dtype, shape, Some(step)))
}

fn padded(
    r: &Request<'_, '_>,
    x: &Operand,
    shape: Vec<usize>,
    before: &[i64],
    after: &[i64],
) -> Option<Work> {
    let bytes = width(x.dtype)?;
    let value = r.optional(2);
    if value.is_some_and(|v| v.dtype != x.dtype || volume(&v.shape) != 1) {
        return None;
    }
    let place = if value.is_some() { Pointer::Input(2) } else { Pointer::Scratch(0) };
    let count = volume(&shape) as u64;
    let fill = Step::new(
        kernel("fill", x.dtype)?,
        Grid::Each(count),
        vec![place, Pointer::Output(0)],
        vec![count as i64],
    );
    // Negative pads cut off.
    let (own, out) = (dense(&x.shape), dense(&shape));
    let (mut rest, mut from, mut to) = (Vec::new(), 0, 0);
    for (axis, extent) in x.shape.iter().enumerate() {
        let (b, a) = (before.get(axis)?, after.get(axis)?);
        rest.push(usize::try_from(*extent as i64 + (*b).min(0) + (*a).min(0)).unwrap_or(0));
        from += (-b).max(0) * own.get(axis)?;
        to += (*b).max(0) * out.get(axis)?;
    }
    let from = Side { place: Pointer::Input(0), offset: from, steps: own };
    let to = Side { place: Pointer::Output(0), offset: to, steps: out };
    let copy = moved(x.dtype, &rest, &from, &to)?;
    let mut work = Work::new(x.dtype, shape, vec![fill, copy]);
    work.scratch = vec![Scratch { bytes, contents: vec![0; bytes as usize] }];
    Some(work)
}

/// The part of `x` at `index` along `axis`, without that axis.
pub(crate) fn part(x: &Operand, axis: usize, index: usize) -> Option<Work> {
    let (mut shape, mut steps) = (x.shape.clone(), dense(&x.shape));
    let inside = *shape.get(axis)? > index;
    shape.remove(axis);
    let offset = steps.remove(axis) * index as i64;
    let step = picked(x.dtype, &shape, offset, steps)?;
    inside.then(|| Work::new(x.dtype, shape, vec![step]))
}

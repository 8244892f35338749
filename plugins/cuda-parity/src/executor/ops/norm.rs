//! Softmax, and normalisations.

use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::DType;

use super::{Line, Operand, Output, Pointer, Request, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, suffix, tag};

pub(super) const OPS: &[Line] = &[
    ("GroupNormalization", &[], group),
    ("InstanceNormalization", &[], instance),
    ("LayerNormalization", &[], |r| layer(r, true)),
    ("LogSoftmax", &[], |r| softmax(r, true)),
    ("RMSNormalization", &[], |r| layer(r, false)),
    ("Softmax", &[], |r| softmax(r, false)),
];

const SOFTMAX: &str = include_str!("../../../kernels/softmax.cu");
const NORM: &str = include_str!("../../../kernels/norm.cu");

/// Outer, size and inner of a tensor cut at an axis.
pub(super) fn cut(shape: &[usize], axis: usize) -> [i64; 3] {
    let (outer, rest) = shape.split_at(axis.min(shape.len()));
    let (extent, inner) = rest.split_first().map_or((1, &[][..]), |(e, i)| (*e, i));
    [volume(outer), extent, volume(inner)].map(|n| n as i64)
}

/// Along one axis, or before opset 13 along all axes from one on as if they were one.
fn softmax(r: &Request<'_, '_>, log: bool) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let Some(tag) = tag(x.dtype).filter(|_| x.dtype.is_float()) else { return Ok(None) };
    let [outer, extent, inner] = if r.call.opset >= 13 {
        cut(&x.shape, r.call.axis(x.shape.len())?)
    } else {
        let axis = r.call.axis(x.shape.len().max(1))?;
        let (outer, inner) = x.shape.split_at(axis.min(x.shape.len()));
        [volume(outer) as i64, volume(inner) as i64, 1]
    };
    let s = suffix(x.dtype);
    let [larger, exp, ln] = ["larger", "exp", "log"].map(|name| format!("{name}_{s}"));
    let infinite = format!("INF_{s}");
    let macros =
        [("TYPE", tag), ("INFINITE", infinite.as_str()), ("LARGER", &larger), ("EXP", &exp), ("LOG", &ln)];
    let kernel = Kernel::new("softmax", SOFTMAX, &macros);
    let places = vec![Pointer::Input(0), Pointer::Output(0)];
    let groups = if volume(&x.shape) == 0 { 0 } else { (outer * inner) as u64 };
    let step = Step::new(kernel, Grid::Groups(groups), places, vec![outer, extent, inner, i64::from(log)]);
    Ok(Some(Work::new(x.dtype, x.shape.clone(), vec![step])))
}

/// Runs of a tensor, and which entry of scale and bias an element takes: `at / per_entry % entries`.
struct Runs {
    count: usize,
    size: usize,
    centred: bool,
    per_entry: usize,
    entries: usize,
}

impl Runs {
    fn step(
        &self,
        r: &Request<'_, '_>,
        x: &Operand,
        places: Vec<Pointer>,
        statistics: DType,
    ) -> Option<Step> {
        let sqrt = format!("sqrt_{}", suffix(x.dtype));
        let macros = [("TYPE", tag(x.dtype)?), ("STATS", tag(statistics)?), ("SQRT", sqrt.as_str())];
        let numbers =
            [self.count, self.size, usize::from(self.centred), self.per_entry.max(1), self.entries.max(1)];
        let numbers = numbers.iter().map(|n| *n as i64).collect();
        let groups = if self.size == 0 { 0 } else { self.count as u64 };
        let mut step =
            Step::new(Kernel::new("normalise", NORM, &macros), Grid::Groups(groups), places, numbers);
        step.reals = vec![r.call.float("epsilon").ok()?];
        Some(step).filter(|_| x.dtype.is_float() && statistics.is_float())
    }
}

/// Scale and bias have the shape of the normalized axes; other forms are left to the body that defines the
/// operator.
fn layer(r: &Request<'_, '_>, centred: bool) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let at = r.call.axis(x.shape.len())?;
    let (outer, inner) = x.shape.split_at(at);
    let fits = |index: usize| r.optional(index).is_none_or(|p| p.shape == inner && p.dtype == x.dtype);
    if !fits(1) || !fits(2) {
        return Ok(None);
    }
    let stash = r.call.dtype("stash_type")?;
    // Half of the operator is computed in the stash type, which is the wide one here.
    if stash != DType::F32 && stash != x.dtype {
        return Ok(None);
    }
    let size = volume(inner);
    let runs = Runs { count: volume(outer), size, centred, per_entry: 1, entries: size };
    let given = |index: usize| r.optional(index).map_or(Pointer::Nothing, |_| Pointer::Input(index));
    let output =
        |index: usize| if r.call.outputs() > index { Pointer::Output(index) } else { Pointer::Nothing };
    let places = vec![Pointer::Input(0), given(1), given(2), Pointer::Output(0), output(1), output(2)];
    let Some(step) = runs.step(r, x, places, stash) else { return Ok(None) };
    let mut work = Work::new(x.dtype, x.shape.clone(), vec![step]);
    let statistics: Vec<usize> = outer.iter().copied().chain(inner.iter().map(|_| 1)).collect();
    for _ in 1..r.call.outputs() {
        work.made.push(Output::new(stash, statistics.clone()));
    }
    Ok(Some(work))
}

/// One scale and one bias for each entry.
fn entries(r: &Request<'_, '_>, x: &Operand, count: usize) -> Res<bool> {
    for index in [1, 2] {
        let given = r.operand(index)?;
        if given.shape != [count] {
            return Err(Error::invalid(format!(
                "input {index} of shape {:?} has no {count} entries",
                given.shape
            )));
        }
        if given.dtype != x.dtype {
            return Ok(false);
        }
    }
    Ok(true)
}

fn channels(x: &Operand) -> Res<(usize, usize, usize)> {
    match &*x.shape {
        [batch, channels, spatial @ ..] => Ok((*batch, *channels, volume(spatial))),
        _ => Err(Error::invalid(format!("shape {:?} has no channels", x.shape))),
    }
}

fn normalised(r: &Request<'_, '_>, x: &Operand, runs: &Runs) -> Option<Work> {
    let places = vec![Pointer::Input(0), Pointer::Input(1), Pointer::Input(2), Pointer::Output(0)];
    let step = runs.step(r, x, places, x.dtype)?;
    Some(Work::new(x.dtype, x.shape.clone(), vec![step]))
}

fn instance(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let (batch, channels, size) = channels(x)?;
    if !entries(r, x, channels)? {
        return Ok(None);
    }
    let runs = Runs { count: batch * channels, size, centred: true, per_entry: size, entries: channels };
    Ok(normalised(r, x, &runs))
}

/// Scale and bias are per channel, and were per group before opset 21.
fn group(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let (batch, channels, size) = channels(x)?;
    let groups = usize::try_from(r.call.int("num_groups")?).unwrap_or(0);
    if groups == 0 || !channels.is_multiple_of(groups) {
        return Err(Error::invalid(format!("{channels} channels do not make {groups} groups")));
    }
    let count = if r.call.opset < 21 { groups } else { channels };
    if !entries(r, x, count)? {
        return Ok(None);
    }
    let per_entry = channels / count.max(1) * size;
    let runs = Runs {
        count: batch * groups,
        size: channels / groups * size,
        centred: true,
        per_entry,
        entries: count,
    };
    Ok(normalised(r, x, &runs))
}

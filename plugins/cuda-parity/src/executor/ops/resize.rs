//! Resizing: axis by axis, with weights that are computed in advance.

use onnxport_ir::ops::Res;
use onnxport_ir::ops::resize::{Taps, sampling};
use onnxport_ir::tensor::{DType, Kind};

use super::norm::cut;
use super::{Line, Operand, Pointer, Request, Scratch, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("Resize", &[1, 2, 3], resize)];

const FILE: &str = include_str!("../../../kernels/resample.cu");

/// Whether an axis stays as it is.
fn still(taps: &[Taps], extent: usize) -> bool {
    taps.len() == extent && taps.iter().enumerate().all(|(at, taps)| taps.as_deref() == Some(&[(at, 1.0)]))
}

/// Where the taps of each position start, their positions, and their weights, as bytes.
fn tables(taps: &[Taps]) -> [Scratch; 3] {
    let (mut starts, mut places, mut weights) = (vec![0i64], Vec::new(), Vec::new());
    for place in taps {
        for (at, weight) in place.iter().flatten() {
            places.push(*at as i64);
            weights.push(*weight);
        }
        starts.push(places.len() as i64);
    }
    let longs = |items: &[i64]| items.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let floats = weights.iter().flat_map(|x: &f64| x.to_le_bytes()).collect::<Vec<u8>>();
    [longs(&starts), longs(&places), floats]
        .map(|contents| Scratch { bytes: contents.len() as u64, contents })
}

/// Between the axes, results are kept in a float that is wide enough; extrapolation is left to the processor.
fn resize(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x: &Operand = r.operand(0)?;
    if x.dtype.kind() != Kind::Float {
        return Ok(None);
    }
    let Some(own) = tag(x.dtype) else { return Ok(None) };
    let sampling = sampling(r.call, &x.shape)?;
    if sampling.axes.iter().flatten().any(Option::is_none) {
        return Ok(None);
    }
    let (between, bytes) = if x.dtype == DType::F64 { ("f64", 8) } else { ("f32", 4) };
    let moving: Vec<usize> = (0..x.shape.len())
        .filter(|at| sampling.axes.get(*at).is_some_and(|taps| !still(taps, x.shape[*at])))
        .collect();
    if moving.is_empty() {
        return Ok(Some(Work::view(0, x.dtype, x.shape.clone())));
    }
    let mut work = Work::new(x.dtype, sampling.shape.clone(), Vec::new());
    let (mut now, mut from, mut tag) = (x.shape.clone(), Pointer::Input(0), own);
    for (index, at) in moving.iter().enumerate() {
        let input = now[*at];
        now[*at] = sampling.shape[*at];
        let [_, extent, inner] = cut(&now, *at);
        let (to, made) = if index + 1 == moving.len() {
            (Pointer::Output(0), own)
        } else {
            work.scratch.push(Scratch { bytes: volume(&now) as u64 * bytes, contents: Vec::new() });
            (Pointer::Scratch(work.scratch.len() - 1), between)
        };
        let first = work.scratch.len();
        work.scratch.extend(tables(&sampling.axes[*at]));
        let places =
            vec![from, Pointer::Scratch(first), Pointer::Scratch(first + 1), Pointer::Scratch(first + 2), to];
        let count = volume(&now);
        let kernel = Kernel::new("resample", FILE, &[("TYPE", tag), ("MADE", made)]);
        let numbers = vec![count as i64, extent, input as i64, inner];
        work.steps.push(Step::new(kernel, Grid::Each(count as u64), places, numbers));
        (from, tag) = (to, made);
    }
    Ok(Some(work))
}

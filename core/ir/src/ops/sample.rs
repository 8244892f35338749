//! Sampling at coordinates that are data.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one, sizes};
use super::error::invalid;
use super::resize::cubic;
use super::strides::{dense, volume};
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("AffineGrid").infer(infer::affine_grid).eval(affine_grid),
    Op::new("GridSample").infer(infer::grid_sample).eval(grid_sample),
];

/// The positions of a regular grid, moved by one matrix per sample.
fn affine_grid(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (theta, size) = (c.tensor(0)?, sizes(&c.longs(1)?.unwrap_or_default())?);
    let [batch, _, spatial @ ..] = &size[..] else { return invalid!("the size has no channels") };
    let rank = spatial.len();
    if theta.shape() != [*batch, rank, rank + 1] {
        return invalid!("matrices of shape {:?} do not move {rank} axes", theta.shape());
    }
    let aligned = c.flag("align_corners");
    let position = |index: usize, extent: usize| {
        let (index, extent) = (index as f64, extent as f64);
        match aligned {
            true if extent == 1.0 => -1.0,
            true => 2.0 * index / (extent - 1.0) - 1.0,
            false => (2.0 * index + 1.0) / extent - 1.0,
        }
    };
    let shape: Vec<usize> = [*batch].into_iter().chain(spatial.iter().copied()).chain([rank]).collect();
    let mut out = Vec::with_capacity(c.count(&shape)?);
    let (steps, matrices) = (dense(spatial), theta.floats()?);
    for matrix in matrices.chunks((rank * (rank + 1)).max(1)) {
        for at in 0..volume(spatial) {
            // The last axis comes first in coordinates.
            let axes = steps.iter().zip(spatial).rev();
            let place: Vec<f64> = axes.map(|(step, d)| position(at / *step as usize % d, *d)).collect();
            for row in matrix.chunks(rank + 1) {
                out.push(row.iter().zip(place.iter().chain(&[1.0])).map(|(m, p)| m * p).sum());
            }
        }
    }
    one(Tensor::of_floats(theta.dtype(), shape, out)?)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// One spatial axis of the input.
#[derive(Clone, Copy, Debug)]
struct Line {
    extent: usize,
    /// Where the image ends: the centres of its outermost positions, or their outer edges.
    low: f64,
    high: f64,
    padding: Padding,
}

impl Line {
    fn new(extent: usize, aligned: bool, padding: Padding) -> Self {
        let last = extent as f64 - 1.0;
        let (low, high) = if aligned { (0.0, last) } else { (-0.5, last + 0.5) };
        Self { extent, low, high, padding }
    }

    /// The coordinate that `position` in -1..=1 stands for, led back into the image by the padding. Of a cubic sample
    /// only its positions are, as in PyTorch, which the operator is modelled on.
    fn coordinate(&self, position: f64, reach: usize) -> f64 {
        let at = self.low + position.midpoint(1.0) * (self.high - self.low);
        let at = if reach == 0 { at.round_ties_even() } else { at };
        if reach == 2 || (self.low..=self.high).contains(&at) {
            return at;
        }
        match self.padding {
            Padding::Zeros => at,
            Padding::Border => at.clamp(0.0, (self.extent as f64 - 1.0).max(0.0)),
            Padding::Reflection => self.reflect(at),
        }
    }

    fn reflect(&self, at: f64) -> f64 {
        let range = self.high - self.low;
        if range <= 0.0 || !at.is_finite() {
            return 0.0;
        }
        let far = (at - self.low).rem_euclid(2.0 * range);
        self.low + if far > range { 2.0 * range - far } else { far }
    }

    /// The place that `at` stands for; `None` for a zero.
    fn place(&self, at: f64) -> Option<usize> {
        let last = self.extent as f64 - 1.0;
        if (0.0..=last).contains(&at) {
            return Some(at as usize);
        }
        match self.padding {
            Padding::Zeros => None,
            Padding::Border => Some(at.clamp(0.0, last) as usize),
            Padding::Reflection => Some(self.reflect(at).clamp(0.0, last) as usize),
        }
    }
}

fn grid_sample(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, grid) = (c.tensor(0)?, c.tensor(1)?);
    let ([n, channels, spatial @ ..], [batch, field @ .., depth]) = (x.shape(), grid.shape()) else {
        return invalid!("{} and {} are not an image and a grid", x.describe(), grid.describe());
    };
    if n != batch || *depth != spatial.len() || field.len() != spatial.len() || spatial.is_empty() {
        return invalid!("a grid {} does not fit the image {}", grid.describe(), x.describe());
    }
    let padding = match c.text("padding_mode")? {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        other => return invalid!("unknown padding `{other}`"),
    };
    // How far from a coordinate positions count.
    let reach = match c.text("mode")? {
        "nearest" => 0,
        "linear" | "bilinear" => 1,
        "cubic" | "bicubic" => 2,
        other => return invalid!("unknown interpolation `{other}`"),
    };
    let shape: Vec<usize> = [*n, *channels].into_iter().chain(field.iter().copied()).collect();
    let size = volume(spatial);
    let mut out = vec![0.0; c.count(&shape)?];
    if !out.is_empty() && size == 0 {
        return invalid!("an image of shape {:?} cannot be sampled", x.shape());
    }
    let taps = (2 * reach).max(1usize).checked_pow(spatial.len() as u32).unwrap_or(usize::MAX);
    c.count(&[taps])?;
    c.spend(((out.len() + grid.len()) as u64).saturating_mul(taps as u64))?;
    let lines: Vec<Line> = spatial.iter().map(|d| Line::new(*d, c.flag("align_corners"), padding)).collect();
    let (items, positions, steps) = (x.floats()?, grid.floats()?, dense(spatial));
    let places = volume(field);
    for (index, position) in positions.chunks(*depth).enumerate() {
        let (sample, at) = (index / places, index % places);
        let mut sources = vec![(0usize, 1.0)];
        // The last axis comes first in coordinates.
        for ((line, step), position) in lines.iter().zip(&steps).zip(position.iter().rev()) {
            let taps = axis_taps(line, line.coordinate(*position, reach), reach);
            let joined = |(base, weight): &(usize, f64)| {
                let (base, weight) = (*base, *weight);
                taps.iter()
                    .map(move |(place, w)| (base + place * *step as usize, weight * w))
                    .collect::<Vec<_>>()
            };
            sources = sources.iter().flat_map(joined).collect();
        }
        for channel in 0..*channels {
            let plane = sample * channels + channel;
            let image = items.get(plane * size..(plane + 1) * size).unwrap_or_default();
            out[plane * places + at] = sources.iter().map(|(place, weight)| image[*place] * weight).sum();
        }
    }
    one(Tensor::of_numbers(x.dtype(), shape, out)?)
}

/// The positions along one axis that a coordinate is made of, and their weights.
fn axis_taps(line: &Line, at: f64, reach: usize) -> Vec<(usize, f64)> {
    if reach == 0 {
        return line.place(at).map(|place| (place, 1.0)).into_iter().collect();
    }
    let base = at.floor();
    let weight = |d: f64| if reach == 1 { 1.0 - d.abs() } else { cubic(-0.75, d) };
    let tap = |k: usize| {
        let place = base + k as f64 - (reach as f64 - 1.0);
        Some((line.place(place)?, weight(at - place)))
    };
    (0..2 * reach).filter_map(tap).collect()
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::sym::Dim;

    /// `GridSample`.
    pub(super) fn grid_sample(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 3)?;
        if let Some(dims) = cx.dims(0) {
            cx.rank(1, dims.len())?;
            let places = Some(Dim::Const((dims.len() as i64).saturating_sub(2)));
            let stated = cx.dims(1).and_then(|grid| *grid.last()?);
            cx.equal(places, stated, "the grid does not match the spatial axes")?;
            cx.equal(cx.dim(0, 0), cx.dim(1, 0), "the batches differ")?;
        }
        let [_, spatial @ .., _] = cx.dims(1)? else { return None };
        one([cx.dim(0, 0), cx.dim(0, 1)].into_iter().chain(spatial.iter().copied()))
    }

    /// `AffineGrid`.
    pub(super) fn affine_grid(cx: &mut Cx<'_>) -> Option<Shapes> {
        let size = cx.shape_from(1)?;
        let [n, _, spatial @ ..] = size.as_slice() else { return None };
        let axes = Some(Dim::Const(spatial.len() as i64));
        one([*n].into_iter().chain(spatial.iter().copied()).chain([axes]))
    }
}

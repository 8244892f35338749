//! Resizing by interpolation.
//!
//! Interpolation is separable: along each axis, an element of the result is a weighted sum of elements of the input, its
//! taps. Where a scale is not the quotient of two sizes, coordinates follow the scale, as in the tests of the `onnx`
//! package.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, axis, one};
use super::error::{invalid, unsupported};
use super::strides::{Cut, dense, volume};
use super::{Axes, Op, Res, Tensor, Value};
use crate::tensor::Kind;

pub(super) const OPS: &[Op] = &[
    Op::new("Resize")
        .accumulates()
        .axes(Axes::PerAxis(&[(1, 2), (2, 1), (3, 1)]))
        .infer(infer::resize)
        .eval(resize),
    Op::new("Upsample").eval(upsample),
];

#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Where a coordinate goes that lies between two positions, as `nearest_mode` says, on an axis of this scale.
    Nearest(fn(f64, f64) -> f64),
    Linear,
    /// With the coefficient `a`.
    Cubic(f64),
}

/// The settings of all axes.
#[derive(Clone, Copy, Debug)]
struct Plan<'a> {
    mode: Mode,
    /// `coordinate_transformation_mode`.
    transformation: &'a str,
    /// Weights of positions outside of the input are dropped.
    exclude: bool,
    antialias: bool,
}

/// How one axis is resized.
#[derive(Clone, Copy, Debug)]
struct Line {
    input: usize,
    output: usize,
    scale: f64,
    /// The part of the input that is sampled, for `tf_crop_and_resize`.
    region: (f64, f64),
}

/// The positions in the input and their weights; `None` where the coordinate lies outside and is extrapolated.
pub type Taps = Option<Vec<(usize, f64)>>;

impl Line {
    /// The place in the input that place `x` of the output is made of.
    fn coordinate(&self, transformation: &str, x: usize) -> Res<f64> {
        let (x, input, output) = (x as f64, self.input as f64, self.output as f64);
        // A fraction where the scale does not fit the extents.
        let exact = self.scale * input;
        let half = (x + 0.5) / self.scale - 0.5;
        Ok(match transformation {
            "half_pixel" => half,
            "half_pixel_symmetric" => input / 2.0 * (1.0 - output / exact) + half,
            "pytorch_half_pixel" if self.output > 1 => half,
            "pytorch_half_pixel" => 0.0,
            "align_corners" if exact == 1.0 => 0.0,
            "align_corners" => x * (input - 1.0) / (exact - 1.0),
            "asymmetric" => x / self.scale,
            "tf_half_pixel_for_nn" => (x + 0.5) / self.scale,
            "tf_crop_and_resize" => {
                let (start, end) = self.region;
                if self.output > 1 {
                    (start + x * (end - start) / (output - 1.0)) * (input - 1.0)
                } else {
                    0.5 * (start + end) * (input - 1.0)
                }
            }
            other => return invalid!("unknown coordinate transformation `{other}`"),
        })
    }

    /// When it shrinks, antialiasing makes the filter wider.
    fn stretch(&self, plan: &Plan<'_>) -> f64 {
        if plan.antialias { self.scale.min(1.0) } else { 1.0 }
    }

    fn taps(&self, plan: &Plan<'_>, x: usize) -> Res<Taps> {
        let at = self.coordinate(plan.transformation, x)?;
        let last = self.input.saturating_sub(1) as f64;
        if plan.transformation == "tf_crop_and_resize" && !(0.0..=last).contains(&at) {
            return Ok(None);
        }
        if let Mode::Nearest(round) = plan.mode {
            return Ok(Some(vec![(round(at, self.scale).clamp(0.0, last) as usize, 1.0)]));
        }
        let stretch = self.stretch(plan);
        let (reach, weight): (f64, Box<dyn Fn(f64) -> f64>) = match plan.mode {
            Mode::Cubic(a) => (2.0, Box::new(move |d| cubic(a, d))),
            _ => (1.0, Box::new(|d: f64| (1.0 - d.abs()).max(0.0))),
        };
        let reach = reach / stretch;
        let (first, last_tap) = ((at - reach).floor() as i64, (at + reach).ceil() as i64);
        let mut taps: Vec<(usize, f64)> = Vec::new();
        for place in first..=last_tap {
            let weight = weight((place as f64 - at) * stretch);
            let inside = place.clamp(0, last as i64);
            if weight != 0.0 && (inside == place || !plan.exclude) {
                taps.push((inside as usize, weight));
            }
        }
        if plan.exclude || plan.antialias {
            let total: f64 = taps.iter().map(|(_, weight)| weight).sum();
            for (_, weight) in &mut taps {
                *weight /= total;
            }
        }
        Ok(Some(taps))
    }
}

/// The weight of a place at distance `d`, by the cubic convolution of Keys with coefficient `a`.
pub(super) fn cubic(a: f64, d: f64) -> f64 {
    let d = d.abs();
    match d {
        _ if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
        _ if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
        _ => 0.0,
    }
}

fn mode(c: &Call<'_>, nearest: &str) -> Res<Mode> {
    Ok(match c.text("mode")? {
        "nearest" => Mode::Nearest(match nearest {
            "round_prefer_floor" => |x, _| (x - 0.5).ceil(),
            "round_prefer_ceil" => |x, _| (x + 0.5).floor(),
            "floor" => |x, _| x.floor(),
            "ceil" => |x, _| x.ceil(),
            // Operators before opset 11 leave it open; this is ONNX Runtime's choice.
            "outwards" => |x, scale| if scale < 1.0 { x.ceil() } else { x.floor() },
            other => return invalid!("unknown rounding `{other}`"),
        }),
        "linear" | "bilinear" => Mode::Linear,
        "cubic" => Mode::Cubic(c.float("cubic_coeff_a")?),
        other => return invalid!("unknown interpolation `{other}`"),
    })
}

/// The result, whose elements outside of the sampled region are `fill`.
fn interpolate(c: &Call<'_>, x: &Tensor, lines: &[Line], plan: &Plan<'_>, fill: f64) -> Res<Vec<Value>> {
    let shape: Vec<usize> = lines.iter().map(|line| line.output).collect();
    let count = c.count(&shape)?;
    if count == 0 {
        return one(x.pick(shape, [])?);
    }
    if x.is_empty() {
        return invalid!("nothing of shape {:?} is resized to {shape:?}", x.shape());
    }
    let axes = taps(c, lines, plan)?;
    let outside: Vec<bool> = {
        let strides = dense(&shape);
        let axes: Vec<(usize, &Vec<Taps>)> = axes
            .iter()
            .zip(&strides)
            .filter(|(taps, _)| taps.contains(&None))
            .map(|(t, s)| (*s as usize, t))
            .collect();
        let is_out = |at: usize| axes.iter().any(|(step, taps)| taps[at / step % taps.len()].is_none());
        if axes.is_empty() { Vec::new() } else { (0..count).map(is_out).collect() }
    };
    if matches!(plan.mode, Mode::Nearest(_)) && outside.is_empty() {
        // Elements are only moved, so that every type is resized.
        let (from, to) = (dense(x.shape()), dense(&shape));
        let place = |at: usize| {
            let walk = axes.iter().zip(&from).zip(&to);
            walk.map(|((taps, from), to)| match &taps[at / *to as usize % taps.len()] {
                Some(tap) => tap.first().map_or(0, |(place, _)| place * *from as usize),
                None => 0,
            })
            .sum::<usize>()
        };
        return one(x.pick(shape.clone(), (0..count).map(place))?);
    }
    let mut items = x.floats()?;
    let mut now = x.shape().to_vec();
    for (at, (line, taps)) in lines.iter().zip(&axes).enumerate() {
        let still = line.input == line.output
            && taps.iter().enumerate().all(|(i, taps)| taps.as_deref() == Some(&[(i, 1.0)]));
        if still {
            continue;
        }
        let from = Cut::at(&now, at);
        now[at] = line.output;
        let to = Cut::at(&now, at);
        let total: usize = taps.iter().flatten().map(Vec::len).sum();
        c.spend(((from.outer * from.inner) as u64).saturating_mul(total as u64))?;
        let mut next = vec![0.0; c.count(&now)?];
        for (source, target) in from.lines().zip(to.lines()) {
            for (place, taps) in to.line(target).zip(taps) {
                let sum =
                    |sum: f64, (at, weight): &(usize, f64)| sum + items[source + at * from.inner] * weight;
                next[place] = taps.iter().flatten().fold(0.0, sum);
            }
        }
        items = next;
    }
    for (item, out) in items.iter_mut().zip(&outside) {
        if *out {
            *item = fill;
        }
    }
    one(Tensor::of_numbers(x.dtype(), shape, items)?)
}

/// `floor(extent · scale)`, where it is a size.
fn scaled(extent: f64, scale: f64) -> Res<usize> {
    let out = (extent * scale).floor();
    if scale > 0.0 && (0.0..1e15).contains(&out) {
        Ok(out as usize)
    } else {
        invalid!("{extent} times {scale} is not a valid dimension")
    }
}

fn upsample(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let scales = match c.optional(1)?.map(Tensor::floats).transpose()?.or_else(|| c.floats("scales")) {
        Some(scales) => scales,
        None => vec![1.0, 1.0, c.float("height_scale")?, c.float("width_scale")?],
    };
    let (lines, plan) = asymmetric(c, x.shape(), &scales)?;
    interpolate(c, x, &lines, &plan, 0.0)
}

/// As `Upsample`, and `Resize` before it knew other transformations.
fn asymmetric<'a>(c: &'a Call<'_>, shape: &[usize], scales: &[f64]) -> Res<(Vec<Line>, Plan<'a>)> {
    if scales.len() != shape.len() {
        return invalid!("{} scales do not fit {} axes", scales.len(), shape.len());
    }
    let line = |(input, scale): (&usize, &f64)| {
        Ok(Line { input: *input, output: scaled(*input as f64, *scale)?, scale: *scale, region: (0.0, 1.0) })
    };
    let lines: Vec<Line> = shape.iter().zip(scales).map(line).collect::<Res<_>>()?;
    let plan =
        Plan { mode: mode(c, "outwards")?, transformation: "asymmetric", exclude: false, antialias: false };
    Ok((lines, plan))
}

/// How a `Resize` makes each position along each axis, for whoever computes it elsewhere.
pub struct Sampling {
    /// The sizes of the result.
    pub shape: Vec<usize>,
    /// For each axis and each index: the indices of the input with their weights, or `None` for an extrapolated one.
    pub axes: Vec<Vec<Taps>>,
    /// Whether elements are only moved.
    pub nearest: bool,
}

/// The sampling of an input of this shape.
///
/// # Errors
/// When attributes and inputs contradict the operator's definition.
pub fn sampling(c: &Call<'_>, shape: &[usize]) -> Res<Sampling> {
    let (lines, plan) = planned(c, shape)?;
    let extents: Vec<usize> = lines.iter().map(|line| line.output).collect();
    if shape.contains(&0) && !extents.contains(&0) {
        return invalid!("nothing of shape {shape:?} is resized to {extents:?}");
    }
    let axes = taps(c, &lines, &plan)?;
    Ok(Sampling { shape: extents, axes, nearest: matches!(plan.mode, Mode::Nearest(_)) })
}

/// The taps of every position of every axis.
fn taps(c: &Call<'_>, lines: &[Line], plan: &Plan<'_>) -> Res<Vec<Vec<Taps>>> {
    let mut axes: Vec<Vec<Taps>> = Vec::with_capacity(lines.len());
    for line in lines {
        c.count(&[line.output, (4.0 / line.stretch(plan)) as usize + 2])?;
        axes.push((0..line.output).map(|x| line.taps(plan, x)).collect::<Res<_>>()?);
    }
    Ok(axes)
}

fn resize(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let (lines, plan) = planned(c, x.shape())?;
    if c.opset >= 11
        && volume(x.shape()) > 0
        && matches!(plan.mode, Mode::Linear | Mode::Cubic(_))
        && !matches!(x.dtype().kind(), Kind::Float | Kind::Int)
    {
        return unsupported!("{} are not interpolated", x.dtype());
    }
    interpolate(c, x, &lines, &plan, c.float("extrapolation_value")?)
}

/// How each axis of an input of this shape is resized.
fn planned<'a>(c: &'a Call<'_>, shape: &[usize]) -> Res<(Vec<Line>, Plan<'a>)> {
    if c.opset < 11 {
        return asymmetric(c, shape, &c.tensor(1)?.floats()?);
    }
    let axes: Vec<usize> = match c.ints("axes") {
        Some(axes) => axes.iter().map(|a| axis(*a, shape.len())).collect::<Res<_>>()?,
        None => (0..shape.len()).collect(),
    };
    // An input without elements stands for an absent one.
    let list = |index: usize, count: usize| -> Res<Option<Vec<f64>>> {
        match c.optional(index)?.map(Tensor::floats).transpose()?.filter(|items| !items.is_empty()) {
            Some(items) if items.len() != count => {
                invalid!("input {index} has {} numbers, not {count}", items.len())
            }
            items => Ok(items),
        }
    };
    let transformation = c.text("coordinate_transformation_mode")?;
    let region = match transformation {
        "tf_crop_and_resize" => list(1, 2 * axes.len())?,
        _ => None,
    };
    let (scales, sizes) = (list(2, axes.len())?, list(3, axes.len())?);
    let mut lines: Vec<Line> =
        shape.iter().map(|d| Line { input: *d, output: *d, scale: 1.0, region: (0.0, 1.0) }).collect();
    let ratio = |index: usize, size: f64| size / shape[axes[index]] as f64;
    let ratios = sizes.iter().flatten().enumerate().map(|(i, size)| ratio(i, *size));
    let common = match c.text("keep_aspect_ratio_policy")? {
        "stretch" => None,
        "not_larger" => ratios.reduce(f64::min),
        "not_smaller" => ratios.reduce(f64::max),
        other => return invalid!("unknown policy `{other}`"),
    };
    for (index, at) in axes.iter().enumerate() {
        let line = &mut lines[*at];
        if let Some(region) = &region {
            line.region = (region[index], region[index + axes.len()]);
        }
        match (&scales, &sizes) {
            (Some(scales), None) => {
                line.scale = scales[index];
                line.output = scaled(line.input as f64 * (line.region.1 - line.region.0), line.scale)?;
            }
            (None, Some(sizes)) => {
                line.scale = common.unwrap_or_else(|| ratio(index, sizes[index]));
                line.output = match common {
                    Some(scale) => scaled(1.0, (scale * line.input as f64 + 0.5).max(f64::MIN_POSITIVE))?,
                    None => scaled(1.0, sizes[index].max(f64::MIN_POSITIVE))?,
                };
            }
            _ => return invalid!("one of scales and sizes belongs to it"),
        }
    }
    let plan = Plan {
        mode: mode(c, c.text("nearest_mode")?)?,
        transformation,
        exclude: c.flag("exclude_outside"),
        antialias: c.flag("antialias"),
    };
    Ok((lines, plan))
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use smallvec::SmallVec;

    use crate::ops::infer::cx::{Cx, Dims, Shapes, one};
    use crate::sym::Dim;

    /// `Resize`.
    pub(super) fn resize(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        let axes: SmallVec<[usize; 4]> = match cx.node.ints("axes") {
            Some(axes) => axes.iter().map(|a| cx.exists(*a, dims.len())).collect::<Option<_>>()?,
            None => (0..dims.len()).collect(),
        };
        // A list without elements counts as absent.
        for index in [2, 3] {
            if cx.length(index).is_some_and(|n| n > 0) {
                cx.counts(index, axes.len(), "axes")?;
            }
        }
        let stretch = cx.text("keep_aspect_ratio_policy") == Some("stretch");
        let sizes = cx.contents(3).filter(|s| stretch && s.len() == axes.len());
        let scales = cx.floats(2).filter(|s| cx.input(3).is_none() && s.len() == axes.len());
        let mut out: Dims = dims.into();
        for (index, at) in axes.iter().enumerate() {
            out[*at] = match (&sizes, &scales) {
                (Some(sizes), _) => Some(sizes[index]),
                (None, Some(scales)) => dims[*at].and_then(|d| scaled(cx, d, scales[index])),
                (None, None) => None,
            };
        }
        one(out)
    }

    /// `floor(dim * scale)`, where both leave no doubt.
    fn scaled(cx: &mut Cx<'_>, dim: Dim, scale: f32) -> Option<Dim> {
        if scale.fract() == 0.0 && (1.0..65536.0).contains(&scale) {
            return Some(cx.symbols.mul(dim, Dim::Const(scale as i64)));
        }
        let n = dim.as_const().filter(|n| (0..1 << 24).contains(n))?;
        // In single and in double precision, as implementations do either.
        let (single, double) =
            ((n as f32 * scale).floor() as i64, (n as f64 * f64::from(scale)).floor() as i64);
        (single == double && (0..1 << 48).contains(&double)).then_some(Dim::Const(double))
    }
}

//! Convolutions.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one, sizes};
use super::error::invalid;
use super::strides::volume;
use super::window::Window;
use super::{Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("Conv").infer(|cx| infer::conv(cx, 1)).eval(conv),
    Op::new("ConvInteger").typed().infer(|cx| infer::conv(cx, 1)).eval(conv_integer),
    Op::new("ConvTranspose").infer(infer::conv_transpose).eval(conv_transpose),
];

/// The sizes of a convolution.
pub(super) struct Plan {
    batch: usize,
    /// Channels of the input, and spatial positions of one.
    channels: usize,
    input: usize,
    groups: usize,
    /// Channels of the output, and spatial positions of one.
    filters: usize,
    output: usize,
    taps: Vec<Vec<(usize, usize)>>,
    /// The shape of the result.
    pub(super) shape: Vec<usize>,
}

fn group(c: &Call<'_>, channels: usize, filters: usize) -> Res<usize> {
    match usize::try_from(c.int("group")?) {
        Ok(groups) if groups > 0 && channels.is_multiple_of(groups) && filters.is_multiple_of(groups) => {
            Ok(groups)
        }
        _ => invalid!("{channels} and {filters} channels do not make {} groups", c.int("group")?),
    }
}

/// The sizes of the kernel: the attribute, else those of the weight.
fn kernel(c: &Call<'_>, weight: &[usize]) -> Res<Vec<usize>> {
    let spatial = weight.get(2..).unwrap_or_default();
    match c.ints("kernel_shape") {
        Some(given) if sizes(given)? != spatial => {
            invalid!("the kernel {given:?} is not that of the weight {weight:?}")
        }
        _ => Ok(spatial.to_vec()),
    }
}

impl Plan {
    /// The convolution of an input and a weight of these shapes.
    pub(super) fn new(c: &Call<'_>, x: &[usize], weight: &[usize]) -> Res<Self> {
        let ([batch, channels, spatial @ ..], [filters, depth, ..]) = (x, weight) else {
            return invalid!("shapes {x:?} and {weight:?} have no channels");
        };
        let groups = group(c, *channels, *filters)?;
        if channels / groups != *depth {
            return invalid!(
                "a weight of shape {weight:?} does not fit {channels} channels in {groups} groups"
            );
        }
        let mut window = Window::for_kernel(c, kernel(c, weight)?)?;
        let out = window.slide(spatial, false)?;
        let shape: Vec<usize> = [*batch, *filters].into_iter().chain(out.iter().copied()).collect();
        c.count(&shape)?;
        c.spend((volume(&shape) as u64).saturating_mul((depth * volume(&window.kernel)) as u64))?;
        let taps = window.taps(c, spatial, &out)?;
        let (batch, channels, filters) = (*batch, *channels, *filters);
        let (input, output) = (volume(spatial), volume(&out));
        Ok(Self { batch, channels, input, groups, filters, output, taps, shape })
    }

    /// The elements of the result.
    pub(super) fn convolve<T: Copy>(
        &self,
        x: &[T],
        weight: &[T],
        zero: T,
        step: impl Fn(T, T, T) -> T,
    ) -> Vec<T> {
        let mut out = vec![zero; volume(&self.shape)];
        let (depth, per_group) = (self.channels / self.groups, self.filters / self.groups);
        for (index, plane) in out.chunks_mut(self.output.max(1)).enumerate().take(self.batch * self.filters) {
            let (sample, filter) = (index / self.filters, index % self.filters);
            for channel in 0..depth {
                let from = (sample * self.channels + filter / per_group * depth + channel) * self.input;
                let image = x.get(from..from + self.input).unwrap_or_default();
                for (tap, pairs) in self.taps.iter().enumerate() {
                    let Some(w) = weight.get((filter * depth + channel) * self.taps.len() + tap) else {
                        continue;
                    };
                    for (to, at) in pairs {
                        plane[*to] = step(plane[*to], image[*at], *w);
                    }
                }
            }
        }
        out
    }

    /// The channel that place `at` of the result is of.
    pub(super) fn filter(&self, at: usize) -> usize {
        at / self.output.max(1) % self.filters.max(1)
    }
}

pub(super) fn conv(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, weight) = (c.tensor(0)?, c.tensor(1)?);
    let plan = Plan::new(c, x.shape(), weight.shape())?;
    let mut out = plan.convolve(&x.floats()?, &weight.floats()?, 0.0, |sum, x, w| sum + x * w);
    if let Some(bias) = c.optional(2)?.map(Tensor::floats).transpose()? {
        for (at, item) in out.iter_mut().enumerate() {
            *item += bias.get(plan.filter(at)).copied().unwrap_or(0.0);
        }
    }
    one(Tensor::of_numbers(x.dtype(), plan.shape, out)?)
}

/// A weight or an input without its zero point: one number, or one for each entry of the first axis.
pub(super) fn centred(x: &Tensor, zero: Option<&Tensor>) -> Res<Vec<i128>> {
    let items = x.ints()?;
    let Some(points) = zero.map(Tensor::ints).transpose()? else { return Ok(items) };
    let inner = volume(x.shape().get(1..).unwrap_or_default()).max(1);
    let point = |at: usize| match points.as_slice() {
        [only] => *only,
        points => points.get(at / inner).copied().unwrap_or(0),
    };
    Ok(items.into_iter().enumerate().map(|(at, x)| x - point(at)).collect())
}

fn conv_integer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, weight) = (c.tensor(0)?, c.tensor(1)?);
    let plan = Plan::new(c, x.shape(), weight.shape())?;
    let (x, weight) = (centred(x, c.optional(2)?)?, centred(weight, c.optional(3)?)?);
    let out = plan.convolve(&x, &weight, 0, |sum, x, w| sum + x * w);
    one(Tensor::of_ints(DType::I32, plan.shape, out)?)
}

/// The sizes of a transposed convolution; pads that follow from them are set.
pub fn transposed(c: &Call<'_>, window: &mut Window, input: &[usize]) -> Res<Vec<usize>> {
    let rank = input.len();
    let extra = c.ints("output_padding").map_or_else(|| vec![0; rank], <[i64]>::to_vec);
    let given = match c.ints("output_shape") {
        // Some files state the batch and the channels, too.
        Some(shape) => Some(shape.get(shape.len().saturating_sub(rank)..).unwrap_or_default().to_vec()),
        None if window.same.is_some() => {
            let scaled = input.iter().zip(&window.strides).map(|(n, s)| n.saturating_mul(*s) as i64);
            Some(scaled.collect())
        }
        None => None,
    };
    let mut out = Vec::with_capacity(rank);
    for (axis, extent) in input.iter().enumerate() {
        let full = window.covered(axis, *extent).saturating_add(extra.get(axis).copied().unwrap_or(0));
        if let Some(given) = &given {
            let Some(wanted) = given.get(axis).copied() else {
                return invalid!("a size of the output is missing");
            };
            let total = full.saturating_sub(wanted);
            let less = total.div_euclid(2);
            let more = total.saturating_sub(less);
            (window.before[axis], window.after[axis]) =
                if window.same == Some(false) { (less, more) } else { (more, less) };
            out.push(wanted);
        } else {
            out.push(full.saturating_sub(window.before[axis]).saturating_sub(window.after[axis]));
        }
    }
    sizes(&out)
}

/// Each element of the input adds the weight, times itself, to the output.
fn conv_transpose(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, weight) = (c.tensor(0)?, c.tensor(1)?);
    let ([batch, channels, spatial @ ..], [depth, per_group, ..]) = (x.shape(), weight.shape()) else {
        return invalid!("shapes {:?} and {:?} have no channels", x.shape(), weight.shape());
    };
    let groups = group(c, *channels, *channels)?;
    let mut window = Window::for_kernel(c, kernel(c, weight.shape())?)?;
    if depth != channels || window.kernel.len() != spatial.len() {
        return invalid!("a weight of shape {:?} does not fit {channels} channels", weight.shape());
    }
    let out = transposed(c, &mut window, spatial)?;
    let filters = per_group.saturating_mul(groups);
    let shape: Vec<usize> = [*batch, filters].into_iter().chain(out.iter().copied()).collect();
    let mut items = vec![0.0; c.count(&shape)?];
    // The roles of input and output are those of a convolution, exchanged.
    let taps = window.taps(c, &out, spatial)?;
    c.spend((x.len() as u64).saturating_mul((per_group * taps.len()) as u64))?;
    let (image, field) = (volume(spatial), volume(&out));
    let (x_items, w_items) = (x.floats()?, weight.floats()?);
    let per_in = channels / groups;
    for (index, plane) in x_items.chunks(image.max(1)).enumerate() {
        let (sample, channel) = (index / channels, index % channels);
        for filter in 0..*per_group {
            let first = (sample * filters + channel / per_in * per_group + filter) * field;
            let Some(target) = items.get_mut(first..first + field) else { continue };
            for (tap, pairs) in taps.iter().enumerate() {
                let Some(w) = w_items.get((channel * per_group + filter) * taps.len() + tap) else {
                    continue;
                };
                for (from, to) in pairs {
                    target[*to] += plane[*from] * w;
                }
            }
        }
    }
    if let Some(bias) = c.optional(2)?.map(Tensor::floats).transpose()? {
        for (at, item) in items.iter_mut().enumerate() {
            *item += bias.get(at / field.max(1) % filters.max(1)).copied().unwrap_or(0.0);
        }
    }
    one(Tensor::of_floats(x.dtype(), shape, items)?)
}

#[deny(clippy::arithmetic_side_effects)]
pub(super) mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ops::infer::cx::{Cx, Dims, Shapes, one};
    use crate::ops::infer::window::{Pads, Window, kernel};
    use crate::sym::Dim;

    /// Convolutions with the weight at input `weight`.
    pub(in crate::ops) fn conv(cx: &mut Cx<'_>, weight: usize) -> Option<Shapes> {
        cx.rank_from(0, 3)?;
        let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
        cx.rank(weight, spatial.len().saturating_add(2))?;
        let dims = cx.dims(weight)?;
        let kernel = kernel(cx, dims, spatial.len())?;
        let group = cx.int("group")?;
        let (out, taken) = (dims.first().copied().flatten(), dims.get(1).copied().flatten());
        let taken = taken.map(|c| cx.symbols.mul(c, Dim::Const(group)));
        cx.equal(*c, taken, "the weight is of another number of channels")?;
        if let Some(Dim::Const(m)) = out {
            let even = m.checked_rem(group) == Some(0);
            cx.demand(even, || format!("{m} channels do not fall into {group} groups"))?;
        }
        // The bias of a plain convolution; quantised ones have scales there.
        if cx.node.op == "Conv" {
            bias(cx, 2, out)?;
        }
        let window = Window::for_kernel(cx, kernel)?;
        let mut dims: Dims = smallvec![*n, out];
        for (axis, dim) in spatial.iter().enumerate() {
            let extent = window.slide(cx, axis, *dim, false);
            window.reaches(cx, extent, axis)?;
            dims.push(extent);
        }
        one(dims)
    }

    /// Refutes a bias that is not one number for each channel.
    fn bias(cx: &mut Cx<'_>, index: usize, channels: Option<Dim>) -> Option<()> {
        cx.rank(index, 1)?;
        cx.equal(cx.dim(index, 0), channels, "the bias is of another number of channels")
    }

    /// `ConvTranspose`.
    pub(super) fn conv_transpose(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 3)?;
        let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
        let rank = spatial.len();
        cx.rank(1, rank.saturating_add(2))?;
        let weight = cx.dims(1)?;
        let kernel = kernel(cx, weight, rank)?;
        cx.equal(*c, weight.first().copied().flatten(), "the weight is of another number of channels")?;
        let window = Window::for_kernel(cx, kernel)?;
        let group = Dim::Const(cx.int("group")?);
        let channels = weight.get(1).copied().flatten().map(|c| cx.symbols.mul(c, group));
        bias(cx, 2, channels)?;
        let mut out: Dims = smallvec![*n, channels];
        let extra = cx.node.ints("output_padding").filter(|p| p.len() == rank);
        for (axis, dim) in spatial.iter().enumerate() {
            let given = cx
                .node
                .ints("output_shape")
                .and_then(|s| s.get(s.len().checked_sub(rank)?.checked_add(axis)?));
            out.push(match (given, dim, &window.pads) {
                (Some(given), ..) => Some(Dim::Const(*given)),
                (None, Some(dim), Pads::Same) => Some(cx.symbols.mul(*dim, Dim::Const(window.strides[axis]))),
                (None, Some(dim), Pads::Given(pads)) => window.reach(axis).map(|reach| {
                    let steps = cx.plus(*dim, -1);
                    let steps = cx.symbols.mul(steps, Dim::Const(window.strides[axis]));
                    let rest = reach.saturating_add(extra.map_or(0, |p| p[axis]));
                    cx.plus(steps, rest.saturating_sub(pads[axis].0).saturating_sub(pads[axis].1))
                }),
                (None, None, _) => None,
            });
        }
        one(out)
    }
}

//! Normalisations.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, axis, one};
use super::error::invalid;
use super::infer::broadcast;
use super::reduce::Groups;
use super::strides::{Cut, broadcast, expand, volume};
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("BatchNormalization").infer(infer::batch).eval(batch),
    Op::new("GroupNormalization").infer(infer::group).eval(group),
    Op::new("InstanceNormalization").infer(infer::instance).eval(instance),
    Op::new("LRN").infer(broadcast::same).eval(local_response),
    Op::new("LayerNormalization").dtypes(infer::layer_types).infer(infer::layer).eval(layer),
    Op::new("LpNormalization").infer(broadcast::along).eval(lp),
    Op::new("MeanVarianceNormalization").infer(broadcast::same).eval(mean_variance),
    Op::new("RMSNormalization").infer(infer::root_mean_square).eval(root_mean_square),
    // The name that ONNX Runtime has for it, in ONNX's own domain.
    Op::new("SimplifiedLayerNormalization").infer(infer::root_mean_square).eval(root_mean_square),
];

/// The mean and the variance of some elements, the latter over all of them.
fn moments(items: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = items.clone().count() as f64;
    let mean = items.clone().sum::<f64>() / count;
    (mean, items.map(|x| (x - mean).powi(2)).sum::<f64>() / count)
}

/// The numbers of input `index`, of which there is one for each channel.
fn per_channel(c: &Call<'_>, index: usize, channels: usize) -> Res<Vec<f64>> {
    let items = c.tensor(index)?.floats()?;
    if items.len() != channels {
        return invalid!("input {index} has {} numbers for {channels} channels", items.len());
    }
    Ok(items)
}

fn batch(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let count = c.count(x.shape())?;
    let cut = Cut::at(x.shape(), 1);
    let channels = cut.extent;
    let [scale, bias, mut mean, mut variance] = [1, 2, 3, 4]
        .map(|index| per_channel(c, index, channels))
        .into_iter()
        .collect::<Res<Vec<_>>>()?
        .try_into()
        .unwrap_or_default();
    let items = x.floats()?;
    let channel = |at: usize| at / cut.inner.max(1) % channels.max(1);
    let training =
        c.flag("training_mode") || (c.opset < 7 && c.opset > 0 && !c.flag("is_test") && c.outputs() > 1);
    let mut running = Vec::new();
    if training {
        let momentum = c.float("momentum")?;
        let mut current = (Vec::new(), Vec::new());
        for ch in 0..channels {
            let own = items.iter().enumerate().filter(|(at, _)| channel(*at) == ch).map(|(_, x)| *x);
            let (m, v) = moments(own);
            current.0.push(m);
            current.1.push(v);
        }
        let blend = |old: &[f64], new: &[f64]| -> Vec<f64> {
            old.iter().zip(new).map(|(old, new)| old * momentum + new * (1.0 - momentum)).collect()
        };
        for (index, (old, new)) in [(3, (&mean, &current.0)), (4, (&variance, &current.1))] {
            let dtype = c.tensor(index)?.dtype();
            running.push(Value::Tensor(Tensor::of_floats(dtype, vec![channels], blend(old, new))?));
        }
        (mean, variance) = current;
    }
    let epsilon = c.float("epsilon")?;
    let out = (0..count).zip(&items).map(|(at, x)| {
        let ch = channel(at);
        (x - mean[ch]) / (variance[ch] + epsilon).sqrt() * scale[ch] + bias[ch]
    });
    let mut outputs = one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), out.collect())?)?;
    outputs.extend(running);
    Ok(outputs)
}

/// Each of `runs` equal parts of the input with mean 0 and variance 1.
fn standardised(x: &Tensor, runs: usize, epsilon: f64) -> Res<Vec<f64>> {
    let mut items = x.floats()?;
    let size = items.len().checked_div(runs).unwrap_or(0).max(1);
    for run in items.chunks_mut(size) {
        let (mean, variance) = moments(run.iter().copied());
        for x in run {
            *x = (*x - mean) / (variance + epsilon).sqrt();
        }
    }
    Ok(items)
}

fn instance(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let cut = Cut::at(x.shape(), 1);
    let (scale, bias) = (per_channel(c, 1, cut.extent)?, per_channel(c, 2, cut.extent)?);
    let items = standardised(x, cut.outer * cut.extent, c.float("epsilon")?)?;
    let out = items.into_iter().enumerate().map(|(at, x)| {
        let ch = at / cut.inner % cut.extent;
        x * scale[ch] + bias[ch]
    });
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), out.collect())?)
}

/// Scale and bias are per channel, and were per group before opset 21.
fn group(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let cut = Cut::at(x.shape(), 1);
    let groups = usize::try_from(c.int("num_groups")?).unwrap_or(0);
    if groups == 0 || !cut.extent.is_multiple_of(groups) {
        return invalid!("{} channels do not make {groups} groups", cut.extent);
    }
    let entries = if c.opset < 21 { groups } else { cut.extent };
    let (scale, bias) = (per_channel(c, 1, entries)?, per_channel(c, 2, entries)?);
    let items = standardised(x, cut.outer * groups, c.float("epsilon")?)?;
    let per_entry = (cut.extent / entries.max(1) * cut.inner).max(1);
    let out = items.into_iter().enumerate().map(|(at, x)| {
        let entry = at / per_entry % entries;
        x * scale[entry] + bias[entry]
    });
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), out.collect())?)
}

/// `x` times the scale plus the bias, which broadcast to it.
fn affine(c: &Call<'_>, x: &Tensor, mut items: Vec<f64>, bias: bool) -> Res<Tensor> {
    for (index, add) in [(1, false), (2, true)] {
        let Some(factor) = c.optional(index)?.filter(|_| !add || bias) else { continue };
        if broadcast([x.shape(), factor.shape()])? != x.shape() {
            return invalid!("input {index} of shape {:?} does not fit {:?}", factor.shape(), x.shape());
        }
        let factors = factor.floats()?;
        for (item, at) in items.iter_mut().zip(expand(factor.shape(), x.shape())) {
            let factor = factors.get(at).copied().unwrap_or(0.0);
            *item = if add { *item + factor } else { *item * factor };
        }
    }
    Tensor::of_floats(x.dtype(), x.shape().to_vec(), items)
}

fn layer(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let at = c.axis(x.rank())?;
    let (outer, inner) = x.shape().split_at(at);
    let epsilon = c.float("epsilon")?;
    let items = x.floats()?;
    let (mut means, mut inverses) = (Vec::new(), Vec::new());
    for run in items.chunks(volume(inner).max(1)) {
        let (mean, variance) = moments(run.iter().copied());
        means.push(mean);
        inverses.push((variance + epsilon).sqrt().recip());
    }
    let out = affine(c, x, standardised(x, volume(outer), epsilon)?, true)?;
    let shape: Vec<usize> = outer.iter().copied().chain(inner.iter().map(|_| 1)).collect();
    let stash = c.dtype("stash_type")?;
    let statistics = |items| Ok(Value::Tensor(Tensor::of_floats(stash, shape.clone(), items)?));
    Ok(vec![out.into(), statistics(means)?, statistics(inverses)?])
}

fn root_mean_square(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let at = c.axis(x.rank())?;
    let size = volume(x.shape().get(at..).unwrap_or_default()).max(1);
    let (mut items, epsilon) = (x.floats()?, c.float("epsilon")?);
    for run in items.chunks_mut(size) {
        let mean = run.iter().map(|x| x * x).sum::<f64>() / size as f64;
        for x in run {
            *x /= (mean + epsilon).sqrt();
        }
    }
    one(affine(c, x, items, false)?)
}

/// Lines of norm 1; a line of zeros stays.
fn lp(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let (cut, p) = (Cut::at(x.shape(), c.axis(x.rank())?), c.int("p")?);
    let mut items = x.floats()?;
    for first in cut.lines() {
        let line = cut.line(first);
        let norm = match p {
            1 => line.clone().map(|at| items[at].abs()).sum::<f64>(),
            2 => line.clone().map(|at| items[at] * items[at]).sum::<f64>().sqrt(),
            _ => return invalid!("unknown norm {p}"),
        };
        for at in line {
            items[at] = if norm == 0.0 { 0.0 } else { items[at] / norm };
        }
    }
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), items)?)
}

/// `x / (bias + alpha / size · Σ x²)^beta` over neighbouring channels.
fn local_response(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let cut = Cut::at(x.shape(), 1);
    let size = usize::try_from(c.int("size")?).unwrap_or(1).max(1);
    c.spend((x.len() as u64).saturating_mul(size as u64))?;
    let (alpha, beta) = (c.float("alpha")?, c.float("beta")?);
    let bias = c.float("bias")?;
    let items = x.floats()?;
    let mut out = items.clone();
    for first in cut.lines() {
        for channel in 0..cut.extent {
            let from = channel.saturating_sub((size - 1) / 2);
            let to = (channel + size / 2).min(cut.extent - 1);
            let sum: f64 = (from..=to).map(|near| items[first + near * cut.inner].powi(2)).sum();
            out[first + channel * cut.inner] /= (bias + alpha / size as f64 * sum).powf(beta);
        }
    }
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), out)?)
}

/// `(x - mean) / (deviation + 1e-9)`.
fn mean_variance(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let axes = match c.ints("axes") {
        Some(axes) => axes.iter().map(|a| axis(*a, x.rank())).collect::<Res<Vec<_>>>()?,
        None => [0, 2, 3].into_iter().map(|a| axis(a, x.rank())).collect::<Res<Vec<_>>>()?,
    };
    let mut items = x.floats()?;
    for group in Groups::new(x.shape(), &axes, true).each() {
        let (mean, variance) = moments(group.clone().map(|at| items[at]));
        for at in group {
            items[at] = (items[at] - mean) / (variance.sqrt() + 1e-9);
        }
    }
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), items)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::broadcast::{onto, same, shape_of};
    use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes};
    use crate::sym::Dim;

    /// `LayerNormalization`: the statistics have a type of their own.
    pub(super) fn layer_types(cx: &Cx<'_>) -> Dtypes {
        let stash = cx.dtype_attr("stash_type", || None);
        smallvec![None, stash, stash]
    }

    /// `BatchNormalization`.
    pub(super) fn batch(cx: &mut Cx<'_>) -> Option<Shapes> {
        let channels = cx.dim(0, 1);
        for index in 1..5 {
            one_each(cx, index, channels)?;
        }
        Some(smallvec![shape_of(cx, 0), shape_of(cx, 3), shape_of(cx, 4)])
    }

    /// Refutes an input that does not hold one number for each channel.
    fn one_each(cx: &mut Cx<'_>, index: usize, channels: Option<Dim>) -> Option<()> {
        cx.rank(index, 1)?;
        cx.equal(cx.dim(index, 0), channels, &format!("input {index} is of another number of channels"))
    }

    /// `InstanceNormalization`.
    pub(super) fn instance(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 3)?;
        let channels = cx.dim(0, 1);
        one_each(cx, 1, channels)?;
        one_each(cx, 2, channels)?;
        same(cx)
    }

    /// `GroupNormalization`; below opset 21 there is one scale for each group.
    pub(super) fn group(cx: &mut Cx<'_>) -> Option<Shapes> {
        let (channels, groups) = (cx.dim(0, 1), cx.node.int("num_groups")?);
        if let Some(Dim::Const(n)) = channels {
            let even = n.checked_rem(groups) == Some(0);
            cx.demand(even, || format!("{n} channels do not fall into {groups} groups"))?;
        }
        let each = if cx.opset < 21 { Some(Dim::Const(groups)) } else { channels };
        one_each(cx, 1, each)?;
        one_each(cx, 2, each)?;
        same(cx)
    }

    /// `RMSNormalization`.
    pub(super) fn root_mean_square(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        cx.axis(dims.len())?;
        onto(cx, 1, dims)?;
        same(cx)
    }

    /// `LayerNormalization`.
    pub(super) fn layer(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        let at = cx.axis(dims.len())?;
        onto(cx, 1, dims)?;
        onto(cx, 2, dims)?;
        let mut reduced: Dims = dims.into();
        reduced[at..].fill(Some(Dim::Const(1)));
        Some(smallvec![Shape::Ranked(dims.into()), Shape::Ranked(reduced.clone()), Shape::Ranked(reduced)])
    }
}

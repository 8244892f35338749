//! Losses of classifiers.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::activation::softmax_line;
use super::call::Call;
use super::error::invalid;
use super::strides::{Cut, volume};
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("NegativeLogLikelihoodLoss")
        .infer(infer::loss)
        .eval(|c| Ok(vec![loss(c, c.tensor(0)?, &c.tensor(0)?.floats()?)?.into()])),
    Op::new("SoftmaxCrossEntropyLoss").infer(infer::loss).eval(cross_entropy),
];

/// The weighted loss of the logarithms at the classes in `target`; the mean is weighted as well.
fn loss(c: &Call<'_>, x: &Tensor, logs: &[f64]) -> Res<Tensor> {
    let target = c.tensor(1)?;
    let cut = Cut::at(x.shape(), 1);
    if x.rank() < 2 || target.len() != cut.outer * cut.inner {
        return invalid!("targets of shape {:?} do not fit the input {:?}", target.shape(), x.shape());
    }
    c.count(target.shape())?;
    let weights = c.optional(2)?.map(Tensor::floats).transpose()?;
    let ignored = c.int_if_any("ignore_index");
    let mut losses = Vec::with_capacity(target.len());
    let mut total = 0.0;
    for (at, class) in target.longs()?.into_iter().enumerate() {
        if ignored == Some(class) {
            losses.push(0.0);
            continue;
        }
        let Some(index) = usize::try_from(class).ok().filter(|i| *i < cut.extent) else {
            return invalid!("class {class} is out of range for {} classes", cut.extent);
        };
        let place = (at / cut.inner * cut.extent + index) * cut.inner + at % cut.inner;
        let weight = weights.as_ref().map_or(1.0, |w| w.get(index).copied().unwrap_or(0.0));
        total += weight;
        losses.push(-logs.get(place).copied().unwrap_or(f64::NAN) * weight);
    }
    let sum = || losses.iter().sum::<f64>();
    match c.text("reduction")? {
        "none" => Tensor::of_floats(x.dtype(), target.shape().to_vec(), losses),
        "sum" => Tensor::of_floats(x.dtype(), Vec::new(), vec![sum()]),
        "mean" => Tensor::of_floats(x.dtype(), Vec::new(), vec![sum() / total]),
        other => invalid!("unknown reduction `{other}`"),
    }
}

/// The loss of the logarithm of the softmax, and that itself.
fn cross_entropy(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(&[volume(x.shape())])?;
    let mut logs = x.floats()?;
    let cut = Cut::at(x.shape(), 1);
    for first in cut.lines() {
        softmax_line(&mut logs, cut.line(first), true);
    }
    let loss = loss(c, x, &logs)?;
    Ok(vec![loss.into(), Tensor::of_floats(x.dtype(), x.shape().to_vec(), logs)?.into()])
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::broadcast::shape_of;
    use crate::ops::infer::cx::{Cx, Shapes};

    /// One loss for each target, or one for all; and the shape of the scores.
    pub(super) fn loss(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank_from(0, 2)?;
        let (scores, targets) = (cx.dims(0), cx.dims(1));
        if let (Some([batch, _, spatial @ ..]), Some([other, places @ ..])) = (scores, targets) {
            cx.equal(*batch, *other, "scores and targets are of different batches")?;
            cx.rank(1, spatial.len().saturating_add(1))?;
            for (scores, targets) in spatial.iter().zip(places) {
                cx.equal(*scores, *targets, "the shapes of scores and targets do not match")?;
            }
        }
        let each = cx.text("reduction") == Some("none");
        let loss = if each { shape_of(cx, 1) } else { Shape::Ranked(smallvec![]) };
        Some(smallvec![loss, shape_of(cx, 0)])
    }
}

//! Losses of classes: the likelihood of the right one.

use onnxport_sdk::prelude::*;

use super::Reduction;
use crate::matmul::swap_last;
use crate::support::{scaled, shifted};

/// `op`, one of ONNX's two losses, which expect a batch axis before the classes.
fn class_loss(
    cx: &Lower,
    op: impl Operator<'static>,
    inputs: (Value, Value, Option<Value>),
    reduction: Reduction,
    ignore_index: i64,
) -> Res<Value> {
    let (mut x, mut target, weight) = inputs;
    let lone = cx.rank(x)? == 1;
    if lone {
        x = cx.unsqueeze(x, &[0]);
        if cx.rank(target)? == 0 {
            target = cx.unsqueeze(target, &[0]);
        }
    }
    let dtype = cx.dtype(x)?;
    let node = cx.op(op.named()).input(x).input(target).maybe(weight.map(|w| cx.cast(w, dtype)));
    let losses = node.str("reduction", reduction.name()).int("ignore_index", ignore_index).one();
    let squeeze = lone && reduction == Reduction::None && cx.result(0)?.rank() == 0;
    Ok(if squeeze { cx.squeeze(losses, &[0]) } else { losses })
}

/// `-x[target] * weight[target]`, without the targets `ignore_index`; the mean is weighted.
#[lowering("aten.nll_loss.default", "aten.nll_loss_nd.default", "aten.nll_loss2d.default")]
fn nll_loss(
    cx: &Lower,
    x: Value,
    target: Value,
    weight: Option<Value>,
    reduction: i64,
    ignore_index: i64,
) -> Res<Value> {
    let reduction = Reduction::read(reduction)?;
    class_loss(cx, op::NegativeLogLikelihoodLoss, (x, target, weight), reduction, ignore_index)
}

/// As `nll_loss`; the total weight, which only the gradient needs, is not computed.
#[lowering("aten.nll_loss_forward.default", "aten.nll_loss2d_forward.default")]
fn nll_loss_forward(
    cx: &Lower,
    x: Value,
    target: Value,
    weight: Option<Value>,
    reduction: i64,
    ignore_index: i64,
) -> Res<Vec<Option<Value>>> {
    let loss = nll_loss(cx, x, target, weight, reduction, ignore_index)?;
    Ok(vec![Some(loss), None])
}

/// `nll_loss` of the logarithms of `softmax`, or the cross entropy with probabilities.
#[lowering("aten.cross_entropy_loss.default")]
fn cross_entropy_loss(
    cx: &Lower,
    x: Value,
    target: Value,
    weight: Option<Value>,
    reduction: i64,
    ignore_index: i64,
    label_smoothing: f64,
) -> Res<Value> {
    let reduction = Reduction::read(reduction)?;
    let inputs = (x, target, weight);
    if cx.dtype(target)?.is_float() {
        return of_probabilities(cx, inputs, reduction, label_smoothing);
    }
    if label_smoothing == 0.0 {
        return class_loss(cx, op::SoftmaxCrossEntropyLoss, inputs, reduction, ignore_index);
    }
    smoothed(cx, inputs, reduction, ignore_index, label_smoothing)
}

/// `cross_entropy_loss` of a linear layer, which PyTorch computes for a few rows at a time. Its gradients are not computed.
#[lowering(
    "torch_nn._linear_cross_entropy_batch_chunked.default",
    "torch_nn._linear_cross_entropy_batch_chunked_no_reduction.default"
)]
fn linear_cross_entropy(
    cx: &Lower,
    x: Value,
    linear_weight: Value,
    target: Value,
    linear_bias: Option<Value>,
    weight: Option<Value>,
    ignore_index: i64,
    acc_dtype: DType,
) -> Res<Vec<Option<Value>>> {
    let (reduction, smoothing) = if cx.lookup("reduction").is_none() {
        (Reduction::None, 0.0)
    } else {
        let name: Str = cx.argument("reduction")?;
        let known = [Reduction::None, Reduction::Mean, Reduction::Sum];
        let found = known.into_iter().find(|reduction| reduction.name() == name.0);
        (found.ok_or("`reduction` is not none, mean or sum")?, cx.argument("label_smoothing")?)
    };
    // PyTorch computes half precision in `acc_dtype`.
    let wide = |v: Value| cx.cast(v, acc_dtype);
    let mut scores = cx.matmul(wide(x), wide(swap_last(cx, linear_weight)?));
    if let Some(bias) = linear_bias {
        scores = scores + wide(bias);
    }
    let mut results = vec![None; cx.result_count()];
    if let Some(first) = results.first_mut() {
        let loss = cross_entropy_loss(cx, scores, target, weight, reduction as i64, ignore_index, smoothing)?;
        *first = Some(cx.cast(loss, cx.result(0)?.dtype));
    }
    Ok(results)
}

/// The logarithms of `softmax`, with the number of classes and their axis.
fn log_softmax(cx: &Lower, x: Value) -> Res<(Value, i64, i64)> {
    let axis = usize::from(cx.rank(x)? > 1);
    let Some(classes) = cx.dim(x, axis).as_const() else {
        return Err("the number of classes in `self` must be known".into());
    };
    Ok((cx.op(op::LogSoftmax).input(x).axis(axis as i64).one(), axis as i64, classes))
}

/// `x * weight` along the axis of the classes.
fn weighted(cx: &Lower, x: Value, weight: Option<Value>) -> Res<Value> {
    let Some(mut weight) = weight else { return Ok(x) };
    let behind = cx.rank(x)?.saturating_sub(2);
    if behind > 0 {
        let axes: Vec<i64> = (1..=behind as i64).collect();
        weight = cx.unsqueeze(weight, &axes);
    }
    Ok(x * weight)
}

/// `-sum(t * weight * log(softmax(x)))` over the classes, `t` moved towards equal ones.
fn of_probabilities(
    cx: &Lower,
    (x, target, weight): (Value, Value, Option<Value>),
    reduction: Reduction,
    smoothing: f64,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut target = cx.cast(target, dtype);
    let (logs, axis, classes) = log_softmax(cx, x)?;
    if smoothing != 0.0 {
        target = shifted(scaled(target, 1.0 - smoothing), smoothing / classes as f64);
    }
    let losses = -cx.reduce(op::ReduceSum, weighted(cx, target * logs, weight)?, &[axis], false);
    Ok(if cx.rank(losses)? == 0 { losses } else { reduction.of(cx, losses) })
}

/// `(1 - s) * nll + s / classes * -sum(weight * log(softmax(x)))` for targets that are classes.
fn smoothed(
    cx: &Lower,
    (x, target, weight): (Value, Value, Option<Value>),
    reduction: Reduction,
    ignore_index: i64,
    smoothing: f64,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if cx.rank(x)? == 1 {
        return Err("`label_smoothing` of a single example is not supported".into());
    }
    let index_type = cx.dtype(target)?;
    let (logs, axis, classes) = log_softmax(cx, x)?;
    let inputs = (logs, target, weight);
    let nll = class_loss(cx, op::NegativeLogLikelihoodLoss, inputs, Reduction::None, ignore_index)?;
    let sums = cx.reduce(op::ReduceSum, weighted(cx, logs, weight)?, &[axis], false);
    let ignored = cx.filled(&Scalar::Int(ignore_index), index_type, &[]);
    let ignored = cx.equal(target, ignored);
    let sums = cx.select(ignored, 0.0, sums);
    let losses = scaled(nll, 1.0 - smoothing) - scaled(sums, smoothing / classes as f64);
    if reduction != Reduction::Mean {
        return Ok(reduction.of(cx, losses));
    }
    let (total, one) = (Reduction::Sum.of(cx, losses), cx.float(1.0, dtype));
    let weights = match weight {
        Some(weight) => {
            cx.gather(weight, cx.select(ignored, cx.filled(&Scalar::Int(0), index_type, &[]), target), 0)
        }
        None => one,
    };
    Ok(total / Reduction::Sum.of(cx, cx.select(ignored, 0.0, weights)))
}

/// The mean over the classes of `max(0, margin - x[target] + x)^p`, without the target's own, times
/// the target's weight.
#[lowering("aten.multi_margin_loss.default")]
fn multi_margin_loss(
    cx: &Lower,
    x: Value,
    target: Value,
    p: f64,
    margin: f64,
    weight: Option<Value>,
    reduction: i64,
) -> Res<Value> {
    // A 0-d tensor is a single class.
    let x = if cx.rank(x)? == 0 { cx.unsqueeze(x, &[0]) } else { x };
    let axis = cx.rank(x)?.saturating_sub(1);
    // The target of a single example may have an axis or none.
    let index = if cx.rank(target)? <= axis { cx.unsqueeze(target, &[-1]) } else { target };
    let right = cx.op(op::GatherElements).input(x).input(index).axis(axis as i64).one();
    let mut terms = cx.relu(shifted(x - right, margin));
    if p == 2.0 {
        terms = terms * terms;
    }
    let sums = cx.reduce(op::ReduceSum, terms, &[axis as i64], false);
    let sums = shifted(sums, -margin.max(0.0).powf(p));
    let mut losses = match cx.dim(x, axis).as_const() {
        Some(classes) => scaled(sums, 1.0 / classes as f64),
        None => sums / cx.cast(cx.squeeze(cx.extent(x, axis), &[0]), cx.dtype(sums)?),
    };
    if let Some(weight) = weight {
        losses = losses * cx.gather(weight, target, 0);
    }
    if cx.result(0)?.rank() == 0 && cx.rank(losses)? == 0 {
        return Ok(losses);
    }
    Ok(Reduction::read(reduction)?.of(cx, losses))
}

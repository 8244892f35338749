//! Normalisation over everything but the channels.

use onnxport_sdk::prelude::*;

use super::{or_filled, per_channel, standardised};
use crate::reduce::count;
use crate::support::fits_attribute;

/// `(x - mean) / sqrt(var + eps) * weight + bias` with the running statistics, or in training with
/// those of the batch.
#[lowering("aten.batch_norm.default")]
fn batch_norm(
    cx: &Lower,
    x: Value,
    weight: Option<Value>,
    bias: Option<Value>,
    running_mean: Option<Value>,
    running_var: Option<Value>,
    training: bool,
    eps: f64,
) -> Res<Value> {
    match (training, running_mean, running_var) {
        (false, Some(mean), Some(var)) => with_statistics(cx, x, [weight, bias], [mean, var], eps),
        (true, Some(_), _) => {
            Err(Refusal::new("the argument `training` is true: the call changes its running statistics")
                .help("export the model in evaluation mode, `model.eval()`"))
        }
        _ => Ok(with_batch(cx, x, [weight, bias], eps)?[0]),
    }
}

/// The inference form: `BatchNormalization`, or in training the statistics of the batch. The second
/// and third result are the statistics that were used, empty in inference.
#[lowering(
    "aten._native_batch_norm_legit.default",
    "aten._native_batch_norm_legit.no_stats",
    "aten._native_batch_norm_legit_no_training.default",
    "aten.native_batch_norm.default",
    "aten.cudnn_batch_norm.default",
    "aten._batch_norm_no_update.default"
)]
fn native_batch_norm(
    cx: &Lower,
    this: Value,
    weight: Option<Value>,
    bias: Option<Value>,
    running_mean: Option<Value>,
    running_var: Option<Value>,
    training: bool,
) -> Res<Vec<Option<Value>>> {
    let eps = epsilon(cx)?;
    let mut results = vec![None; cx.result_count()];
    if let (false, Some(mean), Some(var)) = (training, running_mean, running_var) {
        results[0] = Some(with_statistics(cx, this, [weight, bias], [mean, var], eps)?);
        for (index, result) in results.iter_mut().enumerate().skip(1) {
            let fact = cx.result(index)?;
            if fact.shape.iter().any(|d| d.is(0)) {
                *result = Some(cx.constant(fact.dtype, &[0], &[]));
            }
        }
        return Ok(results);
    }
    if running_mean.is_some() {
        return Err(Refusal::new("the argument `training` is true: the call changes its running statistics")
            .help("export the model in evaluation mode, `model.eval()`"));
    }
    for (result, value) in results.iter_mut().zip(with_batch(cx, this, [weight, bias], eps)?) {
        *result = Some(value);
    }
    Ok(results)
}

/// The training form without mutation: the new running statistics are results,
/// `(1 - momentum) * running + momentum * batch`, with the unbiased variance.
#[lowering(
    "aten._native_batch_norm_legit_functional.default",
    "aten._batch_norm_with_update_functional.default"
)]
fn functional(
    cx: &Lower,
    this: Value,
    weight: Option<Value>,
    bias: Option<Value>,
    running_mean: Value,
    running_var: Value,
    training: Arg,
    momentum: f64,
    eps: f64,
) -> Res<Vec<Option<Value>>> {
    let update = cx.target().contains("with_update");
    let training = update || (!training.is_none() && cx.argument::<bool>("training")?);
    if !training {
        let y = with_statistics(cx, this, [weight, bias], [running_mean, running_var], eps)?;
        let none = cx.constant(cx.dtype(running_mean)?, &[0], &[]);
        return Ok(vec![Some(y), Some(none), Some(none), Some(running_mean), Some(running_var)]);
    }
    let [y, mean, inverse, biased] = with_batch(cx, this, [weight, bias], eps)?;
    let dtype = cx.dtype(running_mean)?;
    let axes = others(cx.rank(this)?);
    let unbiased = match count(cx, this, &axes, dtype)? {
        Ok(n) => cx.float(n as f64 / (n as f64 - 1.0), dtype),
        Err(n) => n / (n - 1.0),
    };
    let mean_now = cx.cast(mean, dtype);
    let variance = cx.cast(biased, dtype) * unbiased;
    let (keep, take) = (cx.float(1.0 - momentum, dtype), cx.float(momentum, dtype));
    let blend = |old: Value, new: Value| old * keep + new * take;
    let mut results = vec![Some(y), Some(mean), Some(inverse)];
    if update {
        // The reserve for the backward pass, which PyTorch leaves empty on the CPU.
        results.push(Some(cx.constant(cx.result(3)?.dtype, &[0], &[])));
    }
    results.extend([Some(blend(running_mean, mean_now)), Some(blend(running_var, variance))]);
    Ok(results)
}

/// `(x - mean) / sqrt(var + eps) * weight + bias` with the running statistics (or, if asked for,
/// `InstanceNormalization`: those of every channel of every element of the batch).
#[lowering("aten.instance_norm.default")]
fn instance_norm(
    cx: &Lower,
    x: Value,
    weight: Option<Value>,
    bias: Option<Value>,
    running_mean: Option<Value>,
    running_var: Option<Value>,
    use_input_stats: bool,
    eps: f64,
) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    if let (false, Some(mean), Some(var)) = (use_input_stats, running_mean, running_var) {
        return with_statistics(cx, x, [weight, bias], [mean, var], eps);
    }
    if !fits_attribute(eps, dtype) {
        let axes: Vec<i64> = (2..cx.rank(x)? as i64).collect();
        let [y, ..] = standardised(cx, x, &axes, eps)?;
        return per_channel(cx, y, weight, bias);
    }
    let channels = [cx.dim(x, 1)];
    let scale = or_filled(cx, weight, 1.0, &channels, dtype);
    let bias = or_filled(cx, bias, 0.0, &channels, dtype);
    let node = cx.op(op::InstanceNormalization).input(x).input(scale).input(bias);
    Ok(node.epsilon(eps).one())
}

fn epsilon(cx: &Lower) -> Res<f64> {
    let name = if cx.lookup("eps").is_none() { "epsilon" } else { "eps" };
    cx.argument(name)
}

/// Every axis but that of the channels.
fn others(rank: usize) -> Vec<i64> {
    (0..rank as i64).filter(|axis| *axis != 1).collect()
}

fn with_statistics(
    cx: &Lower,
    x: Value,
    [weight, bias]: [Option<Value>; 2],
    [mean, var]: [Value; 2],
    eps: f64,
) -> Res<Value> {
    let (dtype, statistics) = (cx.dtype(x)?, cx.dtype(mean)?);
    let channels = [cx.dim(mean, 0)];
    let scale = or_filled(cx, weight, 1.0, &channels, dtype);
    let bias = or_filled(cx, bias, 0.0, &channels, dtype);
    let var = cx.cast(var, statistics);
    let node = cx.op(op::BatchNormalization).input(x).input(scale).input(bias).input(mean).input(var);
    Ok(node.epsilon(eps).one())
}

/// The result with the batch's own statistics; its mean, `1 / sqrt(var + eps)` and biased variance,
/// a number for each channel.
fn with_batch(cx: &Lower, x: Value, [weight, bias]: [Option<Value>; 2], eps: f64) -> Res<[Value; 4]> {
    let axes = others(cx.rank(x)?);
    let mean = cx.reduce(op::ReduceMean, x, &axes, true);
    let centred = x - mean;
    let variance = cx.reduce(op::ReduceMean, centred * centred, &axes, true);
    let inverse = cx.reciprocal(cx.sqrt(variance + eps));
    let y = per_channel(cx, centred * inverse, weight, bias)?;
    Ok([y, cx.squeeze(mean, &axes), cx.squeeze(inverse, &axes), cx.squeeze(variance, &axes)])
}

//! Activation functions.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one};
use super::error::invalid;
use super::infer::broadcast;
use super::map::{Arithmetic, floats, numbers};
use super::strides::{Cut, volume};
use super::{Axes, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("Celu").elementwise().eval(celu),
    Op::new("Elu").elementwise().eval(elu),
    Op::new("Gelu").elementwise().eval(gelu),
    Op::new("HardSigmoid").elementwise().eval(hard_sigmoid),
    Op::new("HardSwish").elementwise().eval(|c| floats(c, |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0))),
    Op::new("Hardmax").along(13).discontinuous().infer(broadcast::along).eval(hardmax),
    Op::new("LeakyRelu").elementwise().eval(leaky_relu),
    Op::new("LogSoftmax").along(13).accumulates().infer(broadcast::along).eval(|c| softmax(c, true)),
    Op::new("Mish").elementwise().eval(|c| floats(c, |x| x * softplus(x).tanh())),
    Op::new("PRelu")
        .elementwise()
        .axes(Axes::Together)
        .infer(|cx| broadcast::scaled(cx, 1))
        .eval(parametric_relu),
    Op::new("Relu").elementwise().nonexpansive().eval(|c| numbers(c, relu, |n| n.max(0))),
    Op::new("Selu").elementwise().eval(selu),
    Op::new("Shrink").elementwise().eval(shrink),
    Op::new("Sigmoid").elementwise().eval(|c| floats(c, sigmoid)),
    Op::new("Softmax").along(13).accumulates().infer(broadcast::along).eval(|c| softmax(c, false)),
    Op::new("Softplus").elementwise().eval(|c| floats(c, softplus)),
    Op::new("Softsign").elementwise().eval(|c| floats(c, |x| x / (1.0 + x.abs()))),
    Op::new("Swish").elementwise().eval(swish),
    Op::new("ThresholdedRelu").elementwise().eval(thresholded_relu),
];

/// NaN stays.
pub(super) fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// `1 / (1 + exp(-x))`.
pub(super) fn sigmoid(x: f64) -> f64 {
    if x < 0.0 {
        let e = x.exp();
        e / (1.0 + e)
    } else {
        1.0 / (1.0 + (-x).exp())
    }
}

/// `ln(1 + exp(x))`, without overflow.
pub(super) fn softplus(x: f64) -> f64 {
    relu(x) + (-x.abs()).exp().ln_1p()
}

/// `x` where it is positive, else `negative(x)`.
fn bent(x: f64, negative: impl Fn(f64) -> f64) -> f64 {
    if x < 0.0 { negative(x) } else { x }
}

fn celu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let alpha = c.float("alpha")?;
    floats(c, |x| relu(x) + (alpha * (x / alpha).exp_m1()).min(0.0))
}

fn elu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let alpha = c.float("alpha")?;
    floats(c, |x| bent(x, |x| alpha * x.exp_m1()))
}

/// `x` times the probability that a normal number is below it.
pub(super) fn exact_gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// The approximation of [`exact_gelu`] by `tanh`.
pub(super) fn tanh_gelu(x: f64) -> f64 {
    let scale = (2.0 / std::f64::consts::PI).sqrt();
    0.5 * x * (1.0 + (scale * (x + 0.044_715 * x.powi(3))).tanh())
}

fn gelu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    match c.text("approximate")? {
        "none" => floats(c, exact_gelu),
        "tanh" => floats(c, tanh_gelu),
        other => invalid!("unknown approximation `{other}`"),
    }
}

fn hard_sigmoid(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (alpha, beta) = (c.float("alpha")?, c.float("beta")?);
    floats(c, |x| (alpha * x + beta).clamp(0.0, 1.0))
}

fn leaky_relu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let alpha = c.float("alpha")?;
    floats(c, |x| bent(x, |x| alpha * x))
}

fn parametric_relu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, slope) = (c.tensor(0)?, c.tensor(1)?);
    let bend = Arithmetic {
        float: &|x, slope| bent(x, |x| slope * x),
        int: &|x: i128, slope| Ok(if x < 0 { x.wrapping_mul(slope) } else { x }),
    };
    // Before opset 7 a slope of one axis was one per channel.
    let slope = match slope.shape() {
        [n] if c.opset < 7 && *n > 1 && x.rank() > 1 => {
            let behind = std::iter::repeat_n(1, x.rank() - 2);
            slope.reshaped(std::iter::once(*n).chain(behind).collect())?
        }
        _ => slope.clone(),
    };
    one(bend.of(c, x, &slope)?)
}

fn selu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let alpha = c.float("alpha")?;
    let gamma = c.float("gamma")?;
    floats(c, |x| gamma * bent(x, |x| alpha * x.exp_m1()))
}

fn shrink(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (lambd, bias) = (c.float("lambd")?, c.float("bias")?);
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let cut = |x: f64| match x {
        x if x < -lambd => x + bias,
        x if x > lambd => x - bias,
        _ => 0.0,
    };
    one(Tensor::of_numbers(x.dtype(), x.shape().to_vec(), x.floats()?.into_iter().map(cut).collect())?)
}

fn swish(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let alpha = c.float("alpha")?;
    floats(c, |x| x * sigmoid(alpha * x))
}

fn thresholded_relu(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let alpha = c.float("alpha")?;
    floats(c, |x| if x > alpha { x } else { 0.0 })
}

/// Along which lines a softmax goes: one axis, or before opset 13 all axes from one on as if they were one.
fn normalised(c: &Call<'_>, x: &Tensor) -> Res<Cut> {
    if c.opset >= 13 {
        return Ok(Cut::at(x.shape(), c.axis(x.rank())?));
    }
    let axis = c.axis(x.rank().max(1))?;
    let (outer, inner) = x.shape().split_at(axis.min(x.rank()));
    Ok(Cut { outer: volume(outer), extent: volume(inner), inner: 1 })
}

/// `exp(x - max) / sum`, or its logarithm.
fn softmax(c: &mut Call<'_>, log: bool) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let (mut items, cut) = (x.floats()?, normalised(c, x)?);
    for first in cut.lines() {
        softmax_line(&mut items, cut.line(first), log);
    }
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), items)?)
}

/// Softmax of the elements of one line, in place.
pub(super) fn softmax_line(items: &mut [f64], line: impl Iterator<Item = usize> + Clone, log: bool) {
    let max = line.clone().map(|at| items[at]).fold(f64::NEG_INFINITY, super::pointwise::larger);
    let sum: f64 = line.clone().map(|at| (items[at] - max).exp()).sum();
    for at in line {
        items[at] = if log { items[at] - max - sum.ln() } else { (items[at] - max).exp() / sum };
    }
}

/// 1 at the first of the largest elements, else 0.
fn hardmax(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let mut out = vec![0.0; c.count(x.shape())?];
    let (items, cut) = (x.floats()?, normalised(c, x)?);
    for first in cut.lines() {
        let best = cut.line(first).reduce(|best, at| if items[at] > items[best] { at } else { best });
        if let Some(best) = best {
            out[best] = 1.0;
        }
    }
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), out)?)
}

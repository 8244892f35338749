//! Activation functions, and those fused into products and convolutions.

use super::op;
use crate::op::microsoft;
use crate::ops::activation::{relu, sigmoid, softplus};
use crate::ops::call::{Call, one};
use crate::ops::error::{invalid, unsupported};
use crate::ops::infer::broadcast;
use crate::ops::map::Arithmetic;
use crate::ops::{Op, Res, Tensor, Value, activation, map};

pub(in crate::ops) const OPS: &[Op] = &[
    op(microsoft::BiasGelu).infer(|cx| broadcast::scaled(cx, 1)).eval(|c| {
        let sum = biased(c, c.tensor(0)?.clone(), 1)?;
        one(each(&sum, activation::exact_gelu)?)
    }),
    op(microsoft::BiasSoftmax).infer(broadcast::same),
    op(microsoft::FastGelu).infer(|cx| broadcast::scaled(cx, 1)).eval(|c| {
        let sum = biased(c, c.tensor(0)?.clone(), 1)?;
        one(each(&sum, activation::tanh_gelu)?)
    }),
    op(microsoft::Gelu).elementwise().eval(|c| map::floats(c, activation::exact_gelu)),
    op(microsoft::QuickGelu).elementwise().eval(|c| {
        let alpha = c.float("alpha")?;
        map::floats(c, |x| x * sigmoid(alpha * x))
    }),
];

/// `x` plus the input `index`, where that is there.
pub(super) fn biased(c: &Call<'_>, x: Tensor, index: usize) -> Res<Tensor> {
    let Some(bias) = c.optional(index)? else { return Ok(x) };
    added(c, &x, bias)
}

/// The sum of two tensors, broadcast.
pub(super) fn added(c: &Call<'_>, a: &Tensor, b: &Tensor) -> Res<Tensor> {
    let add = Arithmetic { float: &|x, y| x + y, int: &|x: i128, y| Ok(x.wrapping_add(y)) };
    add.of(c, a, b)
}

/// `f` of each element.
pub(super) fn each(x: &Tensor, f: impl Fn(f64) -> f64) -> Res<Tensor> {
    Tensor::of_floats(x.dtype(), x.shape().to_vec(), x.floats()?.into_iter().map(f).collect())
}

/// The activation that the attribute `activation` of a fused node names, with these parameters.
pub(super) fn fused(c: &Call<'_>, parameters: [Option<f64>; 2]) -> Res<Box<dyn Fn(f64) -> f64>> {
    let [alpha, beta] = parameters;
    let needed = |parameter: Option<f64>| match parameter {
        Some(parameter) => Ok(parameter),
        None => invalid!("the fused activation lacks a parameter"),
    };
    Ok(match c.text_if_any("activation") {
        None | Some("") => Box::new(|x| x),
        Some("Relu") => Box::new(relu),
        Some("Sigmoid") => Box::new(sigmoid),
        Some("Softplus") => Box::new(softplus),
        Some("Tanh") => Box::new(f64::tanh),
        Some("LeakyRelu") => {
            let alpha = needed(alpha)?;
            Box::new(move |x| if x < 0.0 { alpha * x } else { x })
        }
        Some("HardSigmoid") => {
            let (alpha, beta) = (needed(alpha)?, needed(beta)?);
            Box::new(move |x| (alpha * x + beta).clamp(0.0, 1.0))
        }
        Some("Clip") => {
            let (low, high) = (needed(alpha)?, needed(beta)?);
            Box::new(move |x| x.max(low).min(high))
        }
        Some(other) => return unsupported!("the activation `{other}`"),
    })
}

/// The only result of an evaluator.
pub(super) fn only(values: Vec<Value>) -> Res<Tensor> {
    match <[Value; 1]>::try_from(values) {
        Ok([Value::Tensor(tensor)]) => Ok(tensor),
        _ => unsupported!("more than one result"),
    }
}

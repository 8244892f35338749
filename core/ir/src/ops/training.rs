//! Steps of optimisers, of `ai.onnx.preview.training`.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::Call;
use super::error::invalid;
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    op("Adagrad").types(|cx| infer::steps(cx, 3, &[0, 2])).eval(adagrad),
    op("Adam").types(|cx| infer::steps(cx, 4, &[0, 2, 3])).eval(adam),
    op("Momentum").types(|cx| infer::steps(cx, 3, &[0, 2])).eval(momentum),
];

/// The line of an operator of this domain.
const fn op(name: &'static str) -> Op {
    Op::new(name).of("ai.onnx.preview.training")
}

/// Applies `step` to each element of each tensor that is optimised. The inputs from the third on are `N` groups of
/// tensors; the step takes an element of each and changes the ones that `returned` names, which are the results.
fn each<const N: usize>(c: &Call<'_>, returned: &[usize], step: impl Fn(&mut [f64; N])) -> Res<Vec<Value>> {
    let inputs = c.tensors(2)?;
    if inputs.is_empty() || !inputs.len().is_multiple_of(N) {
        return invalid!("{} tensors are not {N} groups", inputs.len());
    }
    let count = inputs.len() / N;
    let mut groups: Vec<Vec<Value>> = vec![Vec::new(); N];
    for at in 0..count {
        let own: Vec<&Tensor> = inputs.iter().skip(at).step_by(count).copied().collect();
        if let Some(other) = own.iter().find(|t| t.shape() != inputs[at].shape()) {
            return invalid!("{} does not fit {}", other.describe(), inputs[at].describe());
        }
        c.count(&[N, inputs[at].len()])?;
        let mut items: Vec<Vec<f64>> = own.iter().map(|t| t.floats()).collect::<Res<_>>()?;
        for place in 0..inputs[at].len() {
            let mut element: [f64; N] = std::array::from_fn(|group| items[group][place]);
            step(&mut element);
            for (list, x) in items.iter_mut().zip(element) {
                list[place] = x;
            }
        }
        for ((group, items), tensor) in groups.iter_mut().zip(items).zip(own) {
            group.push(Tensor::of_floats(tensor.dtype(), tensor.shape().to_vec(), items)?.into());
        }
    }
    Ok(returned.iter().flat_map(|group| groups.get(*group).cloned().unwrap_or_default()).collect())
}

/// The learning rate, and how many steps were taken.
fn progress(c: &Call<'_>) -> Res<(f64, f64)> {
    Ok((c.number(0)?.unwrap_or(0.0), c.number(1)?.unwrap_or(0.0)))
}

fn adagrad(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (rate, steps) = progress(c)?;
    let rate = rate / (1.0 + steps * c.float("decay_factor")?);
    let (norm, epsilon) = (c.float("norm_coefficient")?, c.float("epsilon")?);
    each(c, &[0, 2], |[x, gradient, squares]| {
        let gradient = norm * *x + *gradient;
        *squares += gradient * gradient;
        *x -= rate * gradient / (squares.sqrt() + epsilon);
    })
}

fn adam(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (rate, steps) = progress(c)?;
    let (alpha, beta) = (c.float("alpha")?, c.float("beta")?);
    let (norm, after) = (c.float("norm_coefficient")?, c.float("norm_coefficient_post")?);
    let epsilon = c.float("epsilon")?;
    let rate =
        if steps > 0.0 { rate * (1.0 - beta.powf(steps)).sqrt() / (1.0 - alpha.powf(steps)) } else { rate };
    each(c, &[0, 2, 3], |[x, gradient, mean, squares]| {
        let gradient = norm * *x + *gradient;
        *mean = alpha * *mean + (1.0 - alpha) * gradient;
        *squares = beta * *squares + (1.0 - beta) * gradient * gradient;
        *x = (1.0 - after) * (*x - rate * *mean / (squares.sqrt() + epsilon));
    })
}

fn momentum(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (rate, steps) = progress(c)?;
    let (alpha, norm) = (c.float("alpha")?, c.float("norm_coefficient")?);
    // The first step takes the gradient as it is.
    let beta = if steps > 0.0 { c.float("beta")? } else { 1.0 };
    let nesterov = match c.text("mode")? {
        "standard" => false,
        "nesterov" => true,
        other => return invalid!("unknown mode `{other}`"),
    };
    each(c, &[0, 2], |[x, gradient, speed]| {
        let gradient = norm * *x + *gradient;
        *speed = alpha * *speed + beta * gradient;
        *x -= rate * if nesterov { gradient + alpha * *speed } else { *speed };
    })
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types: tensors come in groups, and some groups are returned.

    use crate::ir::Type;
    use crate::ops::infer::cx::{Cx, Types};

    /// The types of the groups `returned`, of `groups` that the inputs from the third on fall into.
    pub(super) fn steps(cx: &mut Cx<'_>, groups: usize, returned: &[usize]) -> Option<Types> {
        let inputs = cx.node.inputs.len().saturating_sub(2);
        cx.demand(inputs > 0 && inputs.is_multiple_of(groups), || {
            format!("{inputs} tensors are not {groups} groups")
        })?;
        let count = inputs.checked_div(groups)?;
        let first = |group: &usize| group.saturating_mul(count).saturating_add(2);
        let places = returned.iter().flat_map(|group| (first(group)..).take(count));
        Some(places.map(|at| cx.ty(at).cloned().unwrap_or(Type::Unknown)).collect())
    }
}

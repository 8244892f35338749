//! Normalizations that add their inputs first, and embeddings that are normalized.

use smallvec::smallvec;

use super::activations::{added, biased};
use super::op;
use crate::ir::Shape;
use crate::op::microsoft;
use crate::ops::call::Call;
use crate::ops::error::invalid;
use crate::ops::infer::broadcast::onto;
use crate::ops::infer::cx::{Cx, Dims, Dtypes, Shapes};
use crate::ops::{Op, Res, Tensor, Value};
use crate::sym::Dim;
use crate::tensor::DType;

pub(in crate::ops) const OPS: &[Op] = &[
    op(microsoft::EmbedLayerNormalization).infer(embedded),
    op(microsoft::QEmbedLayerNormalization).infer(embedded),
    op(microsoft::SkipLayerNormalization)
        .dtypes(statistics)
        .infer(skipped)
        .eval(|c| normalized(c, Form { centred: true, shift: Some(3), bias: 4 })),
    op(microsoft::SkipSimplifiedLayerNormalization)
        .dtypes(statistics)
        .infer(skipped)
        .eval(|c| normalized(c, Form { centred: false, shift: None, bias: 3 })),
];

/// The differences between the two normalizations.
#[derive(Clone, Copy)]
struct Form {
    /// Subtract the mean.
    centred: bool,
    /// The input that is added to the result.
    shift: Option<usize>,
    /// The input that is added to the sum before.
    bias: usize,
}

/// `(input + skip + bias)`, normalized along its last axis, times `gamma`, plus `beta`. The last result is the sum.
fn normalized(c: &mut Call<'_>, form: Form) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let sum = biased(c, added(c, x, c.tensor(1)?)?, form.bias)?;
    let Some((&size, outer)) = x.shape().split_last() else { return invalid!("the input has no axes") };
    if sum.shape() != x.shape() {
        return invalid!("input 1 of shape {:?} does not fit {:?}", c.tensor(1)?.shape(), x.shape());
    }
    let epsilon = c.float("epsilon")?;
    let mut items = sum.floats()?;
    let (mut means, mut inverses) = (Vec::new(), Vec::new());
    for run in items.chunks_mut(size.max(1)) {
        let count = size as f64;
        let mean = if form.centred { run.iter().sum::<f64>() / count } else { 0.0 };
        let variance = run.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let inverse = (variance + epsilon).sqrt().recip();
        for x in run {
            *x = (*x - mean) * inverse;
        }
        means.push(mean);
        inverses.push(inverse);
    }
    for (index, add) in [(Some(2), false), (form.shift, true)] {
        let Some(factor) = index.map(|index| c.optional(index)).transpose()?.flatten() else { continue };
        let factors = factor.floats()?;
        if factors.len() != size {
            return invalid!("{} numbers do not fit an axis of {size}", factors.len());
        }
        for run in items.chunks_mut(size.max(1)) {
            for (x, factor) in run.iter_mut().zip(&factors) {
                *x = if add { *x + factor } else { *x * factor };
            }
        }
    }
    let shape: Vec<usize> = outer.iter().copied().chain([1]).collect();
    let floats = |items| Ok(Value::Tensor(Tensor::of_floats(DType::F32, shape.clone(), items)?));
    let y = Tensor::of_floats(x.dtype(), x.shape().to_vec(), items)?;
    Ok(vec![y.into(), floats(means)?, floats(inverses)?, sum.into()])
}

/// Mean and deviation are `f32`.
fn statistics(_: &Cx<'_>) -> Dtypes {
    smallvec![None, Some(DType::F32), Some(DType::F32), None]
}

fn skipped(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    onto(cx, 1, dims)?;
    onto(cx, 2, dims)?;
    let mut reduced: Dims = dims.into();
    *reduced.last_mut()? = Some(Dim::Const(1));
    let (all, reduced) = (Shape::Ranked(dims.into()), Shape::Ranked(reduced));
    Some(smallvec![all.clone(), reduced.clone(), reduced, all])
}

/// A row of the table at input 2 for each id, and the number of ids before the padding.
fn embedded(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank(0, 2)?;
    let [batch, length] = cx.dims(0)? else { return None };
    let all = Shape::Ranked(smallvec![*batch, *length, cx.dim(2, 1)]);
    Some(smallvec![all.clone(), Shape::Ranked(smallvec![*batch]), all])
}

//! Random numbers.
//!
//! ONNX leaves open which numbers an implementation draws. Here they come from `SplitMix64` and are the same in every run:
//! its state starts as the bits of the attribute `seed` or, where that is absent, as a number of the node. A float is the
//! upper 53 bits of a draw; normal numbers are made of two by Box and Muller. Such nodes are never folded.

use super::call::{Call, one, sizes};
use super::error::invalid;
use super::generator::infer::like as like_type;
use super::infer::broadcast;
use super::{Op, Res, Tensor, Value};
use crate::ir::Attr;
use crate::random::Random;
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("Bernoulli").dtypes(like_type).infer(broadcast::same).eval(bernoulli).random(),
    Op::new("Dropout").infer(infer::dropout).eval(dropout).random(),
    Op::new("Multinomial").dtypes(infer::integers).infer(infer::multinomial).eval(multinomial).random(),
    Op::new("RandomNormal").dtypes(infer::floats).infer(infer::random).eval(|c| of_shape(c, normal)).random(),
    Op::new("RandomNormalLike").dtypes(like_type).infer(broadcast::same).eval(|c| like(c, normal)).random(),
    Op::new("RandomUniform")
        .dtypes(infer::floats)
        .infer(infer::random)
        .eval(|c| of_shape(c, uniform))
        .random(),
    Op::new("RandomUniformLike").dtypes(like_type).infer(broadcast::same).eval(|c| like(c, uniform)).random(),
];

/// The stream of a node.
fn stream(c: &Call<'_>) -> Random {
    Random::new(match c.attr("seed") {
        Some(Attr::Float(seed)) => seed.to_bits().into(),
        Some(Attr::Int(seed)) => seed.cast_unsigned(),
        _ => c.number_of_node(),
    })
}

type Draw = fn(&Call<'_>, &mut Random) -> Res<f64>;

fn uniform(c: &Call<'_>, bits: &mut Random) -> Res<f64> {
    let (low, high) = (c.float("low")?, c.float("high")?);
    Ok(low + bits.unit() * (high - low))
}

fn normal(c: &Call<'_>, bits: &mut Random) -> Res<f64> {
    Ok(c.float("mean")? + c.float("scale")? * bits.normal())
}

fn draw(c: &Call<'_>, dtype: DType, shape: Vec<usize>, draw: Draw) -> Res<Vec<Value>> {
    let (count, mut bits) = (c.count(&shape)?, stream(c));
    let items = (0..count).map(|_| draw(c, &mut bits)).collect::<Res<_>>()?;
    one(Tensor::of_floats(dtype, shape, items)?)
}

fn of_shape(c: &Call<'_>, how: Draw) -> Res<Vec<Value>> {
    let Some(shape) = c.ints("shape") else { return invalid!("the attribute `shape` is missing") };
    draw(c, c.dtype("dtype")?, sizes(shape)?, how)
}

fn like(c: &Call<'_>, how: Draw) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    draw(c, c.dtype_or("dtype", x.dtype())?, x.shape().to_vec(), how)
}

fn bernoulli(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let mut bits = stream(c);
    let items = x.floats()?.into_iter().map(|p| f64::from(u8::from(bits.unit() < p))).collect();
    one(Tensor::of_numbers(c.dtype_or("dtype", x.dtype())?, x.shape().to_vec(), items)?)
}

/// Classes, each with the probability whose logarithm is given up to a constant.
fn multinomial(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let (&[batch, classes], Ok(samples)) = (x.shape(), usize::try_from(c.int("sample_size")?)) else {
        return invalid!("{} are not rows of classes", x.describe());
    };
    if classes == 0 {
        return invalid!("there is no class to draw");
    }
    let shape = vec![batch, samples];
    let mut out = Vec::with_capacity(c.count(&shape)?);
    c.spend((out.capacity() as u64).saturating_mul(classes as u64))?;
    let mut bits = stream(c);
    for row in x.floats()?.chunks(classes) {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = row.iter().map(|x| (x - most).exp()).collect();
        let total: f64 = weights.iter().sum();
        for _ in 0..samples {
            let mut left = bits.unit() * total;
            let found = weights.iter().position(|weight| {
                left -= weight;
                left < 0.0
            });
            // Rounding may leave a rest behind the last class that can be.
            let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
            out.push(found.unwrap_or(last) as f64);
        }
    }
    one(Tensor::of_numbers(c.dtype("dtype")?, shape, out)?)
}

/// In training, each element is dropped with the probability `ratio`, and the others grow; else it is the input itself.
fn dropout(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    // Before opset 12 the operator is for inference.
    let training = match c.optional(2)? {
        Some(flag) => flag.bools()?.first() == Some(&true),
        None => c.opset < 7 && c.opset > 0 && !c.flag("is_test"),
    };
    let ratio = match c.number(1)? {
        Some(ratio) => ratio,
        None => c.float_if_any("ratio").unwrap_or(0.5),
    };
    let count = c.count(x.shape())?;
    let mut bits = stream(c);
    let mask: Vec<bool> = (0..count).map(|_| !training || bits.unit() >= ratio).collect();
    let shape = x.shape().to_vec();
    let out = if training && ratio != 0.0 {
        let grown =
            x.floats()?.into_iter().zip(&mask).map(|(x, keep)| if *keep { x / (1.0 - ratio) } else { 0.0 });
        Tensor::of_floats(x.dtype(), shape.clone(), grown.collect())?
    } else {
        x.clone()
    };
    let mask = if c.opset < 10 {
        Tensor::of_numbers(x.dtype(), shape, mask.iter().map(|keep| f64::from(u8::from(*keep))).collect())?
    } else {
        Tensor::of_bools(shape, mask)?
    };
    Ok(vec![out.into(), mask.into()])
}

mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ops::infer::broadcast::shape_of;
    use crate::ops::infer::cx::{Cx, Dtypes, Shapes, one};
    use crate::sym::Dim;

    /// The attribute `dtype`, else 32-bit floats.
    pub(super) fn floats(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype_attr("dtype", || None)]
    }

    /// The attribute `dtype`, else 32-bit integers.
    pub(super) fn integers(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype_attr("dtype", || None)]
    }

    /// `RandomNormal` and `RandomUniform`.
    pub(super) fn random(cx: &mut Cx<'_>) -> Option<Shapes> {
        one(cx.node.ints("shape")?.iter().map(|d| Some(Dim::Const(*d))))
    }

    /// `Multinomial`.
    pub(super) fn multinomial(cx: &mut Cx<'_>) -> Option<Shapes> {
        one([cx.dim(0, 0), Some(Dim::Const(cx.int("sample_size")?))])
    }

    /// `Dropout`.
    #[expect(clippy::unnecessary_wraps, reason = "what a rule returns")]
    pub(super) fn dropout(cx: &mut Cx<'_>) -> Option<Shapes> {
        Some(smallvec![shape_of(cx, 0), shape_of(cx, 0)])
    }
}

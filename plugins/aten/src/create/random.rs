//! Random numbers. They follow the same distribution as PyTorch's but are never the same numbers.

use onnxport_sdk::prelude::*;

use crate::support::full;

/// The type in which random numbers are drawn for a result of `dtype`.
fn drawn_type(dtype: DType) -> DType {
    if matches!(dtype, DType::F32 | DType::F64) { dtype } else { DType::F32 }
}

/// `RandomUniform` or `RandomNormal` of the result's shape with two float attributes.
fn random(
    cx: &Lower,
    op: impl Operator<'static>,
    first: (&str, f64),
    second: (&str, f64),
    dtype: DType,
) -> Res<Value> {
    let shape = cx.result(0)?.real_shape();
    let constant: Option<Vec<i64>> = shape.iter().map(|d| d.as_const()).collect();
    if let Some(shape) = constant.filter(|s| !s.is_empty()) {
        let node = cx.op(op.named()).ints("shape", &shape).int("dtype", i64::from(dtype.onnx()));
        return Ok(node.float(first.0, first.1).float(second.0, second.1).one());
    }
    let like = cx.constant_of_shape(cx.dims_value(&shape), cx.filled(&Scalar::Int(0), dtype, &[1]));
    let op =
        if op.is(op::RandomNormal) { op::RandomNormalLike.named() } else { op::RandomUniformLike.named() };
    Ok(cx.op(op).input(like).float(first.0, first.1).float(second.0, second.1).one())
}

/// Uniform in `[low, high)`, in `f32` or `f64`.
fn uniform_in(cx: &Lower, low: f64, high: f64) -> Res<Value> {
    random(cx, op::RandomUniform, ("low", low), ("high", high), drawn_type(cx.result(0)?.dtype.real()))
}

/// Normal, in the type of the result. Each part of a complex number has half the variance, and the mean is real.
fn normal_of(cx: &Lower, mean: f64, std: f64) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = result.dtype.real();
    let normal = |mean, std| random(cx, op::RandomNormal, ("mean", mean), ("scale", std), drawn_type(dtype));
    if result.dtype.is_complex() {
        let parts = normal(0.0, std * std::f64::consts::FRAC_1_SQRT_2)?;
        return Ok(parts + cx.numbers(&[mean, 0.0], dtype));
    }
    Ok(cx.cast(normal(mean, std)?, dtype))
}

/// Uniform in `[0, 1)`.
#[lowering(
    "aten.rand.default",
    "aten.rand.generator",
    "aten.rand_like.default",
    "aten.rand_like.generator",
    complex
)]
fn rand(cx: &Lower) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    Ok(cx.cast(uniform_in(cx, 0.0, 1.0)?, dtype))
}

/// Uniform in `[from, to)`.
#[lowering("aten.uniform.default", complex)]
fn uniform(cx: &Lower, from: f64, to: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype.real();
    Ok(cx.cast(uniform_in(cx, from, to)?, dtype))
}

/// Standard normal.
#[lowering(
    "aten.randn.default",
    "aten.randn.generator",
    "aten.randn_like.default",
    "aten.randn_like.generator",
    complex
)]
fn randn(cx: &Lower) -> Res<Value> {
    normal_of(cx, 0.0, 1.0)
}

/// Normal with numbers for mean and deviation.
#[lowering("aten.normal.float_float", "aten.normal_functional.default", complex)]
fn normal(cx: &Lower, mean: f64, std: f64) -> Res<Value> {
    normal_of(cx, mean, std)
}

/// `mean + std * z` with `z` standard normal.
#[lowering("aten.normal.Tensor_Tensor", "aten.normal.Tensor_float", "aten.normal.float_Tensor")]
fn normal_tensors(cx: &Lower, mean: Operand, std: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let z = normal_of(cx, 0.0, 1.0)?;
    Ok(cx.operand(&mean, dtype) + z * cx.operand(&std, dtype))
}

/// Uniform integers in `[low, high)`: the floors of uniform numbers.
#[lowering(
    "aten.randint.default",
    "aten.randint.generator",
    "aten.randint.low",
    "aten.randint.low_generator",
    "aten.randint_like.default",
    "aten.randint_like.generator",
    "aten.randint_like.low_dtype",
    "aten.randint_like.low_generator_dtype"
)]
fn randint(cx: &Lower, low: Option<i64>, high: i64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(cx.floor(uniform_in(cx, low.unwrap_or(0) as f64, high as f64)?), dtype))
}

/// A permutation of `0..n`: the order of random numbers.
#[lowering("aten.randperm.default", "aten.randperm.generator")]
fn randperm(cx: &Lower) -> Res<Value> {
    let result = cx.result(0)?;
    let keys = random(cx, op::RandomUniform, ("low", 0.0), ("high", 1.0), DType::F32)?;
    let [_, order] = cx.op(op::TopK).input(keys).input(cx.dims_value(&result.shape)).outs::<2>();
    Ok(cx.cast(order, result.dtype))
}

/// 1 with the probability that the element states, else 0.
#[lowering("aten.bernoulli.default")]
fn bernoulli(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let kernel = drawn_type(cx.dtype(x)?);
    Ok(cx.op(op::Bernoulli).input(cx.cast(x, kernel)).dtype(i64::from(dtype.onnx())).one())
}

/// 1 with probability `p`, else 0.
#[lowering("aten.bernoulli.p")]
fn bernoulli_p(cx: &Lower, p: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(cx.less(uniform_in(cx, 0.0, 1.0)?, p), dtype))
}

/// Exponential: `-log(u) / lambd` with `u` uniform.
#[lowering("aten.exponential.default")]
fn exponential(cx: &Lower, lambd: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let u = uniform_in(cx, f64::from(f32::MIN_POSITIVE), 1.0)?;
    Ok(cx.cast(cx.log(u) / -lambd, dtype))
}

/// 1 with the probability that the element of `p` states, else 0.
#[lowering("aten.bernoulli.Tensor")]
fn bernoulli_tensor(cx: &Lower, p: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(cx.less(uniform_in(cx, 0.0, 1.0)?, cx.cast(p, drawn_type(dtype))), dtype))
}

/// The exponential of a normal number.
#[lowering("aten.log_normal.default")]
fn log_normal(cx: &Lower, mean: f64, std: f64) -> Res<Value> {
    Ok(cx.exp(normal_of(cx, mean, std)?))
}

/// Cauchy: `median + sigma * tan(pi * (u - 1/2))` with `u` uniform.
#[lowering("aten.cauchy.default")]
fn cauchy(cx: &Lower, median: f64, sigma: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let angle = (uniform_in(cx, 0.0, 1.0)? - 0.5) * std::f64::consts::PI;
    Ok(cx.cast(cx.op(op::Tan).input(angle).one() * sigma + median, dtype))
}

/// How many trials of probability `p` it takes until one succeeds: `ceil(log(u) / log(1 - p))` with `u` uniform.
#[lowering("aten.geometric.default")]
fn geometric(cx: &Lower, p: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let u = uniform_in(cx, f64::from(f32::MIN_POSITIVE), 1.0)?;
    let trials = cx.ceil(cx.log(u) / (-p).ln_1p());
    Ok(cx.cast(cx.clip(trials, Some(cx.float(1.0, drawn_type(dtype))), None), dtype))
}

/// Indices drawn by the weights of the last axis. Without replacement they are those of the largest
/// `weight / e` with `e` exponential, which draws one after the other without replacement.
#[lowering("aten.multinomial.default")]
fn multinomial(cx: &Lower, x: Value, num_samples: i64, replacement: bool) -> Res<Value> {
    let rank = cx.rank(x)?;
    let x = cx.cast(x, DType::F32);
    if replacement || num_samples == 1 {
        let log = cx.log(x);
        let log = if rank == 1 { cx.unsqueeze(log, &[0]) } else { log };
        let node = cx.op(op::Multinomial).input(log).sample_size(num_samples);
        let drawn = node.dtype(i64::from(DType::I64.onnx())).one();
        return Ok(if rank == 1 { cx.squeeze(drawn, &[0]) } else { drawn });
    }
    let low = f64::from(f32::MIN_POSITIVE);
    let keys = x / -cx.log(cx.op(op::RandomUniformLike).input(x).low(low).high(1.0).one());
    let [_, indices] = cx.op(op::TopK).input(keys).input(cx.ints(&[num_samples])).outs::<2>();
    Ok(indices)
}

/// The gradient of elements that stayed, scaled; 0 for the others.
#[lowering("aten.native_dropout_backward.default")]
fn dropout_backward(cx: &Lower, grad_output: Value, mask: Value, scale: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(grad_output, dtype) * (cx.cast(mask, dtype) * scale))
}

/// Zero with probability `p`, else scaled by `1 / (1 - p)`, in training; else as it is. The second
/// result tells which elements stay.
#[lowering("aten.native_dropout.default", "aten.dropout.default")]
fn dropout(cx: &Lower, x: Value, p: f64, train: Option<bool>) -> Res<Vec<Option<Value>>> {
    if train == Some(false) || p == 0.0 {
        let mask = if cx.has_result(1) {
            let shape = cx.result(1)?.shape;
            Some(full(cx, &shape, &Scalar::Bool(true), DType::Bool))
        } else {
            None
        };
        return Ok(vec![Some(x), mask]);
    }
    if p == 1.0 {
        // `Dropout` takes no ratio of one.
        let result = cx.result(0)?;
        let shape = result.shape;
        let dropped = full(cx, &shape, &Scalar::Int(0), result.dtype);
        let mask = cx.has_result(1).then(|| full(cx, &shape, &Scalar::Bool(false), DType::Bool));
        return Ok(vec![Some(dropped), mask]);
    }
    let [y, mask] =
        cx.op(op::Dropout).input(x).input(cx.float(p, DType::F32)).input(cx.bool(true)).outs::<2>();
    Ok(vec![Some(y), Some(mask)])
}

/// The same for complex numbers, both parts of which stay or not.
#[lowering("aten.native_dropout.default", "aten.dropout.default", complex)]
fn complex_dropout(cx: &Lower, x: Value, p: f64, train: Option<bool>) -> Res<Vec<Option<Value>>> {
    if train == Some(false) || p == 0.0 {
        return dropout(cx, x, 0.0, train);
    }
    if p == 1.0 {
        return Err("a complex dropout of everything is not supported: use `torch.zeros_like`".into());
    }
    let result = cx.result(0)?;
    let ones = full(cx, &result.shape, &Scalar::Int(1), result.dtype.real());
    let [factor, mask] =
        cx.op(op::Dropout).input(ones).input(cx.float(p, DType::F32)).input(cx.bool(true)).outs::<2>();
    Ok(vec![Some(x * cx.unsqueeze(factor, &[-1])), Some(mask)])
}

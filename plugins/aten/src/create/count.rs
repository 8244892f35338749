//! Arithmetic and geometric progressions.

use onnxport_sdk::prelude::*;

use crate::support::{scaled, shifted, small};

/// The numbers 0, 1, ... of the result's only axis in `dtype`.
fn indices(cx: &Lower, dtype: DType) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    if let Some([n]) = small(&shape, DType::I64).as_deref() {
        let numbers: Vec<f64> = (0..*n).map(|i| i as f64).collect();
        return Ok(cx.numbers(&numbers, dtype));
    }
    let count = cx.dims_value(&shape);
    let (zero, one) = (cx.int(0), cx.int(1));
    Ok(cx.cast(cx.range(zero, cx.squeeze(count, &[0]), one), dtype))
}

/// A symbolic integer from a number, where it is one.
fn integer(number: &Scalar) -> Option<SymInt> {
    match number {
        Scalar::Int(n) => Some(SymInt::Const(*n)),
        Scalar::Bool(b) => Some(SymInt::Const(i64::from(*b))),
        Scalar::Sym(value) => Some(SymInt::Value(*value)),
        Scalar::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => Some(SymInt::Const(*x as i64)),
        _ => None,
    }
}

/// `start + i * step` for as many `i` as the result has elements.
fn progression(cx: &Lower, start: &Scalar, end: &Scalar, step: &Scalar) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = result.dtype;
    if let (Some(start), Some(step), Some([n])) =
        (start.as_f64(), step.as_f64(), small(&result.shape, DType::I64).as_deref())
    {
        // An integer progression has an integer start and step, whatever they were given as.
        let exact = |x: f64| if dtype.is_float() { x } else { x.trunc() };
        let numbers: Vec<f64> = (0..*n).map(|i| exact(start) + exact(step) * i as f64).collect();
        return Ok(cx.numbers(&numbers, dtype));
    }
    let is_integer = |cx: &Lower, s: &Scalar| match s {
        Scalar::Sym(value) => cx.dtype(*value) == Ok(DType::I64),
        _ => integer(s).is_some(),
    };
    let backward = |s: &Scalar| s.as_f64().is_some_and(|x| x < 0.0);
    if dtype == DType::I64 && (backward(start) || backward(step)) && !result.shape.contains(&Dim::Unknown) {
        // ONNX Runtime makes a slice of a `Gather` of a `Range`, whose bounds mean something else when
        // they are negative.
        if let (Some(start), Some(step)) = (integer(start), integer(step)) {
            return counted(cx, start, step);
        }
    }
    if [start, end, step].iter().all(|s| is_integer(cx, s)) {
        let mut bounds = Vec::with_capacity(3);
        for number in [start, end, step] {
            let number = integer(number).ok_or("`start`, `end` or `step` is not a number")?;
            bounds.push(cx.sym_int_scalar(&number));
        }
        if let [start, end, step] = bounds[..] {
            return Ok(cx.cast(cx.range(start, end, step), dtype));
        }
    }
    if !dtype.is_float() {
        return Err("`start`, `end` and `step` must be integers where the result is integers".into());
    }
    if [start, end, step].iter().any(|s| matches!(s, Scalar::Sym(_))) {
        let mut bounds = Vec::with_capacity(3);
        for number in [start, end, step] {
            let mut bound = cx.number(number, DType::F64);
            if cx.rank(bound)? == 1 {
                bound = cx.squeeze(bound, &[0]);
            }
            bounds.push(bound);
        }
        if let [start, end, step] = bounds[..] {
            return Ok(cx.cast(cx.range(start, end, step), dtype));
        }
    }
    let kernel = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let i = indices(cx, kernel)?;
    let y = match step.as_f64() {
        Some(step) => scaled(i, step),
        None => i,
    };
    let y = match start.as_f64() {
        Some(start) => shifted(y, start),
        None => y,
    };
    Ok(cx.cast(y, dtype))
}

/// The integers or multiples from `start` (0) up to but without `end`, by `step` (1).
#[lowering("aten.arange.default", "aten.arange.start", "aten.arange.start_step")]
fn arange(cx: &Lower, start: Option<Scalar>, end: Scalar, step: Option<Scalar>) -> Res<Value> {
    let (start, step) = (start.unwrap_or(Scalar::Int(0)), step.unwrap_or(Scalar::Int(1)));
    progression(cx, &start, &end, &step)
}

/// As many integers as the result has, from `start` by `step`.
fn counted(cx: &Lower, start: SymInt, step: SymInt) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut y = indices(cx, dtype)?;
    if step != SymInt::Const(1) {
        y = y * cx.cast(cx.sym_int_scalar(&step), dtype);
    }
    if start != SymInt::Const(0) {
        y = y + cx.cast(cx.sym_int_scalar(&start), dtype);
    }
    Ok(y)
}

/// `length` integers from `start` by `step`.
#[lowering("prims.iota.default")]
fn iota(cx: &Lower, start: SymInt, step: SymInt) -> Res<Value> {
    counted(cx, start, step)
}

/// As `arange`, with `end`.
#[lowering("aten.range.default", "aten.range.step")]
fn range(cx: &Lower, start: Scalar, step: Option<Scalar>) -> Res<Value> {
    let step = step.unwrap_or(Scalar::Int(1));
    // The end is not read: the number of elements is that of the result.
    progression(cx, &start, &Scalar::Float(f64::NAN), &step)
}

/// `i` evenly spaced numbers from `start` to `end`, in `f64` or `f32`. Of integers also the ends are.
fn spaced(cx: &Lower, start: &Operand, end: &Operand, kernel: DType) -> Res<Value> {
    let result = cx.result(0)?;
    let (shape, dtype) = (result.shape, result.dtype);
    let whole = !dtype.is_float();
    let exact = |x: f64| if whole { x.trunc() } else { x };
    let numbers = match (start, end) {
        (Operand::Number(a), Operand::Number(b)) => a.as_f64().map(exact).zip(b.as_f64().map(exact)),
        _ => None,
    };
    if let (Some((start, end)), Some([n])) = (numbers, small(&shape, DType::F64).as_deref()) {
        let step = if *n > 1 { (end - start) / (*n - 1) as f64 } else { 0.0 };
        // Both halves count from their own end, as PyTorch does.
        let at = |i: u64| {
            if i < *n / 2 || *n == 1 { start + step * i as f64 } else { end - step * (*n - 1 - i) as f64 }
        };
        let numbers: Vec<f64> = (0..*n).map(at).collect();
        return Ok(cx.numbers(&numbers, kernel));
    }
    let i = indices(cx, kernel)?;
    let end_of =
        |cx: &Lower, end: &Operand| cx.cast(cx.operand(end, if whole { dtype } else { kernel }), kernel);
    let (start, end) = (end_of(cx, start), end_of(cx, end));
    let count = shape.first().copied().unwrap_or(Dim::Unknown);
    let last = cx.dim_max(cx.dim_sub(count, 1), 1);
    let last = cx.cast(cx.dims_value(&[last]), kernel);
    Ok(start + i * ((end - start) / last))
}

/// `steps` evenly spaced numbers from `start` to `end`.
#[lowering(
    "aten.linspace.default",
    "aten.linspace.Tensor_Tensor",
    "aten.linspace.Tensor_Scalar",
    "aten.linspace.Scalar_Tensor",
    parts(end)
)]
fn linspace(cx: &Lower, start: Operand, end: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let kernel = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
    Ok(cx.cast(spaced(cx, &start, &end, kernel)?, dtype))
}

/// `base` to the power of `linspace`.
#[lowering(
    "aten.logspace.default",
    "aten.logspace.Tensor_Tensor",
    "aten.logspace.Tensor_Scalar",
    "aten.logspace.Scalar_Tensor"
)]
fn logspace(cx: &Lower, start: Operand, end: Operand, base: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let kernel = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
    let exponents = spaced(cx, &start, &end, kernel)?;
    Ok(cx.cast(cx.pow(base, exponents), dtype))
}

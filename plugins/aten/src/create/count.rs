//! Arithmetic and geometric progressions.

use onnxport_sdk::prelude::*;

use crate::support::{constant, scaled, shifted, small};

/// The numbers 0, 1, ... of the result's only axis in `dtype`.
fn indices(cx: &mut Lower, dtype: DType) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    if let Some([n]) = small(&shape, DType::I64).as_deref() {
        let numbers: Vec<f64> = (0..*n).map(|i| i as f64).collect();
        return Ok(cx.numbers(&numbers, dtype));
    }
    let count = cx.dims_value(&shape);
    let (zero, one, count) = (cx.int(0), cx.int(1), cx.squeeze(count, &[0]));
    let range = cx.range(zero, count, one);
    Ok(cx.cast(range, dtype))
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
fn progression(cx: &mut Lower, start: &Scalar, end: &Scalar, step: &Scalar) -> Res<Value> {
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
            let range = cx.range(start, end, step);
            return Ok(cx.cast(range, dtype));
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
            let range = cx.range(start, end, step);
            return Ok(cx.cast(range, dtype));
        }
    }
    let kernel = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let i = indices(cx, kernel)?;
    let y = match step.as_f64() {
        Some(step) => scaled(cx, i, step, kernel),
        None => i,
    };
    let y = match start.as_f64() {
        Some(start) => shifted(cx, y, start, kernel),
        None => y,
    };
    Ok(cx.cast(y, dtype))
}

/// The integers or multiples from `start` (0) up to but without `end`, by `step` (1).
#[lowering("aten.arange.default", "aten.arange.start", "aten.arange.start_step")]
fn arange(cx: &mut Lower, start: Option<Scalar>, end: Scalar, step: Option<Scalar>) -> Res<Value> {
    let (start, step) = (start.unwrap_or(Scalar::Int(0)), step.unwrap_or(Scalar::Int(1)));
    progression(cx, &start, &end, &step)
}

/// As many integers as the result has, from `start` by `step`.
fn counted(cx: &mut Lower, start: SymInt, step: SymInt) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut y = indices(cx, dtype)?;
    if step != SymInt::Const(1) {
        let step = cx.sym_int_scalar(&step);
        let step = cx.cast(step, dtype);
        y = cx.mul(y, step);
    }
    if start != SymInt::Const(0) {
        let start = cx.sym_int_scalar(&start);
        let start = cx.cast(start, dtype);
        y = cx.add(y, start);
    }
    Ok(y)
}

/// `length` integers from `start` by `step`.
#[lowering("prims.iota.default")]
fn iota(cx: &mut Lower, start: SymInt, step: SymInt) -> Res<Value> {
    counted(cx, start, step)
}

/// As `arange`, with `end`.
#[lowering("aten.range.default", "aten.range.step")]
fn range(cx: &mut Lower, start: Scalar, step: Option<Scalar>) -> Res<Value> {
    let step = step.unwrap_or(Scalar::Int(1));
    // The end is not read: the number of elements is that of the result.
    progression(cx, &start, &Scalar::Float(f64::NAN), &step)
}

/// `i` evenly spaced numbers from `start` to `end`, in `f64` or `f32`. Of integers also the ends are.
fn spaced(cx: &mut Lower, start: &Operand, end: &Operand, kernel: DType) -> Res<Value> {
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
    let end_of = |cx: &mut Lower, end: &Operand| {
        let end = cx.operand(end, if whole { dtype } else { kernel });
        cx.cast(end, kernel)
    };
    let (start, end) = (end_of(cx, start), end_of(cx, end));
    let count = shape.first().copied().unwrap_or(Dim::Unknown);
    let last = cx.dim_max(cx.dim_sub(count, 1), 1);
    let last = cx.dims_value(&[last]);
    let (last, distance) = (cx.cast(last, kernel), cx.sub(end, start));
    let step = cx.div(distance, last);
    let offset = cx.mul(i, step);
    Ok(cx.add(start, offset))
}

/// `steps` evenly spaced numbers from `start` to `end`.
#[lowering(
    "aten.linspace.default",
    "aten.linspace.Tensor_Tensor",
    "aten.linspace.Tensor_Scalar",
    "aten.linspace.Scalar_Tensor"
)]
fn linspace(cx: &mut Lower, start: Operand, end: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let kernel = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
    let y = spaced(cx, &start, &end, kernel)?;
    Ok(cx.cast(y, dtype))
}

/// `base` to the power of `linspace`.
#[lowering(
    "aten.logspace.default",
    "aten.logspace.Tensor_Tensor",
    "aten.logspace.Tensor_Scalar",
    "aten.logspace.Scalar_Tensor"
)]
fn logspace(cx: &mut Lower, start: Operand, end: Operand, base: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let kernel = if dtype == DType::F32 { DType::F32 } else { DType::F64 };
    let exponents = spaced(cx, &start, &end, kernel)?;
    let base = constant(cx, base, kernel);
    let y = cx.pow(base, exponents);
    Ok(cx.cast(y, dtype))
}

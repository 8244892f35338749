//! Common parts beyond the SDK: element types that operators lack, and small formulas.

use onnxport_sdk::prelude::*;

/// The element type in which `op` computes results of type `dtype`: `dtype` itself, unless ONNX does not define the
/// operator of it. Lowerings ignore the gaps of runtimes, and bfloat16, which the driver widens.
pub(crate) fn defined_type(cx: &Lower, op: impl Operator<'static>, dtype: DType) -> DType {
    match (op.name(), dtype) {
        ("Celu", DType::F16 | DType::F64) => DType::F32,
        ("Gelu", DType::BF16) | ("IsInf", DType::F16) if cx.opset() < 20 => DType::F32,
        ("Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual" | "Mod", DType::Bool) => DType::U8,
        ("Pow", DType::I8 | DType::U8 | DType::I16 | DType::Bool) => DType::I64,
        _ => dtype,
    }
}

/// Whether an attribute, which is float32, holds `number` as exactly as `dtype` computes with it.
pub(crate) fn fits_attribute(number: f64, dtype: DType) -> bool {
    dtype != DType::F64 || f64::from(number as f32).to_bits() == number.to_bits()
}

/// `op` over operands of `dtype`, computed in a type that ONNX defines it of; the result is again of `dtype`.
pub(crate) fn node(cx: &Lower, op: impl Operator<'static>, inputs: &[Value], dtype: DType) -> Value {
    let defined = defined_type(cx, op, dtype);
    let inputs: Vec<Value> = inputs.iter().map(|x| cx.cast(*x, defined)).collect();
    cx.cast(cx.op(op).inputs(inputs).one(), dtype)
}

/// `op` of `x` in the type that the program states for the result.
pub(crate) fn unary(cx: &Lower, op: impl Operator<'static>, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(node(cx, op, &[cx.cast(x, dtype)], dtype))
}

/// `a` where `condition`, else `b`, both of `dtype`.
pub(crate) fn select(
    cx: &Lower,
    condition: Value,
    a: impl Into<Term<Value>>,
    b: impl Into<Term<Value>>,
    dtype: DType,
) -> Value {
    let [a, b] = [a.into(), b.into()].map(|term| match term {
        Term::Value(value) => value,
        Term::Number(number) | Term::Exact(number) => cx.number(&number, dtype),
    });
    if dtype != DType::Bool {
        return cx.select(condition, cx.cast(a, dtype), cx.cast(b, dtype));
    }
    match (truth(cx, a), truth(cx, b)) {
        (Some(true), _) => condition | b,
        (_, Some(false)) => condition & a,
        (Some(false), _) => !condition & b,
        (_, Some(true)) => !condition | a,
        _ => cx.select(condition, a, b),
    }
}

/// The truth value that `x` is, if it is a constant of one element.
fn truth(cx: &Lower, x: Value) -> Option<bool> {
    match cx.literal(x)?.ints()?.as_slice() {
        [single] => Some(*single != 0),
        _ => None,
    }
}

/// `Max` or `Min`: NaN wins; of truth values it is `Or` or `And`.
pub(crate) fn extreme(cx: &Lower, op: impl Operator<'static>, a: Value, b: Value, dtype: DType) -> Value {
    let op = match dtype {
        DType::Bool if op.is(op::Max) => op::Or.named(),
        DType::Bool => op::And.named(),
        _ => op.named(),
    };
    node(cx, op, &[a, b], dtype)
}

/// Whether numbers of any floating-point type are infinite.
pub(crate) fn is_infinite(cx: &Lower, x: Value) -> Value {
    cx.equal(cx.abs(x), f64::INFINITY)
}

/// `x` rounded towards zero: `sign(x) * floor(|x|)`.
pub(crate) fn trunc(cx: &Lower, x: Value) -> Value {
    cx.sign(x) * cx.floor(cx.abs(x))
}

/// `floor(a / b)` of integers: what `Mod` leaves over divides without remainder. The narrow types
/// compute in a wider one, since `a - a mod b` may lie below the smallest number.
pub(crate) fn floor_div_int(cx: &Lower, a: Value, b: Value, dtype: DType) -> Value {
    let wide = match dtype {
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => return a / b,
        DType::I8 | DType::I16 => DType::I32,
        _ => DType::I64,
    };
    let (a, b) = (cx.cast(a, wide), cx.cast(b, wide));
    cx.cast((a - cx.modulo(a, b, false)) / b, dtype)
}

/// An integer type's bound that is nearest to `number`, where it lies outside of the type.
pub(crate) fn saturated(number: Scalar, dtype: DType) -> Scalar {
    let bits = dtype.bits();
    let (low, high) = match dtype {
        DType::U8 | DType::U16 | DType::U32 => (0, (1 << bits) - 1),
        DType::I8 | DType::I16 | DType::I32 => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        _ => return number,
    };
    match number {
        Scalar::Int(n) => Scalar::Int(n.clamp(low, high)),
        Scalar::Float(x) => Scalar::Float(x.clamp(low as f64, high as f64)),
        other => other,
    }
}

/// The elements, or without `axis` those of the flattened tensor, where `mask` is true. ONNX has no
/// `Compress` of bf16.
pub(crate) fn compress(cx: &Lower, x: Value, mask: Value, axis: Option<i64>) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let x = if dtype == DType::BF16 { cx.cast(x, DType::F32) } else { x };
    let node = cx.op(op::Compress).input(x).input(mask);
    let kept = match axis {
        Some(axis) => node.axis(axis).one(),
        None => node.one(),
    };
    Ok(cx.cast(kept, dtype))
}

/// The polynomial with these coefficients, the highest first, by Horner's rule.
pub(crate) fn polynomial(cx: &Lower, x: Value, coefficients: &[f64], dtype: DType) -> Value {
    let mut rest = coefficients.iter();
    let mut y = cx.float(rest.next().copied().unwrap_or(0.0), dtype);
    for c in rest {
        y = y * x + *c;
    }
    y
}

/// `x` times a constant; nothing when it is 1.
pub(crate) fn scaled(x: Value, factor: f64) -> Value {
    if factor == 1.0 {
        return x;
    }
    x * factor
}

/// `x` plus a constant; nothing when it is 0.
pub(crate) fn shifted(x: Value, term: f64) -> Value {
    if term == 0.0 {
        return x;
    }
    x + term
}

/// The bytes up to which a filled or counted tensor is stored rather than computed.
const STORED: u64 = 4096;

/// The elements up to which a matrix of weights is stored.
const WEIGHTS: i64 = 1 << 22;

/// Whether a matrix of weights with these sizes may be stored.
pub(crate) fn is_storable(rows: i64, columns: i64) -> bool {
    rows.checked_mul(columns).is_some_and(|n| n <= WEIGHTS)
}

/// The sizes as numbers if a tensor of this shape and type is small enough to be stored.
pub(crate) fn small(shape: &[Dim], dtype: DType) -> Option<Vec<u64>> {
    let shape: Vec<u64> =
        shape.iter().map(|d| d.as_const().and_then(|n| u64::try_from(n).ok())).collect::<Option<_>>()?;
    let mut bytes = u64::from(dtype.bits().max(8) / 8);
    for n in &shape {
        bytes = bytes.checked_mul(*n)?;
    }
    (bytes <= STORED).then_some(shape)
}

/// A tensor of `shape` filled with `number`: stored when small, else `ConstantOfShape`, or `Expand`
/// of a symbolic number.
pub(crate) fn full(cx: &Lower, shape: &[Dim], number: &Scalar, dtype: DType) -> Value {
    let symbolic = matches!(number, Scalar::Sym(_));
    if let Some(extents) = small(shape, dtype).filter(|_| !symbolic) {
        return cx.filled(number, dtype, &extents);
    }
    if symbolic {
        let number = cx.number(number, dtype);
        if shape.is_empty() {
            return number;
        }
        return cx.expand(number, cx.dims_value(shape));
    }
    cx.constant_of_shape(cx.dims_value(shape), cx.filled(number, dtype, &[1]))
}

/// The result if it is known to have no elements: nothing is computed then.
pub(crate) fn empty(cx: &Lower) -> Res<Option<Value>> {
    let result = cx.result(0)?;
    let none = result.shape.iter().any(|d| d.is(0));
    Ok(none.then(|| full(cx, &result.shape, &Scalar::Int(0), result.dtype)))
}

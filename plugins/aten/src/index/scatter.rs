//! Writes along one axis, an index per element.

use onnxport_sdk::prelude::*;

use super::columns::as_index;
use crate::complex::Complex;
use crate::linalg::entries::Entries;
use crate::support::empty;

/// `x` in a type of which ONNX has sums and products: truth values have none.
pub(super) fn widen(cx: &Lower, x: Value, reduction: &str) -> Value {
    match cx.fact(x).dtype {
        Some(DType::Bool) if reduction != "none" => cx.cast(x, DType::I32),
        _ => x,
    }
}

/// The result of `widen`, as `dtype` again.
pub(super) fn narrow(cx: &Lower, x: Value, dtype: DType) -> Value {
    cx.cast(x, dtype)
}

/// `ScatterElements`; tensors without axes are vectors meanwhile.
pub(super) fn scattered(
    cx: &Lower,
    x: Value,
    axis: usize,
    index: Value,
    updates: Value,
    reduction: &str,
) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let scalar = cx.rank(x)? == 0;
    let index = as_index(cx, index);
    let (data, index) = (lifted(cx, x)?, lifted(cx, index)?);
    let updates = clipped(cx, lifted(cx, updates)?, index)?;
    let (data, updates) = (widen(cx, data, reduction), widen(cx, updates, reduction));
    let node = cx.op(op::ScatterElements).input(data).input(index).input(updates).axis(axis as i64);
    let written = if reduction == "none" { node.one() } else { node.reduction(reduction).one() };
    let written = narrow(cx, written, dtype);
    Ok(if scalar { cx.squeeze(written, &[0]) } else { written })
}

/// `x` with an axis, if it has none.
fn lifted(cx: &Lower, x: Value) -> Res<Value> {
    Ok(if cx.rank(x)? == 0 { cx.unsqueeze(x, &[0]) } else { x })
}

/// The leading corner of `updates` that `index` covers.
fn clipped(cx: &Lower, updates: Value, index: Value) -> Res<Value> {
    let (have, want) = (cx.shape(updates)?, cx.shape(index)?);
    let differs = |i: &usize| have.get(*i) != want.get(*i) || want.get(*i) == Some(&Dim::Unknown);
    let axes: Vec<usize> = (0..want.len()).filter(differs).collect();
    if axes.is_empty() {
        return Ok(updates);
    }
    let mut ends = Vec::new();
    for axis in &axes {
        ends.push(SymInt::Value(cx.extent(index, *axis)));
    }
    let known: Option<Vec<i64>> = axes.iter().map(|a| want.get(*a).and_then(|d| d.as_const())).collect();
    let ends = match known {
        Some(ends) => cx.ints(&ends),
        None => cx.sym_ints(&ends),
    };
    let starts = cx.ints(&vec![0; axes.len()]);
    let axes = cx.ints(&axes.iter().map(|a| *a as i64).collect::<Vec<_>>());
    Ok(cx.op(op::Slice).input(updates).input(starts).input(ends).input(axes).one())
}

/// A tensor of the shape of `like` filled with `number`.
pub(super) fn filled_like(cx: &Lower, number: &Scalar, dtype: DType, like: Value) -> Value {
    let shape = cx.shape_value(like);
    match number {
        Scalar::Sym(number) => cx.expand(cx.cast(*number, dtype), shape),
        number => cx.constant_of_shape(shape, cx.filled(number, dtype, &[1])),
    }
}

/// The reduction of ONNX that PyTorch calls `name`; `mean` has none.
fn reduction(name: &str) -> Res<&'static str> {
    match name {
        "sum" | "add" | "mean" => Ok("add"),
        "prod" | "multiply" => Ok("mul"),
        "amax" => Ok("max"),
        "amin" => Ok("min"),
        other => Err(format!("argument `reduce`: `{other}` is not a reduction").into()),
    }
}

/// The initial value of a reduction.
fn neutral(reduction: &str, dtype: DType) -> Scalar {
    let float = dtype.kind() == Kind::Float;
    let (low, high) = match dtype {
        DType::Bool => (0, 1),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => (0, (1i64 << dtype.bits().min(62)) - 1),
        _ => (i64::MIN >> (64 - dtype.bits().clamp(1, 64)), i64::MAX >> (64 - dtype.bits().clamp(1, 64))),
    };
    match reduction {
        "max" if float => Scalar::Float(f64::NEG_INFINITY),
        "min" if float => Scalar::Float(f64::INFINITY),
        "max" => Scalar::Int(low),
        "min" => Scalar::Int(high),
        "mul" => Scalar::Int(1),
        _ => Scalar::Int(0),
    }
}

/// The elements of `updates` reduced into `x` at `index` along `axis`, with or without the elements of `x`.
pub(super) fn reduced(
    cx: &Lower,
    x: Value,
    axis: usize,
    index: Value,
    updates: Value,
    name: &str,
    include_self: bool,
) -> Res<Value> {
    let (dtype, op) = (cx.dtype(x)?, reduction(name)?);
    let mut base = x;
    if !include_self {
        base = scattered(cx, x, axis, index, filled_like(cx, &neutral(op, dtype), dtype, index), "none")?;
    }
    let mut total = scattered(cx, base, axis, index, updates, op)?;
    if matches!(op, "max" | "min") && dtype.kind() == Kind::Float {
        // Runtimes compare, which NaN does not win; sums of NaN and zeros are NaN.
        let marked = |x| cx.select(cx.is_nan(x), f64::NAN, cx.float(0.0, dtype));
        total = total + scattered(cx, marked(base), axis, index, marked(updates), "add")?;
    }
    if name != "mean" {
        return Ok(total);
    }
    let start = filled_like(cx, &Scalar::Int(i64::from(include_self)), dtype, x);
    let counts = scattered(cx, start, axis, index, filled_like(cx, &Scalar::Int(1), dtype, index), "add")?;
    let one = cx.number(&Scalar::Int(1), dtype);
    let counts = if include_self { counts } else { cx.max(counts, one) };
    if dtype.kind() == Kind::Float {
        return Ok(total / counts);
    }
    // Integer means round down; ONNX divides towards zero.
    Ok((total - cx.modulo(total, counts, false)) / counts)
}

/// `self[…, index[i], …] = src[i]` along `dim`.
#[lowering("aten.scatter.src", parts(src))]
fn scatter(cx: &Lower, x: Value, dim: Axis, index: Value, src: Value) -> Res<Value> {
    scattered(cx, x, dim.0, index, src, "none")
}

/// `self[…, index[i], …] = value` along `dim`.
#[lowering("aten.scatter.value", parts(value))]
fn scatter_value(cx: &Lower, x: Value, dim: Axis, index: Value, value: Scalar) -> Res<Value> {
    scattered(cx, x, dim.0, index, filled_like(cx, &value, cx.result(0)?.dtype, index), "none")
}

/// As `scatter`, added or multiplied.
#[lowering("aten.scatter.reduce")]
fn scatter_with(cx: &Lower, x: Value, dim: Axis, index: Value, src: Value, reduce: Str) -> Res<Value> {
    reduced(cx, x, dim.0, index, src, reduce.0, true)
}

/// As `scatter` with one value, added or multiplied.
#[lowering("aten.scatter.value_reduce")]
fn scatter_value_with(
    cx: &Lower,
    x: Value,
    dim: Axis,
    index: Value,
    value: Scalar,
    reduce: Str,
) -> Res<Value> {
    reduced(cx, x, dim.0, index, filled_like(cx, &value, cx.result(0)?.dtype, index), reduce.0, true)
}

/// The same of complex tensors: powers of the value by how often it is multiplied.
#[lowering("aten.scatter.value_reduce", complex)]
fn scatter_complex_value_with(cx: &Lower, dim: Axis, index: Value, value: Scalar, reduce: Str) -> Res<Value> {
    let x = Entries::argument(cx, "x")?.complex();
    let dtype = cx.dtype(x.re)?;
    let (re, im) = match value {
        Scalar::Complex(re, im) => (re, im),
        number => (number.as_f64().ok_or("the argument `value` is not a constant")?, 0.0),
    };
    let ones = filled_like(cx, &Scalar::Int(1), dtype, index);
    let count = scattered(cx, x.re * 0.0, dim.0, index, ones, "add")?;
    if reduce.0 == "add" {
        return Ok(cx.complex(x.re + count * re, x.im + count * im));
    }
    let size = cx.pow(cx.float(re.hypot(im), dtype), count);
    let power = Complex::polar(cx, size, count * im.atan2(re));
    let product = x * power;
    Ok(cx.complex(product.re, product.im))
}

/// `self[…, index[i], …] += src[i]` along `dim`.
#[lowering("aten.scatter_add.default", parts(src))]
fn scatter_add(cx: &Lower, x: Value, dim: Axis, index: Value, src: Value) -> Res<Value> {
    scattered(cx, x, dim.0, index, src, "add")
}

/// As `scatter`, reduced by sum, product, mean, maximum or minimum.
#[lowering("aten.scatter_reduce.two")]
fn scatter_reduce(
    cx: &Lower,
    x: Value,
    dim: Axis,
    index: Value,
    src: Value,
    reduce: Str,
    include_self: bool,
) -> Res<Value> {
    reduced(cx, x, dim.0, index, src, reduce.0, include_self)
}

/// `self[…, index[i], …]` along `dim`: one element per element of `index`.
#[lowering("aten.gather.default", parts)]
fn gather(cx: &Lower, x: Value, dim: Axis, index: Value) -> Res<Value> {
    let index = as_index(cx, index);
    if cx.rank(x)? == 0 || cx.rank(index)? == 0 {
        return cx.reshape_to_result(cx.gather(cx.reshape(x, &[-1]), cx.reshape(index, &[-1]), 0), 0);
    }
    if cx.rank(x)? != cx.rank(index)? {
        // Only an index without elements may have other axes.
        return empty(cx)?.ok_or_else(|| "argument `index` has other axes than the tensor".into());
    }
    Ok(cx.op(op::GatherElements).input(x).input(index).axis(dim.0 as i64).one())
}

/// As `gather` after `self` and `indices` were broadcast along the other axes; without `dim`, of the
/// flattened tensors.
#[lowering("aten.take_along_dim.default", parts)]
fn take_along_dim(cx: &Lower, x: Value, indices: Value, dim: Option<Axis>) -> Res<Value> {
    let indices = as_index(cx, indices);
    let Some(Axis(axis)) = dim else {
        return Ok(cx.gather(cx.reshape(x, &[-1]), cx.reshape(indices, &[-1]), 0));
    };
    let result = cx.result(0)?.shape;
    let indices = crate::view::expand_to(cx, indices, &result)?;
    let mut target = result;
    if let Some(place) = target.get_mut(axis) {
        *place = cx.dim(x, axis);
    }
    let x = crate::view::expand_to(cx, x, &target)?;
    Ok(cx.op(op::GatherElements).input(x).input(indices).axis(axis as i64).one())
}

//! Running reductions and differences along an axis.

use onnxport_sdk::prelude::*;

use super::extremes::extreme;
use super::reduce;
use crate::complex::Complex;
use crate::linalg::entries::{Entries, repeat};
use crate::support::is_infinite;

/// The running sum along `dim`.
#[lowering("aten.cumsum.default", parts)]
fn cumsum(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    if cx.rank(x)? == 0 {
        return Ok(x);
    }
    let compute = match dtype {
        DType::I8 | DType::U8 | DType::I16 => DType::I32,
        other => other,
    };
    Ok(cx.cast(cx.op(op::CumSum).input(cx.cast(x, compute)).input(cx.int(dim.0 as i64)).one(), dtype))
}

/// The running product along `dim`. PyTorch multiplies in `f64`, so that a product may leave the range of the type and
/// return.
#[lowering("aten.cumprod.default")]
fn cumprod(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let compute = if dtype.is_float() { DType::F64 } else { dtype };
    let product = running(cx, op::ReduceProd, cx.cast(cx.cast(x, dtype), compute), dim, &Scalar::Int(1))?;
    Ok(cx.cast(product, dtype))
}

/// The logarithm of the running sum of exponentials along `dim`.
#[lowering("aten.logcumsumexp.default")]
fn logcumsumexp(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    running(cx, op::ReduceLogSumExp, x, dim, &Scalar::Float(f64::NEG_INFINITY))
}

/// The same of complex numbers, one by one as in PyTorch, which determines the multiple of 2 pi in the imaginary part.
#[lowering("aten.logcumsumexp.default", complex)]
fn complex_logcumsumexp(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    let x = Entries::of_pairs(cx, x);
    let (axis, rank) = (dim.0 as i64, cx.rank(x.re)?);
    if rank == 0 {
        return Ok(x.value(cx));
    }
    let count = cx.extent(x.re, dim.0);
    let behind: Vec<i64> = (1..rank as i64 - axis).collect();
    let places = cx.unsqueeze(cx.range(cx.int(0), cx.squeeze(count, &[0]), cx.int(1)), &behind);
    let zero = cx.reduce(op::ReduceSum, x.re * 0.0, &[axis], false);
    let none = Entries { re: zero * 0.0 + f64::NEG_INFINITY, im: Some(zero) };
    let [sums, _] = repeat(cx, count, [x, none], |k, [sums, last]| {
        let own = x.gather(cx, k, axis);
        let first = cx.greater_equal(own.re, last.re);
        let (larger, smaller) = (own.or(cx, first, last), last.or(cx, first, own));
        // Nothing is added to what is infinite.
        let re = cx.select(is_infinite(cx, smaller.re), smaller.re, smaller.re - larger.re);
        let difference = Complex { re, im: (smaller - larger).complex().im };
        let next = larger + difference.exp(cx).log1p(cx)?.into();
        let stored = next.map(|part| cx.unsqueeze(part, &[axis]));
        Ok([stored.or(cx, cx.equal(places, k), sums), next])
    })?;
    Ok(sums.value(cx))
}

/// The running maximum along `dim` and the place of the last such.
#[lowering("aten.cummax.default")]
fn cummax(cx: &Lower, x: Value, dim: Axis) -> Res<(Value, Value)> {
    running_extreme(cx, x, dim, true)
}

/// The running minimum along `dim` and the place of the last such.
#[lowering("aten.cummin.default")]
fn cummin(cx: &Lower, x: Value, dim: Axis) -> Res<(Value, Value)> {
    running_extreme(cx, x, dim, false)
}

/// The `n`-th difference `x[1:] - x[:-1]` along `dim`, of `prepend`, `self` and `append` together.
#[lowering("aten.diff.default")]
fn diff(
    cx: &Lower,
    x: Value,
    n: i64,
    dim: Axis,
    prepend: Option<Value>,
    append: Option<Value>,
) -> Res<Value> {
    let (dtype, axis) = (cx.result(0)?.dtype, dim.0 as i64);
    let parts: Vec<Value> = [prepend, Some(x), append].into_iter().flatten().collect();
    let parts: Vec<Value> = parts.into_iter().map(|p| cx.cast(p, dtype)).collect();
    let mut x = cx.concat(&parts, axis);
    for _ in 0..n {
        let (head, tail) = super::sums::ends(cx, x, axis);
        x = if dtype == DType::Bool { tail ^ head } else { tail - head };
    }
    Ok(x)
}

fn running(cx: &Lower, op: impl Operator<'static>, x: Value, dim: Axis, neutral: &Scalar) -> Res<Value> {
    if cx.rank(x)? == 0 {
        return Ok(x);
    }
    reduce(cx, op, prefixes(cx, x, dim, neutral)?, &[dim.0 as i64 + 1], false)
}

fn running_extreme(cx: &Lower, x: Value, dim: Axis, largest: bool) -> Res<(Value, Value)> {
    if cx.rank(x)? == 0 {
        return Ok((x, cx.int(0)));
    }
    let dtype = cx.dtype(x)?;
    let compute = match dtype {
        DType::Bool | DType::I8 | DType::U8 | DType::I16 => DType::I32,
        other => other,
    };
    let least = match compute {
        DType::I32 => Scalar::Int(i64::from(i32::MIN)),
        DType::I64 => Scalar::Int(i64::MIN),
        _ => Scalar::Float(f64::NEG_INFINITY),
    };
    let neutral = match (largest, least) {
        (true, least) => least,
        (false, Scalar::Int(n)) => Scalar::Int(!n),
        (false, _) => Scalar::Float(f64::INFINITY),
    };
    let prefixes = prefixes(cx, cx.cast(x, compute), dim, &neutral)?;
    let axis = dim.0 as i64 + 1;
    let op = if largest { op::ReduceMax.named() } else { op::ReduceMin.named() };
    let values = extreme(cx, op, prefixes, &[axis], false)?;
    let last = |op: op::Named<'static>, x| {
        cx.op(op).input(x).int("axis", axis).int("keepdims", 0).int("select_last_index", 1).one()
    };
    let places = last(if largest { op::ArgMax.named() } else { op::ArgMin.named() }, prefixes);
    // Beyond its index, a prefix holds the neutral element, which may be the extreme itself.
    let places = cx.min(places, indices(cx, x, dim)?);
    if dtype.kind() != Kind::Float {
        return Ok((cx.cast(values, dtype), places));
    }
    let nan = last(op::ArgMax.named(), cx.cast(cx.is_nan(prefixes), DType::U8));
    Ok((cx.cast(values, dtype), cx.select(cx.is_nan(values), nan, places)))
}

/// The indices along `dim`, in a column that broadcasts over the later axes.
fn indices(cx: &Lower, x: Value, dim: Axis) -> Res<Value> {
    let after = (cx.rank(x)? - dim.0 - 1) as i64;
    let (extent, zero, one) = (cx.squeeze(cx.extent(x, dim.0), &[0]), cx.int(0), cx.int(1));
    Ok(cx.unsqueeze(cx.range(zero, extent, one), &(1..=after).collect::<Vec<_>>()))
}

/// Along a new axis after `dim`, the elements up to each index, and `neutral` beyond: ONNX has no
/// running reduction but the sum's, so this takes memory quadratic in the size.
fn prefixes(cx: &Lower, x: Value, dim: Axis, neutral: &Scalar) -> Res<Value> {
    let (axis, rank, dtype) = (dim.0, cx.rank(x)?, cx.dtype(x)?);
    let after = rank - axis - 1;
    let reached = if let Some(n) = cx.dim(x, axis).as_const().filter(|n| *n <= 64) {
        let elements: Vec<f64> =
            (0..n).flat_map(|i| (0..n).map(move |j| f64::from(u8::from(j <= i)))).collect();
        let shape = [vec![n as u64; 2], vec![1; after]].concat();
        cx.numbers_shaped(&elements, &shape, DType::Bool)
    } else {
        let columns = indices(cx, x, dim)?;
        cx.less_equal(columns, cx.unsqueeze(columns, &[1]))
    };
    Ok(cx.select(reached, cx.unsqueeze(x, &[axis as i64]), cx.number(neutral, dtype)))
}

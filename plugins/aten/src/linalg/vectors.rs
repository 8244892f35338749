//! Products of vectors along an axis.

use onnxport_sdk::prelude::*;

use crate::reduce::reduce;

/// The cross product along `dim`: `a[1, 2, 0] * b[2, 0, 1] - a[2, 0, 1] * b[1, 2, 0]`.
#[lowering("aten.linalg_cross.default", "aten.cross.default", multilinear)]
fn cross(cx: &Lower, a: Value, b: Value, dim: Option<i64>) -> Res<Value> {
    let result = cx.result(0)?;
    let rank = result.rank();
    // By default the older form takes the first axis of size 3.
    let axis = match dim {
        Some(dim) => cx.axis(dim, rank)?,
        None => result.shape.iter().position(|d| d.is(3)).ok_or("no axis has the size 3")?,
    };
    let axis = axis as i64 - rank as i64;
    let (a, b) = (cx.cast(a, result.dtype), cx.cast(b, result.dtype));
    let (left, right) = (cx.ints(&[1, 2, 0]), cx.ints(&[2, 0, 1]));
    let (first, second) = (cx.gather(a, left, axis), cx.gather(b, right, axis));
    let (third, fourth) = (cx.gather(a, right, axis), cx.gather(b, left, axis));
    Ok(first * second - third * fourth)
}

/// The sum of the products along `dim`.
#[lowering("aten.linalg_vecdot.default")]
fn vecdot(cx: &Lower, x: Value, y: Value, dim: i64) -> Res<Value> {
    let rank = cx.rank(x)?.max(cx.rank(y)?);
    let axis = cx.axis(dim, rank)? as i64 - rank as i64;
    reduce(cx, op::ReduceSum, x * y, &[axis], false)
}

/// The powers `x^0 .. x^(N - 1)` along a new last axis.
#[lowering("aten.linalg_vander.default")]
fn vander(cx: &Lower, x: Value) -> Res<Value> {
    let result = cx.result(0)?;
    let count = result.shape.last().and_then(|d| d.as_const()).ok_or("the argument `N` is not constant")?;
    let powers: Vec<f64> = (0..count).map(|n| n as f64).collect();
    let powers = cx.numbers(&powers, result.dtype);
    // A single number counts as a vector.
    cx.reshape_to_result(cx.pow(cx.unsqueeze(cx.cast(x, result.dtype), &[-1]), powers), 0)
}

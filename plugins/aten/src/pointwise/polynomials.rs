//! Orthogonal polynomials, by their recurrences from the degrees 0 and 1. The degree is a tensor as well: a loop goes on
//! to the largest, and elements of smaller degrees keep their value. Source: `aten/src/ATen/native/Math.h`.

use onnxport_sdk::prelude::*;

use crate::control::rounds::repeat;
use crate::support::{empty, is_infinite, node, polynomial, select};

/// The polynomial of the next degree.
type Recurrence = fn(&Lower, Step) -> Value;

/// A family of polynomials in `y`, which is `x` or `2 x - 1`.
struct Family {
    shifted: bool,
    /// The polynomial of degree 1: a constant and a factor of `y`.
    first: [f64; 2],
    /// The polynomial after `p` and `q`, those of the degrees `k - 1` and `k`.
    next: Recurrence,
}

/// The values from which a recurrence computes the next degree.
struct Step {
    y: Value,
    /// The degree of `q`.
    k: Value,
    p: Value,
    q: Value,
}

/// `2 y q - p`
fn chebyshev(_: &Lower, Step { y, p, q, .. }: Step) -> Value {
    y * 2.0 * q - p
}

/// `2 y q - 2 k p`
fn hermite_h(_: &Lower, Step { y, k, p, q }: Step) -> Value {
    y * 2.0 * q - k * 2.0 * p
}

/// `y q - k p`
fn hermite_he(_: &Lower, Step { y, k, p, q }: Step) -> Value {
    y * q - k * p
}

/// `((2 k + 1 - y) q - k p) / (k + 1)`
fn laguerre(_: &Lower, Step { y, k, p, q }: Step) -> Value {
    ((k * 2.0 + 1.0 - y) * q - k * p) / (k + 1.0)
}

/// `((2 k + 1) y q - k p) / (k + 1)`
fn legendre(_: &Lower, Step { y, k, p, q }: Step) -> Value {
    ((k * 2.0 + 1.0) * y * q - k * p) / (k + 1.0)
}

/// The polynomial of degree `n`, truncated to an integer; 0 for negative degrees.
fn polynomial_of(cx: &Lower, x: &Operand, n: &Operand, family: &Family) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let result = cx.result(0)?;
    let dtype = result.dtype;
    let degrees = cx.cast(cx.operand(n, dtype), DType::I64);
    let y = cx.operand(x, dtype);
    let y = if family.shifted { y * 2.0 - 1.0 } else { y };
    let y = cx.expand(y, cx.dims_value(&result.shape));
    let one = cx.expand(cx.float(1.0, dtype), cx.dims_value(&result.shape));
    let [constant, factor] = family.first;
    let rounds = cx.reduce(op::ReduceMax, degrees, &[], false) - 1i64;
    let count = cx.unsqueeze(cx.max(rounds, cx.int(0)), &[0]);
    let [_, last] = repeat(cx, count, [one, y * factor + constant], |round, [p, q]| {
        let k = round + 1i64;
        let later = cx.less(k, degrees);
        let degree = cx.cast(k, dtype);
        let after = (family.next)(cx, Step { y, k: degree, p, q });
        Ok([cx.select(later, q, p), cx.select(later, after, q)])
    })?;
    let positive = select(cx, cx.greater(degrees, 0i64), last, 1.0, dtype);
    Ok(select(cx, cx.less(degrees, 0i64), 0.0, positive, dtype))
}

/// The Chebyshev polynomial of the first kind.
#[lowering(
    "aten.special_chebyshev_polynomial_t.default",
    "aten.special_chebyshev_polynomial_t.x_scalar",
    "aten.special_chebyshev_polynomial_t.n_scalar"
)]
fn chebyshev_polynomial_t(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [0.0, 1.0], next: chebyshev })
}

/// The Chebyshev polynomial of the second kind.
#[lowering(
    "aten.special_chebyshev_polynomial_u.default",
    "aten.special_chebyshev_polynomial_u.x_scalar",
    "aten.special_chebyshev_polynomial_u.n_scalar"
)]
fn chebyshev_polynomial_u(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [0.0, 2.0], next: chebyshev })
}

/// The Chebyshev polynomial of the third kind.
#[lowering(
    "aten.special_chebyshev_polynomial_v.default",
    "aten.special_chebyshev_polynomial_v.x_scalar",
    "aten.special_chebyshev_polynomial_v.n_scalar"
)]
fn chebyshev_polynomial_v(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [-1.0, 2.0], next: chebyshev })
}

/// The Chebyshev polynomial of the fourth kind.
#[lowering(
    "aten.special_chebyshev_polynomial_w.default",
    "aten.special_chebyshev_polynomial_w.x_scalar",
    "aten.special_chebyshev_polynomial_w.n_scalar"
)]
fn chebyshev_polynomial_w(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [1.0, 2.0], next: chebyshev })
}

/// The Chebyshev polynomial of the first kind at `2 x - 1`.
#[lowering(
    "aten.special_shifted_chebyshev_polynomial_t.default",
    "aten.special_shifted_chebyshev_polynomial_t.x_scalar",
    "aten.special_shifted_chebyshev_polynomial_t.n_scalar"
)]
fn shifted_chebyshev_polynomial_t(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: true, first: [0.0, 1.0], next: chebyshev })
}

/// The Chebyshev polynomial of the second kind at `2 x - 1`.
#[lowering(
    "aten.special_shifted_chebyshev_polynomial_u.default",
    "aten.special_shifted_chebyshev_polynomial_u.x_scalar",
    "aten.special_shifted_chebyshev_polynomial_u.n_scalar"
)]
fn shifted_chebyshev_polynomial_u(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: true, first: [0.0, 2.0], next: chebyshev })
}

/// The Chebyshev polynomial of the third kind at `2 x - 1`.
#[lowering(
    "aten.special_shifted_chebyshev_polynomial_v.default",
    "aten.special_shifted_chebyshev_polynomial_v.x_scalar",
    "aten.special_shifted_chebyshev_polynomial_v.n_scalar"
)]
fn shifted_chebyshev_polynomial_v(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: true, first: [-1.0, 2.0], next: chebyshev })
}

/// The Chebyshev polynomial of the fourth kind at `2 x - 1`.
#[lowering(
    "aten.special_shifted_chebyshev_polynomial_w.default",
    "aten.special_shifted_chebyshev_polynomial_w.x_scalar",
    "aten.special_shifted_chebyshev_polynomial_w.n_scalar"
)]
fn shifted_chebyshev_polynomial_w(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: true, first: [1.0, 2.0], next: chebyshev })
}

/// The physicist's Hermite polynomial.
#[lowering(
    "aten.special_hermite_polynomial_h.default",
    "aten.special_hermite_polynomial_h.x_scalar",
    "aten.special_hermite_polynomial_h.n_scalar"
)]
fn hermite_polynomial_h(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [0.0, 2.0], next: hermite_h })
}

/// The probabilist's Hermite polynomial.
#[lowering(
    "aten.special_hermite_polynomial_he.default",
    "aten.special_hermite_polynomial_he.x_scalar",
    "aten.special_hermite_polynomial_he.n_scalar"
)]
fn hermite_polynomial_he(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [0.0, 1.0], next: hermite_he })
}

/// The Laguerre polynomial.
#[lowering(
    "aten.special_laguerre_polynomial_l.default",
    "aten.special_laguerre_polynomial_l.x_scalar",
    "aten.special_laguerre_polynomial_l.n_scalar"
)]
fn laguerre_polynomial_l(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [1.0, -1.0], next: laguerre })
}

/// The Legendre polynomial.
#[lowering(
    "aten.special_legendre_polynomial_p.default",
    "aten.special_legendre_polynomial_p.x_scalar",
    "aten.special_legendre_polynomial_p.n_scalar"
)]
fn legendre_polynomial_p(cx: &Lower, x: Operand, n: Operand) -> Res<Value> {
    polynomial_of(cx, &x, &n, &Family { shifted: false, first: [0.0, 1.0], next: legendre })
}

/// `sin(x) / x`, and near 0 its series.
#[lowering("aten.special_spherical_bessel_j0.default")]
fn spherical_bessel_j0(cx: &Lower, x: Value) -> Res<Value> {
    const SERIES: [f64; 6] =
        [-1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0];
    let dtype = cx.result(0)?.dtype;
    let x = cx.cast(x, dtype);
    let near = polynomial(cx, x * x, &SERIES, dtype);
    let ratio = node(cx, op::Sin, &[x], dtype) / x;
    let inside = cx.select(cx.less(cx.abs(x), 0.5), near, ratio);
    Ok(select(cx, is_infinite(cx, x), 0.0, inside, dtype))
}

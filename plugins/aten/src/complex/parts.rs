//! Complex numbers made from reals, and taken apart.

use onnxport_sdk::prelude::*;

use super::Complex;
use crate::view::expand_to;

/// Pairs are complex numbers already.
#[lowering(
    "aten.view_as_complex.default",
    "aten.view_as_complex_copy.default",
    "aten.view_as_real.default",
    "aten.view_as_real_copy.default",
    complex
)]
fn same_pairs(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(x)
}

/// `real + i * imag`.
#[lowering("aten.complex.default", complex)]
fn complex(cx: &Lower, real: Value, imag: Value) -> Res<Value> {
    let shape = cx.result(0)?.shape;
    Ok(cx.complex(expand_to(cx, real, &shape)?, expand_to(cx, imag, &shape)?))
}

/// `abs * (cos(angle) + i * sin(angle))`.
#[lowering("aten.polar.default", complex)]
fn polar(cx: &Lower, abs: Value, angle: Value) -> Res<Value> {
    Ok(Complex::polar(cx, cx.unsqueeze(abs, &[-1]), cx.unsqueeze(angle, &[-1])).pairs(cx))
}

/// The real parts.
#[lowering("aten.real.default", complex)]
fn real(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.gather(x, cx.int(0), -1))
}

/// The imaginary parts.
#[lowering("aten.imag.default", complex)]
fn imag(cx: &Lower, x: Value) -> Res<Value> {
    Ok(cx.gather(x, cx.int(1), -1))
}

/// The numbers with the sign of the imaginary part changed.
#[lowering(
    "aten.conj.default",
    "aten._conj.default",
    "aten._conj_copy.default",
    "aten._conj_physical.default",
    "aten.conj_physical.default",
    complex
)]
fn conj(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    Ok(x * cx.numbers(&[1.0, -1.0], dtype))
}

/// Real numbers are their own conjugates and real parts; marks of a lazy sign do not exist here.
#[lowering(
    "aten.conj.default",
    "aten._conj.default",
    "aten._conj_copy.default",
    "aten._conj_physical.default",
    "aten.conj_physical.default",
    "aten.real.default",
    "aten.resolve_conj.default",
    "aten.resolve_neg.default"
)]
fn unchanged(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(x)
}

/// The same for complex numbers.
#[lowering("aten.resolve_conj.default", "aten.resolve_neg.default", complex)]
fn resolved(_cx: &Lower, x: Value) -> Res<Value> {
    Ok(x)
}

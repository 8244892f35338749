//! Logic, bits and shifts.

use onnxport_sdk::prelude::*;

use crate::support::floor_div_int;

macro_rules! logic {
    ($($(#[$doc:meta])* $name:ident $op:ident $target:literal;)*) => {
        $($(#[$doc])* #[lowering($target)]
        fn $name(cx: &Lower, a: Value, b: Value) -> Res<Value> {
            let (a, b) = (cx.cast(a, DType::Bool), cx.cast(b, DType::Bool));
            Ok(cx.op(op::$op).input(a).input(b).one())
        })*
    };
}

logic! {
    /// Whether both are other than zero.
    logical_and And "aten.logical_and.default";
    /// Whether either is other than zero.
    logical_or Or "aten.logical_or.default";
    /// Whether exactly one is other than zero.
    logical_xor Xor "aten.logical_xor.default";
}

/// Whether it is zero.
#[lowering("aten.logical_not.default")]
fn logical_not(cx: &Lower, x: Value) -> Res<Value> {
    Ok(!cx.cast(x, DType::Bool))
}

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident $bool:ident $int:ident $($target:literal)+;)*) => {
        $($(#[$doc])* #[lowering($($target),+)]
        fn $name(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
            let dtype = cx.result(0)?.dtype;
            let (a, b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
            Ok(cx.op(if dtype == DType::Bool { op::$bool.named() } else { op::$int.named() }).input(a).input(b).one())
        })*
    };
}

bitwise! {
    /// The bits of both; of truth values `and`.
    bitwise_and And BitwiseAnd "aten.bitwise_and.Tensor" "prims.bitwise_and.default" "aten.bitwise_and.Scalar"
        "aten.bitwise_and.Scalar_Tensor" "aten.__and__.Tensor" "aten.__and__.Scalar";
    /// The bits of either; of truth values `or`.
    bitwise_or Or BitwiseOr "aten.bitwise_or.Tensor" "prims.bitwise_or.default" "aten.bitwise_or.Scalar"
        "aten.bitwise_or.Scalar_Tensor" "aten.__or__.Tensor" "aten.__or__.Scalar";
    /// The bits of exactly one; of truth values `xor`.
    bitwise_xor Xor BitwiseXor "aten.bitwise_xor.Tensor" "prims.bitwise_xor.default" "aten.bitwise_xor.Scalar"
        "aten.bitwise_xor.Scalar_Tensor" "aten.__xor__.Tensor" "aten.__xor__.Scalar";
}

/// Every bit inverted; of truth values `not`.
#[lowering("aten.bitwise_not.default", "prims.bitwise_not.default")]
fn bitwise_not(cx: &Lower, x: Value) -> Res<Value> {
    let op = if cx.result(0)?.dtype == DType::Bool { op::Not.named() } else { op::BitwiseNot.named() };
    Ok(cx.op(op).input(x).one())
}

/// `2 ^ b` in `dtype`, where 1 is shifted by fewer bits than the type has.
fn power_of_two(cx: &Lower, b: &Operand, dtype: DType) -> Value {
    if let Operand::Number(Scalar::Int(n @ 0..=62)) = b {
        return cx.number(&Scalar::Int(1 << n), dtype);
    }
    cx.cast(cx.pow(cx.float(2.0, DType::I64), cx.operand(b, DType::I64)), dtype)
}

/// The type of a shift's result, an integer one, or a refusal.
fn shifted_type(cx: &Lower) -> Res<DType> {
    let dtype = cx.result(0)?.dtype;
    if dtype.is_int() { Ok(dtype) } else { Err(format!("`self` of type {dtype} cannot be shifted").into()) }
}

/// `self * 2 ^ other` in the integers of the type.
#[lowering(
    "aten.__lshift__.Tensor",
    "aten.__lshift__.Scalar",
    "aten.bitwise_left_shift.Tensor",
    "prims.shift_left.default",
    "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_left_shift.Scalar_Tensor"
)]
fn left_shift(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = shifted_type(cx)?;
    Ok(cx.operand(&a, dtype) * power_of_two(cx, &b, dtype))
}

/// `floor(self / 2 ^ other)`.
#[lowering(
    "aten.__rshift__.Tensor",
    "aten.__rshift__.Scalar",
    "aten.bitwise_right_shift.Tensor",
    "prims.shift_right_arithmetic.default",
    "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.bitwise_right_shift.Scalar_Tensor"
)]
fn right_shift(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let dtype = shifted_type(cx)?;
    let x = cx.operand(&a, dtype);
    match b {
        Operand::Number(Scalar::Int(0)) => return Ok(x),
        // Only the sign is left: -1 or 0.
        Operand::Number(Scalar::Int(n)) if n + 1 >= i64::from(dtype.bits()) && dtype != DType::U8 => {
            return Ok(-cx.cast(cx.less(x, 0.0), dtype));
        }
        _ => {}
    }
    let divisor = power_of_two(cx, &b, DType::I64);
    Ok(cx.cast(floor_div_int(cx, cx.cast(x, DType::I64), divisor, DType::I64), dtype))
}

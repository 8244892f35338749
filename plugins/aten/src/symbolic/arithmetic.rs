//! Python's operators on symbolic numbers. Source: the module `operator`.

use onnxport_sdk::prelude::*;

use crate::pointwise::arithmetic::{power, product};
use crate::pointwise::division::{floor_div, remainder_of};

/// The type in which numbers are compared: `f64` if one is a float, else `i64`.
pub(super) fn common(cx: &Lower, numbers: &[Operand]) -> Res<DType> {
    let mut result = DType::I64;
    for number in numbers {
        let dtype = match number {
            Operand::Tensor(value) | Operand::Number(Scalar::Sym(value)) => cx.dtype(*value)?,
            Operand::Number(Scalar::Float(_)) => DType::F64,
            Operand::Number(_) => DType::I64,
        };
        if dtype.is_float() {
            result = DType::F64;
        }
    }
    Ok(result)
}

/// Both operands in the type of the result.
fn pair(cx: &Lower, a: &Operand, b: &Operand) -> Res<(Value, Value, DType)> {
    let dtype = cx.result(0)?.dtype;
    Ok((cx.operand(a, dtype), cx.operand(b, dtype), dtype))
}

/// `a + b`.
#[lowering("_operator.add", "aten.add.default")]
fn add(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let (a, b, _) = pair(cx, &a, &b)?;
    Ok(a + b)
}

/// `a - b`.
#[lowering("_operator.sub", "aten.sub.default")]
fn sub(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let (a, b, _) = pair(cx, &a, &b)?;
    Ok(a - b)
}

/// `a * b`.
#[lowering("_operator.mul", "aten.mul.default")]
fn mul(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let (a, b, dtype) = pair(cx, &a, &b)?;
    Ok(product(a, b, dtype))
}

/// `a / b`, a float.
#[lowering("_operator.truediv", "aten.div.default")]
fn truediv(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let (a, b, _) = pair(cx, &a, &b)?;
    Ok(a / b)
}

/// `floor(a / b)`.
#[lowering("_operator.floordiv", "aten.floordiv.default")]
fn floordiv(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let (a, b, dtype) = pair(cx, &a, &b)?;
    Ok(floor_div(cx, a, b, dtype))
}

/// `a mod b` with the sign of `b`.
#[lowering("_operator.mod", "aten.remainder.default")]
fn modulo(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    let (a, b, dtype) = pair(cx, &a, &b)?;
    Ok(remainder_of(cx, a, b, dtype))
}

/// `a ** b`.
#[lowering("_operator.pow", "math.pow")]
fn pow(cx: &Lower, x: Operand, y: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(power(cx, &x, &y, dtype))
}

/// `-a`.
#[lowering("_operator.neg")]
fn neg(cx: &Lower, a: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(-cx.operand(&a, dtype))
}

/// `a` in the type of the result.
#[lowering("_operator.pos", "torch.sym_float")]
fn pos(cx: &Lower, a: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.operand(&a, dtype))
}

/// `|a|`.
#[lowering("_operator.abs", "builtins.abs")]
fn abs(cx: &Lower, a: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.abs(cx.operand(&a, dtype)))
}

macro_rules! bits {
    ($($(#[$doc:meta])* $name:ident $bool:ident $int:ident $target:literal;)*) => {
        $($(#[$doc])* #[lowering($target)]
        fn $name(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
            let (a, b, dtype) = pair(cx, &a, &b)?;
            Ok(cx.op(if dtype == DType::Bool { op::$bool.named() } else { op::$int.named() }).input(a).input(b).one())
        })*
    };
}

bits! {
    /// `a & b`.
    and And BitwiseAnd "_operator.and_";
    /// `a | b`.
    or Or BitwiseOr "_operator.or_";
    /// `a ^ b`.
    xor Xor BitwiseXor "_operator.xor";
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $op:ident $($target:literal)+;)*) => {
        $($(#[$doc])* #[lowering($($target),+)]
        fn $name(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
            compare(cx, op::$op, &a, &b)
        })*
    };
}

fn compare(cx: &Lower, op: impl Operator<'static>, a: &Operand, b: &Operand) -> Res<Value> {
    let dtype = common(cx, &[*a, *b])?;
    Ok(cx.op(op).input(cx.operand(a, dtype)).input(cx.operand(b, dtype)).one())
}

comparisons! {
    /// `a == b`.
    eq Equal "_operator.eq" "aten.eq.default";
    /// `a < b`.
    lt Less "_operator.lt" "aten.lt.default";
    /// `a <= b`.
    le LessOrEqual "_operator.le" "aten.le.default";
    /// `a > b`.
    gt Greater "_operator.gt" "aten.gt.default";
    /// `a >= b`.
    ge GreaterOrEqual "_operator.ge" "aten.ge.default";
}

/// `a != b`.
#[lowering("_operator.ne", "aten.ne.default")]
fn ne(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    Ok(!compare(cx, op::Equal, &a, &b)?)
}

/// `not a`.
#[lowering("torch.sym_not", "_operator.not_")]
fn sym_not(cx: &Lower, a: Operand) -> Res<Value> {
    Ok(!cx.operand(&a, DType::Bool))
}

/// The powers of two that a shift multiplies by or divides by.
fn two_to(cx: &Lower, b: &Operand) -> Value {
    cx.pow(cx.int(2), cx.operand(b, DType::I64))
}

/// `a << b`.
#[lowering("_operator.lshift")]
fn lshift(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    Ok(cx.operand(&a, DType::I64) * two_to(cx, &b))
}

/// `a >> b`.
#[lowering("_operator.rshift")]
fn rshift(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    Ok(floor_div(cx, cx.operand(&a, DType::I64), two_to(cx, &b), DType::I64))
}

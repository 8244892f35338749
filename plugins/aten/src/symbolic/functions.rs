//! Functions of symbolic numbers: `math`, `torch.sym_*`.

use onnxport_sdk::prelude::*;

use crate::support::select;

use super::arithmetic::common;

/// `op` of the number as a float, in the type of the result.
fn of_float(cx: &Lower, op: impl Operator<'static>, x: &Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(cx.op(op).input(cx.operand(x, DType::F64)).one(), dtype))
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $op:ident $($target:literal)+;)*) => {
        $($(#[$doc])* #[lowering($($target),+)]
        fn $name(cx: &Lower, x: Operand) -> Res<Value> {
            of_float(cx, op::$op, &x)
        })*
    };
}

functions! {
    /// The smallest integer that is not below.
    ceil Ceil "math.ceil";
    /// The largest integer that is not above.
    floor Floor "math.floor";
    /// The nearest integer, halves to even.
    round Round "builtins.round";
    /// The square root.
    sqrt Sqrt "math.sqrt" "torch.sym_sqrt" "torch._sym_sqrt";
    /// `e ^ x`.
    exp Exp "math.exp" "torch._sym_exp";
    /// The natural logarithm.
    log Log "math.log" "torch._sym_log";
    /// The sine.
    sin Sin "math.sin" "torch._sym_sin";
    /// The cosine.
    cos Cos "math.cos" "torch._sym_cos";
    /// The tangent.
    tan Tan "math.tan" "torch._sym_tan";
    /// The inverse tangent.
    atan Atan "math.atan" "torch._sym_atan";
    /// The inverse sine.
    asin Asin "math.asin" "torch._sym_asin";
    /// The inverse cosine.
    acos Acos "math.acos" "torch._sym_acos";
    /// The hyperbolic sine.
    sinh Sinh "math.sinh" "torch._sym_sinh";
    /// The hyperbolic cosine.
    cosh Cosh "math.cosh" "torch._sym_cosh";
    /// The hyperbolic tangent.
    tanh Tanh "math.tanh" "torch._sym_tanh";
}

/// The logarithm to base 2.
#[lowering("math.log2", "torch._sym_log2")]
fn log2(cx: &Lower, x: Operand) -> Res<Value> {
    Ok(cx.log(cx.operand(&x, DType::F64)) / std::f64::consts::LN_2)
}

/// The integer part: a cast truncates.
#[lowering("math.trunc", "torch.sym_int")]
fn trunc(cx: &Lower, x: Operand) -> Res<Value> {
    let x = match x {
        Operand::Number(Scalar::Sym(value)) | Operand::Tensor(value) => value,
        number @ Operand::Number(_) => cx.operand(&number, DType::F64),
    };
    Ok(cx.cast(x, DType::I64))
}

/// `t` if `b`, else `f`.
#[lowering("torch.sym_ite")]
fn ite(cx: &Lower, b: Operand, t: Operand, f: Operand) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(select(cx, cx.operand(&b, DType::Bool), cx.operand(&t, dtype), cx.operand(&f, dtype), dtype))
}

fn extreme(cx: &Lower, op: impl Operator<'static>, a: &Operand, b: &Operand) -> Res<Value> {
    let (kernel, dtype) = (common(cx, &[*a, *b])?, cx.result(0)?.dtype);
    Ok(cx.cast(cx.op(op).input(cx.operand(a, kernel)).input(cx.operand(b, kernel)).one(), dtype))
}

/// The larger.
#[lowering("torch.sym_max")]
fn max(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    extreme(cx, op::Max, &a, &b)
}

/// The smaller.
#[lowering("torch.sym_min")]
fn min(cx: &Lower, a: Operand, b: Operand) -> Res<Value> {
    extreme(cx, op::Min, &a, &b)
}

/// The sum of a list of integers.
#[lowering("torch.sym_sum")]
fn sum(cx: &Lower, args: Vec<SymInt>) -> Res<Value> {
    // `Sum` of ONNX takes no integers.
    let terms = args.iter().map(|n| cx.sym_ints(&[*n]));
    Ok(terms.reduce(|total, term| total + term).unwrap_or_else(|| cx.ints(&[0])))
}

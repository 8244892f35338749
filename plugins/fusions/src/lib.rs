//! Fusions: one operator replaces several. Sums and products are rounded in another order, so results differ in the last
//! digits; each rule states a bound.
//!
//! Operators of ONNX from the opset that brought them; and forms for ONNX Runtime, which its kernels were measured to be
//! faster at ([`kernels`]). And operators of captures for ONNX Runtime ([`group_query`]).

mod activations;
mod attention;
mod channels;
mod group_query;
mod half;
mod heads;
mod kernels;
mod layout;
mod norms;
mod products;
mod recurrent;
mod rotary;
mod runtime;
mod scales;
mod sorts;
mod weights;

use onnxport_sdk::prelude::*;

onnxport_sdk::export_plugin! { id: "fusions", schemas: include_str!("../schemas.txt"), rules: true, passes: true }

/// The number of a constant with one element.
fn scalar(value: ValueRef<'_>) -> Res<f64> {
    let literal = value.constant().ok_or("a number is not known")?;
    match literal.floats().as_deref() {
        Some([number]) => Ok(*number),
        _ => Err("a constant has several elements".into()),
    }
}

/// The same, as an attribute has it.
fn single(value: ValueRef<'_>) -> Res<f32> {
    Ok(scalar(value)? as f32)
}

/// Whether `axes` is the last axis of `value`.
fn is_last(axes: ValueRef<'_>, value: ValueRef<'_>) -> Res<()> {
    let last = value.rank().ok_or("a rank is not known")? as i64 - 1;
    match axes.constant().and_then(|axes| axes.ints()).as_deref() {
        Some([axis]) if *axis == -1 || *axis == last => Ok(()),
        _ => Err("it is not about the last axis".into()),
    }
}

/// Whether `x` is of floats that an operator takes which knows bf16 from the opset `brain` on.
fn is_float(x: ValueRef<'_>, brain: i64) -> Res<()> {
    match x.dtype() {
        Some(DType::F16 | DType::F32 | DType::F64) => Ok(()),
        Some(DType::BF16) if x.graph().opset_of("") >= brain => Ok(()),
        _ => Err("the operator does not take this type".into()),
    }
}

/// Whether `x` has one of the types that runtimes compute the operators of opset 23 in. The table of the target decides
/// whether it has the kernel.
fn is_short(x: ValueRef<'_>) -> Res<()> {
    match x.dtype() {
        Some(DType::F16 | DType::BF16 | DType::F32) => Ok(()),
        _ => Err("it is not f32, f16 or bf16".into()),
    }
}

//! Quantised numbers, as parts of chains.

use onnxport_ir::ops::Res;
use onnxport_ir::tensor::DType;

use super::formula::Formula;
use super::{Operand, Request, volume};
use crate::executor::source::{number, suffix, tag};

/// The shape in which scales and zero points broadcast to `x`: one for all, or one for each index of an axis. `None` for
/// blocks.
fn entries(r: &Request<'_, '_>, x: &Operand, scale: &Operand) -> Res<Option<Vec<usize>>> {
    if volume(&scale.shape) == 1 && scale.shape.len() <= 1 {
        return Ok(Some(Vec::new()));
    }
    let at = r.call.axis(x.shape.len())?;
    if r.call.flag("block_size") || scale.shape != [x.shape[at]] {
        return Ok(None);
    }
    let behind = std::iter::repeat_n(1, x.shape.len() - at - 1);
    Ok(Some(std::iter::once(x.shape[at]).chain(behind).collect()))
}

/// The arguments: the tensor, its scale, and its zero point where it is there.
fn arguments(r: &Request<'_, '_>, x: &Operand, entries: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let mut arguments = vec![(0, x.shape.clone()), (1, entries.to_vec())];
    if r.optional(2).is_some() {
        arguments.push((2, entries.to_vec()));
    }
    arguments
}

/// `(x - zero) · scale`.
pub(super) fn dequantize(r: &Request<'_, '_>) -> Res<Option<Formula>> {
    let (x, scale) = (r.operand(0)?, r.operand(1)?);
    let to = r.call.dtype_or("output_dtype", scale.dtype)?;
    let (Some(entries), Some(wide)) = (entries(r, x, scale)?, tag(to)) else { return Ok(None) };
    if !x.dtype.is_int() || !to.is_float() || scale.dtype != to {
        return Ok(None);
    }
    let zero = if r.optional(2).is_some() { format!(" - (W_{wide})$2") } else { String::new() };
    let text = format!("((W_{wide})$0{zero}) * $1");
    Ok(Some(Formula { dtype: to, text, arguments: arguments(r, x, &entries) }))
}

/// `x / scale`, rounded to even, plus zero, held inside the type.
pub(super) fn quantize(r: &Request<'_, '_>) -> Res<Option<Formula>> {
    let (x, scale) = (r.operand(0)?, r.operand(1)?);
    let to = match r.optional(2) {
        Some(zero) => zero.dtype,
        None => r.call.dtype_or("output_dtype", DType::U8)?,
    };
    let precision = r.call.dtype_or("precision", scale.dtype)?;
    let (Some(entries), Some(_)) = (entries(r, x, scale)?, tag(to)) else { return Ok(None) };
    let plain = x.dtype == scale.dtype && precision == x.dtype && matches!(x.dtype, DType::F32 | DType::F64);
    if !plain || !to.is_int() || to.bits() > 16 {
        return Ok(None);
    }
    let s = suffix(x.dtype);
    let signed = suffix(to) == "i";
    let span = f64::from(1u32 << to.bits());
    let (low, high) = if signed { (-span / 2.0, span / 2.0 - 1.0) } else { (0.0, span - 1.0) };
    let zero = if r.optional(2).is_some() { " + $2" } else { "" };
    let (low, high) = (number(x.dtype, low), number(x.dtype, high));
    let text = format!("whole((double)clamp_{s}(nearest_{s}($0 / $1){zero}, {low}, {high}))");
    Ok(Some(Formula { dtype: to, text, arguments: arguments(r, x, &entries) }))
}

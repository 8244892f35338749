//! Fourier transforms.

use std::f64::consts::TAU;

use onnxport_ir::ops::Res;

use super::layout::{front, invalid};
use super::norm::cut;
use super::{Line, Pointer, Request, Scratch, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("DFT", &[1, 2], transform)];

const FILE: &str = include_str!("../../../kernels/fourier.cu");
/// The products beyond which a transform is not computed as sums.
const PRODUCTS: usize = 1 << 36;
/// The most roots of unity.
const ROOTS: usize = 1 << 24;

/// Along one axis of a tensor whose last axis holds real parts, or real and imaginary ones.
fn transform(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let axis = if r.call.opset < 20 { r.call.int("axis")? } else { r.call.long(2)?.unwrap_or(-2) };
    let (inverse, onesided) = (r.call.flag("inverse"), r.call.flag("onesided"));
    let [axes @ .., given @ (1 | 2)] = &*x.shape else {
        return invalid(format!("the last axis of {:?} does not hold real and imaginary parts", x.shape));
    };
    let at = front(if axis < 0 { axis.saturating_add(1) } else { axis }, axes.len())?;
    if onesided && !inverse && *given == 2 {
        return invalid("a transform of complex numbers is not one-sided".to_owned());
    }
    let (mut shape, extent, mirrored) = (axes.to_vec(), axes[at], onesided && inverse);
    let length = match r.call.long(1)?.map(usize::try_from) {
        None if mirrored => 2 * extent.saturating_sub(1),
        None => extent,
        Some(Ok(length @ 1..)) => length,
        Some(_) => return invalid("the length of the transform is not positive".to_owned()),
    };
    shape[at] = if onesided && !inverse { length / 2 + 1 } else { length };
    let [outer, bins, inner] = cut(&shape, at);
    let count = volume(&shape);
    let Some(tag) = tag(x.dtype).filter(|_| x.dtype.is_float()) else { return Ok(None) };
    if length > ROOTS || count.saturating_mul(length) > PRODUCTS {
        return Ok(None);
    }
    let parts = if mirrored { 1 } else { 2 };
    shape.push(parts);
    let flags = [*given == 2, mirrored].map(i64::from);
    let lines = [outer, extent as i64, bins, inner, length as i64];
    let numbers = lines.into_iter().chain(flags).chain([parts as i64]).collect();
    let places = vec![Pointer::Input(0), Pointer::Scratch(0), Pointer::Output(0)];
    let kernel = Kernel::new("transform", FILE, &[("TYPE", tag)]);
    let mut step = Step::new(kernel, Grid::Each(count as u64), places, numbers);
    step.reals = vec![if inverse { length as f64 } else { 1.0 }];
    let mut work = Work::new(x.dtype, shape, vec![step]);
    let contents = roots(length, inverse);
    work.scratch = vec![Scratch { bytes: contents.len() as u64, contents }];
    Ok(Some(work))
}

/// The roots of unity, each exact up to one rounding.
fn roots(length: usize, inverse: bool) -> Vec<u8> {
    let sign = if inverse { 1.0 } else { -1.0 };
    let root = |k: usize| {
        let (sin, cos) = (TAU * k as f64 / length as f64).sin_cos();
        [cos, sign * sin]
    };
    (0..length).flat_map(root).flat_map(f64::to_le_bytes).collect()
}

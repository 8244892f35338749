//! Tensors that are made of numbers.

use onnxport_ir::ops::{Error, Res, Tensor};
use onnxport_ir::tensor::{DType, Kind};

use super::moves::kernel;
use super::norm::cut;
use super::{Line, Pointer, Request, Scratch, Step, Work, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag, unit, width};

pub(super) const OPS: &[Line] =
    &[("ConstantOfShape", &[0], constant), ("OneHot", &[1], one_hot), ("Range", &[0, 1, 2], range)];

const FILE: &str = include_str!("../../../kernels/generate.cu");

fn constant(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let extents = r.call.longs(0)?.unwrap_or_default();
    let shape = extents.iter().map(|n| usize::try_from(*n)).collect::<Result<Vec<_>, _>>();
    let shape = shape.map_err(|_| Error::invalid(format!("{extents:?} is not a shape")))?;
    let value = match r.call.tensor_attr("value") {
        Some(data) => Tensor::read(data)?,
        None => Tensor::of_floats(DType::F32, vec![1], vec![0.0])?,
    };
    let (Some(bytes), Some(kernel)) = (width(value.dtype()), kernel("fill", value.dtype())) else {
        return Ok(None);
    };
    let count = volume(&shape);
    let places = vec![Pointer::Scratch(0), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(count as u64), places, vec![count as i64]);
    let mut work = Work::new(value.dtype(), shape, vec![step]);
    work.scratch = vec![Scratch { bytes, contents: value.to_packed()?.to_vec() }];
    Ok(Some(work))
}

/// From a start in steps up to a limit, which is not reached.
fn range(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let start = r.call.tensor(0)?;
    let dtype = start.dtype();
    let Some(tag) = tag(dtype).filter(|_| matches!(dtype.kind(), Kind::Float | Kind::Int)) else {
        return Ok(None);
    };
    let count = if dtype.is_int() {
        let [start, limit, step] = [0, 1, 2].map(|at| r.call.long(at).map(Option::unwrap_or_default));
        let (start, limit, step) = (i128::from(start?), i128::from(limit?), i128::from(step?));
        if step == 0 {
            return Err(Error::invalid("the step is 0"));
        }
        let (span, pace) = if step > 0 { (limit - start, step) } else { (start - limit, -step) };
        ((span.max(0) + pace - 1) / pace) as f64
    } else {
        let [start, limit, step] = [0, 1, 2].map(|at| r.call.number(at).map(Option::unwrap_or_default));
        let count = ((limit? - start?) / step?).ceil();
        if count.is_nan() {
            return Err(Error::invalid("a range has no end"));
        }
        count.max(0.0)
    };
    if count > 1e12 {
        return Err(Error::invalid(format!("a range of {count} elements")));
    }
    let count = count as usize;
    let kernel = Kernel::new("range", FILE, &[("TYPE", tag), ("INDEX", "i64"), ("UNIT", "unsigned char")]);
    let places = vec![Pointer::Input(0), Pointer::Input(2), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(count as u64), places, vec![count as i64]);
    Ok(Some(Work::new(dtype, vec![count], vec![step])))
}

/// Indices out of range give a row that is off everywhere.
fn one_hot(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (indices, values) = (r.operand(0)?, r.operand(2)?);
    let depth = r.call.number(1)?.filter(|d| (1.0..1e12).contains(d)).map(|d| d as usize);
    let Some(depth) = depth else { return Err(Error::invalid("the depth is not positive")) };
    let at = r.call.axis(indices.shape.len() + 1)?;
    let mut shape = indices.shape.clone();
    shape.insert(at, depth);
    let (Some(unit), Some(index)) = (unit(values.dtype), tag(indices.dtype)) else { return Ok(None) };
    if volume(&values.shape) != 2 {
        return Err(Error::invalid("there are not two values"));
    }
    let [_, extent, inner] = cut(&shape, at);
    let count = volume(&shape);
    let file = format!("typedef {unit} UNIT;\n{FILE}");
    let kernel = Kernel::new("one_hot", &file, &[("TYPE", "f32"), ("INDEX", index)]);
    let places = vec![Pointer::Input(0), Pointer::Input(2), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(count as u64), places, vec![count as i64, extent, inner]);
    Ok(Some(Work::new(values.dtype, shape, vec![step])))
}

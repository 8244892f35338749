//! Pools over up to three spatial axes.

use onnxport_ir::ops::strides::volume;
use onnxport_ir::ops::window::Window;
use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::{DType, Kind};

use super::convolution::{geometry, three};
use super::reduce::least;
use super::{Line, Output, Pointer, Request, Step, Work};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("AveragePool", &[], average), ("MaxPool", &[], largest)];

const FILE: &str = include_str!("../../../kernels/pool.cu");

/// The shape of the result, and the numbers of the kernel up to the pads behind.
fn pool(r: &Request<'_, '_>, padding: bool) -> Res<Option<(Vec<usize>, Vec<i64>)>> {
    let x = r.operand(0)?;
    let [batch, channels, spatial @ ..] = &*x.shape else {
        return Err(Error::invalid(format!("shape {:?} has no channels", x.shape)));
    };
    let kernel = r.call.ints("kernel_shape").unwrap_or_default();
    let kernel = kernel.iter().map(|n| usize::try_from(*n)).collect::<Result<Vec<_>, _>>();
    let kernel = kernel.map_err(|_| Error::invalid("the kernel has a negative size"))?;
    let mut window = Window::for_kernel(r.call, kernel)?;
    let out = window.slide(spatial, r.call.flag("ceil_mode"))?;
    let shape: Vec<usize> = [*batch, *channels].into_iter().chain(out.iter().copied()).collect();
    let after = three(window.after.iter().copied(), 0);
    let (Some(geometry), Some(after)) = (geometry(spatial, &out, &window), after) else { return Ok(None) };
    let mut numbers = vec![volume(&shape) as i64, i64::from(padding)];
    numbers.extend(geometry.into_iter().chain(after));
    Ok(Some((shape, numbers)))
}

/// The mean of the window; with `count_include_pad`, padding counts as zeros.
fn average(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let Some((shape, numbers)) = pool(r, r.call.flag("count_include_pad"))? else { return Ok(None) };
    let Some(tag) = tag(x.dtype).filter(|_| x.dtype.is_float()) else { return Ok(None) };
    let kernel = Kernel::new("average", FILE, &[("TYPE", tag), ("LEAST", "0")]);
    let grid = Grid::Each(volume(&shape) as u64);
    let step = Step::new(kernel, grid, vec![Pointer::Input(0), Pointer::Output(0)], numbers);
    Ok(Some(Work::new(x.dtype, shape, vec![step])))
}

/// The largest element, and its place in the whole input.
fn largest(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let Some((shape, mut numbers)) = pool(r, false)? else { return Ok(None) };
    numbers.push(i64::from(r.call.flag("storage_order")));
    let numeric = matches!(x.dtype.kind(), Kind::Float | Kind::Int);
    let Some(tag) = tag(x.dtype).filter(|_| numeric) else { return Ok(None) };
    let kernel = Kernel::new("largest", FILE, &[("TYPE", tag), ("LEAST", &least(x.dtype))]);
    let indices = if r.call.outputs() > 1 { Pointer::Output(1) } else { Pointer::Nothing };
    let grid = Grid::Each(volume(&shape) as u64);
    let step = Step::new(kernel, grid, vec![Pointer::Input(0), Pointer::Output(0), indices], numbers);
    let mut work = Work::new(x.dtype, shape.clone(), vec![step]);
    if r.call.outputs() > 1 {
        work.made.push(Output::new(DType::I64, shape));
    }
    Ok(Some(work))
}

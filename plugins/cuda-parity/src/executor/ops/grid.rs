//! Samples at coordinates that are data.

use onnxport_ir::ops::{Error, Res};

use super::{Line, Pointer, Request, Step, Work, longs, volume};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("GridSample", &[], sample)];

const FILE: &str = include_str!("../../../kernels/grid.cu");
/// The most spatial axes of an image.
const AXES: usize = 3;

/// An image `[N, C, spatial…]` at the coordinates of a grid `[N, field…, axes]`: `[N, C, field…]`. Sums are those of
/// `f64`, rounded once.
fn sample(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (x, grid) = (r.operand(0)?, r.operand(1)?);
    let ([batch, channels, spatial @ ..], [grids, field @ .., axes]) = (&*x.shape, &*grid.shape) else {
        return Err(Error::invalid(format!(
            "{:?} and {:?} are not an image and a grid",
            x.shape, grid.shape
        )));
    };
    if batch != grids || *axes != spatial.len() || field.len() != spatial.len() || spatial.is_empty() {
        return Err(Error::invalid(format!("a grid {:?} does not fit the image {:?}", grid.shape, x.shape)));
    }
    let reach = match r.call.text("mode")? {
        "nearest" => 0,
        "linear" | "bilinear" => 1,
        "cubic" | "bicubic" => 2,
        _ => return Ok(None),
    };
    let padding = match r.call.text("padding_mode")? {
        "zeros" => 0,
        "border" => 1,
        "reflection" => 2,
        _ => return Ok(None),
    };
    let shape: Vec<usize> = [*batch, *channels].into_iter().chain(field.iter().copied()).collect();
    let count = volume(&shape);
    if count > 0 && volume(spatial) == 0 {
        return Err(Error::invalid(format!("an image of shape {:?} cannot be sampled", x.shape)));
    }
    let floats = x.dtype.is_float() && grid.dtype.is_float() && spatial.len() <= AXES;
    let (Some(own), Some(at)) = (tag(x.dtype).filter(|_| floats), tag(grid.dtype)) else { return Ok(None) };
    let kernel = Kernel::new("sample", FILE, &[("TYPE", own), ("WHERE", at)]);
    let aligned = i64::from(r.call.flag("align_corners"));
    let mut numbers =
        vec![count as i64, *channels as i64, volume(field) as i64, *axes as i64, reach, padding, aligned];
    numbers.extend(longs(spatial));
    let places = vec![Pointer::Input(0), Pointer::Input(1), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(count as u64), places, numbers);
    Ok(Some(Work::new(x.dtype, shape, vec![step])))
}

//! Convolutions over up to three spatial axes.

use onnxport_ir::ops::conv::transposed as extents_of_transposed;
use onnxport_ir::ops::strides::volume;
use onnxport_ir::ops::window::Window;
use onnxport_ir::ops::{Error, Res};

use super::matmul::tiles;
use super::{Line, Operand, Pointer, Request, Step, Work};
use crate::executor::device::Grid;
use crate::executor::source::{Kernel, tag};

pub(super) const OPS: &[Line] = &[("Conv", &[], convolution), ("ConvTranspose", &[], transposed)];

const FILE: &str = include_str!("../../../kernels/convolution.cu");

/// Three numbers, those of the axes that are there last.
pub(super) fn three(items: impl ExactSizeIterator<Item = i64>, missing: i64) -> Option<[i64; 3]> {
    let mut out = [missing; 3];
    let skip = 3usize.checked_sub(items.len())?;
    out.iter_mut().skip(skip).zip(items).for_each(|(slot, item)| *slot = item);
    Some(out)
}

/// The attributes of the window, and its sizes, as numbers of a kernel.
pub(super) fn geometry(input: &[usize], output: &[usize], window: &Window) -> Option<Vec<i64>> {
    let longs = |items: &[usize]| three(items.iter().map(|d| *d as i64), 1);
    let parts = [
        longs(input)?,
        longs(output)?,
        longs(&window.kernel)?,
        longs(&window.strides)?,
        longs(&window.dilations)?,
        three(window.before.iter().copied(), 0)?,
    ];
    Some(parts.concat())
}

/// The input, the weight, the groups, and the window.
fn parts<'a>(r: &Request<'a, '_>) -> Res<Option<(&'a Operand, &'a Operand, usize, Window)>> {
    let (x, weight) = (r.operand(0)?, r.operand(1)?);
    let rank = x.shape.len();
    if rank < 3 || weight.shape.len() != rank {
        return Err(Error::invalid(format!("shapes {:?} and {:?} have no windows", x.shape, weight.shape)));
    }
    let groups = usize::try_from(r.call.int("group")?).unwrap_or(0);
    let bias = r.optional(2).is_none_or(|bias| bias.dtype == x.dtype);
    if groups == 0 || weight.dtype != x.dtype {
        return Err(Error::invalid(format!("{} groups of {} and {}", groups, x.dtype, weight.dtype)));
    }
    let spatial = weight.shape.get(2..).unwrap_or_default();
    if r.call.ints("kernel_shape").is_some_and(|k| k.iter().map(|n| *n as usize).ne(spatial.iter().copied()))
    {
        return Err(Error::invalid(format!("the kernel is not that of the weight {:?}", weight.shape)));
    }
    let window = Window::for_kernel(r.call, spatial.to_vec())?;
    Ok((x.dtype.is_float() && bias && rank <= 5).then_some((x, weight, groups, window)))
}

fn bias(r: &Request<'_, '_>, filters: usize) -> Res<Pointer> {
    match r.optional(2) {
        None => Ok(Pointer::Nothing),
        Some(bias) if bias.shape == [filters] => Ok(Pointer::Input(2)),
        Some(bias) => {
            Err(Error::invalid(format!("a bias of {:?} does not fit {filters} channels", bias.shape)))
        }
    }
}

fn convolution(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let Some((x, weight, groups, mut window)) = parts(r)? else { return Ok(None) };
    let ([batch, channels, spatial @ ..], [filters, depth, ..]) = (&*x.shape, &*weight.shape) else {
        return Ok(None);
    };
    if depth * groups != *channels || !filters.is_multiple_of(groups) {
        return Err(Error::invalid(format!(
            "a weight of shape {:?} does not fit {channels} channels in {groups} groups",
            weight.shape
        )));
    }
    let out = window.slide(spatial, false)?;
    let shape: Vec<usize> = [*batch, *filters].into_iter().chain(out.iter().copied()).collect();
    let (places, outputs, per_group) = (volume(&window.kernel), volume(&out), filters / groups);
    let (Some(tag), Some(geometry)) = (tag(x.dtype), geometry(spatial, &out, &window)) else {
        return Ok(None);
    };
    let mut numbers: Vec<i64> =
        [per_group, outputs, *depth, places, groups, *batch].into_iter().map(|n| n as i64).collect();
    numbers.extend(geometry);
    let pointers = vec![Pointer::Input(0), Pointer::Input(1), Pointer::Output(0), bias(r, *filters)?];
    let kernel = Kernel::new("convolution", FILE, &[("TYPE", tag)]);
    let step = Step::new(kernel, tiles(per_group, outputs, groups * batch), pointers, numbers);
    Ok(Some(Work::new(x.dtype, shape, vec![step])))
}

fn transposed(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let Some((x, weight, groups, mut window)) = parts(r)? else { return Ok(None) };
    let ([batch, channels, spatial @ ..], [depth, per_group, ..]) = (&*x.shape, &*weight.shape) else {
        return Ok(None);
    };
    if depth != channels || !channels.is_multiple_of(groups) {
        return Err(Error::invalid(format!(
            "a weight of shape {:?} does not fit {channels} channels in {groups} groups",
            weight.shape
        )));
    }
    let out = extents_of_transposed(r.call, &mut window, spatial)?;
    let filters = per_group * groups;
    let shape: Vec<usize> = [*batch, filters].into_iter().chain(out.iter().copied()).collect();
    let (places, outputs) = (volume(&window.kernel), volume(&out));
    let (Some(tag), Some(geometry)) = (tag(x.dtype), geometry(spatial, &out, &window)) else {
        return Ok(None);
    };
    let mut numbers: Vec<i64> = [*per_group, outputs, channels / groups, places, groups, *batch]
        .into_iter()
        .map(|n| n as i64)
        .collect();
    numbers.extend(geometry);
    let pointers = vec![Pointer::Input(0), Pointer::Input(1), Pointer::Output(0), bias(r, filters)?];
    let kernel = Kernel::new("transposed", FILE, &[("TYPE", tag)]);
    let step = Step::new(kernel, Grid::Each(volume(&shape) as u64), pointers, numbers);
    Ok(Some(Work::new(x.dtype, shape, vec![step])))
}

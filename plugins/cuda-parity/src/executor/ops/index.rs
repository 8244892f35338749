//! Elements by index.

use onnxport_ir::ops::{Error, Res};
use onnxport_ir::tensor::{DType, Kind};

use super::moves::{Side, moved};
use super::norm::cut;
use super::{Line, Operand, Pointer, Request, Step, Work, dense, longs, volume};
use crate::executor::device::{Grid, NUMBERS};
use crate::executor::source::{Kernel, suffix, tag, unit};

pub(super) const OPS: &[Line] = &[
    ("Gather", &[], gather),
    ("GatherElements", &[], gather_elements),
    ("GatherND", &[], gather_nd),
    ("Scatter", &[], scatter_elements),
    ("ScatterElements", &[], scatter_elements),
    ("ScatterND", &[], scatter_nd),
];

const GATHER: &str = include_str!("../../../kernels/gather.cu");
const SCATTER: &str = include_str!("../../../kernels/scatter.cu");

fn invalid<T>(message: String) -> Res<T> {
    Err(Error::invalid(message))
}

/// The data and the indices; `None` for types that there are no kernels for.
fn pair<'a>(r: &Request<'a, '_>) -> Res<Option<(&'a Operand, &'a Operand, &'static str)>> {
    let (data, indices) = (r.operand(0)?, r.operand(1)?);
    let index = tag(indices.dtype).filter(|_| indices.dtype.is_int());
    Ok(index.map(|tag| (data, indices, tag)))
}

/// The launch that gathers into a result of this shape.
fn gathered(
    name: &'static str,
    data: &Operand,
    index: &str,
    shape: Vec<usize>,
    numbers: impl Iterator<Item = i64>,
) -> Option<Work> {
    let file = format!("typedef {} UNIT;\n{GATHER}", unit(data.dtype)?);
    let count = volume(&shape);
    let numbers: Vec<i64> = std::iter::once(count as i64).chain(numbers).collect();
    let places = vec![Pointer::Input(0), Pointer::Input(1), Pointer::Output(0)];
    let kernel = Kernel::new(name, &file, &[("INDEX", index)]);
    let fits = numbers.len() <= NUMBERS;
    let step = Step::new(kernel, Grid::Each(count as u64), places, numbers);
    fits.then(|| Work::new(data.dtype, shape, vec![step]))
}

fn gather(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let Some((data, indices, index)) = pair(r)? else { return Ok(None) };
    let at = r.call.axis(data.shape.len())?;
    let (outer, inner) = data.shape.split_at(at);
    let inner = inner.get(1..).unwrap_or_default();
    let shape: Vec<usize> = outer.iter().chain(&indices.shape).chain(inner).copied().collect();
    let [_, extent, step] = cut(&data.shape, at);
    let numbers = [extent, step, volume(&indices.shape) as i64];
    Ok(gathered("gather", data, index, shape, numbers.into_iter()))
}

/// Whether indices of this shape fit the data along all other axes.
fn fit(data: &[usize], indices: &[usize], axis: usize) -> Res<()> {
    let fits = indices.iter().zip(data).enumerate().all(|(at, (i, d))| at == axis || i <= d);
    if indices.len() != data.len() || !fits {
        return invalid(format!("indices of shape {indices:?} do not fit the shape {data:?}"));
    }
    Ok(())
}

fn gather_elements(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let Some((data, indices, index)) = pair(r)? else { return Ok(None) };
    let axis = r.call.axis(data.shape.len())?;
    fit(&data.shape, &indices.shape, axis)?;
    let steps = dense(&data.shape);
    let head = [data.shape.len() as i64, axis as i64, data.shape[axis] as i64, steps[axis]];
    let numbers = head.into_iter().chain(longs(&indices.shape)).chain(steps);
    Ok(gathered("gather_elements", data, index, indices.shape.clone(), numbers))
}

/// The axes in front of the last one of the indices, the sizes that this one names, and those behind, in one slice.
fn slices<'a>(
    data: &'a [usize],
    indices: &'a [usize],
    batch: usize,
) -> Res<(&'a [usize], &'a [usize], &'a [usize])> {
    let Some((depth, outer)) = indices.split_last() else {
        return invalid("the indices have no axes".to_owned());
    };
    let shared = outer.len() >= batch
        && data.len() >= batch
        && outer.iter().zip(data).take(batch).all(|(a, b)| a == b);
    let end = batch.saturating_add(*depth);
    match (data.get(batch..end), data.get(end..)) {
        (Some(named), Some(inner)) if shared => Ok((outer, named, inner)),
        _ => invalid(format!("indices of shape {indices:?} do not fit the shape {data:?}")),
    }
}

fn gather_nd(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let Some((data, indices, index)) = pair(r)? else { return Ok(None) };
    let batch =
        usize::try_from(r.call.int("batch_dims")?).map_err(|_| Error::invalid("`batch_dims` is negative"))?;
    let (outer, named, inner) = slices(&data.shape, &indices.shape, batch)?;
    let shape: Vec<usize> = outer.iter().chain(inner).copied().collect();
    let per_batch = volume(outer.get(batch..).unwrap_or_default()).max(1);
    let head = [i64::from(batch > 0), named.len() as i64, volume(inner) as i64, per_batch as i64];
    Ok(gathered("gather_nd", data, index, shape, head.into_iter().chain(longs(named))))
}

/// The C expression that combines an update with the current element; `None` if there is none.
fn join(r: &Request<'_, '_>, dtype: DType) -> Res<Option<String>> {
    let (s, tag) = (suffix(dtype), tag(dtype));
    let Some(tag) = tag else { return Ok(None) };
    // `Scatter` and `TensorScatter` have no such attribute.
    let reduction = r.call.text_if_any("reduction").unwrap_or("none");
    Ok(match (reduction, dtype.kind()) {
        ("none", _) => Some("(y)".to_owned()),
        (_, Kind::Bool | Kind::Complex | Kind::Text) => None,
        ("add", Kind::Float) => Some("((x) + (y))".to_owned()),
        ("mul", Kind::Float) => Some("((x) * (y))".to_owned()),
        ("add", _) => Some(format!("((W_{tag})((W_u64)(x) + (W_u64)(y)))")),
        ("mul", _) => Some(format!("((W_{tag})((W_u64)(x) * (W_u64)(y)))")),
        ("max", _) => Some(format!("larger_{s}(x, y)")),
        ("min", _) => Some(format!("smaller_{s}(x, y)")),
        (other, _) => return invalid(format!("unknown reduction `{other}`")),
    })
}

/// A copy of the data, and the updates onto it.
fn scattered(r: &Request<'_, '_>, name: &'static str, lines: usize, numbers: Vec<i64>) -> Res<Option<Work>> {
    let (data, updates) = (r.operand(0)?, r.operand(2)?);
    let Some((_, _, index)) = pair(r)? else { return Ok(None) };
    if data.dtype != updates.dtype {
        return invalid(format!("updates of {} do not fit {}", updates.dtype, data.dtype));
    }
    let Some(join) = join(r, data.dtype)? else { return Ok(None) };
    let Some(tag) = tag(data.dtype).filter(|_| numbers.len() <= NUMBERS) else { return Ok(None) };
    let side = |place| Side { place, offset: 0, steps: dense(&data.shape) };
    let copy = moved(data.dtype, &data.shape, &side(Pointer::Input(0)), &side(Pointer::Output(0)));
    let Some(copy) = copy else { return Ok(None) };
    let kernel = Kernel::new(name, SCATTER, &[("TYPE", tag), ("INDEX", index), ("JOIN(x, y)", &join)]);
    let places = vec![Pointer::Input(2), Pointer::Input(1), Pointer::Output(0)];
    let step = Step::new(kernel, Grid::Each(lines as u64), places, numbers);
    Ok(Some(Work::new(data.dtype, data.shape.clone(), vec![copy, step])))
}

fn scatter_elements(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (data, indices, updates) = (r.operand(0)?, r.operand(1)?, r.operand(2)?);
    if indices.shape != updates.shape {
        return invalid(format!("indices of {:?} do not fit updates of {:?}", indices.shape, updates.shape));
    }
    let axis = r.call.axis(data.shape.len())?;
    fit(&data.shape, &indices.shape, axis)?;
    let steps = dense(&data.shape);
    let all = volume(&indices.shape);
    let lines = all.checked_div(indices.shape[axis]).unwrap_or(0);
    let mut numbers =
        vec![lines as i64, data.shape.len() as i64, axis as i64, data.shape[axis] as i64, steps[axis]];
    numbers.extend(longs(&indices.shape).chain(steps).chain(dense(&indices.shape)));
    scattered(r, "scatter_elements", lines, numbers)
}

fn scatter_nd(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (data, indices, updates) = (r.operand(0)?, r.operand(1)?, r.operand(2)?);
    let (outer, named, inner) = slices(&data.shape, &indices.shape, 0)?;
    let shape: Vec<usize> = outer.iter().chain(inner).copied().collect();
    if volume(&shape) != volume(&updates.shape) {
        return invalid(format!("updates of shape {:?} do not fit {shape:?}", updates.shape));
    }
    let size = volume(inner);
    let mut numbers = vec![size as i64, volume(outer) as i64, named.len() as i64];
    numbers.extend(longs(named));
    scattered(r, "scatter_nd", size, numbers)
}

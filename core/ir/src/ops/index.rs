//! Elements by index.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

mod infer;

use super::call::{Call, axis, one};
use super::error::{invalid, unsupported};
use super::infer::broadcast;
use super::pointwise::{larger, smaller};
use super::strides::{Cut, Walk, dense, volume};
use super::{Elements, Error, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("Compress").moves().infer(infer::compress).eval(compress),
    Op::new("Gather").moves().infer(infer::gather).contents(infer::gathered).eval(gather),
    Op::new("GatherElements").moves().infer(infer::gather_elements).eval(gather_elements),
    Op::new("GatherND").moves().infer(infer::gather_nd).eval(gather_nd),
    Op::new("NonZero").infer(infer::non_zero).eval(non_zero),
    Op::new("OneHot").infer(infer::one_hot).eval(one_hot),
    Op::new("ReverseSequence").moves().infer(broadcast::same).eval(reverse_sequence),
    Op::new("Scatter").infer(infer::scatter_elements).eval(scatter_elements),
    Op::new("ScatterElements").updates().infer(infer::scatter_elements).eval(scatter_elements),
    Op::new("ScatterND").updates().infer(infer::scatter_nd).eval(scatter_nd),
    Op::new("TensorScatter").updates().infer(broadcast::same).eval(tensor_scatter),
    Op::new("Trilu").infer(broadcast::same).eval(triangle),
];

/// An index that may count from the end.
fn place(index: i64, extent: usize) -> Res<usize> {
    let front = if index < 0 { index.saturating_add(extent as i64) } else { index };
    usize::try_from(front)
        .ok()
        .filter(|at| *at < extent)
        .ok_or_else(|| Error::invalid(format!("the index {index} is out of range for the size {extent}")))
}

fn gather(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (data, indices) = (c.tensor(0)?, c.tensor(1)?);
    let at = c.axis(data.rank())?;
    let picks: Vec<usize> = indices.longs()?.iter().map(|i| place(*i, data.dim(at))).collect::<Res<_>>()?;
    let (outer, inner) = data.shape().split_at(at);
    let inner = inner.get(1..).unwrap_or_default();
    let shape: Vec<usize> = outer.iter().chain(indices.shape()).chain(inner).copied().collect();
    c.count(&shape)?;
    let cut = Cut::at(data.shape(), at);
    let places = (0..cut.outer).flat_map(|o| {
        picks.iter().flat_map(move |pick| {
            let first = (o * cut.extent + pick) * cut.inner;
            first..first + cut.inner
        })
    });
    one(data.pick(shape.clone(), places)?)
}

/// For each element of `indices`, the place in a tensor of shape `shape` that has its index in place of `axis`.
fn along(indices: &Tensor, shape: &[usize], axis: usize) -> Res<Vec<usize>> {
    let fits = indices.shape().iter().zip(shape).enumerate().all(|(a, (i, d))| a == axis || i <= d);
    if indices.rank() != shape.len() || !fits {
        return invalid!("indices of shape {:?} do not fit the shape {shape:?}", indices.shape());
    }
    let (mut strides, extent) = (dense(shape), shape.get(axis).copied().unwrap_or(1));
    let step = std::mem::take(&mut strides[axis]) as usize;
    let walk = Walk::new(indices.shape(), &strides, 0);
    walk.zip(indices.longs()?).map(|(base, index)| Ok(base + place(index, extent)? * step)).collect()
}

fn gather_elements(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (data, indices) = (c.tensor(0)?, c.tensor(1)?);
    c.count(indices.shape())?;
    let places = along(indices, data.shape(), c.axis(data.rank())?)?;
    one(data.pick(indices.shape().to_vec(), places)?)
}

/// The positions of slices in a tensor of shape `shape`, whose first axes the last axis of `indices` names; in front of
/// them, `batch` axes are shared.
fn slices(indices: &Tensor, shape: &[usize], batch: usize) -> Res<(Vec<usize>, usize)> {
    let Some((depth, outer)) = indices.shape().split_last() else {
        return invalid!("the indices have no axes");
    };
    let shared = outer.len() >= batch
        && shape.len() >= batch
        && outer.iter().zip(shape).take(batch).all(|(a, b)| a == b);
    let (Some(named), Some(inner)) = (shape.get(batch..batch + depth), shape.get(batch + depth..)) else {
        return invalid!("indices of depth {depth} name more axes than there are");
    };
    if !shared {
        return invalid!("the first {batch} axes of {:?} and {shape:?} differ", indices.shape());
    }
    let inner = volume(inner);
    let per_batch = volume(outer.get(batch..).unwrap_or_default()).max(1);
    let picks = indices.longs()?;
    let count = volume(outer);
    let slice = |row: usize| -> Res<usize> {
        let names = picks.get(row * depth..(row + 1) * depth).unwrap_or_default();
        let mut at = if batch == 0 { 0 } else { row / per_batch };
        for (index, extent) in names.iter().zip(named) {
            at = at * extent + place(*index, *extent)?;
        }
        Ok(at * inner)
    };
    Ok(((0..count).map(slice).collect::<Res<_>>()?, inner))
}

fn gather_nd(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (data, indices) = (c.tensor(0)?, c.tensor(1)?);
    let batch =
        usize::try_from(c.int("batch_dims")?).map_err(|_| Error::invalid("`batch_dims` is negative"))?;
    let (starts, inner) = slices(indices, data.shape(), batch)?;
    let (depth, outer) = indices.shape().split_last().unwrap_or((&0, &[]));
    let rest = data.shape().get(batch + depth..).unwrap_or_default();
    let shape: Vec<usize> = outer.iter().chain(rest).copied().collect();
    c.count(&shape)?;
    one(data.pick(shape, starts.into_iter().flat_map(|start| start..start + inner))?)
}

/// Writes `updates` into `data` in order, each at its position and combined with the old element by `reduction`.
fn scatter(c: &Call<'_>, data: &Tensor, updates: &Tensor, places: &[usize]) -> Res<Vec<Value>> {
    c.count(data.shape())?;
    c.spend(places.len() as u64)?;
    if places.len() != updates.len() || data.dtype() != updates.dtype() {
        return invalid!("updates {} do not fit their indices and {}", updates.describe(), data.describe());
    }
    // `TensorScatter` has no such attribute.
    let reduction = c.text_if_any("reduction").unwrap_or("none");
    if reduction == "none" {
        let mut from: Vec<(usize, usize)> = (0..data.len()).map(|at| (0, at)).collect();
        for (update, place) in places.iter().enumerate() {
            if let Some(slot) = from.get_mut(*place) {
                *slot = (1, update);
            }
        }
        return one(Tensor::mix(data.shape().to_vec(), &[data, updates], from)?);
    }
    let float: fn(f64, f64) -> f64 = match reduction {
        "add" => |a, b| a + b,
        "mul" => |a, b| a * b,
        "max" => larger,
        "min" => smaller,
        other => return invalid!("unknown reduction `{other}`"),
    };
    let int: fn(i128, i128) -> i128 = match reduction {
        "add" => i128::wrapping_add,
        "mul" => i128::wrapping_mul,
        "max" => i128::max,
        _ => i128::min,
    };
    let (dtype, shape) = (data.dtype(), data.shape().to_vec());
    match (data.elements(), updates.elements()) {
        (Elements::Int(mut items), Elements::Int(news)) => {
            join(&mut items, places, &news, int);
            one(Tensor::of_ints(dtype, shape, items)?)
        }
        (Elements::Bool(mut items), Elements::Bool(news)) => {
            let either = matches!(reduction, "add" | "max");
            join(&mut items, places, &news, move |a, b| if either { a || b } else { a && b });
            one(Tensor::of_bools(shape, items)?)
        }
        (Elements::Float(mut items), Elements::Float(news)) => {
            join(&mut items, places, &news, float);
            one(Tensor::of_floats(dtype, shape, items)?)
        }
        _ => unsupported!("{dtype} has no reduction `{reduction}`"),
    }
}

fn join<T: Copy>(items: &mut [T], places: &[usize], news: &[T], f: impl Fn(T, T) -> T) {
    for (place, new) in places.iter().zip(news) {
        if let Some(item) = items.get_mut(*place) {
            *item = f(*item, *new);
        }
    }
}

fn scatter_elements(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (data, indices, updates) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    if indices.shape() != updates.shape() {
        return invalid!(
            "indices of shape {:?} do not fit updates of {:?}",
            indices.shape(),
            updates.shape()
        );
    }
    let places = along(indices, data.shape(), c.axis(data.rank())?)?;
    scatter(c, data, updates, &places)
}

fn scatter_nd(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (data, indices, updates) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (starts, inner) = slices(indices, data.shape(), 0)?;
    c.count(&[starts.len(), inner])?;
    let places: Vec<usize> = starts.into_iter().flat_map(|start| start..start + inner).collect();
    scatter(c, data, updates, &places)
}

/// Writes `update` along one axis from an index of its own for each first index.
fn tensor_scatter(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (past, update) = (c.tensor(0)?, c.tensor(1)?);
    let at = c.axis(past.rank())?;
    let fits = (0..past.rank())
        .all(|a| if a == at { update.dim(a) <= past.dim(a) } else { update.dim(a) == past.dim(a) });
    if at == 0 || past.rank() != update.rank() || !fits {
        return invalid!("{} cannot be written into {} along axis {at}", update.describe(), past.describe());
    }
    let starts = c.longs(2)?.unwrap_or_else(|| vec![0; past.dim(0)]);
    let circular = match c.text("mode")? {
        "linear" => false,
        "circular" => true,
        other => return invalid!("unknown mode `{other}`"),
    };
    let (cut, part) = (Cut::at(past.shape(), at), Cut::at(update.shape(), at));
    let per_batch = volume(past.shape().get(1..at).unwrap_or_default()).max(1);
    let mut places = Vec::with_capacity(c.count(update.shape())?);
    for outer in 0..part.outer {
        let start = starts.get(outer / per_batch).copied().unwrap_or(0);
        for step in 0..part.extent {
            let index = start.saturating_add(step as i64);
            let index = if circular { index.rem_euclid(cut.extent.max(1) as i64) } else { index };
            let first = (outer * cut.extent + place(index, cut.extent)?) * cut.inner;
            places.extend(first..first + cut.inner);
        }
    }
    scatter(c, past, update, &places)
}

fn compress(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (mut data, condition) = (c.tensor(0)?.clone(), c.tensor(1)?.bools()?);
    let at = match c.attr("axis") {
        Some(_) => c.axis(data.rank())?,
        None => {
            data = data.reshaped(vec![data.len()])?;
            0
        }
    };
    let cut = Cut::at(data.shape(), at);
    let picks: Vec<usize> =
        condition.iter().enumerate().filter(|(i, keep)| **keep && *i < cut.extent).map(|(i, _)| i).collect();
    let mut shape = data.shape().to_vec();
    shape[at] = picks.len();
    c.count(&shape)?;
    let places = (0..cut.outer).flat_map(|o| {
        picks.iter().flat_map(move |pick| {
            let first = (o * cut.extent + pick) * cut.inner;
            first..first + cut.inner
        })
    });
    one(data.pick(shape, places)?)
}

/// The coordinates of the elements that are not zero: an axis of coordinates, and one column for each element.
fn non_zero(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let found: Vec<usize> = match x.elements() {
        Elements::Text(items) => {
            items.iter().enumerate().filter(|(_, t)| !t.is_empty()).map(|(i, _)| i).collect()
        }
        _ => x.floats()?.iter().enumerate().filter(|(_, n)| **n != 0.0).map(|(i, _)| i).collect(),
    };
    let shape = vec![x.rank(), found.len()];
    c.count(&shape)?;
    let axes = dense(x.shape());
    let coordinates = axes.iter().zip(x.shape()).flat_map(|(stride, extent)| {
        found.iter().map(move |at| (at / (*stride as usize).max(1) % extent) as i64)
    });
    one(Tensor::of_longs(shape, coordinates)?)
}

/// Indices out of range give a row that is off everywhere.
fn one_hot(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (indices, values) = (c.tensor(0)?, c.tensor(2)?);
    let depth = c.number(1)?.filter(|d| *d >= 1.0).map(|d| d as usize);
    let Some(depth) = depth else { return invalid!("the depth is not positive") };
    let at = c.axis(indices.rank() + 1)?;
    let mut shape = indices.shape().to_vec();
    shape.insert(at, depth);
    c.count(&shape)?;
    let picks: Vec<f64> = indices.floats()?;
    let cut = Cut::at(&shape, at);
    let on = |at: usize| {
        let (outer, hot, inner) = (at / (depth * cut.inner), at / cut.inner % depth, at % cut.inner);
        let index = picks.get(outer * cut.inner + inner).map_or(f64::NAN, |i| i.trunc());
        let index = if index < 0.0 { index + depth as f64 } else { index };
        usize::from(index == hot as f64)
    };
    one(values.pick(shape.clone(), (0..volume(&shape)).map(on))?)
}

fn reverse_sequence(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, lengths) = (c.tensor(0)?, c.longs(1)?.unwrap_or_default());
    let batch = axis(c.int("batch_axis")?, x.rank())?;
    let time = axis(c.int("time_axis")?, x.rank())?;
    let (cut_batch, cut_time) = (Cut::at(x.shape(), batch), Cut::at(x.shape(), time));
    if lengths.len() != cut_batch.extent || lengths.iter().any(|n| *n < 0 || *n > cut_time.extent as i64) {
        return invalid!("the lengths {lengths:?} do not fit the shape {:?}", x.shape());
    }
    let count = c.count(x.shape())?;
    let place = |at: usize| {
        let (which, step) = (at / cut_batch.inner % cut_batch.extent, at / cut_time.inner % cut_time.extent);
        match lengths.get(which).map(|n| *n as usize) {
            Some(length) if step < length => {
                at - step * cut_time.inner + (length - 1 - step) * cut_time.inner
            }
            _ => at,
        }
    };
    one(x.pick(x.shape().to_vec(), (0..count).map(place))?)
}

fn triangle(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let [.., rows, columns] = *x.shape() else { return invalid!("there is no matrix") };
    let (k, upper) = (c.long(1)?.unwrap_or(0), c.flag("upper"));
    let count = c.count(x.shape())?;
    let zero = Tensor::of_numbers(x.dtype(), Vec::new(), vec![0.0])?;
    let place = |at: usize| {
        let (row, column) = ((at / columns % rows) as i64, (at % columns) as i64);
        let above = column.saturating_sub(row);
        if (upper && above >= k) || (!upper && above <= k) { (0, at) } else { (1, 0) }
    };
    one(Tensor::mix(x.shape().to_vec(), &[x, &zero], (0..count).map(place))?)
}

//! Pools that are told the sizes of their result.

use onnxport_sdk::prelude::*;

use super::Window;
use super::dynamic::{self, Windows};
use super::max::pooled;
use crate::conv::{batched, per_axis};
use crate::matmul::along;
use crate::support::{empty, is_storable};

/// The mean of the windows `floor(i * n / m) .. ceil((i + 1) * n / m)`: a global mean, a plain pool
/// where `m` divides `n`, else a product with a matrix of weights for every axis.
#[lowering(
    "aten.adaptive_avg_pool1d.default",
    "aten.adaptive_avg_pool2d.default",
    "aten.adaptive_avg_pool3d.default",
    "aten._adaptive_avg_pool2d.default",
    "aten._adaptive_avg_pool3d.default"
)]
fn adaptive_avg_pool(cx: &Lower, x: Value) -> Res<Value> {
    let sizes = Sizes::new(cx, x)?;
    if let Some(extents) = without_elements(cx)? {
        return Ok(cx.constant(cx.result(0)?.dtype, &extents, &[]));
    }
    if let Some(nothing) = empty(cx)? {
        return Ok(nothing);
    }
    if sizes.outer.iter().all(|m| m.is(1)) {
        if cx.rank(x)? == sizes.spatial() + 2 {
            return Ok(cx.op(op::GlobalAveragePool).input(x).one());
        }
        return Ok(cx.reduce(op::ReduceMean, x, &sizes.axes(), true));
    }
    if sizes.inner == sizes.outer {
        return Ok(x);
    }
    if let Some(window) = sizes.window() {
        let body = |cx: &Lower, x: Value| Ok(window.emit(cx, op::AveragePool, x, false, 1)[0]);
        return batched(cx, x, window.spatial(), body, |cx, y| cx.squeeze(y, &[0]));
    }
    let mut y = x;
    for (i, (n, m)) in sizes.inner.iter().zip(&sizes.outer).enumerate() {
        if n != m {
            y = match (*n, *m) {
                (Dim::Const(n), Dim::Const(m)) if is_storable(n, m) => averaged(cx, y, sizes.lead + i, n, m)?,
                (_, m) => {
                    let windows = Windows::new(cx, cx.extent(x, sizes.lead + i), m);
                    windows.averaged(cx, y, sizes.lead + i)?
                }
            };
        }
    }
    Ok(y)
}

/// The largest element of the windows `floor(i * n / m) .. ceil((i + 1) * n / m)`, and its place.
#[lowering(
    "aten.adaptive_max_pool1d.default",
    "aten.adaptive_max_pool2d.default",
    "aten.adaptive_max_pool3d.default"
)]
fn adaptive_max_pool(cx: &Lower, x: Value) -> Res<Vec<Option<Value>>> {
    let sizes = Sizes::new(cx, x)?;
    if let Some(extents) = without_elements(cx)? {
        let (values, places) =
            (cx.constant(cx.dtype(x)?, &extents, &[]), cx.constant(DType::I64, &extents, &[]));
        return Ok(vec![Some(values), Some(places)]);
    }
    if let Some(window) = sizes.window() {
        return Ok(pooled(cx, x, &window, true)?.into_iter().map(Some).collect());
    }
    if sizes.outer.iter().all(|m| m.is(1)) {
        let largest = crate::reduce::reduce(cx, op::ReduceMax, x, &sizes.axes(), true)?;
        let volume = sizes.inner.iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
        let mut shape: Vec<Dim> = cx.shape(x)?.into_iter().take(sizes.lead).collect();
        shape.push(volume);
        let place = cx.op(op::ArgMax).input(cx.reshape_to(x, &shape)).axis(-1).one();
        return Ok(vec![Some(largest), Some(cx.reshape_to_result(place, 1)?)]);
    }
    largest(cx, x, &sizes)
}

/// The pooled sizes before and after.
pub(super) struct Sizes {
    pub(super) lead: usize,
    inner: Vec<Dim>,
    pub(super) outer: Vec<Dim>,
}

impl Sizes {
    fn new(cx: &Lower, x: Value) -> Res<Self> {
        let target = cx.target();
        let spatial = ["1d", "2d", "3d"].iter().position(|d| target.contains(d)).map_or(2, |d| d + 1);
        let (inner, outer) = (cx.shape(x)?, cx.result(0)?.shape);
        let lead = inner.len().checked_sub(spatial).ok_or("the operand of a pool has too few axes")?;
        let tail = |shape: Vec<Dim>| shape.into_iter().skip(lead).collect();
        Ok(Self { lead, inner: tail(inner), outer: tail(outer) })
    }

    fn spatial(&self) -> usize {
        self.inner.len()
    }

    fn axes(&self) -> Vec<i64> {
        (0..self.spatial()).map(|i| (self.lead + i) as i64).collect()
    }

    /// The window of a plain pool, where every size is a multiple of the result's.
    fn window(&self) -> Option<Window> {
        let ratio = |(n, m): (&Dim, &Dim)| match (n.as_const()?, m.as_const()?) {
            (n, m) if m > 0 && n >= m && n % m == 0 => Some(n / m),
            _ => None,
        };
        let kernel: Option<Vec<i64>> = self.inner.iter().zip(&self.outer).map(ratio).collect();
        let kernel = per_axis(&kernel?, self.spatial()).ok()?;
        let (zeros, ones) = (vec![0; kernel.len()], vec![1; kernel.len()]);
        Some(Window {
            stride: kernel.clone(),
            kernel,
            padding: zeros.clone(),
            dilation: ones,
            overhang: Some(zeros),
        })
    }
}

/// The sizes of a result that has no elements.
fn without_elements(cx: &Lower) -> Res<Option<Vec<u64>>> {
    let shape = cx.result(0)?.shape;
    let extents: Option<Vec<u64>> = shape.iter().map(|d| d.as_const().map(|n| n as u64)).collect();
    Ok(extents.filter(|e| e.contains(&0)))
}

/// The bounds of window `i` of `m` over `n` elements.
fn bounds(i: i64, n: i64, m: i64) -> (i64, i64) {
    (i * n / m, ((i + 1) * n + m - 1) / m)
}

/// Averages along `axis` as a product with constant weights.
fn averaged(cx: &Lower, x: Value, axis: usize, n: i64, m: i64) -> Res<Value> {
    let (dtype, rank) = (cx.dtype(x)?, cx.rank(x)?);
    let weight = |i: i64, j: i64| {
        let (start, end) = bounds(i, n, m);
        if (start..end).contains(&j) { 1.0 / (end - start) as f64 } else { 0.0 }
    };
    let last = axis + 1 == rank;
    let weights: Vec<f64> = if last {
        (0..n).flat_map(|j| (0..m).map(move |i| weight(i, j))).collect()
    } else {
        (0..m).flat_map(|i| (0..n).map(move |j| weight(i, j))).collect()
    };
    let shape = if last { [n as u64, m as u64] } else { [m as u64, n as u64] };
    let weights = cx.numbers_shaped(&weights, &shape, dtype);
    if last {
        return Ok(cx.matmul(x, weights));
    }
    along(cx, weights, x, axis)
}

/// The largest element of windows of any extents: every axis is gathered into windows, of which
/// short ones repeat their last place.
fn largest(cx: &Lower, x: Value, sizes: &Sizes) -> Res<Vec<Option<Value>>> {
    let lead = sizes.lead;
    let constant = |dims: &[Dim]| dims.iter().map(|d| d.as_const()).collect::<Option<Vec<i64>>>();
    let (Some(inner), Some(outer)) = (constant(&sizes.inner), constant(&sizes.outer)) else {
        return dynamic::largest(cx, x, sizes);
    };
    let mut windows = x;
    // For every window the positions in the channel, from the first axis on.
    let mut flat: Vec<Vec<i64>> = vec![vec![0]];
    for (i, (n, m)) in inner.iter().zip(&outer).enumerate() {
        let reach = (0..*m).map(|w| bounds(w, *n, *m)).map(|(start, end)| end - start).max().unwrap_or(1);
        let row = |w: i64| {
            let (start, end) = bounds(w, *n, *m);
            (0..reach).map(|k| (start + k).min(end - 1)).collect::<Vec<i64>>()
        };
        let rows: Vec<Vec<i64>> = (0..*m).map(row).collect();
        let indices = cx.ints_shaped(&rows.concat(), &[*m as u64, reach as u64]);
        windows = cx.gather(windows, indices, (lead + 2 * i) as i64);
        let joined = |places: &Vec<i64>, row: &Vec<i64>| {
            places.iter().flat_map(|p| row.iter().map(move |r| p * n + r)).collect::<Vec<i64>>()
        };
        flat = flat.iter().flat_map(|p| rows.iter().map(move |r| joined(p, r))).collect();
    }
    let spatial = inner.len();
    let perm =
        (0..lead).chain((0..spatial).map(|i| lead + 2 * i)).chain((0..spatial).map(|i| lead + 2 * i + 1));
    let volume = flat.first().map_or(1, Vec::len) as i64;
    let mut shape = cx.result(0)?.shape;
    shape.push(Dim::Const(volume));
    let windows = cx.reshape_to(cx.transpose(windows, &perm.collect::<Vec<_>>()), &shape);
    let largest = crate::reduce::reduce(cx, op::ReduceMax, windows, &[-1], false)?;
    let starts: Vec<i64> = (0..flat.len() as i64).map(|w| w * volume).collect();
    let extents: Vec<u64> = outer.iter().map(|m| *m as u64).collect();
    let (starts, table) = (cx.ints_shaped(&starts, &extents), cx.ints(&flat.concat()));
    let choice = cx.op(op::ArgMax).input(windows).axis(-1).keepdims(0).one() + starts;
    Ok(vec![Some(largest), Some(cx.gather(table, choice, 0))])
}

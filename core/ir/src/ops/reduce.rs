//! Reductions along axes, and running ones.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, axis, one};
use super::error::{invalid, unsupported};
use super::pointwise::{larger, smaller};
use super::strides::{Cut, Walk, dense};
use super::{Elements, Op, Res, Tensor, Value};
use crate::tensor::{DType, Kind};

pub(super) const OPS: &[Op] = &[
    Op::new("ArgMax").along(1).discontinuous().infer(infer::arg).eval(|c| arg(c, |a, b| a > b)),
    Op::new("ArgMin").along(1).discontinuous().infer(infer::arg).eval(|c| arg(c, |a, b| a < b)),
    Op::new("CumProd")
        .accumulates()
        .infer(infer::running)
        .eval(|c| running(c, (1.0, |a, b| a * b), (1, i128::wrapping_mul))),
    Op::new("CumSum")
        .accumulates()
        .infer(infer::running)
        .eval(|c| running(c, (0.0, |a, b| a + b), (0, i128::wrapping_add))),
    Op::new("ReduceL1")
        .reduction()
        .accumulates()
        .infer(infer::reduce)
        .eval(|c| reduce(c, |x| sum(x.map(f64::abs)), Some(|n| n.map(i128::abs).sum()))),
    Op::new("ReduceL2")
        .reduction()
        .accumulates()
        .infer(infer::reduce)
        .eval(|c| reduce(c, |x| sum(x.map(|x| x * x)).sqrt(), None)),
    Op::new("ReduceLogSum")
        .reduction()
        .accumulates()
        .infer(infer::reduce)
        .eval(|c| reduce(c, |x| sum(x).ln(), None)),
    Op::new("ReduceLogSumExp")
        .reduction()
        .accumulates()
        .infer(infer::reduce)
        .eval(|c| reduce(c, log_sum_exp, None)),
    Op::new("ReduceMax").reduction().infer(infer::reduce).eval(|c| extreme(c, true)),
    Op::new("ReduceMean").reduction().accumulates().infer(infer::reduce).eval(|c| reduce(c, mean, None)),
    Op::new("ReduceMin").reduction().infer(infer::reduce).eval(|c| extreme(c, false)),
    Op::new("ReduceProd")
        .reduction()
        .accumulates()
        .infer(infer::reduce)
        .contents(infer::product)
        .eval(|c| reduce(c, |x| x.product(), Some(|n| n.fold(1, i128::wrapping_mul)))),
    Op::new("ReduceSum")
        .reduction()
        .accumulates()
        .infer(infer::reduce)
        .contents(infer::sum)
        .eval(|c| reduce(c, |x| sum(x), Some(|n| n.fold(0, i128::wrapping_add)))),
    Op::new("ReduceSumSquare").reduction().accumulates().infer(infer::reduce).eval(|c| {
        reduce(c, |x| sum(x.map(|x| x * x)), Some(|n| n.fold(0, |a, b| a.wrapping_add(b.wrapping_mul(b)))))
    }),
];

/// The elements of one group.
type Floats<'a> = dyn Iterator<Item = f64> + 'a;
type Ints<'a> = dyn Iterator<Item = i128> + 'a;

fn sum(items: impl Iterator<Item = f64>) -> f64 {
    // From `0.0`: the sum of nothing has no sign.
    items.fold(0.0, |a, b| a + b)
}

fn mean(items: &mut Floats<'_>) -> f64 {
    let (mut count, mut total) = (0.0, 0.0);
    for x in items {
        count += 1.0;
        total += x;
    }
    total / count
}

fn log_sum_exp(items: &mut Floats<'_>) -> f64 {
    let items: Vec<f64> = items.collect();
    let max = items.iter().copied().fold(f64::NEG_INFINITY, larger);
    // Infinities would leave NaN.
    let base = if max.is_finite() { max } else { 0.0 };
    base + sum(items.iter().map(|x| (x - base).exp())).ln()
}

/// The axes that a reduction removes, and the positions of the elements of a group.
pub(super) struct Groups {
    /// The shape of the result.
    pub(super) shape: Vec<usize>,
    /// The first element of each group.
    starts: Walk,
    /// The elements of a group, from its first one.
    group: Walk,
}

impl Groups {
    /// The groups of a tensor of shape `shape` that share their indices on all axes but `axes`.
    pub(super) fn new(shape: &[usize], axes: &[usize], keep: bool) -> Self {
        let strides = dense(shape);
        let part = |inside: bool| -> (Vec<usize>, Vec<isize>) {
            let all = shape.iter().zip(&strides).enumerate();
            all.filter(|(i, _)| axes.contains(i) == inside).map(|(_, (d, s))| (*d, *s)).unzip()
        };
        let ((inner, inner_strides), (outer, outer_strides)) = (part(true), part(false));
        let kept = shape.iter().enumerate().filter_map(|(i, d)| match (axes.contains(&i), keep) {
            (false, _) => Some(*d),
            (true, true) => Some(1),
            (true, false) => None,
        });
        Self {
            shape: kept.collect(),
            starts: Walk::new(&outer, &outer_strides, 0),
            group: Walk::new(&inner, &inner_strides, 0),
        }
    }

    /// The positions of the elements of each group.
    pub(super) fn each(&self) -> impl Iterator<Item = impl Iterator<Item = usize> + Clone> {
        let group = &self.group;
        self.starts.clone().map(move |start| group.clone().map(move |at| start + at))
    }
}

/// The groups of a `Reduce…` operator; `None` where nothing is reduced.
fn groups(c: &Call<'_>, x: &Tensor) -> Res<Option<Groups>> {
    let axes = c.axes(1, x.rank())?.unwrap_or_default();
    match c.int("noop_with_empty_axes")? {
        1 if axes.is_empty() => return Ok(None),
        0 | 1 => {}
        other => return invalid!("`noop_with_empty_axes` is {other}, not 0 or 1"),
    }
    let axes = if axes.is_empty() { (0..x.rank()).collect() } else { axes };
    let groups = Groups::new(x.shape(), &axes, c.flag("keepdims"));
    c.count(&groups.shape)?;
    c.spend(x.len() as u64)?;
    Ok(Some(groups))
}

fn reduce(
    c: &Call<'_>,
    float: fn(&mut Floats<'_>) -> f64,
    int: Option<fn(&mut Ints<'_>) -> i128>,
) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let groups = match groups(c, x)? {
        Some(groups) => groups,
        // Still the function of each element, as a group of one.
        None => Groups::new(x.shape(), &[], false),
    };
    if let (Elements::Int(items), Some(int)) = (x.elements(), int) {
        let out =
            groups.each().map(|group| int(&mut group.filter_map(|at| items.get(at).copied()))).collect();
        return one(Tensor::of_ints(x.dtype(), groups.shape, out)?);
    }
    let items = x.floats()?;
    let out = groups.each().map(|group| float(&mut group.filter_map(|at| items.get(at).copied()))).collect();
    one(Tensor::of_numbers(x.dtype(), groups.shape, out)?)
}

/// Of nothing: the least or the largest value of the type.
fn extreme(c: &mut Call<'_>, max: bool) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let Some(groups) = groups(c, x)? else { return one(x.clone()) };
    let dtype = x.dtype();
    match x.elements() {
        Elements::Bool(items) => {
            let pick = |group: &mut dyn Iterator<Item = usize>| {
                let mut bits = group.filter_map(|at| items.get(at).copied());
                if max { bits.any(|b| b) } else { bits.all(|b| b) }
            };
            let out = groups.each().map(|mut group| pick(&mut group)).collect();
            one(Tensor::of_bools(groups.shape, out)?)
        }
        Elements::Int(items) => {
            let (least, most) = limits(dtype);
            let pick = |group: &mut dyn Iterator<Item = usize>| {
                let ints = group.filter_map(|at| items.get(at).copied());
                if max { ints.fold(least, i128::max) } else { ints.fold(most, i128::min) }
            };
            let out = groups.each().map(|mut group| pick(&mut group)).collect();
            one(Tensor::of_ints(dtype, groups.shape, out)?)
        }
        Elements::Float(items) => {
            let pick = |group: &mut dyn Iterator<Item = usize>| {
                let floats = group.filter_map(|at| items.get(at).copied());
                if max { floats.fold(f64::NEG_INFINITY, larger) } else { floats.fold(f64::INFINITY, smaller) }
            };
            let out = groups.each().map(|mut group| pick(&mut group)).collect();
            one(Tensor::of_floats(dtype, groups.shape, out)?)
        }
        _ => unsupported!("{dtype} has no order"),
    }
}

/// The least and the largest integer of a type.
pub(super) fn limits(dtype: DType) -> (i128, i128) {
    let bits = dtype.bits().clamp(1, 64);
    match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::I4 | DType::I2 => {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        }
        _ => (0, (1 << bits) - 1),
    }
}

/// The index of the best element; of several, the first or the last.
fn arg(c: &mut Call<'_>, better: fn(f64, f64) -> bool) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let at = c.axis(x.rank())?;
    let last = c.flag("select_last_index");
    let groups = Groups::new(x.shape(), &[at], c.flag("keepdims"));
    c.count(&groups.shape)?;
    c.spend(x.len() as u64)?;
    if x.dim(at) == 0 && groups.shape.iter().product::<usize>() > 0 {
        return invalid!("axis {at} has no elements");
    }
    let items = x.floats()?;
    // Wide integers are compared as integers.
    let ints = if x.dtype().kind() == Kind::Int { x.ints()? } else { Vec::new() };
    let beats = |a: usize, b: usize| match (ints.get(a), ints.get(b)) {
        (Some(a), Some(b)) if a != b => better(if a > b { 1.0 } else { -1.0 }, 0.0),
        (Some(_), Some(_)) => false,
        _ => match (items.get(a), items.get(b)) {
            (Some(a), Some(b)) => better(*a, *b) || (a.is_nan() && !b.is_nan()),
            _ => false,
        },
    };
    let index = |group: &mut dyn Iterator<Item = usize>| {
        let mut best: Option<(i64, usize)> = None;
        for (index, place) in group.enumerate() {
            let wins = best.is_none_or(|(_, old)| beats(place, old) || (last && !beats(old, place)));
            if wins {
                best = Some((index as i64, place));
            }
        }
        best.map_or(0, |(index, _)| index)
    };
    let out: Vec<i64> = groups.each().map(|mut group| index(&mut group)).collect();
    one(Tensor::of_longs(groups.shape, out)?)
}

/// A sum or a product of all before, along one axis.
fn running(
    c: &mut Call<'_>,
    float: (f64, fn(f64, f64) -> f64),
    int: (i128, fn(i128, i128) -> i128),
) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let Some(at) = c.long(1)? else { return invalid!("the axis is missing") };
    let cut = Cut::at(x.shape(), axis(at, x.rank())?);
    c.count(x.shape())?;
    let (exclusive, reverse) = (c.flag("exclusive"), c.flag("reverse"));
    let shape = x.shape().to_vec();
    match x.elements() {
        Elements::Int(mut items) => {
            accumulate(&mut items, cut, exclusive, reverse, int);
            one(Tensor::of_ints(x.dtype(), shape, items)?)
        }
        _ => {
            let mut items = x.floats()?;
            accumulate(&mut items, cut, exclusive, reverse, float);
            one(Tensor::of_floats(x.dtype(), shape, items)?)
        }
    }
}

fn accumulate<T: Copy>(
    items: &mut [T],
    cut: Cut,
    exclusive: bool,
    reverse: bool,
    (start, join): (T, fn(T, T) -> T),
) {
    for first in cut.lines() {
        let mut total = start;
        let mut step = |place: usize| {
            let Some(item) = items.get_mut(place) else { return };
            let next = join(total, *item);
            *item = if exclusive { total } else { next };
            total = next;
        };
        if reverse { cut.line(first).rev().for_each(&mut step) } else { cut.line(first).for_each(&mut step) }
    }
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes and elements.

    use smallvec::{SmallVec, smallvec};

    use crate::ir::ShapeValue;
    use crate::ops::infer::broadcast::same;
    use crate::ops::infer::cx::{Contents, Cx, Shapes, held, one};
    use crate::sym::Dim;

    /// The `Reduce…` operators.
    pub(super) fn reduce(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        let keep = cx.flag("keepdims")?;
        let given = cx.input(1).is_some() || cx.node.ints("axes").is_some();
        let axes = cx.axes(1, dims.len());
        let empty = axes.as_ref().is_some_and(SmallVec::is_empty);
        if !given || empty {
            // Without axes every axis is reduced, or none when the node says so.
            // Of other numbers than 0 and 1 runtimes disagree.
            return match cx.int("noop_with_empty_axes")? {
                0 => removed(dims, |_| true, keep),
                1 => one(dims.iter().copied()),
                _ => None,
            };
        }
        match axes {
            Some(axes) => removed(dims, |axis| axes.contains(&axis), keep),
            None if keep => one(dims.iter().map(|_| None)),
            None => None,
        }
    }

    /// The elements of a list that is reduced to one.
    fn list(cx: &Cx<'_>) -> Option<ShapeValue> {
        if cx.flag("noop_with_empty_axes")? { None } else { cx.contents(0) }
    }

    /// `ReduceProd`.
    pub(super) fn product(cx: &mut Cx<'_>) -> Option<Contents> {
        let factors = list(cx)?;
        held(smallvec![cx.symbols.product(factors)])
    }

    /// `ReduceSum`.
    pub(super) fn sum(cx: &mut Cx<'_>) -> Option<Contents> {
        let terms = list(cx)?;
        held(smallvec![terms.into_iter().fold(Dim::Const(0), |a, b| cx.symbols.add(a, b))])
    }

    /// `CumSum` and `CumProd`, whose axis is an input.
    pub(super) fn running(cx: &mut Cx<'_>) -> Option<Shapes> {
        if let (Some(dims), Some(at)) = (cx.dims(0), cx.ints(1).filter(|a| a.len() == 1)) {
            cx.exists(at[0], dims.len())?;
        }
        same(cx)
    }

    /// `ArgMax` and `ArgMin`.
    pub(super) fn arg(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        let axis = cx.axis(dims.len())?;
        removed(dims, |a| a == axis, cx.flag("keepdims")?)
    }

    fn removed(dims: &[Option<Dim>], gone: impl Fn(usize) -> bool, keep: bool) -> Option<Shapes> {
        one(dims.iter().enumerate().filter_map(|(axis, dim)| match (gone(axis), keep) {
            (false, _) => Some(*dim),
            (true, true) => Some(Some(Dim::Const(1))),
            (true, false) => None,
        }))
    }
}

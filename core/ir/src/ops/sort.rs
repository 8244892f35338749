//! Orders of elements.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use std::cmp::Ordering;

use super::call::Call;
use super::error::{invalid, unsupported};
use super::strides::Cut;
use super::{Elements, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] =
    &[Op::new("TopK").infer(infer::top_k).eval(top_k), Op::new("Unique").infer(infer::unique).eval(unique)];

/// The order of two elements by their positions; NaN is the largest.
fn order(items: &Elements) -> impl Fn(usize, usize) -> Ordering {
    move |a, b| match items {
        Elements::Int(items) => items.get(a).cmp(&items.get(b)),
        Elements::Bool(items) => items.get(a).cmp(&items.get(b)),
        Elements::Text(items) => items.get(a).cmp(&items.get(b)),
        Elements::Float(items) => match (items.get(a), items.get(b)) {
            (Some(a), Some(b)) => a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
            _ => Ordering::Equal,
        },
        Elements::Complex(_) => Ordering::Equal,
    }
}

/// Of equal elements the one with the lower index comes first.
fn top_k(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let at = c.axis(x.rank())?;
    let k = c.long(1)?.map_or_else(|| c.int("k"), Ok)?;
    let (Ok(k), cut) = (usize::try_from(k), Cut::at(x.shape(), at)) else {
        return invalid!("{k} elements cannot be picked");
    };
    if k > cut.extent {
        return invalid!("{k} elements cannot be picked out of {}", cut.extent);
    }
    let mut shape = x.shape().to_vec();
    shape[at] = k;
    let count = c.count(&shape)?;
    c.spend((x.len() as u64).saturating_mul(8))?;
    let items = x.elements();
    let compare = order(&items);
    let largest = c.flag("largest");
    let mut places = vec![0; count];
    let mut indices = vec![0i64; count];
    let picked = Cut { extent: k, ..cut };
    for (first, target) in cut.lines().zip(picked.lines()) {
        let mut line: Vec<(usize, usize)> = cut.line(first).enumerate().collect();
        line.sort_by(|(_, a), (_, b)| if largest { compare(*b, *a) } else { compare(*a, *b) });
        for ((index, place), slot) in line.into_iter().zip(picked.line(target)) {
            (places[slot], indices[slot]) = (place, index as i64);
        }
    }
    Ok(vec![x.pick(shape.clone(), places)?.into(), Tensor::of_longs(shape, indices)?.into()])
}

/// The different elements, or slices along an axis; where each stood first, which one each is, and how often it stands.
fn unique(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let mut x = c.tensor(0)?.clone();
    let at = match c.attr("axis") {
        Some(_) => c.axis(x.rank())?,
        None => {
            x = x.reshaped(vec![x.len()])?;
            0
        }
    };
    c.count(x.shape())?;
    let cut = Cut::at(x.shape(), at);
    c.spend((x.len() as u64).saturating_mul(8))?;
    let items = x.elements();
    if matches!(items, Elements::Complex(_)) {
        return unsupported!("complex numbers have no order");
    }
    let compare = order(&items);
    let slice = |index: usize| {
        (0..cut.outer).flat_map(move |o| {
            let first = (o * cut.extent + index) * cut.inner;
            first..first + cut.inner
        })
    };
    let slices = |a: &usize, b: &usize| {
        let each = slice(*a).zip(slice(*b)).map(|(a, b)| compare(a, b));
        each.into_iter().find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut sorted: Vec<usize> = (0..cut.extent).collect();
    sorted.sort_by(slices);
    // Runs of equal slices; a stable order puts the first one in front.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in sorted {
        match groups.last_mut() {
            Some(group) if group.first().is_some_and(|first| slices(first, &index).is_eq()) => {
                group.push(index);
            }
            _ => groups.push(vec![index]),
        }
    }
    if !c.flag("sorted") {
        groups.sort_by_key(|group| group.first().copied());
    }
    let firsts: Vec<usize> = groups.iter().filter_map(|group| group.first().copied()).collect();
    let mut inverse = vec![0i64; cut.extent];
    for (which, group) in groups.iter().enumerate() {
        for index in group {
            inverse[*index] = which as i64;
        }
    }
    let mut shape = x.shape().to_vec();
    shape[at] = firsts.len();
    let places = (0..cut.outer).flat_map(|o| {
        firsts.iter().flat_map(move |index| {
            let first = (o * cut.extent + index) * cut.inner;
            first..first + cut.inner
        })
    });
    let list = |items: Vec<i64>| Ok(Value::Tensor(Tensor::of_longs(vec![items.len()], items)?));
    Ok(vec![
        x.pick(shape, places)?.into(),
        list(firsts.iter().map(|i| *i as i64).collect())?,
        list(inverse)?,
        list(groups.iter().map(|group| group.len() as i64).collect())?,
    ])
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::cx::{Cx, Dims, Shapes};
    use crate::sym::Dim;

    /// `TopK`.
    pub(super) fn top_k(cx: &mut Cx<'_>) -> Option<Shapes> {
        let mut out: Dims = cx.dims(0)?.into();
        let at = cx.axis(out.len())?;
        cx.counts(1, 1, "result")?;
        let count = cx.contents(1).filter(|k| k.len() == 1).map(|k| k[0]);
        if let (Some(Dim::Const(k)), Some(Dim::Const(n))) = (count, out[at]) {
            cx.demand(k <= n, || format!("k is {k}, but there are {n} elements"))?;
        }
        out[at] = count;
        Some(smallvec![Shape::Ranked(out.clone()), Shape::Ranked(out)])
    }

    /// `Unique`.
    pub(super) fn unique(cx: &mut Cx<'_>) -> Option<Shapes> {
        let list = || Shape::Ranked(smallvec![None]);
        let first = match cx.node.int("axis") {
            None => list(),
            Some(_) => match cx.dims(0) {
                Some(dims) => {
                    let mut out: Dims = dims.into();
                    let at = cx.axis(out.len())?;
                    out[at] = None;
                    Shape::Ranked(out)
                }
                None => Shape::Unranked,
            },
        };
        Some(smallvec![first, list(), list(), list()])
    }
}

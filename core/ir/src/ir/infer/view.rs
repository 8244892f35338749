//! Operators that move elements without computing with them, and those that make tensors.

use smallvec::{SmallVec, smallvec};

use super::cx::{Cx, Dims, Shapes, axis, either, one};
use crate::ir::{Attr, Shape};
use crate::sym::Dim;

/// `Transpose`.
pub(super) fn transpose(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    match cx.node.ints("perm") {
        None => one(dims.iter().rev().copied()),
        Some(perm) if perm.len() == dims.len() => {
            let dims: Option<Dims> =
                perm.iter().map(|p| dims.get(usize::try_from(*p).ok()?).copied()).collect();
            one(dims?)
        }
        Some(_) => None,
    }
}

/// `Reshape`.
pub(super) fn reshape(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut target = cx.shape_from(1)?;
    let input = cx.dims(0);
    if cx.int("allowzero", 0) == 0 {
        for (index, dim) in target.iter_mut().enumerate() {
            if *dim == Some(Dim::Const(0)) {
                *dim = input.and_then(|dims| dims.get(index).copied().flatten());
            }
        }
    }
    if let Some(open) = target.iter().position(|d| *d == Some(Dim::Const(-1))) {
        target[open] = input.and_then(|dims| rest(cx, dims, &target, open));
    }
    one(target)
}

/// The extent at `open` that keeps the number of elements.
fn rest(cx: &mut Cx<'_>, input: &[Option<Dim>], target: &[Option<Dim>], open: usize) -> Option<Dim> {
    // Axes that are equal on both sides cancel, known or not.
    let front = input.iter().zip(&target[..open]).take_while(|(a, b)| a.is_some() && a == b).count();
    let back = input[front..].iter().rev().zip(target[open + 1..].iter().rev());
    let back = back.take_while(|(a, b)| a.is_some() && a == b).count();
    let total = cx.product(&input[front..input.len() - back])?;
    let mut others: Dims = target[front..target.len() - back].into();
    others[open - front] = Some(Dim::Const(1));
    let others = cx.product(&others)?;
    match (total, others) {
        (_, Dim::Const(0)) => None,
        (Dim::Const(a), Dim::Const(b)) if a % b != 0 => None,
        _ => Some(cx.symbols.floor_div(total, others)),
    }
}

/// `Flatten`.
pub(super) fn flatten(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let at = match cx.int("axis", 1) {
        n if n == dims.len() as i64 => dims.len(),
        n => axis(n, dims.len())?,
    };
    let (outer, inner) = dims.split_at(at);
    let (outer, inner) = (cx.product(outer), cx.product(inner));
    one([outer, inner])
}

/// `Squeeze`.
pub(super) fn squeeze(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    if cx.input(1).is_none() && cx.node.ints("axes").is_none() {
        let known = dims.iter().all(|d| matches!(d, Some(Dim::Const(_))));
        return known.then(|| one(dims.iter().copied().filter(|d| *d != Some(Dim::Const(1)))))?;
    }
    let axes = cx.axes(1, dims.len())?;
    one(dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d))
}

/// `Unsqueeze`.
pub(super) fn unsqueeze(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let count = cx.ints(1)?.len();
    let axes = cx.axes(1, dims.len() + count)?;
    let mut rest = dims.iter();
    let mut out = Dims::new();
    for index in 0..dims.len() + count {
        out.push(if axes.contains(&index) { Some(Dim::Const(1)) } else { *rest.next()? });
    }
    one(out)
}

/// `Concat`.
pub(super) fn concat(cx: &mut Cx<'_>) -> Option<Shapes> {
    let count = cx.node.inputs.len();
    let mut out: Option<Dims> = None;
    let mut total = Some(Dim::Const(0));
    for index in 0..count {
        let Some(dims) = cx.dims(index) else {
            total = None;
            continue;
        };
        let at = cx.axis(0, dims.len())?;
        total = total.zip(dims[at]).map(|(a, b)| cx.symbols.add(a, b));
        match &mut out {
            None => out = Some(dims.into()),
            Some(out) if out.len() != dims.len() => return None,
            Some(out) => out.iter_mut().zip(dims).for_each(|(o, d)| *o = either(*o, *d)),
        }
    }
    let mut out = out?;
    let at = cx.axis(0, out.len())?;
    out[at] = total;
    one(out)
}

/// `Split`.
pub(super) fn split(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let at = cx.axis(0, dims.len())?;
    let count = cx.node.outputs.len();
    let sizes: SmallVec<[Option<Dim>; 4]> = match (cx.input(1), dims[at]) {
        (Some(_), _) => match cx.contents(1) {
            Some(sizes) => sizes.into_iter().map(Some).collect(),
            None => smallvec![None; count],
        },
        (None, Some(dim)) if count > 0 => {
            // Equal chunks, the last one smaller.
            let n = Dim::Const(cx.int("num_outputs", count as i64).max(1));
            let rounded = cx.plus(dim, count as i64 - 1);
            let chunk = cx.symbols.floor_div(rounded, n);
            let before = cx.symbols.mul(chunk, Dim::Const(count as i64 - 1));
            let last = cx.symbols.sub(dim, before);
            (0..count).map(|i| Some(if i + 1 == count { last } else { chunk })).collect()
        }
        _ => smallvec![None; count],
    };
    Some(
        (0..count)
            .map(|i| {
                let mut out: Dims = dims.into();
                out[at] = sizes.get(i).copied().flatten();
                Shape::Ranked(out)
            })
            .collect(),
    )
}

/// `Tile`.
pub(super) fn tile(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let Some(repeats) = cx.contents(1).filter(|r| r.len() == dims.len()) else {
        return one(dims.iter().map(|_| None));
    };
    let out: Dims = dims.iter().zip(repeats).map(|(d, r)| d.map(|d| cx.symbols.mul(d, r))).collect();
    one(out)
}

/// `Pad`.
pub(super) fn pad(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let unknown = || one(dims.iter().map(|_| None));
    let axes: SmallVec<[usize; 4]> = match cx.input(3) {
        Some(_) => match cx.axes(3, dims.len()) {
            Some(axes) => axes,
            None => return unknown(),
        },
        None => (0..dims.len()).collect(),
    };
    let Some(pads) = cx.contents(1).filter(|p| p.len() == 2 * axes.len()) else { return unknown() };
    let mut out: Dims = dims.into();
    for (index, at) in axes.iter().enumerate() {
        let both = cx.symbols.add(pads[index], pads[index + axes.len()]);
        out[*at] = dims[*at].map(|d| cx.symbols.add(d, both));
    }
    one(out)
}

/// `DepthToSpace`.
pub(super) fn depth_to_space(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [n, c, h, w] = cx.dims(0)? else { return None };
    let block = cx.node.int("blocksize").filter(|b| *b > 0)?;
    let area = Dim::Const(block.checked_mul(block)?);
    let c = c.map(|c| cx.symbols.floor_div(c, area));
    let mut grow = |d: &Option<Dim>| d.map(|d| cx.symbols.mul(d, Dim::Const(block)));
    let (h, w) = (grow(h), grow(w));
    one([*n, c, h, w])
}

/// `SpaceToDepth`.
pub(super) fn space_to_depth(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [n, c, h, w] = cx.dims(0)? else { return None };
    let block = cx.node.int("blocksize").filter(|b| *b > 0)?;
    let area = Dim::Const(block.checked_mul(block)?);
    let c = c.map(|c| cx.symbols.mul(c, area));
    let mut shrink = |d: &Option<Dim>| d.map(|d| cx.symbols.floor_div(d, Dim::Const(block)));
    let (h, w) = (shrink(h), shrink(w));
    one([*n, c, h, w])
}

/// The axes that `Shape` returns: `start..end`.
pub(super) fn shape_range(cx: &Cx<'_>, rank: usize) -> std::ops::Range<usize> {
    let rank = rank as i64;
    let clamp = |n: i64| (if n < 0 { n.saturating_add(rank) } else { n }).clamp(0, rank) as usize;
    let (start, end) = (clamp(cx.int("start", 0)), clamp(cx.int("end", rank)));
    start..end.max(start)
}

/// `Shape`.
pub(super) fn shape(cx: &mut Cx<'_>) -> Option<Shapes> {
    let Some(dims) = cx.dims(0) else { return one([None]) };
    one([Some(Dim::Const(shape_range(cx, dims.len()).len() as i64))])
}

/// Operators that return one number.
pub(super) fn scalar(_: &mut Cx<'_>) -> Option<Shapes> {
    one([])
}

/// `ConstantOfShape`.
pub(super) fn constant_of_shape(cx: &mut Cx<'_>) -> Option<Shapes> {
    one(cx.shape_from(0)?)
}

/// `Constant`.
pub(super) fn constant(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [attribute] = cx.node.attributes.as_slice() else { return None };
    let length = |n: usize| one([Some(Dim::Const(n as i64))]);
    match &attribute.value {
        Attr::Tensor(data) => one(data.shape.iter().map(|d| i64::try_from(*d).ok().map(Dim::Const))),
        Attr::Int(_) | Attr::Float(_) | Attr::Str(_) => one([]),
        Attr::Ints(items) => length(items.len()),
        Attr::Floats(items) => length(items.len()),
        Attr::Strs(items) => length(items.len()),
        Attr::BytesList(items) => length(items.len()),
        Attr::Bytes(_) => one([]),
        Attr::Text(text) => one(text.shape.iter().map(|d| i64::try_from(*d).ok().map(Dim::Const))),
        Attr::Sparse(sparse) => one(sparse.shape.iter().map(|d| i64::try_from(*d).ok().map(Dim::Const))),
        _ => None,
    }
}

/// `Range`: `max(ceil((limit - start) / delta), 0)` elements.
pub(super) fn range(cx: &mut Cx<'_>) -> Option<Shapes> {
    let single = |cx: &Cx<'_>, i: usize| cx.contents(i).filter(|c| c.len() == 1).map(|c| c[0]);
    let (Some(start), Some(limit), Some(Dim::Const(delta))) = (single(cx, 0), single(cx, 1), single(cx, 2))
    else {
        return one([None]);
    };
    if delta == 0 || delta == i64::MIN {
        return None;
    }
    let (from, to) = if delta > 0 { (start, limit) } else { (limit, start) };
    let step = delta.abs();
    let span = cx.symbols.sub(to, from);
    let rounded = cx.plus(span, step - 1);
    let count = cx.symbols.floor_div(rounded, Dim::Const(step));
    one([Some(cx.symbols.max(count, Dim::Const(0)))])
}

/// `RandomNormal` and `RandomUniform`.
pub(super) fn random(cx: &mut Cx<'_>) -> Option<Shapes> {
    one(cx.node.ints("shape")?.iter().map(|d| Some(Dim::Const(*d))))
}

//! Other shapes of the same elements.

use smallvec::{SmallVec, smallvec};

use crate::ir::{Shape, Type};
use crate::ops::infer::broadcast::together;
use crate::ops::infer::cx::{Contents, Cx, Dims, Shapes, Types, held, one};
use crate::sym::Dim;

/// `Expand`: the first input broadcast with the shape that the second holds.
pub(super) fn expand(cx: &mut Cx<'_>) -> Option<Shapes> {
    let target = cx.shape_from(1)?;
    Some(smallvec![Shape::Ranked(together(cx, cx.dims(0)?, &target)?)])
}

/// `Transpose`.
pub(super) fn transpose(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let Some(perm) = cx.node.ints("perm") else { return one(dims.iter().rev().copied()) };
    let mut sorted = perm.to_vec();
    sorted.sort_unstable();
    let each = sorted.len() == dims.len() && sorted.iter().enumerate().all(|(i, p)| i as i64 == *p);
    cx.demand(each, || format!("`perm` {perm:?} does not name each of {} axes once", dims.len()))?;
    let dims: Option<Dims> = perm.iter().map(|p| dims.get(usize::try_from(*p).ok()?).copied()).collect();
    one(dims?)
}

/// `Reshape`.
pub(super) fn reshape(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut target = cx.shape_from(1)?;
    let input = cx.dims(0);
    let allow_zero = cx.flag("allowzero")?;
    let open: SmallVec<[usize; 2]> =
        (0..target.len()).filter(|i| target[*i] == Some(Dim::Const(-1))).collect();
    cx.demand(open.len() < 2, || "the shape leaves more than one size open".to_owned())?;
    let nonsense = target.iter().flatten().find(|d| d.as_const().is_some_and(|n| n < -1));
    cx.demand(nonsense.is_none(), || "the shape contains a negative dimension".to_owned())?;
    if !allow_zero {
        for (index, dim) in target.iter_mut().enumerate() {
            if *dim == Some(Dim::Const(0)) {
                if let Some(dims) = input {
                    let there = index < dims.len();
                    cx.demand(there, || format!("the shape keeps axis {index} of {}", dims.len()))?;
                }
                *dim = input.and_then(|dims| dims.get(index).copied().flatten());
            }
        }
    }
    if let Some(open) = open.first() {
        target[*open] = input.and_then(|dims| rest(cx, dims, &target, *open));
    } else if let Some(input) = input {
        let (from, to) = (cx.product(input), cx.product(&target));
        cx.equal(from, to, "the numbers of elements differ")?;
    }
    one(target)
}

/// The size at `open` that keeps the number of elements.
fn rest(cx: &mut Cx<'_>, input: &[Option<Dim>], target: &[Option<Dim>], open: usize) -> Option<Dim> {
    // Axes that are equal on both sides cancel, known or not.
    let (head, tail) = target.split_at(open);
    let tail = tail.split_first().map_or(tail, |(_, tail)| tail);
    let same = |(a, b): &(&Option<Dim>, &Option<Dim>)| a.is_some() && a == b;
    let front = input.iter().zip(head).take_while(same).count();
    let (_, input) = input.split_at(front);
    let back = input.iter().rev().zip(tail.iter().rev()).take_while(same).count();
    let total = cx.product(&input[..input.len().saturating_sub(back)])?;
    let others: Dims =
        head.iter().skip(front).chain(&tail[..tail.len().saturating_sub(back)]).copied().collect();
    let others = cx.product(&others)?;
    match (total, others) {
        (_, Dim::Const(0)) => None,
        (Dim::Const(a), Dim::Const(b)) if a.checked_rem(b) != Some(0) => {
            cx.refute(format!("{a} elements are not a multiple of {b}"))
        }
        _ => Some(cx.symbols.floor_div(total, others)),
    }
}

/// `Flatten`.
pub(super) fn flatten(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let at = match cx.int("axis")? {
        n if n == dims.len() as i64 => dims.len(),
        n => cx.exists(n, dims.len())?,
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
    // Of an empty list of axes runtimes disagree: some drop all of size 1.
    let axes = cx.axes(1, dims.len()).filter(|axes| !axes.is_empty())?;
    for at in &axes {
        cx.equal(dims[*at], Some(Dim::Const(1)), &format!("axis {at} is dropped and is not 1"))?;
    }
    one(dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d))
}

/// `Unsqueeze`.
pub(super) fn unsqueeze(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let count = cx.ints(1)?.len();
    let rank = dims.len().saturating_add(count);
    let axes = cx.axes(1, rank)?;
    let twice = axes.iter().enumerate().find(|(i, at)| axes[..*i].contains(at));
    cx.demand(twice.is_none(), || "an axis is named twice".to_owned())?;
    let mut rest = dims.iter();
    let mut out = Dims::new();
    for index in 0..rank {
        out.push(if axes.contains(&index) { Some(Dim::Const(1)) } else { *rest.next()? });
    }
    one(out)
}

/// `Tile`.
pub(super) fn tile(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    cx.counts(1, dims.len(), "axes")?;
    let Some(repeats) = cx.contents(1).filter(|r| r.len() == dims.len()) else {
        return one(dims.iter().map(|_| None));
    };
    let out: Dims = dims.iter().zip(repeats).map(|(d, r)| d.map(|d| cx.symbols.mul(d, r))).collect();
    one(out)
}

/// `DepthToSpace`.
pub(super) fn depth_to_space(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank(0, 4)?;
    let [n, c, h, w] = cx.dims(0)? else { return None };
    let block = cx.node.int("blocksize").filter(|b| *b > 0)?;
    let area = Dim::Const(block.checked_mul(block)?);
    divides(cx, *c, area)?;
    let c = c.map(|c| cx.symbols.floor_div(c, area));
    let mut grow = |d: &Option<Dim>| d.map(|d| cx.symbols.mul(d, Dim::Const(block)));
    let (h, w) = (grow(h), grow(w));
    one([*n, c, h, w])
}

/// Refutes a size that is not a multiple of `of`.
fn divides(cx: &mut Cx<'_>, dim: Option<Dim>, of: Dim) -> Option<()> {
    match (dim, of) {
        (Some(Dim::Const(n)), Dim::Const(of)) if n.checked_rem(of).is_some_and(|rest| rest != 0) => {
            cx.refute(format!("the dimension {n} is not a multiple of {of}"))
        }
        _ => Some(()),
    }
}

/// `SpaceToDepth`.
pub(super) fn space_to_depth(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank(0, 4)?;
    let [n, c, h, w] = cx.dims(0)? else { return None };
    let block = cx.node.int("blocksize").filter(|b| *b > 0)?;
    let area = Dim::Const(block.checked_mul(block)?);
    divides(cx, *h, Dim::Const(block))?;
    divides(cx, *w, Dim::Const(block))?;
    let c = c.map(|c| cx.symbols.mul(c, area));
    let mut shrink = |d: &Option<Dim>| d.map(|d| cx.symbols.floor_div(d, Dim::Const(block)));
    let (h, w) = (shrink(h), shrink(w));
    one([*n, c, h, w])
}

/// The axes that `Shape` returns: `start..end`.
fn shape_range(cx: &Cx<'_>, rank: usize) -> Option<std::ops::Range<usize>> {
    let rank = rank as i64;
    let clamp = |n: i64| (if n < 0 { n.saturating_add(rank) } else { n }).clamp(0, rank) as usize;
    let (start, end) = (clamp(cx.int("start")?), clamp(cx.int("end").unwrap_or(rank)));
    Some(start..end.max(start))
}

/// `Shape`.
pub(super) fn shape(cx: &mut Cx<'_>) -> Option<Shapes> {
    let Some(dims) = cx.dims(0) else { return one([None]) };
    one([Some(Dim::Const(shape_range(cx, dims.len())?.len() as i64))])
}

/// `Identity` of a value that is not a tensor.
pub(super) fn identity(cx: &mut Cx<'_>) -> Option<Types> {
    match cx.ty(0)? {
        Type::Tensor { .. } | Type::Unknown => None,
        other => Some(smallvec![other.clone()]),
    }
}

/// The elements of the first input, as they are.
pub(super) fn kept(cx: &mut Cx<'_>) -> Option<Contents> {
    held(cx.contents(0)?)
}

/// `Unsqueeze`: still of rank 0 or 1 only when a single element gains its first axis.
pub(super) fn unsqueezed(cx: &mut Cx<'_>) -> Option<Contents> {
    let one_axis = cx.ints(1)?.len() == 1 && cx.dims(0)?.is_empty();
    held(cx.contents(0).filter(|_| one_axis)?)
}

/// `Reshape` to one axis or none.
pub(super) fn reshaped(cx: &mut Cx<'_>) -> Option<Contents> {
    held(cx.contents(0).filter(|_| matches!(cx.dims(1), Some([Some(Dim::Const(0 | 1))])))?)
}

/// `Shape`.
pub(super) fn extents(cx: &mut Cx<'_>) -> Option<Contents> {
    let dims = cx.dims(0)?;
    let dims = &dims[shape_range(cx, dims.len())?];
    // A size that is not known is still one number, the same wherever this value goes.
    held(dims.iter().map(|d| d.unwrap_or_else(|| cx.symbols.opaque())).collect())
}

/// `Size`.
pub(super) fn size(cx: &mut Cx<'_>) -> Option<Contents> {
    held(smallvec![cx.product(cx.dims(0)?)?])
}

/// `Expand` of one axis.
pub(super) fn expanded(cx: &mut Cx<'_>) -> Option<Contents> {
    let value = cx.contents(0)?;
    held(match (&value[..], &cx.ints(1)?[..]) {
        ([one], [n @ 1..=64]) => smallvec![*one; *n as usize],
        (_, [1] | []) => value,
        _ => return None,
    })
}

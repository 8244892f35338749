//! Other shapes of the same elements.

pub(super) mod infer;

use super::call::{Call, axis, one, sizes};
use super::error::invalid;
use super::infer::broadcast;
use super::strides::{Walk, broadcast, dense, expand, volume};
use super::{Axes, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("DepthToSpace").moves().infer(infer::depth_to_space).eval(depth_to_space),
    Op::new("Expand")
        .moves()
        .axes(Axes::PerAxis(&[(1, 1)]))
        .infer(infer::expand)
        .contents(infer::expanded)
        .eval(expanded),
    Op::new("Flatten").reshapes().infer(infer::flatten).eval(flatten),
    Op::new("Identity")
        .elementwise()
        .reshapes()
        .types(infer::identity)
        .contents(infer::kept)
        .eval(|c| Ok(c.value(0).cloned().into_iter().collect())),
    Op::new("Reshape").reshapes().infer(infer::reshape).contents(infer::reshaped).eval(reshape),
    Op::new("Shape").infer(infer::shape).contents(infer::extents).eval(shape),
    Op::new("Size")
        .infer(broadcast::scalar)
        .contents(infer::size)
        .eval(|c| one(Tensor::of_longs(Vec::new(), [c.tensor(0)?.len() as i64])?)),
    Op::new("SpaceToDepth").moves().infer(infer::space_to_depth).eval(space_to_depth),
    Op::new("Squeeze").reshapes().infer(infer::squeeze).contents(infer::kept).eval(squeeze),
    Op::new("Tile").moves().axes(Axes::PerAxis(&[(1, 1)])).infer(infer::tile).eval(tile),
    Op::new("Transpose").moves().infer(infer::transpose).eval(transpose),
    Op::new("Unsqueeze").reshapes().infer(infer::unsqueeze).contents(infer::unsqueezed).eval(unsqueeze),
];

/// The axes of `x` in the order `perm`.
pub(super) fn permuted(c: &Call<'_>, x: &Tensor, perm: &[usize]) -> Res<Tensor> {
    let mut seen = perm.to_vec();
    seen.sort_unstable();
    if seen.iter().copied().ne(0..x.rank()) {
        return invalid!("{perm:?} does not order the {} axes", x.rank());
    }
    let strides = dense(x.shape());
    let shape: Vec<usize> = perm.iter().map(|p| x.dim(*p)).collect();
    let strides: Vec<isize> = perm.iter().filter_map(|p| strides.get(*p).copied()).collect();
    c.count(&shape)?;
    let walk = Walk::new(&shape, &strides, 0);
    x.pick(shape, walk)
}

fn transpose(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let perm = match c.ints("perm") {
        Some(perm) => sizes(perm)?,
        None => (0..x.rank()).rev().collect(),
    };
    one(permuted(c, x, &perm)?)
}

/// 0 keeps a size unless `allowzero` says otherwise; -1 is the rest.
fn reshape(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let target = match c.longs(1)? {
        Some(target) => target,
        None => c.ints("shape").unwrap_or_default().to_vec(),
    };
    let zero = c.flag("allowzero");
    let mut open = None;
    let mut shape = Vec::with_capacity(target.len());
    for (index, extent) in target.iter().enumerate() {
        shape.push(match extent {
            0 if !zero => match x.shape().get(index) {
                Some(extent) => *extent,
                None => {
                    return invalid!("dimension {index} of {target:?} copies an axis that does not exist");
                }
            },
            -1 if open.replace(index).is_some() => return invalid!("{target:?} leaves two sizes open"),
            -1 => 1,
            n => {
                usize::try_from(*n).map_err(|_| super::Error::invalid(format!("the size {n} is negative")))?
            }
        });
    }
    if let Some(open) = open {
        let others = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
        match others.and_then(|others| x.len().checked_div(others)) {
            Some(rest) => shape[open] = rest,
            None => return invalid!("the inferred size of {target:?} is unknown"),
        }
    }
    one(x.reshaped(shape)?)
}

fn flatten(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let at = match c.int("axis")? {
        n if n == x.rank() as i64 => x.rank(),
        n => axis(n, x.rank())?,
    };
    let (outer, inner) = x.shape().split_at(at);
    one(x.reshaped(vec![volume(outer), volume(inner)])?)
}

fn squeeze(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let axes = match c.axes(1, x.rank())? {
        Some(axes) => axes,
        None => (0..x.rank()).filter(|axis| x.dim(*axis) == 1).collect(),
    };
    if let Some(axis) = axes.iter().find(|axis| x.dim(**axis) != 1) {
        return invalid!("axis {axis} of shape {:?} is not of size 1", x.shape());
    }
    let kept = x.shape().iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d);
    one(x.reshaped(kept.collect())?)
}

fn unsqueeze(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let count = c.longs(1)?.or_else(|| c.ints("axes").map(<[i64]>::to_vec)).map_or(0, |axes| axes.len());
    let rank = x.rank().saturating_add(count);
    let mut axes = c.axes(1, rank)?.unwrap_or_default();
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return invalid!("the axes {axes:?} name one twice");
    }
    let mut shape = x.shape().to_vec();
    for axis in axes {
        shape.insert(axis, 1);
    }
    one(x.reshaped(shape)?)
}

fn expanded(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let target = sizes(&c.longs(1)?.unwrap_or_default())?;
    let shape = broadcast([x.shape(), &target])?;
    c.count(&shape)?;
    let walk = expand(x.shape(), &shape);
    one(x.pick(shape, walk)?)
}

fn tile(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let mut repeats = sizes(&c.longs(1)?.unwrap_or_default())?;
    if c.opset < 6 {
        // One axis was named beside a number of tiles.
        let (tiles, at) = (repeats.first().copied().unwrap_or(1), c.long(2)?.unwrap_or(0));
        repeats = vec![1; x.rank()];
        repeats[axis(at, x.rank())?] = tiles;
    }
    if repeats.len() != x.rank() {
        return invalid!("{} repeats are given for {} axes", repeats.len(), x.rank());
    }
    // Each axis is two: the repeats, over which the walk stands still, and the size.
    let pairs = repeats.iter().zip(x.shape()).zip(dense(x.shape()));
    let (split, strides): (Vec<usize>, Vec<isize>) =
        pairs.flat_map(|((repeat, extent), stride)| [(*repeat, 0), (*extent, stride)]).unzip();
    c.count(&split)?;
    let shape = repeats.iter().zip(x.shape()).map(|(r, d)| r.saturating_mul(*d)).collect();
    one(x.pick(shape, Walk::new(&split, &strides, 0))?)
}

/// The sizes from `start` to `end`.
fn shape(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let rank = x.rank() as i64;
    let clamp = |n: i64| (if n < 0 { n.saturating_add(rank) } else { n }).clamp(0, rank) as usize;
    let (start, end) = (clamp(c.int("start")?), clamp(c.int_if_any("end").unwrap_or(rank)));
    let extents = x.shape().get(start..end).unwrap_or_default();
    one(Tensor::of_longs(vec![extents.len()], extents.iter().map(|d| *d as i64))?)
}

fn block_size(c: &Call<'_>) -> Res<usize> {
    match usize::try_from(c.int("blocksize")?) {
        Ok(block) if block > 0 => Ok(block),
        _ => invalid!("the attribute `blocksize` is not positive"),
    }
}

fn depth_to_space(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, b) = (c.tensor(0)?, block_size(c)?);
    let [n, ch, h, w] = *x.shape() else { return invalid!("the input has {} axes, not 4", x.rank()) };
    let inner = ch.checked_div(b.saturating_mul(b)).unwrap_or(0);
    let (split, perm) = match c.text("mode")? {
        "DCR" => ([n, b, b, inner, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, inner, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return invalid!("unknown mode `{other}`"),
    };
    let moved = permuted(c, &x.reshaped(split.to_vec())?, &perm)?;
    one(moved.reshaped(vec![n, inner, h.saturating_mul(b), w.saturating_mul(b)])?)
}

fn space_to_depth(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, b) = (c.tensor(0)?, block_size(c)?);
    let [n, ch, h, w] = *x.shape() else { return invalid!("the input has {} axes, not 4", x.rank()) };
    let perm = match c.text("mode")? {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return invalid!("unknown mode `{other}`"),
    };
    let (rows, columns) = (h.checked_div(b).unwrap_or(0), w.checked_div(b).unwrap_or(0));
    let split = x.reshaped(vec![n, ch, rows, b, columns, b])?;
    let channels = ch.saturating_mul(b).saturating_mul(b);
    one(permuted(c, &split, &perm)?.reshaped(vec![n, channels, rows, columns])?)
}

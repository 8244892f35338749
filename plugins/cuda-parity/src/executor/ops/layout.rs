//! Shapes, and orders of axes.

use onnxport_ir::ops::strides::broadcast;
use onnxport_ir::ops::{Error, Res, Tensor};
use onnxport_ir::tensor::DType;

use super::moves::{kernel, picked};
use super::{Line, Operand, Pointer, Request, Step, Work, dense, spread, volume};
use crate::executor::device::Grid;

pub(super) const OPS: &[Line] = &[
    ("DepthToSpace", &[], depth_to_space),
    ("Dropout", &[1, 2], dropout),
    ("Expand", &[1], expand),
    ("Flatten", &[], flatten),
    ("Identity", &[], |r| same(r, |x| Ok(x.shape.clone()))),
    ("Reshape", &[1], reshape),
    ("SpaceToDepth", &[], space_to_depth),
    ("Squeeze", &[1], squeeze),
    ("Tile", &[1], tile),
    ("Transpose", &[], transpose),
    ("Trilu", &[1], triangle),
    ("Unsqueeze", &[1], unsqueeze),
];

pub(super) fn invalid<T>(message: String) -> Res<T> {
    Err(Error::invalid(message))
}

/// Sizes that must not be negative.
pub(super) fn sizes(items: &[i64]) -> Res<Vec<usize>> {
    let size = |n: &i64| usize::try_from(*n).map_err(|_| Error::invalid(format!("the size {n} is negative")));
    items.iter().map(size).collect()
}

/// `axis` counted from the front.
pub(super) fn front(axis: i64, rank: usize) -> Res<usize> {
    let from = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(from) {
        Ok(at) if at < rank => Ok(at),
        _ => invalid(format!("axis {axis} is out of range for rank {rank}")),
    }
}

/// The first input in another shape.
#[expect(clippy::unnecessary_wraps, reason = "what a planner returns")]
fn view(x: &Operand, shape: Vec<usize>) -> Res<Option<Work>> {
    Ok(Some(Work::view(0, x.dtype, shape)))
}

fn same(r: &Request<'_, '_>, shape: impl Fn(&Operand) -> Res<Vec<usize>>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let shape = shape(x)?;
    if volume(&shape) != volume(&x.shape) {
        return invalid(format!("{:?} elements do not fit the shape {shape:?}", x.shape));
    }
    view(x, shape)
}

/// In inference nothing is dropped; the mask that nobody dropped is left to the processor.
fn dropout(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let training = r.call.optional(2)?.map(Tensor::bools).transpose()?.is_some_and(|b| b.contains(&true));
    let old = r.call.opset < 7 && !r.call.flag("is_test");
    if training || old || r.call.outputs() > 1 { Ok(None) } else { same(r, |x| Ok(x.shape.clone())) }
}

fn reshape(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let target = match r.call.longs(1)? {
        Some(target) => target,
        None => r.call.ints("shape").unwrap_or_default().to_vec(),
    };
    let zero = r.call.flag("allowzero");
    same(r, |x| {
        let mut open = None;
        let mut shape = Vec::with_capacity(target.len());
        for (index, extent) in target.iter().enumerate() {
            shape.push(match extent {
                0 if !zero => match x.shape.get(index) {
                    Some(extent) => *extent,
                    None => return invalid(format!("size {index} of {target:?} copies no axis")),
                },
                -1 if open.replace(index).is_some() => {
                    return invalid(format!("{target:?} leaves two sizes open"));
                }
                -1 => 1,
                n => *sizes(&[*n])?.first().unwrap_or(&0),
            });
        }
        if let Some(slot) = open.and_then(|open| shape.get(open).map(|_| open)) {
            let others = volume(&shape);
            match volume(&x.shape).checked_div(others) {
                Some(rest) => shape[slot] = rest,
                None => return invalid(format!("the inferred size of {target:?} is unknown")),
            }
        }
        Ok(shape)
    })
}

fn flatten(r: &Request<'_, '_>) -> Res<Option<Work>> {
    same(r, |x| {
        let rank = x.shape.len();
        let at = match r.call.int("axis")? {
            n if n == rank as i64 => rank,
            n => front(n, rank)?,
        };
        let (outer, inner) = x.shape.split_at(at);
        Ok(vec![volume(outer), volume(inner)])
    })
}

fn squeeze(r: &Request<'_, '_>) -> Res<Option<Work>> {
    same(r, |x| {
        let axes = match r.call.axes(1, x.shape.len())? {
            Some(axes) => axes,
            None => (0..x.shape.len()).filter(|axis| x.shape.get(*axis) == Some(&1)).collect(),
        };
        if let Some(axis) = axes.iter().find(|axis| x.shape.get(**axis) != Some(&1)) {
            return invalid(format!("axis {axis} of shape {:?} is not of size 1", x.shape));
        }
        Ok(x.shape.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d).collect())
    })
}

fn unsqueeze(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let given = match r.call.longs(1)? {
        Some(axes) => axes,
        None => r.call.ints("axes").unwrap_or_default().to_vec(),
    };
    same(r, |x| {
        let rank = x.shape.len() + given.len();
        let mut axes = given.iter().map(|a| front(*a, rank)).collect::<Res<Vec<usize>>>()?;
        axes.sort_unstable();
        axes.dedup();
        if axes.len() != given.len() {
            return invalid(format!("the axes {given:?} name one twice"));
        }
        let mut shape = x.shape.clone();
        for axis in axes {
            shape.insert(axis, 1);
        }
        Ok(shape)
    })
}

/// One result whose elements one step moves.
pub(super) fn one(dtype: DType, shape: Vec<usize>, step: Option<Step>) -> Option<Work> {
    step.map(|step| Work::new(dtype, shape, vec![step]))
}

fn transpose(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let rank = x.shape.len();
    let perm = match r.call.ints("perm") {
        Some(perm) => sizes(perm)?,
        None => (0..rank).rev().collect(),
    };
    let mut sorted = perm.clone();
    sorted.sort_unstable();
    if sorted != (0..rank).collect::<Vec<_>>() {
        return invalid(format!("{perm:?} is not a permutation of {rank} axes"));
    }
    Ok(transposed(x, &x.shape, &perm, None))
}

/// The elements of `x`, seen in the shape `split`, with the axes in another order; in the shape `out` if it is given.
fn transposed(x: &Operand, split: &[usize], perm: &[usize], out: Option<Vec<usize>>) -> Option<Work> {
    let own = dense(split);
    let shape: Vec<usize> = perm.iter().filter_map(|p| split.get(*p).copied()).collect();
    let steps = perm.iter().filter_map(|p| own.get(*p).copied()).collect();
    let step = picked(x.dtype, &shape, 0, steps);
    one(x.dtype, out.unwrap_or(shape), step)
}

fn expand(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let target = sizes(&r.call.longs(1)?.unwrap_or_default())?;
    let shape = broadcast([x.shape.as_slice(), target.as_slice()])?;
    let step = picked(x.dtype, &shape, 0, spread(&x.shape, &shape));
    Ok(one(x.dtype, shape, step))
}

fn tile(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let repeats = sizes(&r.call.longs(1)?.unwrap_or_default())?;
    if r.call.opset < 6 {
        return Ok(None);
    }
    if repeats.len() != x.shape.len() {
        return invalid(format!("{} repeats are given for {} axes", repeats.len(), x.shape.len()));
    }
    // Each axis is two: the repeats, over which the walk stands still, and the size.
    let pairs = repeats.iter().zip(&x.shape).zip(dense(&x.shape));
    let (split, steps): (Vec<usize>, Vec<i64>) =
        pairs.flat_map(|((repeat, extent), step)| [(*repeat, 0), (*extent, step)]).unzip();
    let shape = repeats.iter().zip(&x.shape).map(|(r, d)| r * d).collect();
    let step = picked(x.dtype, &split, 0, steps);
    Ok(one(x.dtype, shape, step))
}

fn block<'a>(r: &Request<'a, '_>) -> Res<(&'a Operand, [usize; 4], usize)> {
    let x = r.operand(0)?;
    let block = usize::try_from(r.call.int("blocksize")?).unwrap_or(0);
    match *x.shape {
        [n, c, h, w] if block > 0 => Ok((x, [n, c, h, w], block)),
        _ => invalid(format!("shape {:?} and the block size {block} do not fit", x.shape)),
    }
}

fn depth_to_space(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (x, [n, c, h, w], b) = block(r)?;
    let inner = c / b.saturating_mul(b);
    if inner * b * b != c {
        return invalid(format!("{c} channels do not make blocks of {b}"));
    }
    let (split, perm) = match r.call.text("mode")? {
        "DCR" => ([n, b, b, inner, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, inner, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        other => return invalid(format!("unknown mode `{other}`")),
    };
    Ok(transposed(x, &split, &perm, Some(vec![n, inner, h * b, w * b])))
}

fn space_to_depth(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let (x, [n, c, h, w], b) = block(r)?;
    if h % b != 0 || w % b != 0 {
        return invalid(format!("{h} × {w} does not make blocks of {b}"));
    }
    let perm = match r.call.text("mode")? {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        other => return invalid(format!("unknown mode `{other}`")),
    };
    let split = [n, c, h / b, b, w / b, b];
    Ok(transposed(x, &split, &perm, Some(vec![n, c * b * b, h / b, w / b])))
}

fn triangle(r: &Request<'_, '_>) -> Res<Option<Work>> {
    let x = r.operand(0)?;
    let [.., rows, columns] = *x.shape else { return invalid("there is no matrix".to_owned()) };
    let (k, upper) = (r.call.long(1)?.unwrap_or(0), r.call.flag("upper"));
    let Some(kernel) = kernel("triangle", x.dtype) else { return Ok(None) };
    let count = volume(&x.shape);
    let numbers = vec![count as i64, rows as i64, columns as i64, k, i64::from(upper)];
    let step =
        Step::new(kernel, Grid::Each(count as u64), vec![Pointer::Input(0), Pointer::Output(0)], numbers);
    Ok(one(x.dtype, x.shape.clone(), Some(step)))
}

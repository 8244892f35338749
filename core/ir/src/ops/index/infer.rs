//! Shapes of what is picked by index.

use crate::ops::infer::cx::{Cx, Dims, Shapes, axis, one};
use crate::sym::Dim;

/// `Gather`.
pub(super) fn gather(cx: &mut Cx<'_>) -> Option<Shapes> {
    let (data, indices) = (cx.dims(0)?, cx.dims(1)?);
    let at = cx.axis(0, data.len())?;
    one(data[..at].iter().chain(indices).chain(&data[at + 1..]).copied())
}

/// `GatherElements`.
pub(super) fn gather_elements(cx: &mut Cx<'_>) -> Option<Shapes> {
    one(cx.dims(1)?.iter().copied())
}

/// `GatherND`.
pub(super) fn gather_nd(cx: &mut Cx<'_>) -> Option<Shapes> {
    let (data, indices) = (cx.dims(0)?, cx.dims(1)?);
    let [outer @ .., Some(Dim::Const(depth))] = indices else { return None };
    let batch = usize::try_from(cx.int("batch_dims", 0)).ok()?;
    let inner = data.get(batch.checked_add(usize::try_from(*depth).ok()?)?..)?;
    one(outer.iter().chain(inner).copied())
}

/// `OneHot`.
pub(super) fn one_hot(cx: &mut Cx<'_>) -> Option<Shapes> {
    let indices = cx.dims(0)?;
    let at = cx.axis(-1, indices.len() + 1)?;
    let depth = cx.contents(1).filter(|d| d.len() == 1).map(|d| d[0]);
    let mut out: Dims = indices.into();
    out.insert(at, depth);
    one(out)
}

/// `NonZero`.
pub(super) fn non_zero(cx: &mut Cx<'_>) -> Option<Shapes> {
    one([cx.dims(0).map(|d| Dim::Const(d.len() as i64)), None])
}

/// `Compress`.
pub(super) fn compress(cx: &mut Cx<'_>) -> Option<Shapes> {
    let Some(at) = cx.node.int("axis") else { return one([None]) };
    let mut out: Dims = cx.dims(0)?.into();
    let at = axis(at, out.len())?;
    out[at] = None;
    one(out)
}

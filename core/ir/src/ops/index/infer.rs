//! Shapes of results selected by index.

use crate::ops::infer::cx::{Contents, Cx, Dims, Shapes, axis, held, one};
use crate::sym::Dim;

/// `Gather`.
pub(super) fn gather(cx: &mut Cx<'_>) -> Option<Shapes> {
    let (data, indices) = (cx.dims(0)?, cx.dims(1)?);
    let at = cx.axis(data.len())?;
    within(cx, 1, data[at])?;
    one(data[..at].iter().chain(indices).chain(data.iter().skip(at).skip(1)).copied())
}

/// `Gather` from a list.
pub(super) fn gathered(cx: &mut Cx<'_>) -> Option<Contents> {
    let (data, picks) = (cx.contents(0)?, cx.ints(1)?);
    held(picks.iter().map(|p| Some(data[axis(*p, data.len())?])).collect::<Option<_>>()?)
}

/// Refutes constant indices beyond a size, unless the node may never run.
fn within(cx: &mut Cx<'_>, index: usize, extent: Option<Dim>) -> Option<()> {
    let Some(Dim::Const(n)) = extent.filter(|_| cx.always_runs()) else { return Some(()) };
    let picks = cx.contents(index).unwrap_or_default();
    let odd = picks.iter().filter_map(|d| d.as_const()).find(|p| !(n.saturating_neg()..n).contains(p));
    cx.demand(odd.is_none(), || format!("the index {} is beyond the size {n}", odd.unwrap_or_default()))
}

/// `GatherElements`.
pub(super) fn gather_elements(cx: &mut Cx<'_>) -> Option<Shapes> {
    let (data, indices) = (cx.dims(0), cx.dims(1)?);
    if let Some(data) = data {
        cx.rank(1, data.len())?;
        let at = cx.axis(data.len())?;
        for (axis, (data, index)) in data.iter().zip(indices).enumerate().filter(|(axis, _)| *axis != at) {
            if let (Some(Dim::Const(data)), Some(Dim::Const(index))) = (data, index) {
                cx.demand(index <= data, || format!("there are {index} indices for {data} in axis {axis}"))?;
            }
        }
    }
    one(indices.iter().copied())
}

/// `ScatterElements` and `Scatter`.
pub(super) fn scatter_elements(cx: &mut Cx<'_>) -> Option<Shapes> {
    let data = cx.dims(0)?;
    cx.rank(1, data.len())?;
    cx.rank(2, data.len())?;
    cx.axis(data.len())?;
    if let (Some(indices), Some(updates)) = (cx.dims(1), cx.dims(2)) {
        for (axis, (a, b)) in indices.iter().zip(updates).enumerate() {
            cx.equal(*a, *b, &format!("indices and updates differ in axis {axis}"))?;
        }
    }
    one(data.iter().copied())
}

/// `ScatterND`.
pub(super) fn scatter_nd(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank_from(0, 1)?;
    cx.rank_from(1, 1)?;
    let data = cx.dims(0)?;
    if let Some([outer @ .., Some(Dim::Const(depth))]) = cx.dims(1) {
        let inner = usize::try_from(*depth).ok().and_then(|depth| data.get(depth..));
        let Some(inner) = inner else {
            return cx.refute(format!("indices of depth {depth} do not fit {} axes", data.len()));
        };
        cx.rank(2, outer.len().saturating_add(inner.len()))?;
        for (to, update) in outer.iter().chain(inner).zip(cx.dims(2).unwrap_or_default()) {
            cx.equal(*to, *update, "the updates have another size than the indexed slice")?;
        }
    }
    one(data.iter().copied())
}

/// `GatherND`.
pub(super) fn gather_nd(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank_from(0, 1)?;
    cx.rank_from(1, 1)?;
    let (data, indices) = (cx.dims(0)?, cx.dims(1)?);
    let [outer @ .., Some(Dim::Const(depth))] = indices else { return None };
    let batch = usize::try_from(cx.int("batch_dims")?).ok()?;
    for (a, b) in data.iter().zip(outer).take(batch) {
        cx.equal(*a, *b, "the batches differ")?;
    }
    let Some(inner) = data.get(batch.checked_add(usize::try_from(*depth).ok()?)?..) else {
        return cx.refute(format!("indices of depth {depth} do not fit {} axes", data.len()));
    };
    one(outer.iter().chain(inner).copied())
}

/// `OneHot`.
pub(super) fn one_hot(cx: &mut Cx<'_>) -> Option<Shapes> {
    let indices = cx.dims(0)?;
    let at = cx.axis(indices.len().saturating_add(1))?;
    cx.counts(2, 2, "values, off and on")?;
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
    let at = cx.exists(at, out.len())?;
    out[at] = None;
    one(out)
}

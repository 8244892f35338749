//! Shapes of operators that repeat, pad and resample.

use super::{Cx, Extent, Meta, Stop, contradiction, extents, traced};
use crate::sym::Dim;

/// `repeat(repeats)`: repetitions along each axis; new axes come first.
pub(super) fn repeat(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (shape, mut result) = (&cx.operand(0)?.shape, cx.dims(0)?);
    let Some(added) = result.len().checked_sub(shape.len()) else {
        return contradiction(format!("{} axes are repeated {} times", shape.len(), result.len()));
    };
    for (times, dim) in result.iter_mut().skip(added).zip(shape) {
        *times = cx.judge.symbols.mul(*times, *dim);
    }
    Ok(extents(&result))
}

/// `tile(repeats)`: repetitions along the last axes, or of new first ones.
pub(super) fn tile(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (shape, repeats) = (&cx.operand(0)?.shape, cx.dims(0)?);
    let mut result = vec![Dim::Const(1); shape.len().max(repeats.len())];
    for factors in [shape, &repeats] {
        for (place, factor) in result.iter_mut().rev().zip(factors.iter().rev()) {
            *place = cx.judge.symbols.mul(*place, *factor);
        }
    }
    Ok(extents(&result))
}

/// `pad(pad)`: elements before and after, from the last axis on.
pub(super) fn pad(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let (mut shape, pads) = (cx.operand(0)?.shape.clone(), cx.dims(0)?);
    if pads.len() % 2 != 0 || pads.len() / 2 > shape.len() {
        return contradiction(format!("{} axes are padded with {} numbers", shape.len(), pads.len()));
    }
    for (dim, sides) in shape.iter_mut().rev().zip(pads.chunks(2)) {
        for side in sides {
            *dim = cx.judge.symbols.add(*dim, *side);
        }
    }
    Ok(extents(&shape))
}

/// The axes before the last `spatial` ones: channels, and perhaps a batch.
pub(super) fn leading(shape: &[Dim], spatial: usize) -> Meta<&[Dim]> {
    match shape.len().checked_sub(spatial) {
        Some(count @ (1 | 2)) => Ok(shape.get(..count).unwrap_or_default()),
        _ => contradiction(format!("a tensor of rank {} has no {spatial} spatial axes", shape.len())),
    }
}

/// `resize(spatial, size)`: the last axes get these extents.
pub(super) fn resize(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let shape = &cx.operand(0)?.shape;
    let spatial = usize::try_from(cx.int(0)?).map_err(|_| Stop::Unknown)?;
    let head = leading(shape, spatial)?;
    // Without sizes, factors decide, which round.
    let sizes = if cx.is_none(1) { vec![Extent::Unknown; spatial] } else { extents(&cx.spread(1, spatial)?) };
    Ok(extents(head).into_iter().chain(sizes).collect())
}

/// `pixel_shuffle(factor)`: channels become pixels.
pub(super) fn shuffle(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let channels = cx.operand(0)?.shape.iter().rev().nth(2).and_then(|dim| cx.judge.traced(*dim));
    let factor = cx.int(0)?;
    let rest = channels.zip(factor.checked_mul(factor)).and_then(|(c, area)| c.checked_rem(area));
    if rest.is_some_and(|rest| rest != 0) {
        return contradiction(format!("the channels are not a multiple of {factor} times {factor}"));
    }
    shuffled(cx, |c, f| c.checked_div(f.checked_mul(f)?), i64::checked_mul)
}

/// `pixel_unshuffle(factor)`: pixels become channels.
pub(super) fn unshuffle(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    shuffled(cx, |c, f| c.checked_mul(f)?.checked_mul(f), i64::checked_div)
}

type Scale = fn(i64, i64) -> Option<i64>;

fn shuffled(cx: &mut Cx<'_>, channels: Scale, pixels: Scale) -> Meta<Vec<Extent>> {
    let (shape, factor) = (&cx.operand(0)?.shape, cx.int(0)?);
    let [batch @ .., c, h, w] = shape.as_slice() else {
        return contradiction(format!("it has {} axes", shape.len()));
    };
    let mut result = extents(batch);
    for (dim, scale) in [(c, channels), (h, pixels), (w, pixels)] {
        result.push(traced(cx.judge, [*dim], |[n]| scale(n, factor)));
    }
    Ok(result)
}

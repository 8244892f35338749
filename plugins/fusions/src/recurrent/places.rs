//! Values that are steps of a sequence.

use onnxport_sdk::prelude::*;

use super::cells::made_by;

/// One index of a tensor with three axes along one of the first two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slice<'h> {
    pub(super) x: ValueRef<'h>,
    pub(super) axis: i64,
    pub(super) index: i64,
}

impl<'h> Slice<'h> {
    /// Reads `value` as a slice: gathered, one of equal parts, or the last state of a layer.
    pub(super) fn from_value(value: ValueRef<'h>) -> Option<Self> {
        let found = gathered(value).or_else(|| part(value)).or_else(|| last(value))?;
        let fits = found.x.rank() == Some(3) && (0..2).contains(&found.axis) && found.index >= 0;
        fits.then_some(found)
    }
}

/// The only element of a constant.
fn only(value: ValueRef<'_>) -> Option<i64> {
    match value.constant()?.ints()?[..] {
        [only] => Some(only),
        _ => None,
    }
}

fn gathered(value: ValueRef<'_>) -> Option<Slice<'_>> {
    let gather = made_by(value, op::Gather)?.as_op(op::Gather)?;
    let (x, index) = (gather.input(0)?, gather.input(1)?);
    // An index with an axis keeps the axis.
    (index.rank() == Some(0)).then_some(())?;
    Some(Slice { x, axis: gather.axis()?, index: only(index)? })
}

/// A squeezed part of size 1.
fn part(value: ValueRef<'_>) -> Option<Slice<'_>> {
    let squeeze = made_by(value, op::Squeeze)?;
    let (split, at) = squeeze.input(0)?.producer()?;
    let split = split.as_op(op::Split)?;
    let axis = split.axis()?;
    let each = |part: Option<ValueRef<'_>>| {
        let extent = part?.shape()?.get(usize::try_from(axis).ok()?)?.as_const()?;
        (extent == 1).then_some(())
    };
    split.outputs().into_iter().try_for_each(each)?;
    (only(squeeze.input(1)?)? == axis).then_some(())?;
    Some(Slice { x: split.input(0)?, axis, index: i64::try_from(at).ok()? })
}

/// The last state of a layer, whose states are all there as well.
fn last(value: ValueRef<'_>) -> Option<Slice<'_>> {
    let squeeze = made_by(value, op::Squeeze)?;
    let (layer, at) = squeeze.input(0)?.producer()?;
    let is_forward = layer.str("direction").is_some_and(|direction| direction == "forward");
    // Sequences of other lengths end before the last step.
    if at != 1 || !(layer.is(op::LSTM) || layer.is(op::GRU)) || !is_forward || layer.input(4).is_some() {
        return None;
    }
    let all = layer.output(0)?.uses().into_iter().find_map(|(node, _)| {
        let is_last = node.is(op::Squeeze) && only(node.input(1)?)? == 1;
        is_last.then(|| node.output(0))?
    })?;
    let steps = all.shape()?.first()?.as_const()?;
    Some(Slice { x: all, axis: 0, index: steps.checked_sub(1)? })
}

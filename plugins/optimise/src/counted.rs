//! Elements that are picked by numbers that are counted, in the order in which they lie.

use onnxport_sdk::prelude::*;

use crate::rewriting::{axes_of, axis_of, ints, is_one, known, made};

rules! {
    #![class = exact]

    /// Replaces a `Gather` with the indices 0, 1, … by a `Slice`.
    gather_of_range (opset = 13..): Gather(x, shared Range(0, limit, 1), axis = axis)
        => in_order(cx, x, limit, axis, &[]);

    /// Replaces a `Gather` with the indices 0, 1, … and further axes by a `Slice`. Padding masks are gathered in this
    /// way.
    gather_of_range_with_axes (opset = 13..): Gather(x, shared Unsqueeze(shared Range(0, limit, 1), const axes), axis = axis)
        => in_order(cx, x, limit, axis, &ints(axes)?);

    /// Replaces a `Gather` of all elements of an axis in order, by constant indices with further axes, by an
    /// `Unsqueeze`.
    gather_of_all_with_axes (opset = 13..): Gather(x, const indices, axis = axis)
        => listed(cx, x, indices, axis);
}

/// The first `limit` elements of `x` along `axis`, with axes of one element where `added` says that the numbers have them. Where
/// `x` has fewer, gathering them is an error.
fn in_order<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    limit: ValueRef<'h>,
    axis: &Attribute,
    added: &[i64],
) -> Res<ValueRef<'h>> {
    let rank = x.rank().ok_or("the rank is not known")?;
    let axis = axis_of(axis.int().ok_or("it has no axis")?, rank)?;
    let contents = limit.contents().unwrap_or_default();
    let [count] = contents[..] else { return Err("it is not known how many are counted".into()) };
    if limit.dtype() != Some(DType::I64) || cx.matched().graph().dim_range(count).min < 0 {
        return Err("fewer than none may be counted".into());
    }
    let added = axes_of(added, added.len() + 1)?;
    let along = (0..=added.len()).find(|at| !added.contains(at)).ok_or("an axis is added twice")?;
    let extent = x.shape().and_then(|shape| shape.get(axis).copied()).unwrap_or(Dim::Unknown);
    let taken = if is_one(extent, count) { x } else { first(cx, x, limit, axis) };
    // There are as many, or gathering them would be an error.
    if let (Ok(mut shape), Some(dtype)) = (known(x), x.dtype())
        && let Some(own) = shape.get_mut(axis).filter(|_| count != Dim::Unknown && !is_one(extent, count))
    {
        *own = count;
        cx.set_type(taken, dtype, Some(&shape));
    }
    Ok(unsqueezed(cx, taken, axis, along, added.len()))
}

/// As many elements of `x` along `axis` as `limit` says.
fn first<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, limit: ValueRef<'h>, axis: usize) -> ValueRef<'h> {
    let list = made(Some(limit)).ok().filter(|node| node.is(op::Squeeze)).and_then(|node| node.input(0));
    let zero = cx.ints(&[0]);
    let list = list.filter(|list| list.rank() == Some(1));
    let ends = list.unwrap_or_else(|| cx.op(op::Unsqueeze).input(limit).input(zero).one());
    cx.op(op::Slice).input(x).input(zero).input(ends).input(cx.ints(&[axis as i64])).one()
}

/// `x` with `count` axes of one element about `axis`, which comes to be the one at `along` among them.
fn unsqueezed<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    axis: usize,
    along: usize,
    count: usize,
) -> ValueRef<'h> {
    let axes: Vec<i64> = (0..=count).filter(|at| *at != along).map(|at| (axis + at) as i64).collect();
    if axes.is_empty() { x } else { cx.op(op::Unsqueeze).input(x).input(cx.ints(&axes)).one() }
}

fn listed<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    indices: ValueRef<'h>,
    axis: &Attribute,
) -> Res<ValueRef<'h>> {
    let shape = known(x)?;
    let axis = axis_of(axis.int().ok_or("it has no axis")?, shape.len())?;
    let extents = indices.extents().filter(|extents| extents.len() > 1).ok_or("it has no further axes")?;
    let found = ints(indices)?;
    let all = shape.get(axis).is_some_and(|extent| extent.is(found.len() as i64));
    if !all || !found.iter().zip(0..).all(|(index, place)| *index == place) {
        return Err("it gathers others, or in another order".into());
    }
    let mut wide = extents.iter().enumerate().filter(|(_, extent)| **extent != 1);
    let along = wide.next().map_or(0, |(at, _)| at);
    if wide.next().is_some() {
        return Err("the list has several axes".into());
    }
    Ok(unsqueezed(cx, x, axis, along, extents.len() - 1))
}

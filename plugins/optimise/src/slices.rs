//! Slices, paddings and gatherings of everything, or of a part of a part.

use onnxport_sdk::prelude::*;

use crate::pieces::pieces;
use crate::rewriting::{axes_of, axis_of, ints, known};
use crate::shapes::keeps_shape;

rules! {
    #![class = exact]

    /// Removes a `Slice` of all elements in order.
    slice_of_all: Slice(x, _, _, _axes?, const steps?) if is_whole(matched, x, steps) => x;

    /// Removes a `Slice` of all elements of an axis of unknown size, from the first element to the last.
    slice_without_end:
        Slice(x, const starts, const ends, _axes?, const steps?) if has_no_end(starts, ends, steps) => x;

    /// Merges two consecutive `Slice`s along different axes.
    slice_twice:
        Slice(
            Slice(x, const s, const e, const a, const t?), const starts, const ends, const axes, const steps?
        )
        => merged(cx, x, Cut { starts: s, ends: e, axes: a, steps: t }, Cut { starts, ends, axes, steps });

    /// Replaces a `Slice` of concatenated tensors that lies in one of them by a `Slice` of that tensor.
    slice_of_concat:
        Slice(shared Concat(_, axis = axis, ..), const starts, const ends, const axes, const steps?)
        => of_piece(cx, axis, Cut { starts, ends, axes, steps });

    /// Moves a `Slice` before an `Unsqueeze` whose new axes it does not slice.
    slice_of_new_axes:
        Slice(Unsqueeze(x, const new), starts, ends, const axes, const steps?)
        => before_new_axes(cx, x, new, Cut { starts, ends, axes, steps });

    /// Removes a `Pad` by zero elements.
    pad_by_zero: Pad(x, const pads, ..) if are_zeros(pads) => x;

    /// Removes a `Gather` of all elements of an axis in order.
    gather_of_all: Gather(x, const indices, axis = axis) if is_all(x, indices, axis) => x;
}

/// The operands of a slice behind the first.
#[derive(Clone, Copy)]
struct Cut<'h> {
    starts: ValueRef<'h>,
    ends: ValueRef<'h>,
    axes: ValueRef<'h>,
    steps: Option<ValueRef<'h>>,
}

/// The range of a slice along an axis.
#[derive(Clone, Copy)]
struct Span {
    axis: usize,
    start: i64,
    end: i64,
    step: i64,
}

impl Cut<'_> {
    /// The ranges for a tensor of `rank` axes.
    fn spans(self, rank: usize) -> Res<Vec<Span>> {
        let (starts, ends, axes) = (ints(self.starts)?, ints(self.ends)?, ints(self.axes)?);
        let steps = self.steps.map_or_else(|| Ok(vec![1; axes.len()]), ints)?;
        if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] {
            return Err("its lists differ in length".into());
        }
        let spans = axes.iter().zip(&starts).zip(&ends).zip(&steps);
        spans
            .map(|(((axis, start), end), step)| {
                Ok(Span { axis: axis_of(*axis, rank)?, start: *start, end: *end, step: *step })
            })
            .collect()
    }
}

fn is_whole(matched: &Matched<'_>, x: ValueRef<'_>, steps: Option<ValueRef<'_>>) -> Res<()> {
    forwards(steps)?;
    keeps_shape(matched, x)
}

/// Whether every step is 1.
fn forwards(steps: Option<ValueRef<'_>>) -> Res<()> {
    match steps.map(ints).transpose()? {
        Some(steps) if steps.iter().any(|step| *step != 1) => Err("the steps are not 1".into()),
        _ => Ok(()),
    }
}

fn has_no_end(starts: ValueRef<'_>, ends: ValueRef<'_>, steps: Option<ValueRef<'_>>) -> Res<()> {
    forwards(steps)?;
    let all = ints(starts)?.iter().all(|start| *start == 0) && ints(ends)?.iter().all(|end| *end == i64::MAX);
    if all { Ok(()) } else { Err("it has a beginning or an end".into()) }
}

/// One slice for two along different axes.
fn merged<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, first: Cut<'h>, second: Cut<'h>) -> Res<ValueRef<'h>> {
    let rank = x.rank().ok_or("the rank is not known")?;
    let mut spans = first.spans(rank)?;
    spans.extend(second.spans(rank)?);
    let axes: Vec<i64> = spans.iter().map(|span| span.axis as i64).collect();
    let count = axes.len();
    let mut distinct = axes_of(&axes, rank)?;
    distinct.dedup();
    if distinct.len() != count {
        return Err("both cut one axis".into());
    }
    Ok(cut(cx, x, &spans))
}

fn cut<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, spans: &[Span]) -> ValueRef<'h> {
    let list = |of: fn(&Span) -> i64| -> Vec<i64> { spans.iter().map(of).collect() };
    let (starts, ends) = (cx.ints(&list(|s| s.start)), cx.ints(&list(|s| s.end)));
    let axes = cx.ints(&list(|s| s.axis as i64));
    let node = cx.op(op::Slice).input(x).input(starts).input(ends).input(axes);
    if spans.iter().all(|span| span.step == 1) {
        return node.one();
    }
    node.input(cx.ints(&list(|s| s.step))).one()
}

/// The concatenated tensor that contains the slice, or a slice of it.
fn of_piece<'h>(cx: &Rewrite<'h>, axis: &Attribute, cut_of: Cut<'h>) -> Res<ValueRef<'h>> {
    let joined = cx.matched().root().input(0).ok_or("it has no operand")?;
    let rank = joined.rank().ok_or("the rank is not known")?;
    let axis = axis_of(axis.int().ok_or("it has no axis")?, rank)?;
    let [span] = cut_of.spans(rank)?[..] else { return Err("it cuts several axes".into()) };
    if span.axis != axis || span.step != 1 || span.start < 0 || span.end < 0 {
        return Err("it cuts another axis, backwards, or counts from the end".into());
    }
    let mut at = 0;
    for (piece, extent) in pieces(joined, axis)? {
        let extent = extent.as_const().ok_or("the size of a part is not known")?;
        let behind = at + extent;
        if span.start >= at && span.start < behind && span.end <= behind && span.start < span.end {
            if (span.start, span.end) == (at, behind) {
                return Ok(piece);
            }
            return Ok(cut(cx, piece, &[Span { start: span.start - at, end: span.end - at, ..span }]));
        }
        at = behind;
    }
    Err("it does not lie in one of them".into())
}

/// A slice of `x` in front of the axes `new`, with these operands but for its axes.
fn before_new_axes<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    new: ValueRef<'h>,
    Cut { starts, ends, axes, steps }: Cut<'h>,
) -> Res<ValueRef<'h>> {
    let added = ints(new)?;
    let rank = x.rank().ok_or("the rank is not known")? + added.len();
    let added = axes_of(&added, rank)?;
    let before = |axis: &i64| {
        let axis = axis_of(*axis, rank)?;
        if added.contains(&axis) {
            return Err("it cuts a new axis".into());
        }
        Ok((axis - added.iter().filter(|new| **new < axis).count()) as i64)
    };
    let own = cx.ints(&ints(axes)?.iter().map(before).collect::<Res<Vec<_>>>()?);
    let sliced = cx.op(op::Slice).inputs([x, starts, ends, own].into_iter().chain(steps)).one();
    Ok(cx.op(op::Unsqueeze).input(sliced).input(new).one())
}

fn are_zeros(pads: ValueRef<'_>) -> Res<()> {
    if ints(pads)?.iter().all(|pad| *pad == 0) { Ok(()) } else { Err("it pads something".into()) }
}

fn is_all(x: ValueRef<'_>, indices: ValueRef<'_>, axis: &Attribute) -> Res<()> {
    let shape = known(x)?;
    let axis = axis_of(axis.int().ok_or("it has no axis")?, shape.len())?;
    let ascending = ints(indices)?.iter().zip(0..).all(|(index, place)| *index == place);
    let all = indices.shape().is_some_and(|list| list.len() == 1 && list.first() == shape.get(axis));
    if ascending && all { Ok(()) } else { Err("it gathers others, or in another order".into()) }
}

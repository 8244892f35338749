//! Sorts of which only the first elements are read.

use onnxport_sdk::prelude::*;

rules! {
    // With NaN, runtimes do not agree with themselves about the order.
    #![class = bounded(ulps = 1, finite)]

    /// Replaces the first elements of a sort and their indices by a `TopK`.
    first_of_sorted (opset = 13..):
        let sorted = shared TopK(x, const count, axis = axis, largest = largest, sorted = 1);
        (Slice(sorted, 0, const end, const along, step?), Slice(sorted.1, 0, const until, const beside, pace?))
        if keeps(x, axis, along, [count, end])
            .and_then(|()| keeps(x, axis, beside, [count, until]))
            .and_then(|()| each(step))
            .and_then(|()| each(pace))
            .and_then(|()| alike(end, until))
        => firsts(cx, x, end, [axis, largest]);

    /// Replaces the first elements of a sort by a `TopK`.
    first_values_of_sorted (opset = 13..):
        Slice(TopK(x, const count, axis = axis, largest = largest, sorted = 1), 0, const end, const along, step?)
        if keeps(x, axis, along, [count, end]).and_then(|()| each(step))
        => firsts(cx, x, end, [axis, largest]).into_iter().next().ok_or("there is nothing".into());

    /// Replaces the indices of the first elements of a sort by a `TopK`.
    first_indices_of_sorted (opset = 13..):
        Slice(TopK(x, const count, axis = axis, largest = largest, sorted = 1).1, 0, const end, const along, step?)
        if keeps(x, axis, along, [count, end]).and_then(|()| each(step))
        => firsts(cx, x, end, [axis, largest]).into_iter().nth(1).ok_or("there is nothing".into());
}

/// Whether the first positions of those that were sorted along `axis` are kept, fewer than `[count, end]` says there were,
/// and there are so many.
fn keeps(x: ValueRef<'_>, axis: &Attribute, along: ValueRef<'_>, counts: [ValueRef<'_>; 2]) -> Res<()> {
    let rank = x.rank().ok_or("a rank is not known")? as i64;
    let only = |value: ValueRef<'_>| match value.constant()?.ints()?.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let positive = |axis: i64| if axis < 0 { axis + rank } else { axis };
    let [count, end] = counts.map(only);
    let (count, end) = count.zip(end).ok_or("the number of positions is unknown")?;
    if axis.int().map(positive) != only(along).map(positive) {
        return Err("it is not cut along the axis that was sorted".into());
    }
    if end < 1 || end >= count {
        return Err("nothing is left out".into());
    }
    Ok(())
}

/// Whether as many indices are kept as values.
fn alike(end: ValueRef<'_>, until: ValueRef<'_>) -> Res<()> {
    let number = |value: ValueRef<'_>| value.constant().and_then(|value| value.ints());
    if number(end) == number(until) {
        Ok(())
    } else {
        Err("the number of values differs from the number of positions".into())
    }
}

/// Whether the step of the slice is 1.
fn each(step: Option<ValueRef<'_>>) -> Res<()> {
    match step.map(|step| step.constant().and_then(|step| step.ints())) {
        None => Ok(()),
        Some(Some(step)) if step == [1] => Ok(()),
        Some(_) => Err("positions are left out".into()),
    }
}

/// The first `end` elements, and their indices.
fn firsts<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    end: ValueRef<'h>,
    [axis, largest]: [&Attribute; 2],
) -> Vec<ValueRef<'h>> {
    cx.op(op::TopK).input(x).input(end).set("axis", axis.clone()).set("largest", largest.clone()).many(2)
}

//! Attention as `torch.onnx` writes it.

use onnxport_sdk::prelude::*;

rules! {
    /// Replaces a transpose of the last two axes between reshapes to and from three axes by one transpose.
    transpose_by_reshapes (class = exact, opset = 14..):
        let shape = shared Shape(x, start = first?);
        let rows = shared Slice(shape, -2, -1);
        let columns = shared Slice(shape, -1, const end);
        let front = shared Slice(shape, const begin, -2);
        let flat = Reshape(x, shared Concat(-1, rows, columns, axis = 0), ..);
        Reshape(Transpose(flat, perm = [0, 2, 1]), shared Concat(front, columns, rows, axis = 0), ..)
        if is_whole(x, begin, end, first)
        => transposed(cx, x);

    /// Moves the scale of the keys to the query, which is scaled already. The result is rounded once less.
    scaled_keys (class = bounded(relative = 1e-5, ulps = 8), opset = 13..):
        MatMul(Mul(q, const a), Mul(keys, const b))
        => scaled(cx, q, keys, [a, b]);
}

/// Whether `begin` and `end` are the ends of a shape of `x`, all of whose sizes are there.
fn is_whole(x: ValueRef<'_>, begin: ValueRef<'_>, end: ValueRef<'_>, start: &Attribute) -> Res<()> {
    let rank = x.rank().ok_or("the rank is not known")? as i64;
    let only = |value: ValueRef<'_>| match value.constant()?.ints()?.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let from_first = start.is_none() || start.int() == Some(0);
    match (only(begin), only(end)) {
        (Some(begin), Some(end))
            if from_first && rank > 2 && (begin == 0 || begin <= -rank) && end >= rank =>
        {
            Ok(())
        }
        _ => Err("they are not the sizes of the last two axes and of all in front".into()),
    }
}

fn transposed<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let rank = cx.rank(x)?;
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 1, rank - 2);
    Ok(cx.transpose(x, &perm))
}

/// The product of `q`, scaled by both numbers, and the keys.
fn scaled<'h>(
    cx: &Rewrite<'h>,
    q: ValueRef<'h>,
    keys: ValueRef<'h>,
    numbers: [ValueRef<'h>; 2],
) -> Res<ValueRef<'h>> {
    let single = |value: ValueRef<'h>| match value.constant().and_then(|value| value.floats()).as_deref() {
        Some([single]) if value.rank() == Some(0) => Some(*single),
        _ => None,
    };
    let [Some(a), Some(b)] = numbers.map(single) else { return Err("a factor is not one number".into()) };
    if !(b.abs() <= 1.0 && b.abs() >= 1e-3) {
        return Err("the scaled query may leave the range of its type".into());
    }
    let dtype = cx.dtype(q)?;
    Ok(cx.matmul(cx.mul(q, cx.float(a * b, dtype)), keys))
}

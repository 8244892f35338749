//! A tensor in several parts along one axis.

use onnxport_sdk::prelude::*;

/// `x` in the parts that the program states. `even`: equal parts but for a smaller last one.
fn parts(cx: &mut Lower, x: Value, axis: usize, even: bool) -> Res<Vec<Value>> {
    let count = cx.result_count();
    if count == 1 {
        return Ok(vec![x]);
    }
    let extent = |i| Ok(cx.result(i)?.shape.get(axis).copied().unwrap_or(Dim::Unknown));
    let extents: Vec<Dim> = (0..count).map(extent).collect::<Res<_>>()?;
    let open = extents.iter().any(|d| d.as_const().is_none());
    if open && even {
        let node = cx.op("Split").input(x).int("axis", axis as i64).int("num_outputs", count as i64);
        return Ok(node.many(count));
    }
    let sizes = cx.dims_value(&extents);
    Ok(cx.op("Split").input(x).input(sizes).int("axis", axis as i64).many(count))
}

/// Parts of `split_size` each, the last one smaller, or of the sizes in a list, along `dim`.
#[lowering(
    "aten.split.Tensor",
    "aten.split.sizes",
    "aten.split_copy.Tensor",
    "aten.split_with_sizes.default",
    "aten.split_with_sizes_copy.default",
    "aten.unsafe_split.Tensor",
    "aten.unsafe_split_with_sizes.default",
    "aten.tensor_split.sections",
    "aten.tensor_split.indices",
    "aten.tensor_split.tensor_indices_or_sections",
    complex
)]
fn split(cx: &mut Lower, x: Value, dim: Axis) -> Res<Vec<Value>> {
    parts(cx, x, dim.0, false)
}

/// At most `chunks` equal parts along `dim`, the last one smaller.
#[lowering("aten.chunk.default", "aten.unsafe_chunk.default", complex)]
fn chunk(cx: &mut Lower, x: Value, chunks: i64, dim: Axis) -> Res<Vec<Value>> {
    let even = cx.result_count() as i64 == chunks;
    parts(cx, x, dim.0, even)
}

/// Along axis 0 of a vector, else axis 1.
#[lowering("aten.hsplit.int", "aten.hsplit.array", complex)]
fn hsplit(cx: &mut Lower, x: Value) -> Res<Vec<Value>> {
    let axis = usize::from(cx.result(0)?.rank() > 1);
    parts(cx, x, axis, false)
}

/// Along axis 0.
#[lowering("aten.vsplit.int", "aten.vsplit.array", complex)]
fn vsplit(cx: &mut Lower, x: Value) -> Res<Vec<Value>> {
    parts(cx, x, 0, false)
}

/// Along axis 2.
#[lowering("aten.dsplit.int", "aten.dsplit.array", complex)]
fn dsplit(cx: &mut Lower, x: Value) -> Res<Vec<Value>> {
    parts(cx, x, 2, false)
}

/// `self` at every index of axis `dim`.
#[lowering("aten.unbind.int", "aten.unbind_copy.int", complex)]
fn unbind(cx: &mut Lower, x: Value, dim: Axis) -> Res<Vec<Value>> {
    let axis = dim.0 as i64;
    let count = cx.result_count();
    if count == 1 {
        return Ok(vec![cx.squeeze(x, &[axis])]);
    }
    let mut pick = |i| {
        let index = cx.int(i);
        cx.gather(x, index, axis)
    };
    Ok((0..count as i64).map(&mut pick).collect())
}

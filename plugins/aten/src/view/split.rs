//! A tensor in several parts along one axis.

use onnxport_sdk::prelude::*;

/// `x` in the parts that the program states. `even`: equal parts but for a smaller last one.
fn parts(cx: &Lower, x: Value, axis: usize, even: bool) -> Res<Vec<Value>> {
    let count = cx.result_count();
    if count == 1 {
        return Ok(vec![x]);
    }
    let extent = |i| Ok(cx.result(i)?.shape.get(axis).copied().unwrap_or(Dim::Unknown));
    let extents: Vec<Dim> = (0..count).map(extent).collect::<Res<_>>()?;
    let open = extents.iter().any(|d| d.as_const().is_none());
    if open && even {
        let node = cx.op(op::Split).input(x).axis(axis as i64).num_outputs(count as i64);
        return Ok(node.many(count));
    }
    Ok(cx.op(op::Split).input(x).input(cx.dims_value(&extents)).axis(axis as i64).many(count))
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
    complex
)]
fn split(cx: &Lower, x: Value, dim: Axis) -> Res<Vec<Value>> {
    parts(cx, x, dim.0, false)
}

/// Parts that end at `indices` of an axis, each of which may count from the end; a part that would end
/// before it begins is empty.
fn parts_at(cx: &Lower, x: Value, axis: usize, indices: &[SymInt]) -> Res<Vec<Value>> {
    let ends: Option<Vec<i64>> = indices.iter().map(SymInt::as_const).collect();
    if ends.is_some_and(|ends| ends.is_sorted() && ends.iter().all(|end| *end >= 0)) {
        return parts(cx, x, axis, false);
    }
    let (mut start, mut parts) = (cx.ints(&[0]), Vec::new());
    for end in indices.iter().chain([&SymInt::Const(i64::MAX)]) {
        let end = cx.sym_ints(std::slice::from_ref(end));
        parts.push(cx.slice_dynamic(x, axis as i64, start, end, 1));
        start = end;
    }
    Ok(parts)
}

/// Parts that end at `indices` along `dim`.
#[lowering("aten.tensor_split.indices", complex)]
fn split_at(cx: &Lower, x: Value, indices: Vec<SymInt>, dim: Axis) -> Res<Vec<Value>> {
    parts_at(cx, x, dim.0, &indices)
}

/// Parts that end at the positions in a tensor, or as many equal ones as it says, the first ones larger.
#[lowering("aten.tensor_split.tensor_indices_or_sections", parts)]
fn tensor_split(cx: &Lower, x: Value, tensor_indices_or_sections: Value, dim: Axis) -> Res<Vec<Value>> {
    let (count, axis) = (cx.result_count() as i64, dim.0 as i64);
    let (bounds, extent) = (tensor_indices_or_sections, cx.dim(x, dim.0));
    if cx.rank(bounds)? == 0 {
        let (least, larger) = (cx.dim_div(extent, count), cx.dim_mod(extent, count));
        let size = |i| cx.dim_add(least, cx.dim_min(1, cx.dim_max(0, cx.dim_sub(larger, i))));
        let sizes: Vec<Dim> = (0..count).map(size).collect();
        let sizes = cx.dims_value(&sizes);
        return Ok(cx.op(op::Split).input(x).input(sizes).axis(axis).many(count as usize));
    }
    let (mut start, mut parts) = (cx.ints(&[0]), Vec::new());
    for part in 0..count {
        let end =
            if part + 1 == count { cx.ints(&[i64::MAX]) } else { cx.slice(bounds, 0, part, part + 1, 1) };
        parts.push(cx.slice_dynamic(x, axis, start, end, 1));
        start = end;
    }
    Ok(parts)
}

/// At most `chunks` equal parts along `dim`, the last one smaller.
#[lowering("aten.chunk.default", "aten.unsafe_chunk.default", complex)]
fn chunk(cx: &Lower, x: Value, chunks: i64, dim: Axis) -> Res<Vec<Value>> {
    let even = cx.result_count() as i64 == chunks;
    parts(cx, x, dim.0, even)
}

/// Along axis 0 of a vector, else axis 1.
#[lowering("aten.hsplit.int", "aten.hsplit.array", complex)]
fn hsplit(cx: &Lower, x: Value, indices: Option<Vec<SymInt>>) -> Res<Vec<Value>> {
    let axis = usize::from(cx.result(0)?.rank() > 1);
    parts_at(cx, x, axis, &indices.unwrap_or_default())
}

/// Along axis 0.
#[lowering("aten.vsplit.int", "aten.vsplit.array", complex)]
fn vsplit(cx: &Lower, x: Value, indices: Option<Vec<SymInt>>) -> Res<Vec<Value>> {
    parts_at(cx, x, 0, &indices.unwrap_or_default())
}

/// Along axis 2.
#[lowering("aten.dsplit.int", "aten.dsplit.array", complex)]
fn dsplit(cx: &Lower, x: Value, indices: Option<Vec<SymInt>>) -> Res<Vec<Value>> {
    parts_at(cx, x, 2, &indices.unwrap_or_default())
}

/// `self` at every index of axis `dim`.
#[lowering("aten.unbind.int", "aten.unbind_copy.int", complex)]
fn unbind(cx: &Lower, x: Value, dim: Axis) -> Res<Vec<Value>> {
    let axis = dim.0 as i64;
    let count = cx.result_count();
    if count == 1 {
        return Ok(vec![cx.squeeze(x, &[axis])]);
    }
    let mut pick = |i| cx.gather(x, cx.int(i), axis);
    Ok((0..count as i64).map(&mut pick).collect())
}

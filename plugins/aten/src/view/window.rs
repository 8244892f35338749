//! Windows over the elements.

use onnxport_sdk::prelude::*;

use super::permuted;

/// Windows of `size` elements every `step` along `dimension`; the elements of a window are a last axis.
#[lowering("aten.unfold.default", "aten.unfold_copy.default", parts)]
fn unfold(cx: &Lower, x: Value, dimension: Axis, size: i64, step: i64) -> Res<Value> {
    let (axis, rank) = (dimension.0, cx.rank(x)?);
    if rank == 0 {
        return Ok(cx.reshape(x, &[size]));
    }
    let count = cx.result(0)?.shape.get(axis).copied().unwrap_or(Dim::Unknown);
    let picks = if let Some(count) = count.as_const() {
        let picks: Vec<i64> = (0..count).flat_map(|w| (0..size).map(move |i| w * step + i)).collect();
        let bytes: Vec<u8> = picks.iter().flat_map(|p| p.to_le_bytes()).collect();
        cx.constant(DType::I64, &[count as u64, size as u64], &bytes)
    } else {
        let stop = cx.squeeze(cx.dims_value(&[cx.dim_mul(count, step)]), &[0]);
        let within: Vec<i64> = (0..size).collect();
        cx.unsqueeze(cx.range(cx.int(0), stop, cx.int(step)), &[1]) + cx.ints(&within)
    };
    let perm = (0..=rank).filter(|a| *a != axis + 1).chain([axis + 1]).collect();
    permuted(cx, cx.gather(x, picks, axis as i64), perm)
}

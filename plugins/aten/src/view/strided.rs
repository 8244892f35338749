//! Tensors laid over the storage of another one.

use onnxport_sdk::prelude::*;

/// Elements that one call may address.
const MAX_ELEMENTS: i64 = 1 << 24;

/// The flat positions `storage_offset + sum of i_k * stride_k` of a tensor of sizes `size`.
fn places(cx: &Lower, size: &[i64], stride: &[i64], offset: Option<i64>) -> Res<Vec<i64>> {
    if !cx.lookup("self").is_row_major() {
        return Err(Refusal::new("argument `self`: its layout in memory is not known to be row-major")
            .help("index or reshape the tensor instead of laying strides over its storage"));
    }
    let count = size.iter().try_fold(1i64, |a, b| a.checked_mul(*b)).filter(|n| *n <= MAX_ELEMENTS);
    if count.is_none() || size.len() != stride.len() {
        return Err("argument `size` addresses too many elements or does not fit `stride`".into());
    }
    let mut places = vec![offset.unwrap_or(0)];
    for (extent, step) in size.iter().zip(stride) {
        places = places.iter().flat_map(|p| (0..*extent).map(move |i| p + i * step)).collect();
    }
    Ok(places)
}

fn constant(cx: &Lower, places: &[i64], shape: &[i64]) -> Value {
    let bytes: Vec<u8> = places.iter().flat_map(|p| p.to_le_bytes()).collect();
    let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    cx.constant(DType::I64, &shape, &bytes)
}

/// The elements of the storage of `self` at these positions.
#[lowering("aten.as_strided.default", "aten.as_strided_copy.default", parts)]
fn as_strided(
    cx: &Lower,
    x: Value,
    size: Vec<i64>,
    stride: Vec<i64>,
    storage_offset: Option<i64>,
) -> Res<Value> {
    let places = places(cx, &size, &stride, storage_offset)?;
    Ok(cx.gather(cx.reshape(x, &[-1]), constant(cx, &places, &size), 0))
}

/// `self` with the elements at these positions of its storage replaced by `src`.
#[lowering("aten.as_strided_scatter.default", parts(src))]
fn as_strided_scatter(
    cx: &Lower,
    x: Value,
    src: Value,
    size: Vec<i64>,
    stride: Vec<i64>,
    storage_offset: Option<i64>,
) -> Res<Value> {
    let places = places(cx, &size, &stride, storage_offset)?;
    let (flat, src) = (cx.reshape(x, &[-1]), cx.reshape(src, &[-1]));
    let places = constant(cx, &places, &[places.len() as i64]);
    let written = cx.op(op::ScatterElements).input(flat).input(places).input(src).axis(0).one();
    cx.reshape_to_result(written, 0)
}

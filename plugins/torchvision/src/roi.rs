//! Pools of the regions `[K, 5]` of a feature map: the index in the batch, then two corners.

use onnxport_sdk::prelude::*;

use crate::bins::Bins;

/// The mean of bilinear samples in every bin: `RoiAlign`.
///
/// A sampling ratio that is not positive takes as many samples as a bin has elements. Source:
/// `torchvision/csrc/ops/cpu/roi_align_kernel.cpp`.
#[lowering("torchvision.roi_align.default")]
fn roi_align(
    cx: &Lower,
    input: Value,
    rois: Value,
    spatial_scale: f64,
    pooled_height: i64,
    pooled_width: i64,
    sampling_ratio: i64,
    aligned: bool,
) -> Res<Value> {
    align(cx, input, rois, spatial_scale, [pooled_height, pooled_width], sampling_ratio, aligned)
}

pub(crate) fn align(
    cx: &Lower,
    input: Value,
    rois: Value,
    spatial_scale: f64,
    [pooled_height, pooled_width]: [i64; 2],
    sampling_ratio: i64,
    aligned: bool,
) -> Res<Value> {
    let dtype = cx.dtype(input)?;
    let batch = cx.cast(cx.gather(rois, cx.int(0), 1), DType::I64);
    let mut corners = cx.slice(rois, 1, 1, 5, 1);
    let mut scale = spatial_scale;
    if dtype == DType::F64 && f64::from(scale as f32) != scale {
        // The attribute is float32.
        corners = corners * scale;
        scale = 1.0;
    }
    if aligned && sampling_ratio <= 0 {
        // A region whose second corner lies before the first has no samples. ONNX Runtime fails at it,
        // and so does torchvision unless it lies before in both axes.
        let (low, high) = (cx.slice(corners, 1, 0, 2, 1), cx.slice(corners, 1, 2, 4, 1));
        corners = cx.concat(&[low, cx.max(high, low)], 1);
    }
    let mode = if aligned { "half_pixel" } else { "output_half_pixel" };
    let node = cx.op(op::RoiAlign).input(input).input(corners).input(batch);
    let node = node.coordinate_transformation_mode(mode).mode("avg");
    let node = node.output_height(pooled_height).output_width(pooled_width);
    Ok(node.sampling_ratio(sampling_ratio.max(0)).spatial_scale(scale).one())
}

/// The largest element of every bin, whose bounds are rounded to elements: `MaxRoiPool`; and where it is used, the index
/// of that element in its channel, -1 for bins without elements.
///
/// Source: `torchvision/csrc/ops/cpu/roi_pool_kernel.cpp`.
#[lowering("torchvision.roi_pool.default")]
fn roi_pool(
    cx: &Lower,
    input: Value,
    rois: Value,
    spatial_scale: f64,
    pooled_height: i64,
    pooled_width: i64,
) -> Res<Vec<Option<Value>>> {
    let dtype = cx.dtype(input)?;
    // The corners of regions have no room in fewer bits.
    let wide = if dtype == DType::F64 { dtype } else { DType::F32 };
    let pooled = [pooled_height, pooled_width];
    let node = cx.op(op::MaxRoiPool).input(cx.cast(input, wide)).input(cx.cast(rois, wide));
    let node = node.pooled_shape(&pooled);
    let largest = node.spatial_scale(spatial_scale).one();
    let largest = cx.cast(largest, dtype);
    if !cx.has_result(1) {
        return Ok(vec![Some(largest), None]);
    }
    let bins = Bins::new(cx, cx.cast(input, wide), cx.cast(rois, wide), spatial_scale, pooled, true)?;
    let inside = bins.both(cx);
    let elements = cx.select(inside, cx.unsqueeze(bins.maps, &[2, 3]), f64::NEG_INFINITY);
    let flat = |v: Value| cx.reshape_dynamic(v, cx.ints(&[0, 0, 0, 0, -1]));
    let index = cx.op(op::ArgMax).input(flat(elements)).axis(4).keepdims(false).one();
    let inside = cx.reduce(op::ReduceMax, cx.cast(flat(inside), DType::I32), &[4], false);
    let index = cx.select(cx.cast(inside, DType::Bool), index, cx.int(-1));
    Ok(vec![Some(largest), Some(cx.cast(index, DType::I32))])
}

//! Position-sensitive pools: each bin has channels of its own.

use onnxport_sdk::prelude::*;

use crate::bins::Bins;
use crate::roi::align;

/// The mean of bilinear samples in every bin, of the channels of that bin; and the channel of every element.
///
/// Source: `torchvision/csrc/ops/cpu/ps_roi_align_kernel.cpp`. A bin without samples is NaN, zero divided by their number.
#[lowering("torchvision.ps_roi_align.default")]
fn ps_roi_align(
    cx: &Lower,
    input: Value,
    rois: Value,
    spatial_scale: f64,
    pooled_height: i64,
    pooled_width: i64,
    sampling_ratio: i64,
) -> Res<Vec<Value>> {
    let (bins, dtype) = ([pooled_height, pooled_width], cx.dtype(input)?);
    let means = align(cx, input, rois, spatial_scale, bins, sampling_ratio, true)?;
    // Every bin of every channel was computed: bin `i` takes channel `c * bins + i`.
    let count = cx.dim_mul(pooled_height, pooled_width);
    let regions = cx.dim(rois, 0);
    let channels = cx.dim_div(cx.dim(input, 1), count);
    let flat = cx.reshape_to(means, &[regions, channels, cx.dim_mul(count, count)]);
    let number = |dim: Dim| cx.squeeze(cx.dims_value(&[dim]), &[0]);
    let own = cx.range(cx.int(0), number(count), cx.int(1)) * number(cx.dim_add(count, 1));
    let mut means = cx.gather(flat, own, 2);
    if sampling_ratio <= 0 {
        let sizes = (cx.slice(rois, 1, 3, 5, 1) - cx.slice(rois, 1, 1, 3, 1)) * spatial_scale;
        let per_bin = sizes / cx.numbers(&[pooled_width as f64, pooled_height as f64], cx.dtype(rois)?);
        let none = cx.equal(cx.op(op::Ceil).input(per_bin).one(), 0.0);
        let none = cx.reduce(op::ReduceMax, cx.cast(none, DType::I32), &[1], true);
        let none = cx.cast(cx.unsqueeze(none, &[2]), DType::Bool);
        means = cx.select(none, cx.float(f64::NAN, dtype), means);
    }
    let shape = [regions, channels, Dim::Const(pooled_height), Dim::Const(pooled_width)];
    Ok(vec![cx.reshape_to(means, &shape), own_channels(cx, shape, count)])
}

/// The mean of every bin, whose bounds are rounded to elements, of the channels of that bin; and the channel of every
/// element.
#[lowering("torchvision.ps_roi_pool.default")]
fn ps_roi_pool(
    cx: &Lower,
    input: Value,
    rois: Value,
    spatial_scale: f64,
    pooled_height: i64,
    pooled_width: i64,
) -> Res<Vec<Value>> {
    let bins = Bins::new(cx, input, rois, spatial_scale, [pooled_height, pooled_width], false)?;
    let count = cx.dim_mul(pooled_height, pooled_width);
    let channels = cx.dim_div(cx.dim(input, 1), count);
    let shape = [cx.dim(rois, 0), channels, Dim::Const(pooled_height), Dim::Const(pooled_width)];
    let split = [&shape[..], &[cx.dim(input, 2), cx.dim(input, 3)]].concat();
    let inside = bins.both(cx);
    let elements = cx.select(inside, cx.reshape_to(bins.maps, &split), 0.0);
    let sums = cx.reduce(op::ReduceSum, elements, &[4, 5], false);
    let area = cx.reduce(op::ReduceSum, cx.cast(inside, cx.dtype(input)?), &[4, 5], false);
    Ok(vec![sums / cx.max(area, 1.0), own_channels(cx, shape, count)])
}

/// The number of the channel that each element of the result comes from.
fn own_channels(cx: &Lower, shape: [Dim; 4], count: Dim) -> Value {
    let [regions, channels, height, width] = shape;
    let all = cx.dims_value(&[cx.dim_mul(channels, count)]);
    let numbers = cx.range(cx.int(0), cx.squeeze(all, &[0]), cx.int(1));
    let numbers = cx.reshape_to(cx.cast(numbers, DType::I32), &[Dim::Const(1), channels, height, width]);
    cx.expand(numbers, cx.dims_value(&[regions, Dim::Const(1), Dim::Const(1), Dim::Const(1)]))
}

//! Max pooling whose windows start at positions that random numbers choose.

use onnxport_sdk::prelude::*;

/// The largest element of every window, and its index among the elements of its channel.
///
/// The windows of an axis start at `int((i + u) * a) - int(u * a)`, where `a` is `(extent - kernel) / (windows - 1)`
/// and `u` the random number of the plane and the axis; the last window ends with the axis
/// (`generate_intervals` in ATen's `FractionalMaxPooling.h`).
#[lowering("aten.fractional_max_pool2d.default", "aten.fractional_max_pool3d.default")]
fn fractional_max_pool(
    cx: &Lower,
    x: Value,
    kernel_size: Vec<i64>,
    output_size: Vec<i64>,
    random_samples: Value,
) -> Res<Vec<Value>> {
    let spatial = if cx.target().contains("2d") { 2 } else { 3 };
    let shape = cx.shape(x)?;
    let lead = shape.len().checked_sub(spatial).ok_or("the operand of a pool has too few axes")?;
    if kernel_size.len() != spatial || output_size.len() != spatial {
        return Err("`kernel_size` and `output_size` need a number for each axis".into());
    }
    let dtype = cx.dtype(x)?;
    let product = |dims: &[Dim]| dims.iter().fold(Dim::Const(1), |n, d| cx.dim_mul(n, *d));
    let planes = product(&shape[..lead]);
    let samples = cx.reshape_to(cx.cast(random_samples, dtype), &[planes, Dim::Const(spatial as i64)]);
    // The indices of all elements of all windows of a plane: `[planes, windows.., elements of a window..]`.
    let mut indices: Option<Value> = None;
    for axis in 0..spatial {
        // In two dimensions the first number is that of the last axis.
        let column = if spatial == 2 { 1 - axis } else { axis } as i64;
        let sample = cx.slice(samples, 1, column, column + 1, 1);
        let starts = starts(cx, sample, planes, shape[lead + axis], (kernel_size[axis], output_size[axis]))?;
        let at = |place: usize| -> Vec<i64> {
            (1..=2 * spatial as i64).filter(|axis| *axis != place as i64 + 1).collect()
        };
        let within = cx.range(cx.int(0), cx.int(kernel_size[axis]), cx.int(1));
        let mut within_axes = at(spatial + axis);
        within_axes.insert(0, 0);
        let positions = cx.unsqueeze(starts, &at(axis)) + cx.unsqueeze(within, &within_axes);
        indices = Some(match indices {
            Some(before) => before * cx.dims_value(&[shape[lead + axis]]) + positions,
            None => positions,
        });
    }
    let indices = indices.ok_or("the pool has no axes")?;
    let volume = |sizes: &[i64]| sizes.iter().fold(Dim::Const(1), |n, size| cx.dim_mul(n, *size));
    let (kernel, windows) = (volume(&kernel_size), volume(&output_size));
    let flat = cx.reshape_to(x, &[planes, product(&shape[lead..])]);
    let every = cx.reshape_to(indices, &[planes, cx.dim_mul(windows, kernel)]);
    let elements = cx.op(op::GatherElements).input(flat).input(every).axis(1).one();
    let window = [planes, windows, kernel];
    let (elements, every) = (cx.reshape_to(elements, &window), cx.reshape_to(every, &window));
    // The first of the largest, where NaN is larger than any number.
    let rank = cx.select(cx.is_nan(elements), f64::INFINITY, elements);
    let place = cx.op(op::ArgMax).input(rank).axis(2).keepdims(true).one();
    let [value, index] =
        [elements, every].map(|v| cx.op(op::GatherElements).input(v).input(place).axis(2).one());
    Ok(vec![cx.reshape_to_result(value, 0)?, cx.reshape_to_result(index, 1)?])
}

/// The first indices of the windows of one axis, `[planes, windows]`, of which the last ends with the axis.
fn starts(cx: &Lower, sample: Value, planes: Dim, extent: Dim, (kernel, windows): (i64, i64)) -> Res<Value> {
    let dtype = cx.dtype(sample)?;
    let room = cx.dims_value(&[cx.dim_sub(extent, kernel)]);
    let last = cx.expand(cx.unsqueeze(room, &[0]), cx.dims_value(&[planes, Dim::Const(1)]));
    if windows <= 1 {
        return Ok(last);
    }
    let step = cx.cast(room, dtype) / (windows - 1) as f64;
    let count = cx.cast(cx.range(cx.int(0), cx.int(windows - 1), cx.int(1)), dtype);
    let floor = |x: Value| cx.cast(x, DType::I64);
    let before = floor((count + sample) * step) - floor(sample * step);
    Ok(cx.concat(&[before, last], 1))
}

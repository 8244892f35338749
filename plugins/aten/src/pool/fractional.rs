//! Max pooling whose windows start at places that random numbers choose.

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
    let spatial = kernel_size.len();
    let shape = cx.shape(x)?;
    let lead = shape.len().checked_sub(spatial).ok_or("the operand of a pool has too few axes")?;
    if output_size.len() != spatial {
        return Err("`kernel_size` and `output_size` differ in length".into());
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
        let starts = starts(cx, sample, shape[lead + axis], kernel_size[axis], output_size[axis], dtype);
        let at = |place: usize| -> Vec<i64> {
            (1..=2 * spatial as i64).filter(|axis| *axis != place as i64 + 1).collect()
        };
        let within: Vec<i64> = (0..kernel_size[axis]).collect();
        let mut within_axes = at(spatial + axis);
        within_axes.insert(0, 0);
        let positions = cx.unsqueeze(starts, &at(axis)) + cx.unsqueeze(cx.ints(&within), &within_axes);
        indices = Some(match indices {
            Some(before) => before * cx.dims_value(&[shape[lead + axis]]) + positions,
            None => positions,
        });
    }
    let indices = indices.ok_or("the pool has no axes")?;
    let kernel: i64 = kernel_size.iter().product();
    let windows = Dim::Const(output_size.iter().product());
    let flat = cx.reshape_to(x, &[planes, product(&shape[lead..])]);
    let every = cx.reshape_to(indices, &[planes, cx.dim_mul(windows, kernel)]);
    let elements = cx.op(op::GatherElements).input(flat).input(every).axis(1).one();
    let window = [planes, windows, Dim::Const(kernel)];
    let (elements, every) = (cx.reshape_to(elements, &window), cx.reshape_to(every, &window));
    // The first of the largest, where NaN is larger than any number.
    let rank = cx.select(cx.is_nan(elements), f64::INFINITY, elements);
    let place = cx.op(op::ArgMax).input(rank).axis(2).keepdims(true).one();
    let [value, index] =
        [elements, every].map(|v| cx.op(op::GatherElements).input(v).input(place).axis(2).one());
    Ok(vec![cx.reshape_to_result(value, 0)?, cx.reshape_to_result(index, 1)?])
}

/// Where the windows of one axis start: `[planes, windows]`.
fn starts(cx: &Lower, sample: Value, extent: Dim, kernel: i64, windows: i64, dtype: DType) -> Value {
    let room = cx.dims_value(&[cx.dim_sub(extent, kernel)]);
    let last = cx.unsqueeze(room, &[0]);
    if windows <= 1 {
        // A sum with zeros makes one of them for each plane.
        return cx.cast(sample * 0.0, DType::I64) + last;
    }
    let step = cx.cast(room, dtype) / (windows - 1) as f64;
    let count: Vec<f64> = (0..windows - 1).map(|i| i as f64).collect();
    let floor = |x: Value| cx.cast(x, DType::I64);
    let before = floor((cx.numbers_shaped(&count, &[1, count.len() as u64], dtype) + sample) * step);
    let starts = before - floor(sample * step);
    cx.concat(&[starts, cx.cast(sample * 0.0, DType::I64) + last], 1)
}

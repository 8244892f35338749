//! The mean of every window.

use onnxport_sdk::prelude::*;

use super::Window;
use crate::conv::batched;
use crate::conv::integers::{Along, windows};

/// The mean of every window. With `count_include_pad` the padding counts as elements, but not what
/// `ceil_mode` lets a window hang over the end; `divisor_override` replaces the count.
#[lowering("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")]
fn avg_pool(
    cx: &Lower,
    x: Value,
    kernel_size: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut window = Window::new(cx, x, [&kernel_size, &stride, &padding, &[1]], ceil_mode)?;
    if dtype.kind() != Kind::Float {
        return of_integers(cx, x, &window, count_include_pad, divisor_override);
    }
    let padded = window.padding.iter().any(|p| *p != 0);
    let hangs = window.overhang.as_ref().is_none_or(|o| o.iter().any(|n| *n > 0));
    if window.overhang.is_none() && (divisor_override.is_some() || (padded && count_include_pad)) {
        return Err("`ceil_mode` with `divisor_override` or a counted `padding` needs constant sizes".into());
    }
    let spatial = window.spatial();
    let body = |cx: &Lower, mut x: Value| {
        let mut include = count_include_pad;
        if let Some(divisor) = divisor_override {
            // The mean over whole kernels, scaled.
            let mean = window.emit(cx, op::AveragePool, x, true, 1)[0];
            let volume: i64 = window.kernel.iter().product();
            return Ok(mean * (volume as f64 / divisor as f64));
        }
        if hangs && include {
            if padded {
                let edge = [vec![0, 0], window.padding.clone()].concat().repeat(2);
                x = cx.op(op::Pad).input(x).input(cx.ints(&edge)).one();
                window.padding.fill(0);
            }
            include = false;
        }
        Ok(window.emit(cx, op::AveragePool, x, include, 1)[0])
    };
    batched(cx, x, spatial, body, |cx, y| cx.squeeze(y, &[0]))
}

/// The mean of every window of integers, truncated.
fn of_integers(
    cx: &Lower,
    x: Value,
    window: &Window,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let refused = "an average pool of integers with `ceil_mode` needs constant sizes";
    let overhang = window.overhang.as_ref().ok_or(refused)?;
    let spatial = window.spatial();
    let numbers = window.kernel.iter().zip(&window.stride).zip(window.padding.iter().zip(overhang));
    let along = numbers.map(|((kernel, stride), (pad, more))| {
        let after = pad.checked_add(*more).ok_or("a window is out of range")?;
        Along::new(*kernel, *stride, 1, [*pad, after])
    });
    let along = along.collect::<Res<Vec<_>>>()?;
    let body = |cx: &Lower, x: Value| {
        let mut divisor = cx.int(divisor_override.unwrap_or(1));
        for (i, a) in along.iter().enumerate().filter(|_| divisor_override.is_none()) {
            let count = elements(cx, *a, cx.extent(x, 2 + i), count_include_pad);
            let rest: Vec<i64> = (1..(spatial - i) as i64).collect();
            divisor = divisor * cx.unsqueeze(count, &rest);
        }
        let parts = windows(cx, cx.cast(x, DType::I64), &along);
        let axes: Vec<i64> = (2..2 + spatial as i64).collect();
        Ok(cx.cast(cx.reduce(op::ReduceSum, parts, &axes, false) / divisor, dtype))
    };
    batched(cx, x, spatial, body, |cx, y| cx.squeeze(y, &[0]))
}

/// The number of elements of every window along an axis, with those of the padding or without.
fn elements(cx: &Lower, along: Along, extent: Value, padding: bool) -> Value {
    if along.pads == [0, 0] {
        return cx.ints(&[along.kernel]);
    }
    let starts = along.starts(cx, cx.squeeze(extent, &[0])) - along.pads[0];
    let border = if padding { along.pads[0] } else { 0 };
    let ends = cx.op(op::Min).input(starts + along.kernel).input(extent + border).one();
    ends - cx.max(starts, cx.int(-border))
}

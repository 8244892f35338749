//! The mean of every window.

use onnxport_sdk::prelude::*;

use super::Window;
use crate::conv::batched;

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
    if dtype.kind() != Kind::Float {
        return Err(Refusal::new("ONNX has no average pool of integers").help("convert to float first"));
    }
    let mut window = Window::new(cx, x, [&kernel_size, &stride, &padding, &[1]], ceil_mode)?;
    let padded = window.padding.iter().any(|p| *p != 0);
    let hangs = window.overhang.as_ref().is_none_or(|o| o.iter().any(|n| *n > 0));
    if window.overhang.is_none() && (divisor_override.is_some() || (padded && count_include_pad)) {
        return Err(
            "`ceil_mode` with `divisor_override` or a counted `padding` needs constant extents".into()
        );
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

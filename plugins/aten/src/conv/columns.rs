//! Windows as columns of a matrix, and back.

use onnxport_sdk::prelude::*;

use super::{batched, per_axis};

/// The windows of an image as columns: `[N, C * kh * kw, L]`, one gather per axis.
#[lowering("aten.im2col.default", parts)]
fn im2col(
    cx: &Lower,
    x: Value,
    kernel_size: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
) -> Res<Value> {
    let (kernel, dilation) = (per_axis(&kernel_size, 2)?, per_axis(&dilation, 2)?);
    let (padding, stride) = (per_axis(&padding, 2)?, per_axis(&stride, 2)?);
    let rank = cx.rank(x)?;
    let lead = rank.checked_sub(2).ok_or("the argument `self` has fewer than three axes")?;
    let mut image = x;
    if padding.iter().any(|p| *p != 0) {
        let mut pads = vec![0; 2 * rank];
        for half in [lead, rank + lead] {
            pads.splice(half..half + 2, padding.iter().copied());
        }
        image = cx.op(op::Pad).input(image).input(cx.ints(&pads)).one();
    }
    for (i, axis) in [lead, lead + 2].into_iter().enumerate() {
        let (kernel, dilation) = (kernel[i], dilation[i]);
        let extent = cx.dim(x, lead + i);
        let reach = dilation * (kernel - 1) + 1 - 2 * padding[i];
        let offsets: Vec<i64> = (0..kernel).map(|k| k * dilation).collect();
        let indices = if let Dim::Const(n) = extent {
            let starts: Vec<i64> = (0..=n - reach).step_by(stride[i].max(1) as usize).collect();
            let all: Vec<i64> = offsets.iter().flat_map(|o| starts.iter().map(move |s| o + s)).collect();
            cx.ints_shaped(&all, &[kernel as u64, starts.len() as u64])
        } else {
            let extent = cx.squeeze(cx.extent(x, lead + i), &[0]);
            let margin = cx.int(reach - 1);
            let (zero, step) = (cx.int(0), cx.int(stride[i]));
            cx.ints_shaped(&offsets, &[kernel as u64, 1]) + cx.range(zero, extent - margin, step)
        };
        image = cx.gather(image, indices, axis as i64);
    }
    // [.., C, kh, oh, kw, ow] to [.., C, kh, kw, oh, ow].
    let mut perm: Vec<usize> = (0..rank + 2).collect();
    perm.swap(lead + 1, lead + 2);
    cx.reshape_to_result(cx.transpose(image, &perm), 0)
}

/// The sum of columns over the windows they came from: `Col2Im`.
#[lowering("aten.col2im.default", parts)]
fn col2im(
    cx: &Lower,
    x: Value,
    output_size: Vec<SymInt>,
    kernel_size: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
) -> Res<Value> {
    let kernel = per_axis(&kernel_size, 2)?;
    let (dilation, stride) = (per_axis(&dilation, 2)?, per_axis(&stride, 2)?);
    let pads = per_axis(&padding, 2)?.repeat(2);
    let body = |cx: &Lower, x: Value| {
        let node = cx.op(op::Col2Im).input(x).input(cx.sym_ints(&output_size)).input(cx.ints(&kernel));
        Ok(node.dilations(&dilation).pads(&pads).strides(&stride).one())
    };
    batched(cx, x, 1, body, |cx, y| cx.squeeze(y, &[0]))
}

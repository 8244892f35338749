//! Convolutions and pools of integers, which ONNX lacks: windows gathered along new axes, then a product or a sum. Both
//! wrap around, as PyTorch's do.

use onnxport_sdk::prelude::*;

use crate::view::flipped;

/// Numbers of windows must be smaller, so that no sum or product of two overflows.
const LIMIT: i64 = 1 << 31;

/// How a window moves along one axis.
#[derive(Clone, Copy)]
pub(crate) struct Along {
    pub(crate) kernel: i64,
    pub(crate) stride: i64,
    dilation: i64,
    /// The padding before and after the axis.
    pub(crate) pads: [i64; 2],
}

impl Along {
    pub(crate) fn new(kernel: i64, stride: i64, dilation: i64, pads: [i64; 2]) -> Res<Self> {
        let fits = [stride, dilation].iter().all(|n| (1..LIMIT).contains(n))
            && (1..LIMIT).contains(&kernel)
            && pads.iter().all(|n| (1 - LIMIT..LIMIT).contains(n));
        if fits {
            Ok(Self { kernel, stride, dilation, pads })
        } else {
            Err("a window is out of range".into())
        }
    }

    /// The distance from the first element of a window to the last one.
    fn reach(self) -> i64 {
        self.dilation * (self.kernel - 1)
    }

    /// The first positions of all windows over an axis of `extent`, which the padding precedes.
    pub(crate) fn starts(self, cx: &Lower, extent: Value) -> Value {
        let end = extent + (self.pads[0] + self.pads[1] - self.reach());
        cx.range(cx.int(0), end, cx.int(self.stride))
    }
}

/// `[N, C, …]` as `[N, C, kernels…, positions…]`.
pub(crate) fn windows(cx: &Lower, x: Value, along: &[Along]) -> Value {
    let side = |i: usize| [0, 0].into_iter().chain(along.iter().map(move |a| a.pads[i]));
    let pads: Vec<i64> = side(0).chain(side(1)).collect();
    let is_padded = pads.iter().any(|n| *n != 0);
    let mut image = if is_padded { cx.op(op::Pad).input(x).input(cx.ints(&pads)).one() } else { x };
    for (i, a) in along.iter().enumerate() {
        let starts = a.starts(cx, cx.squeeze(cx.extent(x, 2 + i), &[0]));
        let offsets = cx.range(cx.int(0), cx.int(a.kernel), cx.int(1)) * a.dilation;
        image = cx.gather(image, cx.unsqueeze(offsets, &[1]) + starts, 2 + 2 * i as i64);
    }
    let kernels = (0..along.len()).map(|i| 2 + 2 * i);
    let positions = (0..along.len()).map(|i| 3 + 2 * i);
    cx.transpose(image, &[0, 1].into_iter().chain(kernels).chain(positions).collect::<Vec<_>>())
}

/// The convolution of `[N, C, …]` with `[O, C / groups, …]`.
pub(super) fn convolve(
    cx: &Lower,
    x: Value,
    weight: Value,
    bias: Option<Value>,
    along: &[Along],
    groups: i64,
) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    // ONNX Runtime multiplies matrices of these types.
    let computed = if dtype == DType::I32 { dtype } else { DType::I64 };
    if groups < 1 {
        return Err("the argument `groups` is not positive".into());
    }
    let [outputs, taps @ ..] = &extents(cx, weight, 0)?[..] else {
        return Err("the argument `weight` has no axes".into());
    };
    let taps = taps.iter().try_fold(1, |n: i64, m| n.checked_mul(*m)).ok_or("the kernel is out of range")?;
    let rows = outputs / groups;
    let columns = cx.reshape(windows(cx, cx.cast(x, computed), along), &[0, groups, taps, -1]);
    let mut y = cx.matmul(cx.reshape(cx.cast(weight, computed), &[1, groups, rows, taps]), columns);
    if let Some(bias) = bias {
        y = y + cx.reshape(cx.cast(bias, computed), &[1, groups, rows, 1]);
    }
    // `[N, groups, rows, positions]` as `[N, O, positions…]`.
    let counts = along.iter().enumerate().map(|(i, a)| {
        let starts = a.starts(cx, cx.squeeze(cx.extent(x, 2 + i), &[0]));
        cx.extent(starts, 0)
    });
    let shape: Vec<Value> = [cx.extent(x, 0), cx.ints(&[*outputs])].into_iter().chain(counts).collect();
    Ok(cx.cast(cx.reshape_dynamic(y, cx.concat(&shape, 0)), dtype))
}

/// The transposed convolution: one over the operand with zeros between its elements.
pub(super) fn transpose(
    cx: &Lower,
    x: Value,
    weight: Value,
    bias: Option<Value>,
    along: &[Along],
    output_padding: &[i64],
    groups: i64,
) -> Res<Value> {
    if !(1..LIMIT).contains(&groups) || output_padding.iter().any(|n| !(0..LIMIT).contains(n)) {
        return Err("the argument `groups` or `output_padding` is out of range".into());
    }
    let (mut sizes, taps) = (extents(cx, x, 1)?, extents(cx, weight, 1)?);
    let (Some(inputs), Some(outputs)) = (sizes.first().copied(), taps.first().copied()) else {
        return Err("the operands of a convolution have no channels".into());
    };
    let (mut spread, mut moves) = (x, Vec::new());
    for (i, (a, extra)) in along.iter().zip(output_padding).enumerate() {
        let mut pads = vec![0; 2 * (along.len() + 3)];
        if let (Some(after), Some(size)) = (pads.get_mut(along.len() + 6 + i), sizes.get_mut(1 + i)) {
            *after = a.stride - 1;
            *size = size.checked_mul(a.stride).ok_or("the operand is out of range")?;
        }
        let columns = cx.unsqueeze(spread, &[3 + i as i64]);
        let padded = cx.op(op::Pad).input(columns).input(cx.ints(&pads)).one();
        spread = cx.reshape(padded, &[&[0], &sizes[..]].concat());
        let pads = [a.reach() - a.pads[0], a.reach() - a.pads[1] + extra - (a.stride - 1)];
        moves.push(Along::new(a.kernel, 1, a.dilation, pads)?);
    }
    // `[groups * inputs, outputs, …]` as `[groups * outputs, inputs, …]`, backwards along the kernel.
    let (inputs, joint) = (inputs / groups, groups.checked_mul(outputs).ok_or("the kernel is out of range")?);
    let kernel = taps.get(1..).unwrap_or_default();
    let parted = cx.reshape(weight, &[&[groups, inputs, outputs], kernel].concat());
    let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..3 + along.len()).collect();
    let joined = cx.reshape(cx.transpose(parted, &order), &[&[joint, inputs], kernel].concat());
    let axes: Vec<i64> = (2..2 + along.len() as i64).collect();
    convolve(cx, spread, flipped(cx, joined, &axes), bias, &moves, groups)
}

/// The sizes of `x` from axis `first`, which must be constant.
fn extents(cx: &Lower, x: Value, first: usize) -> Res<Vec<i64>> {
    let extents: Option<Vec<i64>> = cx.shape(x)?.iter().skip(first).map(|d| d.as_const()).collect();
    extents.ok_or_else(|| "a convolution of integers needs constant sizes".into())
}

//! Convolution: `Conv`, with the attributes that differ from its defaults.

use onnxport_sdk::prelude::*;

use super::integers::{self, Along};
use super::{batched, per_axis};

/// The convolution of `input` with `weight`.
#[lowering("aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default")]
fn conv(
    cx: &Lower,
    input: Value,
    weight: Value,
    bias: Option<Value>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    groups: i64,
) -> Res<Value> {
    Window::new(cx, weight, &stride, &padding, &dilation, groups)?.convolve(cx, input, weight, bias)
}

/// The convolution with `padding` by name: `valid` is none, `same` keeps the sizes and puts an odd
/// column at the end.
#[lowering(
    "aten.conv1d.padding",
    "aten.conv2d.padding",
    "aten.conv3d.padding",
    "aten._convolution_mode.default"
)]
fn conv_named(
    cx: &Lower,
    input: Value,
    weight: Value,
    bias: Option<Value>,
    stride: Vec<i64>,
    padding: Str,
    dilation: Vec<i64>,
    groups: i64,
) -> Res<Value> {
    let mut window = Window::new(cx, weight, &stride, &[0], &dilation, groups)?;
    if padding.0 == "same" {
        let shape = cx.shape(weight)?;
        let kernel: Option<Vec<i64>> = shape.iter().skip(2).map(|d| d.as_const()).collect();
        let kernel = kernel.ok_or("padding `same` of a kernel without constant sizes")?;
        let total = || kernel.iter().zip(&window.dilation).map(|(k, d)| d * (k - 1));
        window.pads = total().map(|t| t / 2).chain(total().map(|t| t - t / 2)).collect();
    } else if padding.0 != "valid" {
        return Err(format!("the argument `padding` is `{}`, neither `same` nor `valid`", padding.0).into());
    }
    window.convolve(cx, input, weight, bias)
}

/// The convolution or, where `transposed`, its transpose.
#[lowering(
    "aten.convolution.default",
    "aten._convolution.default",
    "aten._convolution.deprecated",
    "aten.convolution_overrideable.default"
)]
fn convolution(
    cx: &Lower,
    input: Value,
    weight: Value,
    bias: Option<Value>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    transposed: bool,
    output_padding: Vec<i64>,
    groups: i64,
) -> Res<Value> {
    let window = Window::new(cx, weight, &stride, &padding, &dilation, groups)?;
    if transposed {
        return window.transpose(cx, input, weight, bias, &output_padding);
    }
    window.convolve(cx, input, weight, bias)
}

/// The convolution of every channel by itself.
#[lowering("aten._conv_depthwise2d.default", "aten.conv_depthwise3d.default")]
fn depthwise(
    cx: &Lower,
    x: Value,
    weight: Value,
    bias: Option<Value>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
) -> Res<Value> {
    let channels = cx.shape(x)?.len().checked_sub(cx.rank(weight)? - 1).map(|axis| cx.dim(x, axis));
    let groups = channels.and_then(Dim::as_const).ok_or("the number of channels is not constant")?;
    Window::new(cx, weight, &stride, &padding, &dilation, groups)?.convolve(cx, x, weight, bias)
}

/// The convolution along time of `[time, batch, channel]`, with a kernel `[time, in, out]`.
#[lowering("aten.conv_tbc.default")]
fn conv_tbc(cx: &Lower, x: Value, weight: Value, bias: Value, pad: i64) -> Res<Value> {
    let (x, weight) = (cx.transpose(x, &[1, 2, 0]), cx.transpose(weight, &[2, 1, 0]));
    let y = Window::new(cx, weight, &[1], &[pad], &[1], 1)?.convolve(cx, x, weight, Some(bias))?;
    Ok(cx.transpose(y, &[2, 0, 1]))
}

/// How the kernel moves.
pub(super) struct Window {
    spatial: usize,
    kernel: Option<Vec<i64>>,
    stride: Vec<i64>,
    pads: Vec<i64>,
    dilation: Vec<i64>,
    groups: i64,
}

impl Window {
    pub(super) fn new(
        cx: &Lower,
        weight: Value,
        stride: &[i64],
        padding: &[i64],
        dilation: &[i64],
        groups: i64,
    ) -> Res<Self> {
        let shape = cx.shape(weight)?;
        let spatial = shape.len().checked_sub(2).ok_or("the argument `weight` has fewer than two axes")?;
        Ok(Self {
            spatial,
            kernel: shape.iter().skip(2).map(|d| d.as_const()).collect(),
            stride: per_axis(stride, spatial)?,
            pads: per_axis(padding, spatial)?.repeat(2),
            dilation: per_axis(dilation, spatial)?,
            groups,
        })
    }

    /// The window along each axis.
    fn along(&self) -> Res<Vec<Along>> {
        let kernel = self.kernel.as_ref().ok_or("a convolution of integers needs a constant kernel size")?;
        let (before, after) = self.pads.split_at(self.spatial);
        let moves = self.stride.iter().zip(&self.dilation).zip(before.iter().zip(after));
        let along = kernel.iter().zip(moves);
        along.map(|(k, ((s, d), (before, after)))| Along::new(*k, *s, *d, [*before, *after])).collect()
    }

    fn convolve(self, cx: &Lower, x: Value, weight: Value, bias: Option<Value>) -> Res<Value> {
        if cx.result(0)?.dtype.kind() != Kind::Float {
            let along = self.along()?;
            let body = |cx: &Lower, x| integers::convolve(cx, x, weight, bias, &along, self.groups);
            return batched(cx, x, self.spatial, body, |cx, y| cx.squeeze(y, &[0]));
        }
        self.emit(cx, op::Conv, [Some(x), Some(weight), bias], &[])
    }

    pub(super) fn transpose(
        self,
        cx: &Lower,
        x: Value,
        weight: Value,
        bias: Option<Value>,
        output_padding: &[i64],
    ) -> Res<Value> {
        let output_padding = per_axis(output_padding, self.spatial)?;
        if cx.result(0)?.dtype.kind() != Kind::Float {
            let along = self.along()?;
            let body = |cx: &Lower, x| {
                integers::transpose(cx, x, weight, bias, &along, &output_padding, self.groups)
            };
            return batched(cx, x, self.spatial, body, |cx, y| cx.squeeze(y, &[0]));
        }
        self.emit(cx, op::ConvTranspose, [Some(x), Some(weight), bias], &output_padding)
    }

    fn emit(
        &self,
        cx: &Lower,
        op: impl Operator<'static>,
        inputs: [Option<Value>; 3],
        extra: &[i64],
    ) -> Res<Value> {
        let [Some(x), weight, bias] = inputs else { return Err("a convolution has an input".into()) };
        // Beyond the stride everything is stated.
        let long = extra.iter().zip(&self.stride).any(|(more, stride)| more >= stride);
        let body = |cx: &Lower, x: Value| {
            let mut node = cx.op(op.named()).input(x).maybe(weight).maybe(bias);
            if let Some(kernel) = &self.kernel {
                node = node.ints("kernel_shape", kernel);
            }
            let optional = [
                ("strides", self.stride.as_slice(), 1),
                ("pads", &self.pads, 0),
                ("dilations", &self.dilation, 1),
                ("output_padding", extra, 0),
            ];
            for (name, values, default) in optional {
                if long || values.iter().any(|v| *v != default) {
                    node = node.ints(name, values);
                }
            }
            if self.groups != 1 {
                node = node.int("group", self.groups);
            }
            Ok(node.one())
        };
        batched(cx, x, self.spatial, body, |cx, y| cx.squeeze(y, &[0]))
    }
}

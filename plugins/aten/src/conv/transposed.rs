//! Transposed convolution: `ConvTranspose`.

use onnxport_sdk::prelude::*;

use super::forward::Window;

/// The transpose of a convolution; `output_padding` adds to the end of each axis.
#[lowering("aten.conv_transpose1d.default", "aten.conv_transpose2d.input", "aten.conv_transpose3d.input")]
fn conv_transpose(
    cx: &Lower,
    input: Value,
    weight: Value,
    bias: Option<Value>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    output_padding: Vec<i64>,
    groups: i64,
    dilation: Vec<i64>,
) -> Res<Value> {
    let window = Window::new(cx, weight, &stride, &padding, &dilation, groups)?;
    window.transpose(cx, input, weight, bias, &output_padding)
}

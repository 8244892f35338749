//! Deformable convolution.

use onnxport_sdk::prelude::*;

/// The convolution whose kernel samples bilinearly at positions moved by `offset`, and weighs the samples by `mask`.
///
/// From opset 19 on it is `DeformConv`; below there is no such operator, and the samples are gathered by
/// `GridSample`. Source: `torchvision/csrc/ops/cpu/deform_conv2d_kernel.cpp`.
#[lowering("torchvision.deform_conv2d.default")]
fn deform_conv2d(
    cx: &Lower,
    input: Value,
    weight: Value,
    offset: Value,
    mask: Value,
    bias: Value,
    stride_h: i64,
    stride_w: i64,
    pad_h: i64,
    pad_w: i64,
    dilation_h: i64,
    dilation_w: i64,
    groups: i64,
    offset_groups: i64,
    use_mask: bool,
) -> Res<Value> {
    let mask = use_mask.then_some(mask);
    let (stride, pad, dilation) = ([stride_h, stride_w], [pad_h, pad_w], [dilation_h, dilation_w]);
    if cx.opset() < 19 {
        let call = Call { input, weight, offset, mask, bias, stride, pad, dilation, groups, offset_groups };
        return call.sampled(cx);
    }
    let pads = [pad_h, pad_w, pad_h, pad_w];
    let node = cx.op(op::DeformConv).input(input).input(weight).input(offset).input(bias).maybe(mask);
    let shape = kernel(cx, weight)?;
    let node = node.kernel_shape(&shape).strides(&stride).pads(&pads);
    let node = node.dilations(&dilation).group(groups);
    Ok(node.offset_group(offset_groups).one())
}

/// The sizes of the kernel.
fn kernel(cx: &Lower, weight: Value) -> Res<[i64; 2]> {
    match (cx.dim(weight, 2), cx.dim(weight, 3)) {
        (Dim::Const(height), Dim::Const(width)) => Ok([height, width]),
        _ => Err("the sizes of the kernel are not constant".into()),
    }
}

/// A call, for opsets without the operator. Pairs are of the vertical and the horizontal axis.
struct Call {
    input: Value,
    weight: Value,
    offset: Value,
    mask: Option<Value>,
    bias: Value,
    stride: [i64; 2],
    pad: [i64; 2],
    dilation: [i64; 2],
    groups: i64,
    offset_groups: i64,
}

impl Call {
    /// The samples as columns, times the weights.
    fn sampled(&self, cx: &Lower) -> Res<Value> {
        let dtype = cx.dtype(self.input)?;
        if dtype == DType::F64 {
            return Err(Refusal::new("deformable convolution in float64 needs opset 19")
                .help("pass --opset 19 or higher"));
        }
        let result = cx.result(0)?.shape;
        let (shape, weights) = (cx.shape(self.input)?, cx.shape(self.weight)?);
        let (&[batch, channels, height, width], &[_, outputs, rows, columns]) =
            (shape.as_slice(), result.as_slice())
        else {
            return Err("the operands of a deformable convolution have four axes".into());
        };
        let (Dim::Const(channels), Dim::Const(outputs)) = (channels, outputs) else {
            return Err("the numbers of channels are not constant".into());
        };
        let kernel = kernel(cx, self.weight)?;
        let (taps, offset_groups) = (kernel[0] * kernel[1], self.offset_groups);
        let maps = cx.dim_mul(batch, offset_groups);
        let read = cx.dim_mul(rows, taps);

        let offset = [maps, Dim::Const(taps), Dim::Const(2), rows, columns];
        let offset = cx.reshape_to(self.offset, &offset);
        let tap = |axis: usize, place: i64| if axis == 0 { place / kernel[1] } else { place % kernel[1] };
        let mut places = Vec::new();
        for (axis, count, extent) in [(1, columns, width), (0, rows, height)] {
            let moved = cx.gather(offset, cx.int(axis as i64), 2);
            let steps: Vec<i64> = (0..taps).map(|p| tap(axis, p) * self.dilation[axis]).collect();
            let regular = self.regular(cx, axis, &steps, count, dtype);
            places.push(cx.unsqueeze(normalised(cx, moved + regular, extent, dtype), &[4]));
        }
        let grid = cx.reshape_to(cx.concat(&places, 4), &[maps, read, columns, Dim::Const(2)]);

        let input = [maps, Dim::Const(channels / offset_groups), height, width];
        let input = cx.reshape_to(self.input, &input);
        let node = cx.op(op::GridSample).input(input).input(grid).mode("bilinear");
        let mut samples = node.padding_mode("zeros").align_corners(0).one();
        if let Some(mask) = self.mask {
            samples = samples * cx.reshape_to(mask, &[maps, Dim::Const(1), read, columns]);
        }

        let depth = channels / self.groups * taps;
        let area = cx.dim_mul(rows, columns);
        let groups = Dim::Const(self.groups);
        let samples = cx.reshape_to(samples, &[batch, groups, Dim::Const(depth), area]);
        let weight = if weights.len() == 4 {
            cx.reshape(self.weight, &[self.groups, outputs / self.groups, depth])
        } else {
            return Err("the argument `weight` has four axes".into());
        };
        Ok(cx.reshape_to_result(cx.matmul(weight, samples), 0)? + cx.reshape(self.bias, &[outputs, 1, 1]))
    }

    /// Where the kernel reads along `axis` before anything is moved, `[taps, rows or 1, columns or 1]`:
    /// `i * stride - pad` and the steps of its taps.
    fn regular(&self, cx: &Lower, axis: usize, steps: &[i64], count: Dim, dtype: DType) -> Value {
        let (stride, pad) = (self.stride[axis], self.pad[axis]);
        if let Dim::Const(count) = count {
            let start = |step: i64| (0..count).map(move |i| (i * stride - pad + step) as f64);
            let places: Vec<f64> = steps.iter().flat_map(|step| start(*step)).collect();
            let (taps, count) = (steps.len() as u64, count as u64);
            let shape = if axis == 0 { [taps, count, 1] } else { [taps, 1, count] };
            return cx.numbers_shaped(&places, &shape, dtype);
        }
        let count = cx.squeeze(cx.dims_value(&[count]), &[0]);
        let places = cx.range(cx.int(0), count, cx.int(1));
        let places = cx.unsqueeze(places * stride, if axis == 0 { &[0, 2] } else { &[0, 1] });
        let steps: Vec<i64> = steps.iter().map(|step| step - pad).collect();
        cx.cast(places + cx.ints_shaped(&steps, &[steps.len() as u64, 1, 1]), dtype)
    }
}

/// A place in elements as `GridSample` counts it: the centre of element `i` of `n` is `(2i + 1) / n - 1`.
fn normalised(cx: &Lower, place: Value, extent: Dim, dtype: DType) -> Value {
    let (half, one, two) = (cx.float(0.5, dtype), cx.float(1.0, dtype), cx.float(2.0, dtype));
    let extent = cx.cast(cx.dims_value(&[extent]), dtype);
    (place + half) * two / extent - one
}

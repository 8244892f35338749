//! Pooling.

mod adaptive;
mod average;
mod dynamic;
mod fractional;
mod max;
mod unpool;

use onnxport_sdk::prelude::*;

use crate::conv::per_axis;

/// How a window moves over the last axes of an operand.
struct Window {
    kernel: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    /// The padding at the end of each axis for PyTorch's number of windows; `None` where
    /// the sizes are not constant and `ceil_mode` has to say it.
    overhang: Option<Vec<i64>>,
}

impl Window {
    fn new(
        cx: &Lower,
        x: Value,
        [kernel, stride, padding, dilation]: [&[i64]; 4],
        ceil_mode: bool,
    ) -> Res<Self> {
        let target = cx.target();
        let spatial = ["1d", "2d", "3d"].iter().position(|d| target.contains(d)).map_or(2, |d| d + 1);
        let kernel = per_axis(kernel, spatial)?;
        let stride = if stride.is_empty() { kernel.clone() } else { per_axis(stride, spatial)? };
        let (padding, dilation) = (per_axis(padding, spatial)?, per_axis(dilation, spatial)?);
        let mut window = Self { kernel, stride, padding, dilation, overhang: Some(vec![0; spatial]) };
        if ceil_mode && window.stride.iter().any(|s| *s != 1) {
            let shape = cx.shape(x)?;
            let lead = shape.len().checked_sub(spatial).ok_or("the operand of a pool has too few axes")?;
            let extents: Option<Vec<i64>> = shape.iter().skip(lead).map(|d| d.as_const()).collect();
            window.overhang = extents.map(|extents| window.overhangs(&extents));
        }
        Ok(window)
    }

    fn spatial(&self) -> usize {
        self.kernel.len()
    }

    /// With `ceil_mode` a last window may hang over the end, if it starts inside the operand or the
    /// padding before it.
    fn overhangs(&self, extents: &[i64]) -> Vec<i64> {
        let axis = |(i, n): (usize, &i64)| {
            let reach = self.dilation[i] * (self.kernel[i] - 1) + 1;
            let (stride, padding) = (self.stride[i].max(1), self.padding[i]);
            let free = n + 2 * padding - reach;
            let mut last = (free + stride - 1).div_euclid(stride);
            if last * stride >= n + padding {
                last -= 1;
            }
            (last * stride - free).max(0)
        };
        extents.iter().enumerate().map(axis).collect()
    }

    /// `pads` of ONNX: before each axis, then after each.
    fn pads(&self) -> Vec<i64> {
        let after = self.padding.iter().zip(self.overhang.iter().flatten()).map(|(p, o)| p + o);
        let after: Vec<i64> = if self.overhang.is_some() { after.collect() } else { self.padding.clone() };
        [self.padding.clone(), after].concat()
    }

    /// Emits the node on an operand with a batch axis, and returns `outputs` outputs.
    fn emit(
        &self,
        cx: &Lower,
        op: impl Operator<'static>,
        x: Value,
        include_pad: bool,
        outputs: usize,
    ) -> Vec<Value> {
        let pads = self.pads();
        let mut node = cx.op(op.named()).input(x).ints("kernel_shape", &self.kernel);
        for (name, values, default) in
            [("strides", &self.stride, 1), ("pads", &pads, 0), ("dilations", &self.dilation, 1)]
        {
            if values.iter().any(|v| *v != default) {
                node = node.ints(name, values);
            }
        }
        // Says what no pads say too; ONNX Runtime would fuse a `Pad` with zeros before it into the
        // pool's own padding, which is not zeros: https://github.com/microsoft/onnxruntime/pull/18136.
        if op.is(op::MaxPool) && self.overhang.is_some() && pads.iter().all(|p| *p == 0) {
            node = node.str("auto_pad", "VALID");
        }
        if self.overhang.is_none() {
            node = node.int("ceil_mode", 1);
        }
        if include_pad && pads.iter().any(|p| *p != 0) {
            node = node.int("count_include_pad", 1);
        }
        node.many(outputs)
    }
}

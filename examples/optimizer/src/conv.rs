//! Convolutions over images as products of matrices.
//!
//! The product is `weight[O, C * K] x columns[N, C * K, L]`, with `K` positions of the kernel and `L` positions of
//! the result. A column holds the elements of one window: the positions of the kernel are slices of the (padded)
//! input, stacked. Grouped convolutions have one more axis, `G`, in front of `O / G` and `C / G`.

use onnxport_sdk::prelude::*;

/// Every convolution over images of known sizes becomes a product of matrices.
#[pass(class = bounded(relative = 1e-5))]
fn conv_to_matmul(cx: &Edit<'_>) -> Res<()> {
    for node in cx.graph().nodes() {
        if !node.is(op::Conv) {
            continue;
        }
        match Conv::read(node) {
            Ok(conv) => conv.rewrite(cx)?,
            Err(refusal) => cx.note(node, &refusal.message),
        }
    }
    Ok(())
}

/// A convolution, all sizes known but that of the batch.
struct Conv<'h> {
    node: NodeRef<'h>,
    input: ValueRef<'h>,
    weight: ValueRef<'h>,
    bias: Option<ValueRef<'h>>,
    result: ValueRef<'h>,
    groups: i64,
    channels: i64,
    features: i64,
    /// Height and width, each.
    image: [i64; 2],
    kernel: [i64; 2],
    output: [i64; 2],
    strides: [i64; 2],
    dilations: [i64; 2],
    /// Top, left, bottom, right.
    pads: [i64; 4],
}

impl<'h> Conv<'h> {
    /// The convolution at `node`, or why it is left alone.
    fn read(node: NodeRef<'h>) -> Res<Self> {
        let operand = |index| node.input(index).ok_or("an operand is missing");
        let (input, weight) = (operand(0)?, operand(1)?);
        let result = node.output(0).ok_or("there is no result")?;
        let spatial = |value: ValueRef<'_>| -> Option<[i64; 3]> {
            match value.shape()?[..] {
                [_, channels, height, width] => {
                    Some([channels.as_const()?, height.as_const()?, width.as_const()?])
                }
                _ => None,
            }
        };
        let [channels, height, width] = spatial(input).ok_or("the extents of the image are not known")?;
        let [features, rows, columns] = spatial(result).ok_or("the extents of the result are not known")?;
        if !weight.is_initializer() {
            return Err("the weight is computed".into());
        }
        let kernel = weight.extents().filter(|w| w.len() == 4).ok_or("the kernel is not two-dimensional")?;
        let list = |name: &str, otherwise: Vec<i64>| node.ints(name).unwrap_or(otherwise);
        let pair = |name| list(name, vec![1, 1]).try_into().map_err(|_| format!("`{name}` is not a pair"));
        let pads = match node.str("auto_pad").as_deref() {
            Some("NOTSET") => list("pads", vec![0; 4]),
            Some("VALID") => vec![0; 4],
            other => return Err(format!("the padding is `{}`", other.unwrap_or("unknown")).into()),
        };
        Ok(Self {
            node,
            input,
            weight,
            bias: node.input(2),
            result,
            groups: node.int("group").ok_or("the number of groups is not known")?,
            channels,
            features,
            image: [height, width],
            kernel: [kernel[2], kernel[3]],
            output: [rows, columns],
            strides: pair("strides")?,
            dilations: pair("dilations")?,
            pads: pads.try_into().map_err(|_| "`pads` has not four numbers")?,
        })
    }

    fn rewrite(&self, cx: &Edit<'h>) -> Res<()> {
        let Self { groups, channels, features, kernel, output, .. } = *self;
        let (grouped, places) = (groups > 1, kernel[0] * kernel[1]);
        cx.before(self.node);
        // The parts that a group adds to a shape.
        let group = |rest: &[i64]| -> Vec<i64> {
            let first = if grouped { vec![groups] } else { Vec::new() };
            first.into_iter().chain(rest.iter().copied()).collect()
        };
        let (deep, high) = (channels / groups * places, features / groups);
        let length = output[0] * output[1];
        let unsigned = |shape: Vec<i64>| shape.into_iter().map(|n| n as u64).collect::<Vec<u64>>();
        let weight = cx
            .view(self.weight, &[0, 1, 2, 3], &unsigned(group(&[high, deep])))
            .ok_or("the weight would have to be copied")?;
        let shape: Vec<i64> = [0].into_iter().chain(group(&[deep, length])).collect();
        let mut product = cx.matmul(weight, cx.reshape(self.columns(cx), &shape));
        if let Some(bias) = self.bias {
            let shape = group(&[high, 1]);
            let bias = if bias.is_initializer() {
                cx.view(bias, &[0], &unsigned(shape)).ok_or("the bias would have to be copied")?
            } else {
                cx.reshape(bias, &shape)
            };
            product = product + bias;
        }
        let result = cx.reshape(product, &[0, features, output[0], output[1]]);
        cx.replace_uses(self.result, result)?;
        cx.remove(self.node)?;
        Ok(())
    }

    /// The inputs of every position of the kernel: `[N, C, K, L]`, or another shape with the elements in that order.
    fn columns(&self, cx: &Edit<'h>) -> ValueRef<'h> {
        let Self { channels, image, kernel, output, strides, dilations, pads, .. } = *self;
        let mut input = self.input;
        if pads != [0; 4] {
            let pads = cx.ints(&[0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]]);
            input = cx.op(op::Pad).input(input).input(pads).one();
        }
        let padded = [image[0] + pads[0] + pads[2], image[1] + pads[1] + pads[3]];
        let (axes, steps) = (cx.ints(&[2, 3]), cx.ints(&strides));
        let shape = cx.ints(&[0, channels, 1, output[0] * output[1]]);
        let mut seen = Vec::new();
        for (row, column) in (0..kernel[0]).flat_map(|i| (0..kernel[1]).map(move |j| (i, j))) {
            let start = [row * dilations[0], column * dilations[1]];
            let end = |axis: usize| start[axis] + (output[axis] - 1) * strides[axis] + 1;
            let mut part = input;
            if start != [0, 0] || [end(0), end(1)] != padded || strides != [1, 1] {
                let (starts, ends) = (cx.ints(&start), cx.ints(&[end(0), end(1)]));
                let slice = cx.op(op::Slice).input(input).input(starts).input(ends);
                part = slice.input(axes).input(steps).one();
            }
            seen.push(cx.reshape_dynamic(part, shape));
        }
        cx.concat(&seen, 2)
    }
}

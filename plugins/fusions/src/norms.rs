//! Normalisations, and what joins them.

use onnxport_sdk::prelude::*;

use crate::{is_last, single};

rules! {
    /// `x / √(mean(x²) + ε)`, scaled, is an RMS normalisation.
    rms_norm (opset = 23..):
        let root = Sqrt(Add(ReduceMean((Mul(x: [.., D], x) | Pow(x: [.., D], 2)), const axes), const epsilon));
        Mul((Div(x, root) | Mul(x, (Reciprocal(root) | Div(1, root)))), scale: [D]) if is_last(axes, x)
        => RMSNormalization(x, scale, axis = -1, epsilon = single(epsilon));

    /// A sum and its layer normalisation; the sum is an output, too.
    layer_norm_with_skip:
        let sum = Add(x: [B, S, D], skip: [B, S, D]);
        (LayerNormalization(sum, scale: [D], bias: [D], axis = axis, epsilon = epsilon), sum)
        if matches!(axis.int(), Some(-1 | 2)) && x.dtype() == Some(DType::F32)
        => skip_norm(cx, [x, skip, scale, bias], epsilon);

    /// A batch normalisation behind a convolution goes into its weights.
    conv_batch_norm:
        BatchNormalization(
            conv @ Conv(x, const w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => folded(cx, conv, [scale, bias, mean, variance], epsilon);
}

fn skip_norm<'h>(cx: &Rewrite<'h>, inputs: [ValueRef<'h>; 4], epsilon: &Attribute) -> Vec<ValueRef<'h>> {
    let node = cx.op_in("com.microsoft", 1, "SkipLayerNormalization").set("epsilon", epsilon.clone());
    let outputs = inputs.into_iter().fold(node, onnxport_sdk::NodeBuilder::input).many(4);
    // The mean and the deviation lie in between.
    vec![outputs[0], outputs[3]]
}

/// `conv` with its weights times `scale / √(variance + ε)`.
fn folded<'h>(
    cx: &Rewrite<'h>,
    conv: NodeRef<'h>,
    [scale, bias, mean, variance]: [ValueRef<'h>; 4],
    epsilon: &Attribute,
) -> Res<ValueRef<'h>> {
    let (Some(x), Some(w)) = (conv.input(0), conv.input(1)) else { return Err("it has no weight".into()) };
    let dtype = cx.dtype(w)?;
    let epsilon = f64::from(epsilon.float().ok_or("there is no epsilon")?);
    let deviation = cx.sqrt(cx.add(variance, cx.float(epsilon, dtype)));
    let factor = cx.div(scale, deviation);
    let mut column = vec![1; cx.rank(w)?];
    column[0] = -1;
    let weight = cx.mul(w, cx.reshape(factor, &column));
    let centred = conv.input(2).map_or_else(|| cx.neg(mean), |b| cx.sub(b, mean));
    let shift = cx.add(cx.mul(centred, factor), bias);
    let attributes = conv.attributes_but(&[]);
    let node = cx.op("Conv").input(x).input(weight).input(shift);
    Ok(attributes.iter().fold(node, |node, (name, value)| node.set(name, value.clone())).one())
}

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
        => skip_norm(cx, "SkipLayerNormalization", &[x, skip, scale, bias], epsilon);

    /// A sum and its RMS normalisation; the sum is an output, too.
    rms_norm_with_skip (opset = 23..):
        let sum = Add(x: [B, S, D], skip: [B, S, D]);
        (RMSNormalization(sum, scale: [D], axis = axis, epsilon = epsilon), sum)
        if matches!(axis.int(), Some(-1 | 2)) && x.dtype() == Some(DType::F32)
        => skip_norm(cx, "SkipSimplifiedLayerNormalization", &[x, skip, scale], epsilon);

    /// A batch normalisation behind a convolution goes into its weights, which are made when the model is written:
    /// in f64, rounded once.
    conv_batch_norm:
        BatchNormalization(
            conv @ Conv(x, const w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => folded(cx, conv, [scale, bias, mean, variance], epsilon);
}

fn skip_norm<'h>(
    cx: &Rewrite<'h>,
    op: &'static str,
    inputs: &[ValueRef<'h>],
    epsilon: &Attribute,
) -> Vec<ValueRef<'h>> {
    let node = cx.op_in("com.microsoft", 1, op).set("epsilon", epsilon.clone());
    let outputs = inputs.iter().copied().fold(node, onnxport_sdk::NodeBuilder::input).many(4);
    // The mean and the deviation lie in between.
    vec![outputs[0], outputs[3]]
}

/// `conv` with its weights times `scale / √(variance + ε)`.
fn folded<'h>(
    cx: &Rewrite<'h>,
    conv: NodeRef<'h>,
    norm: [ValueRef<'h>; 4],
    epsilon: &Attribute,
) -> Res<ValueRef<'h>> {
    let (Some(x), Some(w)) = (conv.input(0), conv.input(1)) else { return Err("it has no weight".into()) };
    let dtype = cx.dtype(w)?;
    let epsilon = f64::from(epsilon.float().ok_or("there is no epsilon")?);
    let [scale, bias, mean, variance] = norm.map(|value| value.weight().cast(DType::F64));
    let factor = scale / (variance + epsilon).sqrt();
    let mut column = w.initializer().ok_or("the weight is computed")?.shape;
    column.iter_mut().skip(1).for_each(|extent| *extent = 1);
    let weight = (w.weight().cast(DType::F64) * factor.reshape(&column)).cast(dtype).value()?;
    let centred = conv.input(2).map_or_else(|| -&mean, |b| b.weight().cast(DType::F64) - &mean);
    let shift = (centred * factor + bias).cast(dtype).value()?;
    let attributes = conv.attributes_but(&[]);
    let node = cx.op("Conv").input(x).input(weight).input(shift);
    Ok(attributes.iter().fold(node, |node, (name, value)| node.set(name, value.clone())).one())
}

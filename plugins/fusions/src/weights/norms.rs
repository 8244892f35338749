//! Batch normalisations behind convolutions and products.

use onnxport_sdk::prelude::*;

use super::affine::{Affine, Product};

rules! {
    #![class = bounded(relative = 1e-5)]

    /// A batch normalisation behind a convolution goes into its weights, which are made when the model is written.
    conv_batch_norm:
        BatchNormalization(
            conv @ Conv(_, const _w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => normed(cx, conv, b, [scale, bias, mean, variance], epsilon);

    /// The same behind a transposed convolution.
    conv_transpose_batch_norm:
        BatchNormalization(
            conv @ ConvTranspose(_, const _w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => normed(cx, conv, b, [scale, bias, mean, variance], epsilon);

    /// The same behind a product of matrices.
    gemm_batch_norm:
        BatchNormalization(
            product @ Gemm(_, const _w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => normed(cx, product, b, [scale, bias, mean, variance], epsilon);
}

/// `product` with its weights times `scale / √(variance + ε)`.
fn normed<'h>(
    cx: &Rewrite<'h>,
    product: NodeRef<'h>,
    own: Option<ValueRef<'h>>,
    norm: [ValueRef<'h>; 4],
    epsilon: &Attribute,
) -> Res<ValueRef<'h>> {
    let epsilon = f64::from(epsilon.float().ok_or("there is no epsilon")?);
    let [scale, bias, mean, variance] = norm.map(|value| value.weight().cast(DType::F64));
    let factor = scale / (variance + epsilon).sqrt();
    let shift = bias - mean * &factor;
    Product::of(product)?.with(cx, own, Affine { factor: Some(factor), shift: Some(shift) })
}

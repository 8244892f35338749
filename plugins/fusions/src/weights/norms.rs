//! Batch normalisations around convolutions and products.

use onnxport_sdk::Weight;
use onnxport_sdk::prelude::*;

use super::affine::{Affine, Product};

rules! {
    #![class = bounded(relative = 1e-5)]

    /// Folds a batch normalization after a convolution into its weights, which are created when the model is written.
    conv_batch_norm:
        BatchNormalization(
            conv @ Conv(_, const _w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => normed(cx, conv, b, [scale, bias, mean, variance], epsilon);

    /// Folds a batch normalization after a transposed convolution into its weights.
    conv_transpose_batch_norm:
        BatchNormalization(
            conv @ ConvTranspose(_, const _w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => normed(cx, conv, b, [scale, bias, mean, variance], epsilon);

    /// Folds a batch normalization after a `Gemm` into its weights.
    gemm_batch_norm:
        BatchNormalization(
            product @ Gemm(_, const _w, const b?, ..),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        => normed(cx, product, b, [scale, bias, mean, variance], epsilon);

    /// Folds a batch normalization after a linear layer into its weights, also with a reshape between both.
    linear_batch_norm:
        let product = MatMul(_, (const _w | Transpose(const _w, ..)));
        let linear = (Add(product, const b) | product);
        let rows = Reshape(linear, _shape, ..);
        BatchNormalization(
            (rows | linear),
            const scale: [O], const bias: [O], const mean: [O], const variance: [O],
            epsilon = epsilon, momentum = _momentum
        )
        if are_rows(matched, product)
        => by_rows(cx, product, rows, b, [scale, bias, mean, variance], epsilon);

    /// Folds a batch normalization before a convolution without padding or a linear layer into its weights and bias.
    batch_norm_before:
        let norm = BatchNormalization(
            x, const scale: [I], const bias: [I], const mean: [I], const variance: [I],
            epsilon = epsilon, momentum = _momentum
        );
        (
            conv @ Conv(norm, const _w, const b?, ..)
            | gemm @ Gemm(norm, const _w, const b?, ..)
            | matmul @ MatMul(norm, (const _w | Transpose(const _w, ..)))
        )
        => before(cx, conv.or(gemm).or(matmul), x, b, [scale, bias, mean, variance], epsilon);
}

/// Whether the normalized value has the last axis of `product` as its channels.
fn are_rows(matched: &Matched<'_>, product: Option<NodeRef<'_>>) -> Res<()> {
    let shape = |value: Option<ValueRef<'_>>| value.and_then(ValueRef::shape).ok_or("a shape is not known");
    let (own, normed) =
        (shape(product.and_then(|product| product.output(0)))?, shape(matched.root().output(0))?);
    match (own.last(), normed.as_slice()) {
        (Some(Dim::Const(own)), [_, Dim::Const(channels)]) if own == channels && *own > 0 => Ok(()),
        _ => Err("the channels are not the last axis of the product".into()),
    }
}

/// `product` with its weights times `scale / √(variance + ε)`, in the shape of the rows.
fn by_rows<'h>(
    cx: &Rewrite<'h>,
    product: Option<NodeRef<'h>>,
    rows: Option<NodeRef<'h>>,
    own: Option<ValueRef<'h>>,
    norm: [ValueRef<'h>; 4],
    epsilon: &Attribute,
) -> Res<ValueRef<'h>> {
    let normed = normed(cx, product.ok_or("there is no product")?, own, norm, epsilon)?;
    let Some(rows) = rows else { return Ok(normed) };
    let attributes = rows.attributes_but(&[]);
    let node = cx.op(op::Reshape).input(normed).maybe(rows.input(1));
    Ok(attributes.iter().fold(node, |node, (name, value)| node.set(name, value.clone())).one())
}

/// `product` with its weights times `scale / √(variance + ε)`.
fn normed<'h>(
    cx: &Rewrite<'h>,
    product: NodeRef<'h>,
    own: Option<ValueRef<'h>>,
    norm: [ValueRef<'h>; 4],
    epsilon: &Attribute,
) -> Res<ValueRef<'h>> {
    let [factor, shift] = factor_and_shift(norm, epsilon)?;
    Product::from_node(product)?.with(cx, own, Affine { factor: Some(factor), shift: Some(shift) })
}

/// `product` of the normalized value, with the norm in its weights; `own` is its bias.
fn before<'h>(
    cx: &Rewrite<'h>,
    product: Option<NodeRef<'h>>,
    x: ValueRef<'h>,
    own: Option<ValueRef<'h>>,
    norm: [ValueRef<'h>; 4],
    epsilon: &Attribute,
) -> Res<ValueRef<'h>> {
    let node = product.ok_or("there is no product")?;
    if node.is(op::MatMul) && cx.rank(x)? != 2 {
        return Err("the channels are not the last axis of the normalized value".into());
    }
    Product::from_node(node)?.of_mapped(cx, x, own, factor_and_shift(norm, epsilon)?)
}

/// The factor `scale / √(variance + ε)` of a norm and its shift `bias - mean * factor`, in f64, of `scale`, `bias`, `mean` and
/// `variance`.
fn factor_and_shift<'h>(norm: [ValueRef<'h>; 4], epsilon: &Attribute) -> Res<[Weight<'h>; 2]> {
    let epsilon = f64::from(epsilon.float().ok_or("there is no epsilon")?);
    let [scale, bias, mean, variance] = norm.map(|value| value.weight().cast(DType::F64));
    let factor = scale / (variance + epsilon).sqrt();
    let shift = bias - mean * &factor;
    Ok([factor, shift])
}

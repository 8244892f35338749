//! Scales and biases around convolutions and products.

use onnxport_sdk::prelude::*;

use super::affine::{Affine, Product, by_channel, exact_type};

rules! {
    #![class = bounded(relative = 1e-5)]

    /// Folds a factor or divisor after a convolution, per channel or for all channels, into its weights and bias.
    scale_after:
        let conv = Conv(_, const _w, const b?, ..);
        let transposed = ConvTranspose(_, const _w, const b?, ..);
        let gemm = Gemm(_, const _w, const b?, ..);
        let product = (conv | transposed | gemm);
        (Mul(product, const factor) | Div(product, const divisor))
        => scaled(cx, conv.or(transposed).or(gemm), b, [factor, divisor]);

    /// Folds a number that is added to or subtracted from each channel after a convolution into its bias.
    bias_after:
        let conv = Conv(_, const _w, const b?, ..);
        let transposed = ConvTranspose(_, const _w, const b?, ..);
        let gemm = Gemm(_, const _w, const b?, ..);
        let product = (conv | transposed | gemm);
        (Add(product, const more) | Sub(product, const less))
        => shifted(cx, conv.or(transposed).or(gemm), b, [more, less]);

    /// Folds a factor or divisor after a linear layer into its weights.
    scale_after_linear:
        let product = MatMul(_, (const _w | Transpose(const _w, ..)));
        let linear = (Add(product, const b) | product);
        (Mul(linear, const factor) | Div(linear, const divisor))
        => scaled(cx, Some(product), b, [factor, divisor]);

    /// Folds a number that scales the input of a convolution or a product into the weights.
    scale_before:
        let scaled = (Mul(x, const factor) | Div(x, const divisor));
        (
            conv @ Conv(scaled, const _w, _?, ..)
            | transposed @ ConvTranspose(scaled, const _w, _?, ..)
            | gemm @ Gemm(scaled, const _w, _?, ..)
            | matmul @ MatMul(scaled, (const _w | Transpose(const _w, ..)))
        )
        => before(cx, conv.or(transposed).or(gemm).or(matmul), x, [factor, divisor]);

    /// Fuses a product of two matrices and a bias into a `Gemm`.
    linear_gemm:
        Add(matmul @ MatMul(x: [_, _], (w: [_, _] | Transpose(v: [_, _], perm = [1, 0]))), b)
        if is_bias(matched, matmul, b)
        => gemm(cx, x, [w, v], b);
}

/// `product` times a factor, or by a divisor; `own` is its bias.
fn scaled<'h>(
    cx: &Rewrite<'h>,
    product: Option<NodeRef<'h>>,
    own: Option<ValueRef<'h>>,
    numbers: [Option<ValueRef<'h>>; 2],
) -> Res<ValueRef<'h>> {
    let (product, rank) = known(cx, product)?;
    let channels = |numbers| by_channel(numbers, product.axis(rank), rank, product.channels());
    let factor = match numbers {
        [Some(factor), _] => channels(factor)?,
        [None, Some(divisor)] => channels(divisor)?.reciprocal(),
        _ => return Err("there is no number".into()),
    };
    product.with(cx, own, Affine { factor: Some(factor), shift: None })
}

/// `product` and something more, or less; `own` is its bias.
fn shifted<'h>(
    cx: &Rewrite<'h>,
    product: Option<NodeRef<'h>>,
    own: Option<ValueRef<'h>>,
    numbers: [Option<ValueRef<'h>>; 2],
) -> Res<ValueRef<'h>> {
    let (product, rank) = known(cx, product)?;
    let channels = |numbers| by_channel(numbers, product.axis(rank), rank, product.channels());
    let shift = match numbers {
        [Some(more), _] => channels(more)?,
        [None, Some(less)] => -channels(less)?,
        _ => return Err("there is no number".into()),
    };
    product.with(cx, own, Affine { factor: None, shift: Some(shift) })
}

/// `product`, and the rank of its result.
fn known<'h>(cx: &Rewrite<'h>, product: Option<NodeRef<'h>>) -> Res<(Product<'h>, usize)> {
    let node = product.ok_or("there is no product")?;
    let rank = cx.rank(node.output(0).ok_or("the product makes nothing")?)?;
    Ok((Product::from_node(node)?, rank))
}

/// `product` of `x`, where a number stands in front of it.
fn before<'h>(
    cx: &Rewrite<'h>,
    product: Option<NodeRef<'h>>,
    x: ValueRef<'h>,
    numbers: [Option<ValueRef<'h>>; 2],
) -> Res<ValueRef<'h>> {
    let product = Product::from_node(product.ok_or("there is no product")?)?;
    let single = |numbers: ValueRef<'h>| by_channel(numbers, 0, cx.rank(x)?.max(1), 1);
    let factor = match numbers {
        [Some(factor), _] => single(factor)?,
        [None, Some(divisor)] => single(divisor)?.reciprocal(),
        _ => return Err("there is no number".into()),
    };
    product.of_scaled(cx, x, factor)
}

/// Whether `b` is repeated along the rows of the result of `matmul`, or has its shape.
fn is_bias(matched: &Matched<'_>, matmul: NodeRef<'_>, b: ValueRef<'_>) -> Res<()> {
    let made = matmul.output(0).ok_or("the product makes nothing")?;
    exact_type(made)?;
    let (own, sum) = (b.shape(), matched.root().output(0).and_then(ValueRef::shape));
    let (Some(own), Some(whole), Some(sum)) = (own, made.shape(), sum) else {
        return Err("a shape is not known".into());
    };
    let fits = own.iter().rev().zip(whole.iter().rev()).all(|(own, extent)| own.is(1) || own == extent);
    if fits && own.len() <= 2 && whole == sum && !own.contains(&Dim::Unknown) {
        Ok(())
    } else {
        Err("the addend has another shape".into())
    }
}

/// `x` times one of `weights`, the second one transposed, and `b`.
fn gemm<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    weights: [Option<ValueRef<'h>>; 2],
    b: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let (weight, transposed) = match weights {
        [Some(weight), _] => (weight, false),
        [None, Some(weight)] => (weight, true),
        _ => return Err("there is no second operand".into()),
    };
    let node = cx.op(op::Gemm).input(x).input(weight).input(b);
    Ok(if transposed { node.trans_b(1).one() } else { node.one() })
}

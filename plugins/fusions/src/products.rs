//! Products.

use onnxport_sdk::Weight;
use onnxport_sdk::prelude::*;

rules! {
    /// The products of a value with three weights are one product, which is split. The packed weight is made when
    /// the model is written.
    packed_qkv (opset = 13..):
        (MatMul(x, const q: [D, Q]), MatMul(x, const k: [D, K]), MatMul(x, const v: [D, V]))
        if x.rank() == Some(3)
        => split(cx, cx.matmul(x, Weight::concat(&[q, k, v].map(ValueRef::weight), 1).value()?), [Q, K, V]);

    /// The same with the weights as PyTorch's linear layers have them, a row for each output: they lie one behind the
    /// other in the packed one.
    packed_linears (opset = 13..):
        (
            MatMul(x, Transpose(const q: [Q, D], perm = [1, 0])),
            MatMul(x, Transpose(const k: [K, D], perm = [1, 0])),
            MatMul(x, Transpose(const v: [V, D], perm = [1, 0]))
        )
        if x.rank() == Some(3)
        => split(
            cx,
            cx.matmul(x, cx.transpose(Weight::concat(&[q, k, v].map(ValueRef::weight), 0).value()?, &[1, 0])),
            [Q, K, V]
        );
}

/// The parts of `product` along its last axis, `widths` wide.
fn split<'h>(cx: &Rewrite<'h>, product: ValueRef<'h>, widths: [Dim; 3]) -> Res<Vec<ValueRef<'h>>> {
    let widths: Option<Vec<i64>> = widths.into_iter().map(Dim::as_const).collect();
    let widths = widths.ok_or("a weight has a width that is not known")?;
    Ok(cx.op("Split").input(product).input(cx.ints(&widths)).int("axis", -1).many(3))
}

//! Products.

use onnxport_sdk::Weight;
use onnxport_sdk::prelude::*;

rules! {
    /// The products of a value with three weights are one product, which is split. The packed weight is made when
    /// the model is written.
    packed_qkv (opset = 13..):
        (MatMul(x, const q: [D, Q]), MatMul(x, const k: [D, K]), MatMul(x, const v: [D, V]))
        if x.rank() == Some(3)
        => packed(cx, x, [q, k, v], [Q, K, V]);
}

fn packed<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    weights: [ValueRef<'h>; 3],
    widths: [Dim; 3],
) -> Res<Vec<ValueRef<'h>>> {
    let widths: Option<Vec<i64>> = widths.into_iter().map(Dim::as_const).collect();
    let widths = widths.ok_or("a weight has a width that is not known")?;
    let product = cx.matmul(x, Weight::concat(&weights.map(ValueRef::weight), 1).value()?);
    Ok(cx.op("Split").input(product).input(cx.ints(&widths)).int("axis", -1).many(3))
}

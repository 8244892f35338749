//! Scales in front of products, which ONNX Runtime makes part of the product where it sees them.

use onnxport_sdk::prelude::*;

use crate::runtime::single_precision;

rules! {
    /// Scales a query whose heads become rows after the reshape, next to its product with the keys: the runtime
    /// computes both at once, and rounds once less.
    scaled_rows (class = target("onnxruntime", relative = 1e-6), opset = 13..=22):
        let keys = shared Transpose(_k, perm = [0, 1, 3, 2]);
        MatMul(Reshape(Mul(q, const factor), shape, allowzero = 0?), keys) if is_number(q, factor)
        => scaled(cx, q, factor, shape);
}

/// Whether `factor` is one number that leaves the shape of `q` as it is, and that is faster.
fn is_number(q: ValueRef<'_>, factor: ValueRef<'_>) -> Res<()> {
    single_precision(q, "Scale behind a Reshape")?;
    let single = factor.shape().is_some_and(|shape| shape.iter().all(|extent| extent.is(1)));
    match (q.rank(), factor.rank()) {
        (Some(rank), Some(own)) if single && own <= rank => Ok(()),
        _ => Err("it is not scaled by one number".into()),
    }
}

fn scaled<'h>(
    cx: &Rewrite<'h>,
    q: ValueRef<'h>,
    factor: ValueRef<'h>,
    shape: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let root = cx.matched().root();
    let keys = root.input(1).ok_or("there are no keys")?;
    let after = root.input(0).and_then(ValueRef::rank);
    if factor.rank().zip(after).is_none_or(|(own, after)| own > after) {
        return Err("the factor has more axes than the product".into());
    }
    let rows = cx.reshape_dynamic(q, shape);
    Ok(cx.matmul(cx.mul(rows, factor), keys))
}

//! Weights that are added one after the other.

use onnxport_sdk::prelude::*;

use super::affine::exact_type;

rules! {
    #![class = bounded(relative = 1e-5)]

    /// Merges two consecutive biases.
    bias_twice: Add(Add(x, const first), const second) => added(cx, x, first, second);
}

/// `x` and the sum of both, which have one shape, and nothing else reads.
fn added<'h>(
    cx: &Rewrite<'h>,
    x: ValueRef<'h>,
    first: ValueRef<'h>,
    second: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    exact_type(x)?;
    let extents = first.extents().ok_or("a shape is not known")?;
    if second.extents().is_none_or(|other| other != extents) {
        return Err("they have different shapes".into());
    }
    if extents.iter().all(|extent| *extent == 1) {
        return Err("they are single numbers, of which much may hang".into());
    }
    if first.only_use().is_none() || second.only_use().is_none() {
        return Err("somebody else reads one of them".into());
    }
    let dtype = cx.dtype(x)?;
    let sum = first.weight().cast(DType::F64) + second.weight().cast(DType::F64);
    Ok(cx.add(x, sum.cast(dtype).value()?))
}

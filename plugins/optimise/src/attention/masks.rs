//! Masks of truth values around a softmax.

use onnxport_sdk::prelude::*;

rules! {
    /// Moves the second mask of a softmax that is masked before and after it behind the following product, which is
    /// smaller. Results are the same if the scores are finite; infinities and NaN in masked positions propagate, as in
    /// PyTorch.
    masked_softmax (class = bounded(relative = 1e-6, ulps = 4, finite), opset = 18.., priority = 1):
        MatMul(
            Where(mask, Softmax(Where(mask, scores, const low), axis = -1), 0),
            v: [.., _, _]
        )
        if is_lowest(low).and_then(|()| has_last(mask))
        => masked(cx, scores, mask, v);

    /// Replaces NaN in fully masked rows of a softmax by zeros after the following product, which is smaller, instead
    /// of before it. A row of the softmax is NaN everywhere or nowhere. Results are the same if the values are finite.
    guarded_softmax (class = bounded(relative = 1e-6, ulps = 4, finite), opset = 13.., priority = 1):
        let weights = soft @ Softmax(_, axis = -1);
        MatMul(Where(IsNaN(weights), 0, weights), v: [.., _, _])
        if has_rows(soft)
        => guarded(cx, soft, v);
}

/// Whether rows of `value` have elements at every size: ONNX Runtime reduces an empty row to an empty one.
fn has_last(value: ValueRef<'_>) -> Res<()> {
    let last = value.shape().and_then(|shape| shape.last().copied());
    if last.is_some_and(|dim| dim.as_const().unwrap_or_else(|| value.graph().dim_range(dim).min) > 0) {
        Ok(())
    } else {
        Err("its rows may be empty".into())
    }
}

/// Whether a softmax has several rows, none of them empty.
fn has_rows(soft: NodeRef<'_>) -> Res<()> {
    let weights = soft.output(0).ok_or("the softmax makes nothing")?;
    if weights.rank() > Some(1) { has_last(weights) } else { Err("the softmax is not of rows".into()) }
}

/// Whether `low` is so low that its exponential beside a usual score is zero.
fn is_lowest(low: ValueRef<'_>) -> Res<()> {
    let bound = match low.dtype() {
        Some(DType::F32 | DType::F64 | DType::BF16) => Some(-1e30),
        Some(DType::F16) => Some(-65504.0),
        _ => None,
    };
    let number = match low.constant().and_then(|low| low.floats()).as_deref() {
        Some([number]) => Some(*number),
        _ => None,
    };
    if number.zip(bound).is_some_and(|(number, bound)| number <= bound) {
        Ok(())
    } else {
        Err("masked scores are not low enough".into())
    }
}

fn masked<'h>(
    cx: &Rewrite<'h>,
    scores: ValueRef<'h>,
    mask: ValueRef<'h>,
    v: ValueRef<'h>,
) -> Res<ValueRef<'h>> {
    let dtype = cx.dtype(scores)?;
    let bias = cx
        .op(op::Where)
        .input(mask)
        .input(cx.float(0.0, dtype))
        .input(cx.float(f64::NEG_INFINITY, dtype))
        .one();
    let product = cx.matmul(cx.softmax(cx.add(scores, bias), -1), v);
    let open = cx.equal(cx.reduce(op::ReduceMax, bias, &[-1], true), 0.0);
    Ok(cx.op(op::Where).input(open).input(product).input(cx.float(0.0, dtype)).one())
}

/// The product of the result of `soft` and `v`, and zeros where a row of the former is NaN.
fn guarded<'h>(cx: &Rewrite<'h>, soft: NodeRef<'h>, v: ValueRef<'h>) -> Res<ValueRef<'h>> {
    let weights = soft.output(0).ok_or("the softmax makes nothing")?;
    let product = cx.matmul(weights, v);
    let one = cx.slice(weights, -1, 0, 1, 1);
    Ok(cx.select(cx.is_nan(one), 0.0, product))
}

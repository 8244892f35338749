//! The loss of examples that have several classes each.

use onnxport_sdk::prelude::*;

use super::Reduction;

/// The mean over the classes of `max(0, 1 - (x[j] - x[i]))` summed over the classes `j` of an example and all others `i`.
///
/// The classes of an example are the numbers in its row of `target` before the first that is negative.
#[lowering("aten.multilabel_margin_loss.default")]
fn multilabel_margin_loss(cx: &Lower, x: Value, target: Value, reduction: i64) -> Res<Value> {
    let (loss, _) = loss(cx, x, target, Reduction::read(reduction)?)?;
    Ok(loss)
}

/// As `multilabel_margin_loss`, with 1 at the classes of each example, and 0 elsewhere.
#[lowering("aten.multilabel_margin_loss_forward.default")]
fn multilabel_margin_loss_forward(cx: &Lower, x: Value, target: Value, reduction: i64) -> Res<Vec<Value>> {
    let (loss, marks) = loss(cx, x, target, Reduction::read(reduction)?)?;
    Ok(vec![loss, cx.reshape_to_result(marks, 1)?])
}

fn loss(cx: &Lower, x: Value, target: Value, reduction: Reduction) -> Res<(Value, Value)> {
    let dtype = cx.dtype(x)?;
    let rank = cx.rank(x)?;
    // A single example becomes a batch of one.
    let batch = |v: Value| if rank < 2 { cx.reshape(v, &[1, -1]) } else { v };
    let (scores, target) = (batch(x), cx.cast(batch(target), DType::I64));
    let ended = cx.cast(cx.less(target, cx.int(0)), DType::I64);
    let ended = cx.op(op::CumSum).input(ended).input(cx.int(1)).one();
    let counts = cx.equal(ended, cx.int(0));
    let classes = cx.max(target, 0);
    let zeros = cx.constant_of_shape(cx.shape_value(scores), cx.filled(&Scalar::Int(0), dtype, &[1]));
    let node = cx.op(op::ScatterElements).input(zeros).input(classes).input(cx.cast(counts, dtype)).axis(1);
    let marks = node.reduction("max").one();
    let own = cx.op(op::GatherElements).input(scores).input(classes).axis(1).one();
    let terms = cx.relu(cx.float(1.0, dtype) - cx.unsqueeze(own, &[2]) + cx.unsqueeze(scores, &[1]));
    let pairs = cx.unsqueeze(counts, &[2]) & cx.equal(cx.unsqueeze(marks, &[1]), 0.0);
    let sums = cx.reduce(op::ReduceSum, cx.select(pairs, terms, 0.0), &[1, 2], false);
    let number = cx.cast(cx.extent(scores, 1), dtype);
    let mut losses = sums / number;
    if rank < 2 {
        losses = cx.squeeze(losses, &[0]);
        return Ok((losses, marks));
    }
    Ok((reduction.of(cx, losses), marks))
}

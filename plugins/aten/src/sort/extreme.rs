//! Positions of the largest and the smallest. PyTorch finds NaN first; ONNX gives it no place.

use onnxport_sdk::prelude::*;

fn arg(cx: &Lower, op: impl Operator<'static>, x: Value, dim: Option<Axis>, keepdim: bool) -> Res<Value> {
    let dtype = cx.dtype(x)?;
    let wide = match dtype {
        DType::Bool => DType::U8,
        DType::U64 => DType::I64,
        other => other,
    };
    let x = cx.cast(x, wide);
    let rank = cx.rank(x)?;
    if let (Some(Axis(axis)), true) = (dim, rank > 0) {
        let node = cx.op(op.named()).input(x).int("axis", axis as i64);
        return Ok(node.int("keepdims", i64::from(keepdim)).one());
    }
    let flat = if rank == 1 { x } else { cx.reshape(x, &[-1]) };
    let found = cx.op(op.named()).input(flat).int("axis", 0).int("keepdims", 0).one();
    if keepdim { cx.reshape_to_result(found, 0) } else { Ok(found) }
}

/// The position of the largest element along `dim`, or in the flattened tensor; the first one.
#[lowering("aten.argmax.default")]
fn argmax(cx: &Lower, x: Value, dim: Option<Axis>, keepdim: bool) -> Res<Value> {
    arg(cx, op::ArgMax, x, dim, keepdim)
}

/// The position of the smallest element along `dim`, or in the flattened tensor; the first one.
#[lowering("aten.argmin.default")]
fn argmin(cx: &Lower, x: Value, dim: Option<Axis>, keepdim: bool) -> Res<Value> {
    arg(cx, op::ArgMin, x, dim, keepdim)
}

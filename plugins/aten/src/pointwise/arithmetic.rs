//! Sums and products.

use onnxport_sdk::prelude::*;

/// `self + alpha * other`.
#[lowering("aten.add.Tensor", "aten.add.Scalar")]
fn add(cx: &mut Lower, a: Operand, b: Operand, alpha: Scalar) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (a, mut b) = (cx.operand(&a, dtype), cx.operand(&b, dtype));
    if !alpha.is(1.0) {
        let factor = cx.number(&alpha, dtype);
        b = cx.mul(b, factor);
    }
    Ok(if dtype == DType::Bool { cx.or(a, b) } else { cx.add(a, b) })
}

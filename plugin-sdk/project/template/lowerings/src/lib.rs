//! Lowers the operators of `myplugin` to ONNX.

use onnxport_sdk::prelude::*;

#[cfg(test)]
mod tests;

/// `x * factor`.
#[lowering("myplugin.scaled.default")]
fn scaled(cx: &Lower, x: Value, factor: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if !dtype.is_float() {
        return Err(Refusal::new(format!("argument `x`: {dtype} is not a floating-point type")));
    }
    Ok(x * factor)
}

onnxport_sdk::export_plugin! { id: "myplugin", schemas: include_str!("../schemas.txt") }

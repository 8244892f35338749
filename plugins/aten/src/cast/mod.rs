//! Changes of the element type: truncation to integers, `!= 0` to truth values.

use onnxport_sdk::prelude::*;

/// `self` in the type that the program states; devices, layouts and memory formats mean nothing.
#[lowering(
    "aten.to.dtype",
    "aten.to.device",
    "aten.to.dtype_layout",
    "aten.to.other",
    "aten._to_copy.default",
    "aten.type_as.default",
    "aten.lift.default",
    "aten.lift_fresh.default",
    "aten.lift_fresh_copy.default",
    "prims.convert_element_type.default",
    "prims.device_put.default"
)]
fn to(cx: &Lower, x: Value) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    Ok(cx.cast(x, dtype))
}

/// The tensors themselves: a model has no devices.
#[lowering("aten._to_cpu.default")]
fn to_cpu(_cx: &Lower, tensors: Vec<Value>) -> Res<Vec<Value>> {
    Ok(tensors)
}

//! A plugin whose lowering crosses the boundary as often as the program says.

use onnxport_sdk::prelude::*;

/// Asks the host `times` times for the type of the tensor.
#[lowering("bench.ask.default")]
fn ask(cx: &Lower, x: Value, times: i64) -> Res<Value> {
    for _ in 0..times {
        std::hint::black_box(cx.fact(x));
    }
    Ok(cx.op(op::Identity).input(x).one())
}

onnxport_sdk::export_plugin! { id: "bench", schemas: "bench::ask(Tensor x, int times) -> Tensor\n" }

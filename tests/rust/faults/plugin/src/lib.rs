//! A plugin that misbehaves on purpose, for the tests.

use onnxport_sdk::log;
use onnxport_sdk::prelude::*;

onnxport_sdk::options! {
    /// What a user can set.
    struct Settings {
        /// The slope of negative numbers.
        slope: f64 = 0.0,
        /// How warnings begin.
        voice: String = "note" in ["note", "listen"],
        /// A number that only the plugin checks.
        count: Option<u32>,
    }
}

simple! { "faulty.fine.default" => Relu(self) }

/// Another lowering of an operator that `aten` has as well.
#[lowering("aten.relu.default")]
fn relu(cx: &Lower, x: Value) -> Res<Value> {
    let slope = Settings::get()?.slope;
    log::info!(cx => "a slope of {slope}");
    if slope > 1.0 {
        std::thread::spawn(|| log::warn!("a steep slope")).join().map_err(|_| "the thread is gone")?;
    }
    Ok(cx.op(op::LeakyRelu).input(x).alpha(slope).one())
}

#[lowering("faulty.panics.default")]
fn panics(_: &Lower, _x: Value) -> Res<Value> {
    panic!("out of cheese")
}

/// Reports the origin of the call to the user.
#[lowering("faulty.talks.default")]
fn talks(cx: &Lower, x: Value) -> Res<Value> {
    let voice = &Settings::get()?.voice;
    let origin = cx.origin()?;
    log::warn!(cx => "{voice}: {} in `{}`, line {} of {}", origin.node, origin.module, origin.line, origin.file);
    log::info!("not shown unless it is asked for");
    std::thread::spawn(|| log::warn!("from a thread of its own")).join().map_err(|_| "the thread is gone")?;
    Ok(cx.op(op::Relu).input(x).one())
}

onnxport_sdk::export_plugin! { id: "faulty", schemas: SCHEMAS, options: Settings }

const SCHEMAS: &str = "\
faulty::fine(Tensor self) -> Tensor
faulty::panics(Tensor x) -> Tensor
faulty::talks(Tensor x) -> Tensor
";

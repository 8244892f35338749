//! An executor: it runs ONNX models in a runtime.

use std::path::Path;

use onnxport_sdk::abi::executor::TensorView;
use onnxport_sdk::executor::{Executor, Failure, Options, Outputs, Session};

#[cfg(test)]
mod tests;

/// The runtime, opened.
struct Runtime {
    threads: usize,
}

impl Executor for Runtime {
    const NAME: &'static str = "myplugin";
    type Session = Loaded;

    /// Opens the runtime; `--executor-option NAME=VALUE` arrives here.
    fn open(options: Options<'_>) -> Result<Self, Failure> {
        Ok(Self { threads: options.number("threads")?.unwrap_or(1) })
    }

    /// The name, the version, and where the runtime comes from.
    fn describe(&self) -> String {
        format!("{} {}, {} threads", Self::NAME, env!("CARGO_PKG_VERSION"), self.threads)
    }

    fn load(&mut self, path: &Path) -> Result<Loaded, Failure> {
        let bytes = std::fs::read(path).map_err(|error| Failure::new(error.to_string()))?;
        if !is_model(&bytes) {
            return Err(Failure::new(format!("{} is not an ONNX model", path.display())));
        }
        // Hand the path to the runtime here. Data files lie beside the model.
        Ok(Loaded)
    }
}

/// Whether the bytes begin as an ONNX model does: with the field `ir_version`, or another of its fields.
fn is_model(bytes: &[u8]) -> bool {
    matches!(bytes, [0x08, 1..=127, ..])
}

/// A loaded model.
struct Loaded;

impl Session for Loaded {
    /// Runs the model, and pushes every output in the model's order: name, element type, sizes, bytes.
    fn run(&mut self, inputs: &[TensorView<'_>], _outputs: &mut Outputs<'_>) -> Result<(), Failure> {
        Err(Failure::new(format!("it does not run models yet, not with {} inputs", inputs.len())))
    }
}

onnxport_sdk::export_plugin! { id: "myplugin", executor: Runtime }

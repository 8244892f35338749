//! OpenVINO as an onnxport executor and backend.
//!
//! The executor runs whole models. The backend compiles regions of a model into `EPContext` nodes, which ONNX Runtime runs
//! by its OpenVINO execution provider; see [`backend`].
//!
//! The library of its C API is loaded at run time; see [`discover`] for where it is looked for. Models are computed in
//! float32 unless the user asks for the device's own precision. Devices compute integers of 64 bits in 32: inputs that do
//! not fit are refused.

mod api;
mod backend;
pub mod discover;
mod library;
mod profiled;
mod runtime;
mod session;
mod status;
mod tensor;

use std::path::{Path, PathBuf};

use onnxport_sdk::executor::{Executor, Failure, Options};
use onnxport_sdk::options::PluginOptions;

use runtime::Runtime;
use session::OpenVinoSession;

onnxport_sdk::export_plugin! {
    id: "openvino",
    executor: OpenVino,
    backend: backend::Compiler,
    options: Settings,
}

onnxport_sdk::options! {
    /// Defaults for every runtime that is opened without its own options.
    pub(crate) struct Settings {
        /// The device, as OpenVINO calls it: CPU, GPU, NPU.
        device: String = "CPU",
        /// Whether floats are computed in float32, or as the device prefers, which may be narrower.
        precision: String = "f32" in ["f32", "device"],
        /// Threads of the CPU; 0 lets OpenVINO choose.
        threads: usize = 0,
        /// Properties of the device as OpenVINO calls them, such as NUM_STREAMS=1,PERFORMANCE_HINT=LATENCY.
        properties: Option<String>,
        /// The library of OpenVINO's C API; otherwise it is searched for.
        library: Option<PathBuf>,
        /// A folder into which each session writes how long its nodes took when it ends.
        profile: Option<PathBuf>,
    }
}

struct OpenVino {
    runtime: Runtime,
    settings: Settings,
}

impl Executor for OpenVino {
    const NAME: &'static str = "OpenVINO";
    type Session = OpenVinoSession;

    fn open(options: Options<'_>) -> Result<Self, Failure> {
        let names: Vec<&str> = Settings::entries().iter().map(|entry| entry.name).collect();
        if let Some(unknown) = options.names().find(|name| !names.contains(name)) {
            let message = format!("OpenVINO takes no option `{unknown}` here");
            return Err(Failure::new(message).help(format!("there are {}", names.join(", "))));
        }
        let settings = Settings::get()?.over(options)?;
        let runtime = Runtime::open(library::loaded(settings.library.as_deref())?, &settings)?;
        Ok(Self { runtime, settings })
    }

    fn describe(&self) -> String {
        let library = self.runtime.library;
        let precision = if self.settings.precision == "f32" { "" } else { " in its own precision" };
        let device = &self.settings.device;
        format!("OpenVINO {} on {device}{precision}, {}", library.version, library.path.display())
    }

    fn load(&mut self, path: &Path) -> Result<OpenVinoSession, Failure> {
        self.load_with(path, &[])
    }

    fn load_with(&mut self, path: &Path, values: &[&str]) -> Result<OpenVinoSession, Failure> {
        OpenVinoSession::load(&self.runtime, &self.settings, path, values)
    }
}

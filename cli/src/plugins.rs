//! The plugins that are linked into this binary, and the runtime that verifies.

use std::path::Path;

use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::Host;
use onnxport_core::verify::{Executor, Runtime};

/// The host with the bundled plugins.
pub(crate) fn host() -> Result<Host, Report> {
    Host::new(&[&onnxport_aten::ROOT, &onnxport_ort::ROOT])
}

/// Opens the runtime that runs models.
pub(crate) fn runtime(host: &Host, library: Option<&Path>) -> Result<Runtime, Diagnostic> {
    let executor = host.plugins.iter().find_map(|plugin| plugin.executor).map(Executor::from_table);
    let executor =
        executor.ok_or_else(|| Diagnostic::error(Code::VERIFY_NO_EXECUTOR, "no plugin can run models"))?;
    let library = library.map(|path| path.to_string_lossy());
    let options: Vec<(&str, &str)> = library.iter().map(|path| ("library", path.as_ref())).collect();
    executor.open(&options)
}

//! Tests that did not run, for whoever counts them.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;

/// Names the file to which each test that does not run adds a line: a JSON object with the `test`, the `reason`, and
/// whether the runner counts it as `passed`.
const VARIABLE: &str = "ONNXPORT_SKIPPED";

/// Says that the test on this thread does not run, or runs on something else than it is about, where the runner of
/// the binary counts it as passed: it is Rust's own. `cargo xtask test` counts it as skipped, and says why.
///
/// ```ignore
/// let Some(runtime) = runtime() else { return onnxport_harness::note("there is no ONNX Runtime") };
/// ```
pub fn note(reason: impl Display) {
    eprintln!("not tested: {reason}");
    let thread = std::thread::current();
    list(thread.name().unwrap_or("a thread without a name"), &reason, true);
}

/// The binary that runs, without the hash that cargo gives it.
fn binary() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    name.rsplit_once('-').map_or(name.clone(), |(name, _)| name.to_owned())
}

/// Adds a line to the list.
pub(crate) fn list(test: &str, reason: &dyn Display, passed: bool) {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    let test = format!("{}::{test}", binary());
    let line = serde_json::json!({ "test": test, "reason": reason.to_string(), "passed": passed });
    // In one piece: others write as well.
    let written = File::options().append(true).create(true).open(&path);
    let written = written.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

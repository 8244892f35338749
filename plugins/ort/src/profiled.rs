//! Sessions that write how long their nodes took, in the JSON format of Chrome's trace viewer, and the graph that
//! ONNX Runtime made of the model: values there have the model's names, where nodes have others. Each session has a folder of
//! its own.

use std::fs;
use std::io;
use std::path::Path;

use onnxport_ir::onnx::OnnxFile;
use onnxport_sdk::executor::Failure;
use ort::session::Session;
use ort::session::builder::SessionBuilder;

use crate::unloadable;

/// The name of the graph file.
const GRAPH: &str = "optimised.onnx";

/// The temporary name of its weights, which ONNX Runtime writes as well, although they are not needed.
const WEIGHTS: &str = "weights";

/// The graph of a model with more bytes of weights is not written.
const MOST: u64 = 1 << 30;

/// The model at `path` as a session that writes into a folder inside of `folder` when its profile ends.
pub(crate) fn commit(
    path: &Path,
    folder: &Path,
    builder: impl Fn() -> Result<SessionBuilder, Failure>,
    refused: impl Fn(&ort::Error) -> Failure,
) -> Result<Session, Failure> {
    let own = || tempfile::Builder::new().prefix("session-").disable_cleanup(true).tempdir_in(folder);
    let failed = |error: io::Error| {
        Failure::new(format!("no profile can be written into {}: {error}", folder.display()))
    };
    let measuring = |folder: &Path| {
        let failed = |e: &dyn std::fmt::Display| unloadable(&e.to_string());
        builder()?.with_profiling(folder.join("profile")).map_err(|e| failed(&e))
    };
    if weights(path).is_some_and(|bytes| bytes <= MOST) {
        let folder = own().map_err(failed)?;
        let folder = folder.path();
        let writing = |builder: SessionBuilder| {
            let builder = builder.with_optimized_model_path(folder.join(GRAPH)).ok()?;
            let key = "session.optimized_model_external_initializers_file_name";
            let builder = builder.with_config_entry(key, WEIGHTS).ok()?;
            let key = "session.optimized_model_external_initializers_min_size_in_bytes";
            builder.with_config_entry(key, "0").ok()?.commit_from_file(path).ok()
        };
        let session = writing(measuring(folder)?);
        let _ = fs::remove_file(folder.join(WEIGHTS));
        if let Some(session) = session {
            return Ok(session);
        }
        // Its output may be incomplete.
        let _ = fs::remove_dir_all(folder);
    }
    let folder = own().map_err(failed)?;
    measuring(folder.path())?.commit_from_file(path).map_err(|e| refused(&e))
}

/// The bytes of a model's weights.
fn weights(path: &Path) -> Option<u64> {
    let file = OnnxFile::open(path).ok()?;
    file.all_weights().try_fold(0u64, |sum, weight| sum.checked_add(weight.bytes))
}

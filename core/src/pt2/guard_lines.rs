//! The lines of code that asked for the guards of a program. PyTorch drops them when it saves; `onnxport.save` adds
//! them to the archive, as a JSON object of stack traces by guards.

use std::collections::BTreeMap;

use super::json;
use crate::diagnose::{CallSite, Diagnostic, Origin, frames};
use crate::program::Program;
use crate::tensor::zip_index::ZipIndex;

/// The path of the file in an archive.
const FILE: &str = "extra/onnxport.guards.json";
/// Its size limit in bytes.
const LONGEST: u64 = 1 << 20;

/// Adds the lines in the archive to the guards of `program`.
///
/// # Errors
/// `OP102`, `OP105` for a damaged file.
pub(super) fn apply(zip: &ZipIndex, program: &mut Program) -> Result<(), Diagnostic> {
    let name = format!("{}{FILE}", zip.root());
    let Some(entry) = zip.get(&name).filter(|entry| entry.size <= LONGEST) else { return Ok(()) };
    add(&json::parse(&zip.read(&name, entry)?, &name)?, program);
    Ok(())
}

/// Adds lines to the guards of `program`, from Python stack traces by the texts of guards.
pub(super) fn add(traces: &BTreeMap<String, String>, program: &mut Program) {
    let Program { guards, origins, .. } = program;
    for guard in guards {
        let Some(trace) = traces.get(&guard.text) else { continue };
        let frames = frames(trace);
        if !frames.is_empty() {
            let site =
                CallSite { trace: trace.as_str().into(), frames: frames.into(), ..CallSite::default() };
            guard.origin = Some(origins.push(Origin::new("", site)));
        }
    }
}

//! Profiles in JSON files.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{FORMAT, Profile};
use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// The size limit of a profile in bytes.
const LARGEST: u64 = 1 << 30;

/// Reads a profile.
pub(super) fn read(path: &Path) -> Result<Profile, Diagnostic> {
    let shown = path.display();
    let text = files::text(path, LARGEST)
        .map_err(|error| Diagnostic::error(Code::READ_IO, format!("cannot read `{shown}`: {error}")))?;
    let wrong = |why: String| {
        Diagnostic::error(Code::RUN_PROFILE, format!("`{shown}` is not a profile: {why}"))
            .help("write one with `onnxport profile MODEL --report FILE.json`")
    };
    let mut value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if let Some(inner) = value.get_mut("profile") {
        value = inner.take();
    }
    match value.get("format").and_then(Value::as_u64) {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => return Err(wrong(format!("its format is {format}, not {FORMAT}"))),
        None => return Err(wrong("it has no format field".to_owned())),
    }
    let profile = Profile::deserialize(value).map_err(|error| wrong(error.to_string()))?;
    let sound = |runs: &[f64]| runs.len() == profile.runs && runs.iter().all(|time| *time >= 0.0);
    if profile.runs == 0 || !profile.nodes.iter().all(|node| sound(&node.runs)) {
        return Err(wrong("its times are not those of its runs".to_owned()));
    }
    Ok(profile)
}

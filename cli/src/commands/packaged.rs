//! Models that share a folder: their names, and a description of the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use onnxport_core::WriteOptions;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::ir::Model;
use onnxport_core::write::{self, PackageReport};
use onnxport_requests::package::is_file_name;

use crate::format::{bold, bytes, table};
use crate::outcome::{CommandResult, Outcome};

/// Writes models that have been converted, and describes the package.
pub(crate) fn write(models: Vec<(String, Model)>, folder: &Path, options: &WriteOptions) -> CommandResult {
    if let Some((name, _)) = models.iter().find(|(name, _)| !is_file_name(name)) {
        let message = format!("`{name}` is not the name of a file");
        return Err(Diagnostic::error(Code::LOWER_NAME, message)
            .help("use a name without `/` or a leading `.`")
            .into());
    }
    let mut names = BTreeSet::new();
    if let Some((name, _)) = models.iter().find(|(name, _)| !names.insert(name)) {
        return Err(Diagnostic::error(Code::LOWER_NAME, format!("two models are called `{name}`")).into());
    }
    Ok(describe(&write::package(models, folder, options)?))
}

/// Describes the written package.
pub(super) fn describe(written: &PackageReport) -> Outcome {
    let mut outcome = Outcome::ok();
    let mut rows: Vec<Vec<String>> =
        written.models.iter().map(|(path, size)| vec![path.display().to_string(), bytes(*size)]).collect();
    match written.data.as_slice() {
        [] => {}
        [data] => rows.push(vec![data.display().to_string(), bytes(written.data_bytes)]),
        [first, .., last] => {
            let name = format!("{} to {}", first.display(), last.display());
            rows.push(vec![name, bytes(written.data_bytes)]);
        }
    }
    let beside = written.manifests.iter().chain(&written.artefacts).chain(&written.added);
    rows.extend(beside.map(|path| vec![path.display().to_string(), String::new()]));
    outcome.summary = format!(
        "{}\n{}{}  {} instead of {} of weights\n",
        bold("packaged"),
        table(&rows),
        bold("shared"),
        bytes(written.data_bytes),
        bytes(written.separate_bytes)
    );
    let shown = |paths: &[PathBuf]| paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
    outcome.put("data", shown(&written.data));
    outcome.put("data_bytes", written.data_bytes);
    outcome.put("separate_bytes", written.separate_bytes);
    outcome.put("manifests", shown(&written.manifests));
    if let Some(variants) = written.added.first() {
        outcome.put("variants", variants.display().to_string());
    }
    outcome
}

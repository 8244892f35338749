//! The record of compiled regions in a model, which is checked before a runtime loads the model.
//!
//! A blob fits one version of an SDK, a driver and a device. A backend states these as its environment, which the model
//! records with the hashes of its files. Not every runtime checks them itself.

use std::path::Path;

use onnxport_abi::{RStr, status};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::blob::hex;
use super::select::{self, Selected};
use super::stage::Running;
use crate::diagnose::{Code, Diagnostic};
use crate::host::{Host, Site, Validated, cross};
use crate::onnx::OnnxFile;
use crate::tensor::MappedFile;

/// The key in the metadata of the model.
pub(super) const KEY: &str = "onnxport.compiled";

/// How many words that differ are shown.
const WORDS: usize = 6;

/// The regions of one backend.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Stamp {
    /// The backend, by id.
    backend: String,
    /// Its plugin, and the version of that.
    plugin: String,
    version: String,
    /// How many regions it compiled.
    regions: usize,
    /// Everything that they depend on; absent if the backend does not state it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    environment: Option<String>,
    /// Their files beside the model.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    files: Vec<StampedFile>,
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct StampedFile {
    file: String,
    size: u64,
    sha256: String,
}

/// The environment of a backend, if it states one.
pub(super) fn environment(backend: &Selected) -> Option<String> {
    let mut text = RStr::from_str("");
    let site = Site {
        plugin: backend.plugin_id,
        task: "stating its environment",
        subject: backend.entry.id.validated(),
    };
    let environment = backend.table.environment?;
    let answer = cross(site, || environment(backend.index, &mut text));
    Some(text.get().ok().filter(|_| answer == status::OK)?.to_owned())
}

impl Running<'_> {
    /// Records the regions that were compiled in the metadata of the model, behind those that it has.
    pub(super) fn stamp(&mut self) {
        let mut stamps =
            self.model.metadata.iter().find(|(key, _)| key == KEY).map_or_else(Vec::new, |(_, text)| {
                serde_json::from_str::<Vec<Stamp>>(text).unwrap_or_default()
            });
        for (position, backend) in self.backends.iter().enumerate() {
            let of = self.regions.iter().zip(&self.reports).filter(|(region, _)| region.backend == position);
            let reports: Vec<_> = of.filter_map(|(_, report)| report.as_ref()).collect();
            if reports.is_empty() {
                continue;
            }
            let is_own = |file: &String| reports.iter().any(|report| report.files.contains(file));
            let own = self.model.artefacts.iter().filter(|artefact| is_own(&artefact.file));
            let files = own.map(|artefact| StampedFile {
                file: artefact.file.clone(),
                size: artefact.data.byte_len().unwrap_or(0),
                sha256: artefact.sha256.clone(),
            });
            let (files, environment): (Vec<_>, _) = (files.collect(), environment(backend));
            if files.is_empty() && environment.is_none() {
                continue;
            }
            stamps.push(Stamp {
                backend: backend.entry.id.validated().to_owned(),
                plugin: backend.plugin_id.to_owned(),
                version: self
                    .host
                    .plugins
                    .get(backend.plugin)
                    .map(|p| p.version.to_string())
                    .unwrap_or_default(),
                regions: reports.len(),
                environment,
                files,
            });
        }
        if stamps.is_empty() {
            return;
        }
        self.model.metadata.retain(|(key, _)| key != KEY);
        // Strings and numbers always serialise.
        self.model.metadata.push((KEY.to_owned(), serde_json::to_string(&stamps).unwrap_or_default()));
        self.model.metadata.sort();
    }
}

/// Checks the compiled regions of the model at `path`: their files, and the environments that backends of `host` state.
/// A backend that is not there, or states none, is not asked.
///
/// # Errors
/// `OP509` for a file that is missing or differs, or another environment; the errors of reading the model.
pub fn check_compiled(host: &Host, path: &Path) -> Result<(), Diagnostic> {
    let file = OnnxFile::declarations(path)?;
    let Some(text) = file.metadata(KEY) else { return Ok(()) };
    let shown = path.display();
    let stale = |message: String| Diagnostic::error(Code::BACKEND_STALE, message);
    let stamps: Vec<Stamp> = serde_json::from_str(text).map_err(|error| {
        stale(format!("the record of compiled regions in `{shown}` cannot be read: {error}"))
    })?;
    for stamp in &stamps {
        for file in &stamp.files {
            if let Some(why) = flaw(path, file) {
                let (name, id) = (&file.file, &stamp.backend);
                let message = format!("the file `{name}` of a region for `{id}` in `{shown}` {why}");
                return Err(stale(message).help("convert the model again, or copy all of its files"));
            }
        }
        let here =
            select::find(host, &stamp.plugin, &stamp.backend).and_then(|backend| environment(&backend));
        let (Some(then), Some(now)) = (&stamp.environment, here) else { continue };
        if *then != now {
            let [then, now] = [only_in(then, &now), only_in(&now, then)];
            let id = &stamp.backend;
            let message =
                format!("regions for `{id}` in `{shown}` were compiled for {then}, and here it is {now}");
            return Err(stale(message).help("compile the model again here, or run it where it was compiled"));
        }
    }
    Ok(())
}

fn flaw(model: &Path, file: &StampedFile) -> Option<String> {
    let is_plain = Path::new(&file.file).file_name().is_some_and(|name| name.to_str() == Some(&file.file));
    if !is_plain {
        return Some("has a name with folders".to_owned());
    }
    let path = model.with_file_name(&file.file);
    let size = match path.metadata() {
        Ok(found) => found.len(),
        Err(error) => return Some(format!("cannot be read: {error}")),
    };
    if size != file.size {
        return Some(format!("has {size} bytes instead of {}", file.size));
    }
    if size == 0 {
        return None;
    }
    match MappedFile::open(&path) {
        Ok(mapped) if hex(&Sha256::digest(mapped.bytes())) == file.sha256 => None,
        Ok(_) => Some("has other contents".to_owned()),
        Err(error) => Some(format!("cannot be read: {error}")),
    }
}

/// The words of `text` that `other` does not have; the whole if it has all of them.
fn only_in(text: &str, other: &str) -> String {
    let known: Vec<&str> = other.split_whitespace().collect();
    let own: Vec<&str> = text.split_whitespace().filter(|word| !known.contains(word)).collect();
    if own.is_empty() || text.split_whitespace().count() <= WORDS {
        let short: String = text.chars().take(80).collect();
        return format!("`{short}`");
    }
    let more = if own.len() > WORDS { " …" } else { "" };
    format!("`{}{more}`", own.iter().take(WORDS).copied().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::only_in;

    #[test]
    fn short_texts_are_shown_and_long_ones_by_their_difference() {
        assert_eq!(only_in("SDK 2, driver 7", "SDK 3, driver 7"), "`SDK 2, driver 7`");
        let (a, b) =
            ("OpenVINO 2026.4 for CPU, flags: sse avx avx512", "OpenVINO 2026.4 for CPU, flags: sse avx");
        assert_eq!(only_in(a, b), "`avx512`");
        assert_eq!(only_in(b, a), format!("`{b}`"));
    }
}

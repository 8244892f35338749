//! Files beside a model that backends compiled.
//!
//! Their names contain a hash of their contents, so a new model never needs a file that an old one has under the
//! same name: they appear before the model does, and the old model stays intact. Those that only the old model names
//! are removed once the new one is there.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use regex::bytes::Regex;

use super::interrupt::Watch;
use super::publish::{Target, failed};
use super::sync;
use crate::diagnose::Report;
use crate::ir::Artefact;
use crate::tensor::MappedFile;

/// Files that were written for a model. They vanish again unless they are kept.
#[derive(Debug)]
pub(super) struct Beside {
    /// All of them.
    pub(super) paths: Vec<PathBuf>,
    fresh: Vec<(PathBuf, Watch)>,
}

impl Beside {
    /// The model that needs them is there.
    pub(super) fn keep(mut self) -> Vec<PathBuf> {
        self.fresh.clear();
        std::mem::take(&mut self.paths)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for (path, _) in &self.fresh {
            // The original error is more useful than one about leftover files.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes `artefacts` beside `target`.
///
/// # Errors
/// Those of [`write`](super::write()); nothing new remains.
pub(super) fn write(artefacts: &[Artefact], target: &Target) -> Result<Beside, Report> {
    let mut beside = Beside { paths: Vec::new(), fresh: Vec::new() };
    for artefact in artefacts {
        let path = target.model.with_file_name(&artefact.file);
        if let Some(bytes) = wanted(artefact, &path).map_err(|e| failed(&path, &e))? {
            let mut staged = target.stage(&path)?;
            let file = staged.file();
            let written = file.write_all(bytes).and_then(|()| sync::file(file));
            written.and_then(|()| staged.appear(&path)).map_err(|e| failed(&path, &e))?;
            beside.fresh.push((path.clone(), Watch::new(&path)));
        }
        beside.paths.push(path);
    }
    Ok(beside)
}

/// The digits of the hash in a name.
const DIGITS: usize = 16;

/// Whether `name` is that of a compiled file of `model`: `model.onnx.<hash>.bin`.
fn is_compiled(model: &Path, name: &OsStr) -> bool {
    let stem = model.file_name().unwrap_or_default().as_encoded_bytes();
    let hash = name.as_encoded_bytes().strip_prefix(stem).and_then(|rest| rest.strip_prefix(b"."));
    let hash = hash.and_then(|rest| rest.strip_suffix(b".bin"));
    hash.is_some_and(|hash| {
        hash.len() == DIGITS && hash.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The compiled files of `target` that the model in its place names, and the one at `new` does not.
pub(super) fn stale(target: &Target, new: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(target.folder()) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter(|name| is_compiled(&target.model, name)).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let (Ok(old), Ok(new)) = (MappedFile::open(&target.model), MappedFile::open(new)) else {
        return Vec::new();
    };
    // The operator and the attribute that name a file are those of the backend, so that the bytes are searched.
    let is_in = |model: &MappedFile, name: &OsStr| {
        let name = name.to_str().and_then(|name| Regex::new(&regex::escape(name)).ok());
        name.is_some_and(|name| name.is_match(model.bytes()))
    };
    names.retain(|name| is_in(&old, name) && !is_in(&new, name));
    names.sort();
    names.into_iter().map(|name| target.folder().join(name)).collect()
}

/// The bytes of a file, unless it is there with just these.
fn wanted<'a>(artefact: &'a Artefact, path: &Path) -> io::Result<Option<&'a [u8]>> {
    let bytes = artefact.data.source.bytes();
    if artefact.data.byte_len() != Some(bytes.len() as u64) {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its bytes are gone"));
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "is not a regular file"))
        }
        Ok(_) if holds(path, bytes)? => Ok(None),
        _ => Ok(Some(bytes)),
    }
}

/// Whether the file at `path` has exactly these bytes.
fn holds(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    use std::io::Read;
    let mut file = File::open(path)?;
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut buffer = vec![0; 1 << 16];
    let mut rest = bytes;
    loop {
        let read = file.read(&mut buffer)?;
        let (Some(found), Some(wanted)) = (buffer.get(..read), rest.get(..read)) else { return Ok(false) };
        if found != wanted {
            return Ok(false);
        }
        if read == 0 {
            return Ok(rest.is_empty());
        }
        rest = rest.get(read..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, write};
    use crate::ir::Artefact;
    use crate::tensor::{DType, LazyTensor};

    fn artefacts(bytes: &[u8]) -> Vec<Artefact> {
        let data = LazyTensor::inline(DType::U8, vec![bytes.len() as u64], bytes.to_vec());
        vec![Artefact { file: "m.onnx.a.bin".into(), data, sha256: String::new() }]
    }

    #[test]
    fn files_stay_only_with_their_model() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("m.onnx.a.bin");
        let target = Target::new(&folder.path().join("m.onnx"), 0);
        drop(write(&artefacts(b"one"), &target).unwrap());
        assert!(!file.exists(), "the model was not published");
        assert_eq!(write(&artefacts(b"one"), &target).unwrap().keep(), std::slice::from_ref(&file));
        // An equal file that is there already belongs to another model as well.
        drop(write(&artefacts(b"one"), &target).unwrap());
        assert_eq!(std::fs::read(&file).unwrap(), b"one");
        write(&artefacts(b""), &target).unwrap().keep();
        assert_eq!(std::fs::read(&file).unwrap(), b"");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_that_is_taken_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("m.onnx.a.bin")).unwrap();
        let report = write(&artefacts(b"one"), &Target::new(&folder.path().join("m.onnx"), 0)).unwrap_err();
        assert!(report.diagnostics[0].message.ends_with("is not a regular file"));
    }
}

//! A complete model that has no name yet, so that it can be run before it is published.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::WriteReport;
use super::artefacts::Beside;
use super::interrupt;
use super::publish::{self, Ready, Sources, Staged, Target};
use super::sync;
use crate::diagnose::Report;
use crate::onnx::redirect::redirect;
use crate::tensor::MappedFile;
use crate::trace;

/// A model whose files are complete and on disk, and which nobody sees yet. It vanishes unless it is
/// published.
#[derive(Debug)]
pub struct Unpublished {
    pub(super) target: Target,
    pub(super) ready: Ready,
    pub(super) beside: Beside,
    pub(super) sources: Sources,
    /// The report to return once it is published.
    pub(super) report: WriteReport,
}

/// A model that can be read before it is published, as long as this lives.
#[derive(Debug)]
pub struct Readable {
    path: PathBuf,
    /// The model with other names for its data files.
    _copy: Option<Staged>,
}

impl Readable {
    /// A hidden file in the output's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Unpublished {
    /// Makes the model readable: directly or, if it has data files, by a copy that states their temporary hidden
    /// names. Paths in the model stay relative to the output's folder.
    ///
    /// # Errors
    /// `OP601` if a file cannot be named, `OP610` if the disk is full.
    pub fn readable(&mut self) -> Result<Readable, Report> {
        let Self { target, ready, .. } = self;
        let mut names = Vec::with_capacity(ready.data.len());
        for (file, path) in ready.data.iter_mut().zip(&target.data) {
            let hidden = target.reveal(file, path)?;
            names.push(hidden.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        let path = target.reveal(&mut ready.model, &target.model)?;
        if names.is_empty() {
            return Ok(Readable { path, _copy: None });
        }
        let mut copy = redirected(target, &path, &names)?;
        let path = target.reveal(&mut copy, &target.model)?;
        Ok(Readable { path, _copy: Some(copy) })
    }

    /// Of the initializers, those whose bytes are still to be given.
    pub fn unbound(&self) -> usize {
        self.report.unbound
    }

    /// Gives the files their names.
    ///
    /// # Errors
    /// `OP601`, `OP612`. After an error the files are as they were.
    pub fn publish(self) -> Result<WriteReport, Report> {
        let Self { target, ready, beside, report, .. } = self;
        let _span = trace::span("write", "publishing");
        let publishing = interrupt::publishing();
        target.publish(ready, &publishing)?;
        Ok(WriteReport { artefacts: beside.keep(), ..report })
    }

    /// Publishes the files under the names of [`failed_name`] instead, without a list of hashes.
    ///
    /// # Errors
    /// Those of [`write()`](super::write()). Existing files with these names are replaced unless they are sources.
    pub fn publish_failed(self) -> Result<WriteReport, Report> {
        let Self { target, mut ready, beside, sources, report } = self;
        let other = Target::new(&failed_name(&target.model), target.data.len());
        other.refuse_others()?;
        other.refuse_sources(&sources)?;
        if !target.data.is_empty() {
            let path = target.reveal(&mut ready.model, &target.model)?;
            ready.model = redirected(&target, &path, &other.data_names()?)?;
        }
        let model_bytes = ready.model.file().metadata().map_err(|e| publish::failed(&other.model, &e))?.len();
        other.recover()?;
        let publishing = interrupt::publishing();
        other.publish(Ready { manifest: None, ..ready }, &publishing)?;
        let (model, data) = (other.model, other.data);
        Ok(WriteReport { artefacts: beside.keep(), model, model_bytes, data, manifest: None, ..report })
    }
}

/// Returns the path at which a model that failed verification is kept: `m.failed.onnx` for `m.onnx`.
pub fn failed_name(path: &Path) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(".failed");
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// A copy of the model of `target` that is at `path`, with these names for its data files.
fn redirected(target: &Target, path: &Path, names: &[String]) -> Result<Staged, Report> {
    let stated = target.data_names()?;
    let mut copy = target.stage(&target.model)?;
    let rename = |old: &str| {
        let at = stated.iter().position(|name| name == old)?;
        names.get(at).cloned()
    };
    let mut write = || -> io::Result<()> {
        let model = MappedFile::open(path)?;
        let mut out = BufWriter::new(copy.file());
        redirect(model.bytes(), &rename, &mut out)?;
        out.flush()?;
        sync::file(out.get_ref())
    };
    write().map_err(|e| publish::failed(&target.model, &e))?;
    Ok(copy)
}

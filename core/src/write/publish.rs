//! Temporary files, and the renames that make them the result.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::encode::Message;
use super::plan::{Plan, Weight};
use super::stream::{self, Meter};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::tensor::{MappedFile, Source};

/// The files that are to be written.
pub(super) struct Target {
    /// The model.
    pub(super) model: PathBuf,
    /// Its data file, if it needs one.
    pub(super) data: Option<PathBuf>,
}

impl Target {
    pub(super) fn new(path: &Path, external: bool) -> Self {
        let mut data = OsString::from(path);
        data.push(".data");
        Self { model: path.to_owned(), data: external.then(|| data.into()) }
    }

    /// The name of the data file as the model states it, relative to itself.
    pub(super) fn data_name(&self) -> String {
        let name = self.data.as_ref().and_then(|d| d.file_name());
        name.map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Fails when an output exists and is no file: a rename would replace a device or a pipe.
    pub(super) fn refuse_others(&self) -> Result<(), Report> {
        for path in [Some(&self.model), self.data.as_ref()].into_iter().flatten() {
            match fs::metadata(path) {
                Ok(existing) if existing.is_dir() => {
                    let error = io::Error::new(io::ErrorKind::IsADirectory, "is a directory");
                    return Err(failed(path, &error));
                }
                Ok(existing) if !existing.is_file() => {
                    let error = io::Error::new(io::ErrorKind::InvalidInput, "is not a regular file");
                    return Err(failed(path, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Fails when an output is the file of the program, or one that a weight is still to be read from.
    pub(super) fn refuse_sources(
        &self,
        program: Option<&MappedFile>,
        weights: &[Weight<'_>],
    ) -> Result<(), Report> {
        let mut sources: Vec<&MappedFile> = program.into_iter().collect();
        for weight in weights {
            match &weight.data.source {
                Source::Mapped { file, .. } if !sources.iter().rev().any(|s| s.same(file)) => {
                    sources.push(file);
                }
                _ => {}
            }
        }
        for path in [Some(&self.model), self.data.as_ref()].into_iter().flatten() {
            let Ok(existing) = File::open(path) else { continue };
            if sources.iter().any(|s| same_file(s.file(), &existing).unwrap_or(false)) {
                let message = format!("`{}` is what the model is made from", path.display());
                let help = "choose another output path";
                return Err(Diagnostic::error(Code::WRITE_SOURCE, message).help(help).into());
            }
        }
        Ok(())
    }

    /// Writes both files under temporary names, then renames them, the data first.
    pub(super) fn publish(
        &self,
        message: &Message<'_>,
        weights: &[Weight<'_>],
        plan: &Plan,
        meter: &Meter,
    ) -> Result<(), Report> {
        let data = match &self.data {
            Some(path) => {
                let mut file = temporary(path)?;
                fill(&mut file, weights, plan, meter).map_err(|e| failed(path, &e))?;
                Some((path, file))
            }
            None => None,
        };
        let mut file = temporary(&self.model)?;
        message
            .write(file.as_file_mut(), meter)
            .and_then(|()| file.as_file().sync_all())
            .map_err(|e| failed(&self.model, &e))?;
        let mut fresh = None;
        if let Some((path, file)) = data {
            fresh = (!path.exists()).then_some(path);
            file.persist(path).map_err(|e| failed(path, &e.error))?;
        }
        if let Err(error) = file.persist(&self.model) {
            if let Some(path) = fresh {
                // The model's error says more than one about its data would.
                let _ = fs::remove_file(path);
            }
            return Err(failed(&self.model, &error.error));
        }
        // Not every file system can flush a folder; the files themselves are safe.
        let _ = File::open(folder(&self.model)).and_then(|d| d.sync_all());
        Ok(())
    }
}

fn fill(file: &mut NamedTempFile, weights: &[Weight<'_>], plan: &Plan, meter: &Meter) -> io::Result<()> {
    let file = file.as_file_mut();
    // A full disk is known before the copying starts, where the file system can tell.
    file.set_len(plan.data_bytes)?;
    for (index, place) in &plan.stored {
        file.seek(SeekFrom::Start(place.offset))?;
        stream::tensor(weights[*index].data, file, meter)
            .map_err(|e| io::Error::new(e.kind(), format!("{e} (`{}`)", weights[*index].name)))?;
    }
    file.sync_all()
}

/// A file beside `path` that is removed unless it is renamed.
fn temporary(path: &Path) -> Result<NamedTempFile, Report> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".onnxport-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a file that is simply created has; the default is for secrets.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder(path)).map_err(|e| failed(path, &e))
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn failed(path: &Path, error: &io::Error) -> Report {
    Diagnostic::error(Code::WRITE_IO, format!("cannot write `{}`: {error}", path.display())).into()
}

#[cfg(unix)]
fn same_file(a: &File, b: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.dev() == b.dev() && a.ino() == b.ino())
}

#[cfg(not(unix))]
fn same_file(a: &File, b: &File) -> io::Result<bool> {
    // A mapped file cannot be replaced here, so that only the exact case matters.
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.len() == b.len() && a.modified()? == b.modified()? && a.created()? == b.created()?)
}

//! Publishes written files: all of them, or none.

pub(super) mod lock;
mod staged;
mod swap;

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::WriteOptions;
use super::interrupt::{self, Publishing};
use super::manifest::hex;
use super::plan::Weight;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::files;
use crate::tensor::{self, MappedFile};

pub(super) use staged::Staged;

/// The digits of a hash of the model's name that its hidden files carry.
const STEM: usize = 12;

/// The files that were read, which are never replaced.
#[derive(Debug)]
pub(super) struct Sources {
    mapped: Vec<MappedFile>,
    named: Vec<PathBuf>,
}

impl Sources {
    /// The program, the files that `weights` are still to be read from and those that the caller names.
    /// Those of `own` are the data files of the model that is replaced: they go with it, after they were
    /// read.
    pub(super) fn from_weights(options: &WriteOptions, weights: &[Weight<'_>], own: &[MappedFile]) -> Self {
        let mut mapped: Vec<MappedFile> = options.program.iter().cloned().collect();
        for weight in weights {
            for file in weight.data.files() {
                if !own.iter().chain(mapped.iter().rev()).any(|known| known.same(file)) {
                    mapped.push(file.clone());
                }
            }
        }
        Self { mapped, named: options.sources.clone() }
    }
}

/// The files that are to be written.
#[derive(Debug)]
pub(super) struct Target {
    /// The model.
    pub(super) model: PathBuf,
    /// Its data files.
    pub(super) data: Vec<PathBuf>,
    /// The list of hashes.
    pub(super) manifest: PathBuf,
    folder: PathBuf,
    /// Distinguishes this output's hidden files from those of others in the folder.
    stem: String,
}

/// Written files that wait for their names.
#[derive(Debug)]
pub(super) struct Ready {
    /// Those of [`Target::data`], in order.
    pub(super) data: Vec<Staged>,
    /// The model.
    pub(super) model: Staged,
    /// The list of hashes, if there is one.
    pub(super) manifest: Option<Staged>,
}

impl Target {
    /// The output at `path`, with this many data files.
    pub(super) fn new(path: &Path, files: usize) -> Self {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let name = path.file_name().unwrap_or_default();
        let mut stem = hex(&Sha256::digest(name.as_encoded_bytes()));
        stem.truncate(STEM);
        let data = (0..files).map(|at| path.with_file_name(data_name(path, at, files))).collect();
        let mut manifest = OsString::from(path);
        manifest.push(".sha256");
        Self { model: path.to_owned(), data, manifest: manifest.into(), folder, stem }
    }

    /// The names of the data files as the model states them, relative to itself.
    ///
    /// # Errors
    /// `OP616` when one has a name that a model cannot state.
    pub(super) fn data_names(&self) -> Result<Vec<String>, Report> {
        let name = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_str();
            let name = name.filter(|name| !name.contains('\\'));
            name.map(str::to_owned).ok_or_else(|| unstatable(path))
        };
        self.data.iter().map(name).collect()
    }

    /// The folder of the output.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every file that will stand there.
    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.data.iter().chain([&self.model])
    }

    /// A file in the output's folder that nobody sees yet.
    ///
    /// # Errors
    /// `OP601` or `OP610` when it cannot be created.
    pub(super) fn stage(&self, path: &Path) -> Result<Staged, Report> {
        Staged::new(&self.folder, &self.stem).map_err(|e| failed(path, &e))
    }

    /// Gives `file`, which is to become `path`, a hidden name by which it can be opened until then.
    ///
    /// # Errors
    /// As [`Target::stage`].
    pub(super) fn reveal(&self, file: &mut Staged, path: &Path) -> Result<PathBuf, Report> {
        let hidden = file.reveal(&self.folder, &self.stem).map_err(|e| failed(path, &e))?;
        Ok(hidden.to_owned())
    }

    /// Fails if an output exists and is not a regular file: a rename would replace a device or a pipe.
    pub(super) fn refuse_others(&self) -> Result<(), Report> {
        for path in self.outputs().chain([&self.manifest]) {
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

    /// Fails when an output is a file that was read. So does one of these in the output's folder under the
    /// name that a data file of this output has or may once have, since replacing the model removes such
    /// files.
    ///
    /// # Errors
    /// `OP603`.
    pub(super) fn refuse_sources(&self, sources: &Sources) -> Result<(), Report> {
        let Sources { mapped, named } = sources;
        // A file that cannot be opened any more cannot be identified, and is not read any more.
        let opened: Vec<File> = named.iter().filter_map(|path| files::open(path).ok()).collect();
        let files: Vec<&File> = mapped.iter().map(MappedFile::file).chain(&opened).collect();
        for path in self.outputs().chain([&self.manifest]) {
            let Ok(existing) = files::open(path) else { continue };
            if files.iter().any(|file| same_file(file, &existing).unwrap_or(false)) {
                let message = format!("`{}` is an input of this command", path.display());
                let help = "choose another output path";
                return Err(Diagnostic::error(Code::WRITE_SOURCE, message).help(help).into());
            }
        }
        let Ok(folder) = fs::canonicalize(&self.folder) else { return Ok(()) };
        let paths = mapped.iter().map(MappedFile::path).chain(named.iter().map(PathBuf::as_path));
        for path in paths {
            let Ok(path) = fs::canonicalize(path) else { continue };
            let name = path.file_name().unwrap_or_default();
            if path.parent() == Some(&folder) && is_data_name(&self.model, name) {
                let model = self.model.display();
                let message = format!(
                    "the model is made from `{}`, which has the name of a data file of `{model}`",
                    path.display()
                );
                let help = "choose another output path";
                return Err(Diagnostic::error(Code::WRITE_SOURCE, message).help(help).into());
            }
        }
        Ok(())
    }

    /// Completes or removes the leftovers of a run that was killed while it published to this output.
    ///
    /// # Errors
    /// `OP601` if files cannot be renamed, `OP612` if another run does not finish.
    pub(super) fn recover(&self) -> Result<(), Report> {
        let _guard = interrupt::publishing();
        let _lock = self.lock()?;
        swap::recover(self).map_err(|(path, e)| failed(&path, &e))
    }

    /// Gives the files their names. See [`swap`].
    ///
    /// # Errors
    /// As [`Target::recover`]; the old files are as they were, then.
    pub(super) fn publish(&self, ready: Ready, _publishing: &Publishing) -> Result<(), Report> {
        let _lock = self.lock()?;
        swap::recover(self).and_then(|()| swap::publish(self, ready)).map_err(|(path, e)| failed(&path, &e))
    }

    fn lock(&self) -> Result<Option<File>, Report> {
        lock::folder(&self.folder).map_err(|_| {
            let message = format!("another run keeps `{}` locked", self.folder.display());
            let help = "wait until it ends, or choose another folder";
            Diagnostic::error(Code::WRITE_BUSY, message).help(help).into()
        })
    }
}

/// The name of a data file: `m.onnx.data`, or `m-00001-of-00003.onnx.data` for one of several.
fn data_name(model: &Path, at: usize, files: usize) -> OsString {
    let mut name = OsString::new();
    if files == 1 {
        name.push(model.file_name().unwrap_or_default());
    } else {
        name.push(model.file_stem().unwrap_or_default());
        name.push(format!("-{:05}-of-{files:05}", at + 1));
        if let Some(extension) = model.extension() {
            name.push(".");
            name.push(extension);
        }
    }
    name.push(".data");
    name
}

/// Whether [`data_name`] gives the name `name` to some data file of `model`.
fn is_data_name(model: &Path, name: &OsStr) -> bool {
    let numbers = || {
        let stem = model.file_stem()?.as_encoded_bytes();
        let numbered = name.as_encoded_bytes().strip_prefix(stem)?.strip_prefix(b"-")?;
        let (at, rest) = numbered.utf8_chunks().next()?.valid().split_once("-of-")?;
        let files = rest.get(..rest.find(|c: char| !c.is_ascii_digit())?)?;
        Some((at.parse::<usize>().ok()?.checked_sub(1)?, files.parse().ok()?))
    };
    let (at, files) = numbers().unwrap_or((0, 1));
    data_name(model, at, files) == *name
}

/// The report of a data file whose name a model cannot state.
fn unstatable(path: &Path) -> Report {
    let message = format!("a model cannot state the name of its data file, `{}`", path.display());
    Diagnostic::error(Code::WRITE_NAME, message)
        .note("ONNX keeps names as UTF-8; a backslash in one means a folder on some systems")
        .help("choose another name for the model, or `--external-data inline`")
        .into()
}

/// Removes a file that may be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The report of a file that cannot be written.
pub(super) fn failed(path: &Path, error: &io::Error) -> Report {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull, UnexpectedEof};

    let message = format!("cannot write `{}`: {error}", path.display());
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => {
            let help = "free some space or choose another folder; `--plan` says how much it takes";
            Diagnostic::error(Code::WRITE_SPACE, message).help(help).into()
        }
        UnexpectedEof => {
            let help = "wait until whatever changes the source is done, and convert again";
            Diagnostic::error(Code::WRITE_SOURCE_CHANGED, message).help(help).into()
        }
        _ => {
            let inside = tensor::Error::inside(error);
            let mut problem = Diagnostic::error(inside.map_or(Code::WRITE_IO, tensor::Error::code), message);
            if let Some(theirs) = inside.and_then(tensor::Error::plugin) {
                (problem.help, problem.provider) = (theirs.help.clone(), theirs.provider.clone());
            }
            problem.into()
        }
    }
}

#[cfg(unix)]
pub(super) fn same_file(a: &File, b: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.dev() == b.dev() && a.ino() == b.ino())
}

#[cfg(not(unix))]
pub(super) fn same_file(a: &File, b: &File) -> io::Result<bool> {
    // A mapped file cannot be replaced here, so that only the exact case matters.
    let (a, b) = (a.metadata()?, b.metadata()?);
    Ok(a.len() == b.len() && a.modified()? == b.modified()? && a.created()? == b.created()?)
}

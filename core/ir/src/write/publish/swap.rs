//! Replaces a model and its data files so that a complete model exists at every moment.
//!
//! A model names its data files, and the names of an output are always the same, so that neither file can be
//! replaced first: the old model would be paired with the new data, or the other way round. Instead, using only
//! links and renames within the folder:
//!
//! 1. The new files, complete and on disk, appear under hidden names, the model last. From here on the next run can
//!    finish the work.
//! 2. The old data files get second names, and a copy of the old model that refers to these replaces the old model:
//!    the same model, read from the same bytes.
//! 3. The new data files get their names. Nothing refers to them yet.
//! 4. The new model gets its name. This is the moment of the change.
//! 5. The hidden names are removed, and so are files of backends that only the old model names.
//!
//! An error restores the old files. A killed process leaves the old model, the old model with hidden data files, or
//! the new one; [`recover`], at the start of the next run, finishes an exchange that had reached step 1 and removes
//! one that had not.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::staged::{PREFIX, TEMPORARY};
use super::{Ready, Target, is_data_name, remove};
use crate::onnx::redirect::{locations, redirect};
use crate::tensor::MappedFile;
use crate::write::{artefacts, manifest, sync};

/// A file, and why something failed with it.
type Failed = (PathBuf, io::Error);

/// Runs `work` as a step of its own; the error names `path`.
fn step<T>(path: &Path, work: impl FnOnce() -> io::Result<T>) -> Result<T, Failed> {
    #[cfg(test)]
    super::tests::fault().map_err(|e| (path.to_owned(), e))?;
    work().map_err(|e| (path.to_owned(), e))
}

impl Target {
    fn hidden_name(&self, what: &str) -> String {
        format!("{PREFIX}{}-{what}", self.stem)
    }

    fn hidden(&self, what: &str) -> PathBuf {
        self.folder().join(self.hidden_name(what))
    }

    fn new_data(&self, at: usize) -> PathBuf {
        self.hidden(&format!("new-{at}"))
    }

    fn new_model(&self) -> PathBuf {
        self.hidden("new-model")
    }

    fn new_manifest(&self) -> PathBuf {
        self.hidden("new-manifest")
    }

    fn old_model(&self) -> PathBuf {
        self.hidden("old-model")
    }

    fn sync(&self) {
        sync::folder(self.folder());
    }

    /// The data files of this output that the model at `path` names.
    fn data_of(&self, path: &Path) -> Vec<PathBuf> {
        let names = named_by(path).into_iter().filter(|name| is_data_name(&self.model, name.as_ref()));
        names.map(|name| self.folder().join(name)).collect()
    }
}

/// Returns the data files that the model at `path` names; none if it is not a model.
fn named_by(path: &Path) -> Vec<String> {
    let names = MappedFile::open(path).ok().and_then(|file| locations(file.bytes()));
    let plain = |name: String| name.strip_prefix("./").map(str::to_owned).unwrap_or(name);
    names.unwrap_or_default().into_iter().map(plain).collect()
}

/// The steps done so far, for undoing them.
#[derive(Default)]
struct Done {
    /// Old data files: the name, and the second name.
    kept: Vec<(PathBuf, PathBuf)>,
    /// Data files that were not there before.
    fresh: Vec<PathBuf>,
    /// Whether the old model was replaced by its copy.
    diverted: bool,
}

/// Replaces the output with `ready`. The caller holds the lock and has called [`recover`].
pub(super) fn publish(target: &Target, ready: Ready) -> Result<(), Failed> {
    let mut done = Done::default();
    if let Err(error) = replace(target, ready, &mut done) {
        #[cfg(test)]
        if super::tests::killed() {
            return Err(error);
        }
        undo(target, &done);
        return Err(error);
    }
    Ok(())
}

fn replace(target: &Target, ready: Ready, done: &mut Done) -> Result<(), Failed> {
    for (at, (path, file)) in target.data.iter().zip(ready.data).enumerate() {
        step(path, || file.appear(&target.new_data(at)))?;
    }
    if let Some(file) = ready.manifest {
        step(&target.manifest, || file.appear(&target.new_manifest()))?;
    }
    step(&target.model, || ready.model.appear(&target.new_model()))?;
    exchange(target, done)
}

/// Performs the exchange once the new files exist under hidden names.
fn exchange(target: &Target, done: &mut Done) -> Result<(), Failed> {
    target.sync();
    let data = target.data_of(&target.new_model());
    let named = named_by(&target.model);
    let prefix = target.hidden_name("old-");
    let diverted = named.iter().any(|name| name.starts_with(&prefix));
    let stale = target.data_of(&if diverted { target.old_model() } else { target.model.clone() });
    let stale: Vec<PathBuf> =
        stale.into_iter().filter(|path| !data.contains(path) && path.exists()).collect();
    if !diverted {
        divert(target, data.iter().chain(&stale), &named, done)?;
    }
    for (at, path) in data.iter().enumerate() {
        let hidden = target.new_data(at);
        if !hidden.exists() {
            continue;
        }
        let is_kept = done.kept.iter().any(|(old, _)| old == path);
        let fresh = !is_kept && fs::symlink_metadata(path).is_err();
        step(path, || fs::rename(&hidden, path))?;
        if fresh {
            done.fresh.push(path.clone());
        }
    }
    let compiled = artefacts::stale(target, &target.new_model());
    if diverted || done.diverted {
        stale.iter().try_for_each(|path| step(path, || remove(path)))?;
    }
    target.sync();
    step(&target.model, || fs::rename(target.new_model(), &target.model))?;
    target.sync();
    // The new model is there: whatever fails from here on is for the next run.
    *done = Done::default();
    stale.iter().chain(&compiled).try_for_each(|path| step(path, || remove(path)))?;
    finish(target)
}

/// Finishes the exchange once the new model has its name.
fn finish(target: &Target) -> Result<(), Failed> {
    let manifest = target.new_manifest();
    step(&target.manifest, || {
        if manifest.exists() { fs::rename(&manifest, &target.manifest) } else { manifest::retire(target) }
    })?;
    clear(target)
}

/// Gives the old data files among `paths` second names, and makes the old model use them.
fn divert<'a>(
    target: &Target,
    paths: impl Iterator<Item = &'a PathBuf>,
    named: &[String],
    done: &mut Done,
) -> Result<(), Failed> {
    let paths = paths.filter(|path| fs::symlink_metadata(path).is_ok());
    let hidden = |(at, path): (usize, &PathBuf)| (path.clone(), target.hidden(&format!("old-{at}")));
    let seconds: Vec<(PathBuf, PathBuf)> = paths.enumerate().map(hidden).collect();
    let second = |name: &str| {
        let path = target.folder().join(name);
        let (_, hidden) = seconds.iter().find(|(old, _)| *old == path)?;
        Some(hidden.file_name()?.to_str()?.to_owned())
    };
    let copy = target.hidden("old-copy");
    let is_used = named.iter().any(|name| second(name).is_some());
    if is_used {
        // Before there are links: some readers refuse a file while it has two names.
        step(&target.model, || {
            let old = MappedFile::open(&target.model)?;
            let file = File::create(&copy)?;
            file.set_permissions(old.file().metadata()?.permissions())?;
            let mut out = BufWriter::new(file);
            redirect(old.bytes(), &second, &mut out)?;
            out.flush()?;
            sync::file(out.get_ref())
        })?;
    }
    for (path, hidden) in &seconds {
        step(path, || rename_or_link(path, hidden))?;
        done.kept.push((path.clone(), hidden.clone()));
    }
    if is_used {
        step(&target.model, || rename_or_link(&target.model, &target.old_model()))?;
        done.diverted = true;
        step(&target.model, || fs::rename(&copy, &target.model))?;
        target.sync();
    }
    Ok(())
}

/// Gives a file a second name. Without hard links that is its only one, and the old model is unreadable for a
/// moment; it must never find new data under the old name.
fn rename_or_link(path: &Path, second: &Path) -> io::Result<()> {
    if link(path, second)? { Ok(()) } else { fs::rename(path, second) }
}

/// Makes a hard link; false where there are none, or none to this file.
fn link(path: &Path, second: &Path) -> io::Result<bool> {
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};

    // One that was made before its run was killed.
    remove(second)?;
    #[cfg(test)]
    if super::tests::without_links() {
        return Ok(false);
    }
    match fs::hard_link(path, second) {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Goes back to the old files, as far as that is possible.
fn undo(target: &Target, done: &Done) {
    // First of all, so that no other run finishes the exchange while it is undone.
    let _ = remove(&target.new_model());
    let restore = target.hidden("restore");
    for (path, hidden) in &done.kept {
        // The second name stays until the model stops using it.
        let from = if link(hidden, &restore).unwrap_or(false) { &restore } else { hidden };
        let _ = fs::rename(from, path);
        // Renaming one name of a file to another one of the same file does nothing.
        let _ = remove(&restore);
    }
    if done.diverted {
        let _ = fs::rename(target.old_model(), &target.model);
    }
    for path in &done.fresh {
        let _ = remove(path);
    }
    let _ = clear(target);
    target.sync();
}

/// Finishes a killed run whose files were complete, and removes those of one that was not.
pub(super) fn recover(target: &Target) -> Result<(), Failed> {
    if target.new_model().exists() {
        return exchange(target, &mut Done::default());
    }
    clear(target)
}

/// Removes this output's hidden files: those of runs that are gone, and that the model does not use.
fn clear(target: &Target) -> Result<(), Failed> {
    let prefix = target.hidden_name("");
    let Ok(entries) = fs::read_dir(target.folder()) else { return Ok(()) };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(&prefix)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let used = named_by(&target.model);
    names.retain(|name| !used.contains(name));
    names.sort();
    for name in names {
        let path = target.folder().join(&name);
        if name.ends_with(TEMPORARY) && File::open(&path).is_ok_and(|file| file.try_lock().is_err()) {
            continue;
        }
        step(&path, || remove(&path))?;
    }
    Ok(())
}

//! The existing data files of a model.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Location, SourceFile, Weight};

/// The folder of a model; every file in it is asked about once.
pub struct Beside {
    folder: PathBuf,
    /// The sizes of the files; `None` if missing or not a file.
    lengths: BTreeMap<String, Option<u64>>,
}

impl Beside {
    /// The folder of the model at `path`.
    pub fn for_model(path: &Path) -> Self {
        Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), lengths: BTreeMap::new() }
    }

    /// The path of a file that a model states.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    fn length(&mut self, file: &str) -> Option<u64> {
        if let Some(known) = self.lengths.get(file) {
            return *known;
        }
        let found = fs::metadata(self.path(file)).ok().filter(fs::Metadata::is_file).map(|m| m.len());
        self.lengths.insert(file.to_owned(), found);
        found
    }

    /// Why the bytes of an initializer cannot be had, to be read after its name; `None` when they can.
    pub fn problem(&mut self, weight: &Weight) -> Option<String> {
        let Location::External { file, offset, length } = &weight.location else { return None };
        let Some(available) = self.length(file) else {
            return Some(format!("is in the data file `{file}`, which is missing"));
        };
        let end = offset.checked_add(length.unwrap_or(weight.bytes));
        end.is_none_or(|end| end > available).then(|| {
            format!("takes bytes up to {} of `{file}`, which has {available}", end.unwrap_or(u64::MAX))
        })
    }

    /// Returns the problem with a file that the model points into and does not own; `None` if its size is
    /// unchanged, or it is missing, which the initializers in it report.
    pub fn changed(&mut self, source: &SourceFile) -> Option<String> {
        let held = self.length(&source.location).filter(|held| *held != source.bytes)?;
        Some(format!(
            "`{}`, into which it points, had {} bytes when it was written and has {held}",
            source.location, source.bytes
        ))
    }
}

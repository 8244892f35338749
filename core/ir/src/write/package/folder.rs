//! A new folder of a model and the files around it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::staging::{self, Staging};
use crate::diagnose::Report;
use crate::write::publish::failed;
use crate::write::sync;

/// The name of the future folder in the hidden one. That one is locked, and each model locks the folder that it is written
/// to.
const CONTENTS: &str = "contents";

/// A hidden folder that is filled and then published at once. It is removed unless it is published.
#[derive(Debug)]
pub struct NewFolder {
    staging: Staging,
    folder: PathBuf,
}

impl NewFolder {
    /// Creates the hidden folder for `folder`, beside it.
    ///
    /// # Errors
    /// `OP601` if `folder` exists, or if the hidden one cannot be created.
    pub fn new(folder: &Path) -> Result<Self, Report> {
        staging::refuse_existing(folder)?;
        // Leftovers of a killed run take space.
        staging::sweep(folder);
        let staging = Staging::new(folder).map_err(|e| failed(folder, &e))?;
        fs::create_dir(staging.path().join(CONTENTS)).map_err(|e| failed(folder, &e))?;
        Ok(Self { staging, folder: folder.to_owned() })
    }

    /// Returns the path of the file `name` until the folder is published.
    pub fn file(&self, name: &str) -> PathBuf {
        self.staging.path().join(CONTENTS).join(name)
    }

    /// Returns the path of a file that is not published.
    pub fn temporary(&self, name: &str) -> PathBuf {
        self.staging.path().join(name)
    }

    /// Writes the new file `name`.
    ///
    /// # Errors
    /// `OP601`.
    pub fn write(&self, name: &str, contents: &[u8]) -> Result<(), Report> {
        super::save(&self.file(name), contents).map_err(|e| failed(&self.folder.join(name), &e))
    }

    /// Writes the new file `name` as `fill` does.
    ///
    /// # Errors
    /// `OP601`.
    pub fn write_with(
        &self,
        name: &str,
        fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), Report> {
        let write = || {
            let mut out = BufWriter::new(File::create_new(self.file(name))?);
            fill(&mut out)?;
            sync::file(&out.into_inner().map_err(io::IntoInnerError::into_error)?)
        };
        write().map_err(|e| failed(&self.folder.join(name), &e))
    }

    /// Copies the file at `from` to the new file `name`.
    ///
    /// # Errors
    /// `OP601`.
    pub fn copy(&self, from: &Path, name: &str) -> Result<(), Report> {
        let copy = || {
            let mut out = File::create_new(self.file(name))?;
            io::copy(&mut File::open(from)?, &mut out)?;
            sync::file(&out)
        };
        copy().map_err(|e| failed(&self.folder.join(name), &e))
    }

    /// Publishes the folder.
    ///
    /// # Errors
    /// `OP601` if something has its name by now. Nothing remains then.
    pub fn publish(self) -> Result<(), Report> {
        let Self { staging, folder } = self;
        let contents = staging.path().join(CONTENTS);
        staging.publish_part(&contents, &folder).map_err(|e| failed(&folder, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Code;

    fn entries(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_at_once_or_not_at_all() {
        let around = tempfile::tempdir().unwrap();
        let target = around.path().join("out");
        let source = around.path().join("source");
        fs::write(&source, "s").unwrap();
        let folder = NewFolder::new(&target).unwrap();
        fs::write(folder.temporary("t"), "t").unwrap();
        folder.write("a", b"a").unwrap();
        folder.copy(&source, "b").unwrap();
        assert!(!target.exists());
        folder.publish().unwrap();
        assert_eq!(entries(&target), ["a", "b"]);
        assert_eq!(entries(around.path()), ["out", "source"]);
        assert_eq!(NewFolder::new(&target).unwrap_err().diagnostics[0].code, Code::WRITE_IO);
        fs::rename(&target, around.path().join("old")).unwrap();
        let late = NewFolder::new(&target).unwrap();
        fs::create_dir(&target).unwrap();
        assert_eq!(late.publish().unwrap_err().diagnostics[0].code, Code::WRITE_IO);
        drop(NewFolder::new(&around.path().join("other")).unwrap());
        assert_eq!(entries(around.path()), ["old", "out", "source"]);
    }
}

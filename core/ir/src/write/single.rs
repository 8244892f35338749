//! Writes a file that is not a model, as a whole or not at all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::publish::{Target, failed, same_file};
use super::sync;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::files;

/// Writes a file to `path` by `content`. An existing file is replaced when the new one is complete and on disk,
/// unless it is one of `sources`.
///
/// # Errors
/// `OP603` if it is a source, `OP601` and `OP610` if it cannot be written; an existing file stays.
pub fn file(
    path: &Path,
    sources: &[PathBuf],
    content: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Report> {
    let target = Target::new(path, 0);
    target.refuse_others()?;
    if let Ok(existing) = files::open(path) {
        let read = |source: &&PathBuf| {
            files::open(source).is_ok_and(|source| same_file(&source, &existing).unwrap_or(false))
        };
        if sources.iter().any(|source| read(&source)) {
            let message = format!("`{}` is one of its input files", path.display());
            return Err(Diagnostic::error(Code::WRITE_SOURCE, message)
                .help("choose another output path")
                .into());
        }
    }
    let mut staged = target.stage(path)?;
    content(staged.file()).and_then(|()| sync::file(staged.file())).map_err(|e| failed(path, &e))?;
    // A hidden name, which can replace the old one at once.
    target.reveal(&mut staged, path)?;
    staged.appear(path).map_err(|e| failed(path, &e))?;
    sync::folder(target.folder());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use super::file;
    use crate::diagnose::Code;

    #[test]
    fn a_file_appears_whole_and_replaces_no_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let put =
            |text: &'static str, sources: &[_]| file(&path, sources, |file| file.write_all(text.as_bytes()));
        put("one", &[]).unwrap();
        put("two", &[]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let report = put("three", std::slice::from_ref(&path)).unwrap_err();
        assert_eq!(report.diagnostics[0].code, Code::WRITE_SOURCE);
        let fails = file(&path, &[], |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(fails.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }
}

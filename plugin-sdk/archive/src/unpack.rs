//! From an archive to files.

use std::fs;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

/// The most that an archive unpacks to, in bytes: many times the size of the sources.
const MAX_LEN: u64 = 256 << 20;

/// The files of an archive, with their contents.
///
/// # Errors
/// When it is none, or a name leads out of the folder that it is unpacked to.
pub(super) fn read(archive: &[u8]) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut outer = ZipArchive::new(Cursor::new(archive))?;
    let mut all = Vec::new();
    outer.by_index(0)?.take(MAX_LEN).read_to_end(&mut all)?;
    let mut archive = ZipArchive::new(Cursor::new(all))?;
    let mut files = Vec::new();
    let mut left = MAX_LEN;
    for index in 0..archive.len() {
        let file = archive.by_index(index)?;
        let Some(path) = file.enclosed_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a name leads out of the archive"));
        };
        if file.is_dir() {
            continue;
        }
        let mut bytes = Vec::new();
        left = match left.checked_sub(file.take(left).read_to_end(&mut bytes)? as u64) {
            Some(0) | None => return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long")),
            Some(left) => left,
        };
        files.push((path, bytes));
    }
    Ok(files)
}

/// Unpacks an archive into `folder`. Files that are there with the same contents keep their times, so that nothing is
/// built again that did not change.
///
/// # Errors
/// As [`read`], and when a file cannot be written.
pub fn unpack(archive: &[u8], folder: &Path) -> io::Result<()> {
    for (path, bytes) in read(archive)? {
        let path = folder.join(path);
        if fs::read(&path).is_ok_and(|found| found == bytes) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, bytes)?;
    }
    Ok(())
}

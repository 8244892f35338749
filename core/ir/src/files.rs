//! Reads files that a user names. A pipe may block for ever and a device may never end, so only regular files are
//! read, and only up to a limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens the regular file at `path`.
///
/// # Errors
/// Those of opening a file; `InvalidInput` if it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    // To open a pipe waits for somebody who writes.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// Reads the regular file at `path`, which has at most `limit` bytes.
///
/// # Errors
/// Those of [`open`] and of reading; `FileTooLarge` beyond the limit.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let message = format!("it has more than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// The same for text.
///
/// # Errors
/// Those of [`read`]; `InvalidData` where it is not UTF-8.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "four").unwrap();
        assert_eq!(text(&path, 4).unwrap(), "four");
        assert_eq!(read(&path, 3).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        for path in [Path::new("/dev/zero"), folder.path()] {
            assert_eq!(read(path, 4).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(text(&path, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}

//! A folder of compiled regions, by a hash of everything that the result may depend on.
//!
//! Several processes may use one folder: entries appear at once, under their final names. An entry starts with a hash of the
//! rest, so that one that is damaged is noticed, and compiled again. The least recently used entries go where there are more
//! bytes than the budget.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::blob::hex;
use super::call::Compile;
use super::saved;
use crate::ir::Model;
use crate::tensor::MappedFile;

/// The start of an entry, before the hash of the rest. Entries of other versions have other keys as well.
const MAGIC: &[u8] = b"onnxport-region-1 ";
/// The length of a hash in hexadecimal.
const HASH: usize = 64;
const SUFFIX: &str = ".region";
const TEMPORARY: &str = ".writing-";
/// A temporary file of this age is of a process that is gone.
const ABANDONED: Duration = Duration::from_hours(24);

/// The bytes that a cache keeps unless the user gives another budget.
pub const CACHE_BYTES: u64 = 4 << 30;

/// Where compiled regions are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The folder, which is created if it does not exist.
    pub folder: PathBuf,
    /// The most bytes in it.
    pub budget: u64,
}

/// An entry that was looked up.
pub(super) enum Found {
    /// The answer of the backend.
    Entry(Box<Compile>),
    /// There is none.
    Nothing,
    /// There was one that cannot be used, and that was removed.
    Damaged(String),
}

impl Cache {
    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}{SUFFIX}"))
    }

    /// The answer for `key`, as an answer to `call`.
    pub(super) fn find(&self, key: &str, model: &mut Model, call: Compile) -> Found {
        let path = self.path(key);
        let file = match MappedFile::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Found::Nothing,
            Err(error) => return damaged(&path, &error.to_string()),
        };
        let Some(body) = body(file.bytes()) else { return damaged(&path, "its hash is another one") };
        match saved::restore(body, key, model, call) {
            Some(compile) => {
                // The time of the last use; only the order of removal depends on it.
                let _ = File::options()
                    .append(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(SystemTime::now()));
                Found::Entry(Box::new(compile))
            }
            None => damaged(&path, "its contents are not those of a region"),
        }
    }

    /// Keeps an answer, [`saved`] as `body`.
    ///
    /// # Errors
    /// Those of writing a file; nothing of it remains.
    pub(super) fn keep(&self, key: &str, body: &[u8]) -> io::Result<()> {
        if (MAGIC.len() + HASH + body.len()) as u64 > self.budget {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(&self.folder)?;
        file.write_all(MAGIC)?;
        file.write_all(hex(&Sha256::digest(body)).as_bytes())?;
        file.write_all(body)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        self.trim(key);
        Ok(())
    }

    /// Removes the least recently used entries beyond the budget, but not that of `key`, and what killed processes left.
    /// Another process may do the same.
    fn trim(&self, key: &str) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut found: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in entries.flatten() {
            let (Ok(name), Ok(about)) = (entry.file_name().into_string(), entry.metadata()) else { continue };
            let Ok(used) = about.modified() else { continue };
            if !about.is_file() {
                continue;
            }
            if name.starts_with(TEMPORARY) {
                if used.elapsed().is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(entry.path());
                }
            } else if name.ends_with(SUFFIX) {
                found.push((used, about.len(), entry.path()));
            }
        }
        found.sort();
        let mut total: u64 = found.iter().map(|(_, bytes, _)| bytes).sum();
        let own = self.path(key);
        for (_, bytes, path) in found.iter().filter(|(_, _, path)| *path != own) {
            if total <= self.budget {
                return;
            }
            let _ = fs::remove_file(path);
            total -= bytes;
        }
    }
}

/// The rest of an entry, if its hash is right.
fn body(bytes: &[u8]) -> Option<&[u8]> {
    let (hash, body) = bytes.strip_prefix(MAGIC)?.split_at_checked(HASH)?;
    (hex(&Sha256::digest(body)).as_bytes() == hash).then_some(body)
}

fn damaged(path: &Path, why: &str) -> Found {
    let _ = fs::remove_file(path);
    Found::Damaged(format!("`{}` is damaged ({why}), and was removed", path.display()))
}

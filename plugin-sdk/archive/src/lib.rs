//! Packs crates of this workspace, as sources, into one compressed archive that builds by itself: the plugin SDK that
//! travels with the program.
//!
//! An archive holds the requested crates and the crates of the workspace that they depend on, each in its folder, and a
//! `Cargo.toml` that makes them a workspace. The same sources give the same bytes.

mod manifest;
mod unpack;

use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use manifest::Workspace;
pub use unpack::unpack;

/// Folders and files of a crate that are not needed to build it.
const LEFT_OUT: &[&str] = &["tests", "tests.rs", "benches", "examples", "include", "target", "Cargo.lock"];

/// Packs the crates called `names` of the workspace in the folder `repository`, and the crates that they depend on.
///
/// # Errors
/// When a manifest cannot be read, a crate is not in the workspace, or a file cannot be read.
pub fn pack(repository: &Path, names: &[&str]) -> io::Result<Vec<u8>> {
    let workspace = Workspace::read(repository)?;
    let folders = workspace.closure(names)?;
    let mut entries = vec![("Cargo.toml".to_owned(), workspace.manifest(&folders).into_bytes())];
    for file in sources_of(repository, &folders)? {
        let bytes = std::fs::read(repository.join(&file))?;
        let bytes = if file.ends_with("Cargo.toml") { workspace.packed(bytes, &folders)? } else { bytes };
        entries.push((slashed(&file), bytes));
    }
    entries.sort();
    write(&entries)
}

/// The files and folders that [`pack`] reads, relative to `repository`, for a build script to watch.
///
/// # Errors
/// As [`pack`].
pub fn inputs(repository: &Path, names: &[&str]) -> io::Result<Vec<PathBuf>> {
    let workspace = Workspace::read(repository)?;
    let mut found = sources_of(repository, &workspace.closure(names)?)?;
    found.push("Cargo.toml".into());
    Ok(found)
}

/// Writes an archive of `entries`, names and contents, in their order and without times.
///
/// It holds one compressed file, which is an archive of the entries: hundreds of small files of source code take a quarter
/// less space together than one by one.
fn write(entries: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let all = zip(entries, CompressionMethod::Stored, None)?;
    zip(&[("sources.zip".to_owned(), all)], CompressionMethod::Deflated, Some(9))
}

fn zip(entries: &[(String, Vec<u8>)], method: CompressionMethod, level: Option<i64>) -> io::Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(method)
        .compression_level(level)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        zip.start_file(name.as_str(), options)?;
        zip.write_all(bytes)?;
    }
    Ok(zip.finish()?.into_inner())
}

/// The files of the crates in `folders`, sorted.
fn sources_of(repository: &Path, folders: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        visit(repository, folder, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn visit(repository: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in repository.join(folder).read_dir()? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with('.') || LEFT_OUT.iter().any(|left_out| name == *left_out) {
            continue;
        }
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // A folder with a manifest is a crate of its own.
            let own = repository.join(&path).join("Cargo.toml").is_file();
            if !own {
                visit(repository, &path, found)?;
            }
        } else if kind.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// A path as archives and manifests write it.
fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;

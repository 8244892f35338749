//! Sources of crates of this workspace as one compressed archive that builds by itself: the plugin SDK as it travels
//! with the program, and as it was when a revision of the contract was released.
//!
//! An archive holds the crates that are asked for with those of the workspace that they depend on, each in its folder,
//! and a `Cargo.toml` that makes a workspace of them. The same sources give the same bytes.

mod manifest;
mod unpack;

use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use manifest::Workspace;
pub use unpack::{read, unpack};

/// What goes into an archive.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The crates, by name; what they depend on comes along.
    pub crates: &'a [&'a str],
    /// The folder in the archive that holds them, relative to its `Cargo.toml`; empty for none.
    pub folder: &'a str,
    /// Other members of the workspace, which are not in the archive.
    pub members: &'a [&'a str],
}

/// Folders of a crate that are not needed to build it.
const LEFT_OUT: &[&str] = &["tests", "benches", "examples", "include", "target"];

/// The archive of what is `wanted` from the workspace in the folder `repository`, with further `files`, each a name and
/// contents.
///
/// # Errors
/// When a manifest is not one, a crate is not in the workspace, or a file cannot be read.
pub fn pack(repository: &Path, wanted: Wanted<'_>, files: &[(&str, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let workspace = Workspace::read(repository)?;
    let folders = workspace.closure(wanted.crates)?;
    let mut entries: Vec<(String, Vec<u8>)> =
        files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect();
    entries.push(("Cargo.toml".to_owned(), workspace.manifest(&folders, wanted).into_bytes()));
    for file in sources_of(repository, &folders)? {
        let bytes = std::fs::read(repository.join(&file))?;
        let bytes = if file.ends_with("Cargo.toml") { workspace.packed(bytes, &folders)? } else { bytes };
        entries.push((join(wanted.folder, &slashed(&file)), bytes));
    }
    entries.sort();
    write(&entries)
}

/// The files and folders that [`pack`] reads, relative to `repository`: what a build script watches.
///
/// # Errors
/// As [`pack`].
pub fn inputs(repository: &Path, crates: &[&str]) -> io::Result<Vec<PathBuf>> {
    let workspace = Workspace::read(repository)?;
    let mut found = sources_of(repository, &workspace.closure(crates)?)?;
    found.push("Cargo.toml".into());
    Ok(found)
}

/// An archive of `entries`, names and contents, in their order. Times are left out.
///
/// # Errors
/// When a name stands twice.
pub fn write(entries: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(9))
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
        let hidden = name.to_string_lossy().starts_with('.');
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // A folder with a manifest is a crate of its own.
            let own = repository.join(&path).join("Cargo.toml").is_file();
            if !hidden && !own && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                visit(repository, &path, found)?;
            }
        } else if kind.is_file() && !hidden && name != "Cargo.lock" {
            found.push(path);
        }
    }
    Ok(())
}

fn join(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// A path as archives and manifests write it.
fn slashed(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests;

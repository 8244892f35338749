//! `cargo xtask freeze REVISION [SOURCES]`: what stays of a revision of the contract when it is released.
//!
//! Its fingerprints are pinned; its C header, and the sources of its SDK in one archive, are put into `tests/rust/abi`. The
//! sources are those of this repository, or of a checkout of an older one. The archive has a `Cargo.lock` of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use onnxport_archive::{Wanted, pack, read, unpack, write};

use crate::{contract, root, target};

/// The members of a frozen workspace that are not in its archive: `tests/rust/abi/REVISION` has them.
const MEMBERS: &[&str] = &["host", "plugin"];

/// Freezes `revision`, whose sources are in `sources`.
pub(crate) fn run(revision: &str, sources: Option<&str>) -> Result<bool, String> {
    let root = root();
    let folder = root.join("tests/rust/abi").join(revision);
    let archive = folder.join("sdk.zip");
    if archive.exists() {
        return Err(format!("{} is there: a revision is frozen once", archive.display()));
    }
    for member in MEMBERS {
        if !folder.join(member).join("Cargo.toml").is_file() {
            return Err(format!(
                "{}/{member} is missing: copy that of the revision before",
                folder.display()
            ));
        }
    }
    contract::freeze(&root, revision)?;
    let header = contract::header_of(&root, revision)?;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::write(folder.join("onnxport.h"), header).map_err(failed)?;
    let repository = sources.map_or_else(|| root.clone(), PathBuf::from);
    // Cargo tells crates of different workspaces in one target folder apart by their path in the workspace.
    let home = format!("sdk-{revision}");
    let wanted = Wanted { crates: &["onnxport-sdk"], folder: &home, members: MEMBERS };
    let lock = fs::read(repository.join("Cargo.lock")).map_err(failed)?;
    let draft = pack(&repository, wanted, &[("Cargo.lock", lock)]).map_err(failed)?;
    let lock = trimmed(&draft, &folder).map_err(failed)?;
    let mut files: Vec<(String, Vec<u8>)> = read(&draft)
        .map_err(failed)?
        .into_iter()
        .map(|(path, bytes)| (path.to_string_lossy().replace('\\', "/"), bytes))
        .filter(|(name, _)| name != "Cargo.lock")
        .collect();
    files.push(("Cargo.lock".to_owned(), lock));
    files.sort();
    fs::write(&archive, write(&files).map_err(failed)?).map_err(failed)?;
    println!("{}: add it to REVISIONS in the test `abi`, and what it brought", folder.display());
    Ok(true)
}

/// The lock file of the workspace, without packages that it does not use.
fn trimmed(archive: &[u8], folder: &Path) -> std::io::Result<Vec<u8>> {
    let draft = target().join("freeze");
    if draft.exists() {
        fs::remove_dir_all(&draft)?;
    }
    unpack(archive, &draft)?;
    for member in MEMBERS {
        copy(&folder.join(member), &draft.join(member))?;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut update = Command::new(cargo);
    update.args(["update", "--workspace", "--offline", "--quiet"]).current_dir(&draft);
    let status = update.status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("{update:?}: {status}")));
    }
    fs::read(draft.join("Cargo.lock"))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() && entry.file_name() != OsStr::new("target") {
            copy(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

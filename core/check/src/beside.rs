//! The manifest beside the library, compared with the library; and the correct manifest.

use std::io::Write;
use std::path::Path;

use super::journal::Description;
use super::{Checked, Finding};
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::manifest::{self, Manifest};

const CHECK: &str = "manifest";

/// Checks the manifest field by field, or writes it.
pub(super) fn check(
    library: &Path,
    said: &Description,
    write: bool,
    checked: &mut Checked,
) -> Result<(), Diagnostic> {
    let right = Manifest {
        id: said.id.clone(),
        version: said.version.clone(),
        contract: said.contract.clone(),
        target: manifest::TARGET.to_owned(),
        provides: said.provides.clone(),
        sha256: Some(manifest::sha256(library)?),
    };
    if write {
        let path = write_manifest(library, &right)?;
        checked.findings.push(Finding::pass(CHECK, format!("written to {path}")));
        return Ok(());
    }
    checked.findings.push(match Manifest::beside(library) {
        Err(problem) => {
            Finding::from_diagnostic(CHECK, &problem).next("write a right one with --write-manifest")
        }
        Ok(None) => Finding::skip(CHECK, "there is none; a library in a folder of plugins needs one")
            .next("write it with --write-manifest"),
        Ok(Some(stated)) => compare(&stated, &right),
    });
    Ok(())
}

fn compare(stated: &Manifest, right: &Manifest) -> Finding {
    let list = |provides: &[String]| provides.join(", ");
    let fields = [
        ("id", &stated.id, &right.id),
        ("version", &stated.version, &right.version),
        ("contract", &stated.contract, &right.contract),
        ("target", &stated.target, &right.target),
        ("provides", &list(&stated.provides), &list(&right.provides)),
    ];
    let hashes = (stated.sha256.as_deref(), right.sha256.as_deref());
    let differing: Vec<String> = fields
        .iter()
        .filter(|(_, stated, right)| stated != right)
        .map(|(field, stated, right)| format!("{field} is `{stated}`, but the library has `{right}`"))
        .chain(match hashes {
            (Some(stated), Some(right)) if !stated.eq_ignore_ascii_case(right) => {
                Some(format!("sha256 is not the library's, {right}"))
            }
            _ => None,
        })
        .collect();
    if !differing.is_empty() {
        return Finding::fail(CHECK, differing.join("; ")).next("write a right one with --write-manifest");
    }
    let hash = if stated.sha256.is_some() { "with its hash" } else { "without a hash" };
    Finding::pass(CHECK, format!("matches the library, {hash}"))
}

/// Writes the manifest whole or not at all, and returns where.
fn write_manifest(library: &Path, manifest: &Manifest) -> Result<String, Diagnostic> {
    let [path, _] = Manifest::paths(library);
    let problem = |why: String| {
        Diagnostic::error(
            Code::PLUGIN_MANIFEST,
            format!("the manifest {} cannot be written: {why}", path.display()),
        )
    };
    let text = toml::to_string(manifest).map_err(|error| problem(error.to_string()))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let write = || -> std::io::Result<()> {
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(text.as_bytes())?;
        readable(draft.path())?;
        draft.persist(&path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| problem(error.to_string()))?;
    Ok(path.display().to_string())
}

/// A temporary file is its owner's alone; a manifest is read by whoever loads the library.
#[cfg(unix)]
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

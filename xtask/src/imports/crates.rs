//! The dependencies of the workspace's crates, without those of tests and builds.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Imports;

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` and `build`; none for those of the crate itself.
    kind: Option<String>,
    path: Option<String>,
}

/// The dependencies among the crates of the workspace.
pub(super) fn imports(root: &Path) -> Result<Imports, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
    let output = command.output().map_err(|e| format!("cargo metadata: {e}"))?;
    let metadata: Metadata =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let mut all = Imports::new();
    for package in metadata.packages {
        let manifest = Path::new(&package.manifest_path);
        let place = manifest.strip_prefix(root).unwrap_or(manifest).display().to_string();
        let own = package.dependencies.into_iter().filter(|d| d.kind.is_none() && d.path.is_some());
        let from: BTreeMap<String, String> = own.map(|d| (d.name, place.clone())).collect();
        all.insert(package.name, from);
    }
    Ok(all)
}

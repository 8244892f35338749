//! The manifest of the workspace: which crates depend on which, and the manifest of a part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::slashed;

/// The workspace that archives are made of.
pub(super) struct Workspace<'a> {
    repository: &'a Path,
    /// The section `workspace` of its manifest.
    table: Table,
    /// Its profiles, without overrides for single crates.
    profiles: Table,
    /// The folders of its crates, by name.
    crates: BTreeMap<String, PathBuf>,
}

impl<'a> Workspace<'a> {
    pub(super) fn read(repository: &'a Path) -> io::Result<Self> {
        let manifest = read(&repository.join("Cargo.toml"))?;
        let table = section(&manifest, "workspace").cloned().unwrap_or_default();
        let mut crates = BTreeMap::new();
        for (name, dependency) in section(&table, "dependencies").into_iter().flatten() {
            if let Some(path) = dependency.get("path").and_then(Value::as_str) {
                crates.insert(name.clone(), PathBuf::from(path));
            }
        }
        let mut profiles = section(&manifest, "profile").cloned().unwrap_or_default();
        for profile in profiles.iter_mut().filter_map(|(_, profile)| profile.as_table_mut()) {
            if let Some(packages) = profile.get_mut("package").and_then(Value::as_table_mut) {
                packages.retain(|name, _| name == "*");
            }
        }
        Ok(Self { repository, table, profiles, crates })
    }

    /// The folders of `names` and of every crate of the workspace that they need to build, sorted.
    pub(super) fn closure(&self, names: &[&str]) -> io::Result<Vec<PathBuf>> {
        let mut open: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut done = BTreeSet::new();
        while let Some(name) = open.pop() {
            let folder = self.crates.get(&name).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("the workspace has no crate `{name}`"))
            })?;
            if !done.insert(folder.clone()) {
                continue;
            }
            let manifest = read(&self.repository.join(folder).join("Cargo.toml"))?;
            for kind in ["dependencies", "build-dependencies"] {
                let needed = section(&manifest, kind).into_iter().flat_map(Table::keys);
                open.extend(needed.filter(|name| self.crates.contains_key(*name)).cloned());
            }
        }
        Ok(done.into_iter().collect())
    }

    /// The manifest of a crate in an archive of those in `folders`: tests are not there, and so it says nothing of what
    /// they depend on where that is not there either.
    pub(super) fn packed(&self, manifest: Vec<u8>, folders: &[PathBuf]) -> io::Result<Vec<u8>> {
        let text = String::from_utf8_lossy(&manifest);
        let mut table: Table =
            text.parse().map_err(|error: toml::de::Error| io::Error::other(error.to_string()))?;
        let absent = |name: &String| self.crates.get(name).is_some_and(|folder| !folders.contains(folder));
        if !section(&table, "dev-dependencies").is_some_and(|wanted| wanted.keys().any(absent)) {
            return Ok(manifest);
        }
        table.remove("dev-dependencies");
        Ok(table.to_string().into_bytes())
    }

    /// The manifest of a workspace of the crates in `folders`.
    pub(super) fn manifest(&self, folders: &[PathBuf]) -> String {
        let mut table = self.table.clone();
        table.remove("default-members");
        let members = folders.iter().map(|folder| Value::String(slashed(folder)));
        table.insert("members".to_owned(), Value::Array(members.collect()));
        if let Some(Value::Table(dependencies)) = table.get_mut("dependencies") {
            dependencies.retain(|_, dependency| {
                let Some(path) = dependency.get("path").and_then(Value::as_str) else { return true };
                folders.iter().any(|folder| slashed(folder) == path)
            });
        }
        let profiles = Value::Table(self.profiles.clone());
        Table::from_iter([("profile".to_owned(), profiles), ("workspace".to_owned(), Value::Table(table))])
            .to_string()
    }
}

fn section<'t>(table: &'t Table, name: &str) -> Option<&'t Table> {
    table.get(name).and_then(Value::as_table)
}

fn read(path: &Path) -> io::Result<Table> {
    let failed = |why: String| io::Error::other(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    text.parse().map_err(|error: toml::de::Error| failed(error.to_string()))
}

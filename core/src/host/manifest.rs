//! The manifest beside a library: read, and checked against the host, before anything is loaded.
//!
//! `libmylib.so.toml` (or `.json` with the same fields) beside `libmylib.so`:
//!
//! ```toml
//! id = "mylib"
//! version = "0.3.1"
//! contract = "1.0"
//! target = "x86_64-unknown-linux-gnu"
//! provides = ["lowering/1"]
//! sha256 = "9f86d081..."            # optional
//! ```

use std::io::Read;
use std::path::{Path, PathBuf};

use onnxport_abi::Version;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{CONTRACT, MAX_TEXT, Plugin};
use crate::diagnose::{Code, Diagnostic};
use crate::files;

/// The target that this host is built for.
pub const TARGET: &str = env!("ONNXPORT_TARGET");

/// The author's description of a library.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The plugin's id.
    pub id: String,
    /// The plugin's own version.
    pub version: String,
    /// The contract that it was built with, `1.0`.
    pub contract: String,
    /// The target triple.
    pub target: String,
    /// The interfaces that it provides, `lowering/1`.
    pub provides: Vec<String>,
    /// The library's SHA-256 in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Manifest {
    /// Returns the possible paths of `library`'s manifest.
    pub fn paths(library: &Path) -> [PathBuf; 2] {
        ["toml", "json"].map(|extension| {
            let mut path = library.as_os_str().to_owned();
            path.push(".");
            path.push(extension);
            path.into()
        })
    }

    /// Reads the manifest beside `library`, if there is one.
    ///
    /// # Errors
    /// [`Code::PLUGIN_MANIFEST`] if it cannot be read.
    pub fn beside(library: &Path) -> Result<Option<Self>, Diagnostic> {
        let [toml, json] = Self::paths(library);
        if toml.is_file() {
            let text = read(&toml)?;
            return toml::from_str(&text).map(Some).map_err(|error| problem(&toml, error.message()));
        }
        if json.is_file() {
            let text = read(&json)?;
            return serde_json::from_str(&text).map(Some).map_err(|error| problem(&json, &error.to_string()));
        }
        Ok(None)
    }

    /// Whether `library` can be loaded here, as far as the manifest tells.
    pub(super) fn check(&self, library: &Path) -> Result<(), Diagnostic> {
        let id = &self.id;
        let fail = |code: Code, what: String| {
            let mut diagnostic =
                Diagnostic::error(code, format!("plugin `{id}` ({}) {what}", library.display()));
            diagnostic.provider = Some(id.clone());
            Err(diagnostic)
        };
        let Some(contract) = version(&self.contract) else {
            return fail(
                Code::PLUGIN_MANIFEST,
                format!("states the contract `{}`, which is not a version", self.contract),
            );
        };
        if contract.major != CONTRACT.major {
            return fail(
                Code::PLUGIN_VERSION,
                format!("is built for plugin contract {contract}, this host has {CONTRACT}"),
            );
        }
        if self.target != TARGET {
            return fail(Code::PLUGIN_FILE, format!("is built for {}, this host for {TARGET}", self.target));
        }
        if let Some(stated) = &self.sha256 {
            let found = sha256(library)?;
            if !found.eq_ignore_ascii_case(stated) {
                return fail(
                    Code::PLUGIN_MANIFEST,
                    format!("is not the file that its manifest describes: its SHA-256 is {found}"),
                );
            }
        }
        Ok(())
    }

    /// Checks that the loaded library agrees with its manifest.
    pub(super) fn check_loaded(&self, plugin: &Plugin, library: &Path) -> Result<(), Diagnostic> {
        let pairs = [
            ("id", self.id.clone(), plugin.id.to_owned()),
            ("version", self.version.clone(), plugin.version.to_owned()),
            ("contract", self.contract.clone(), plugin.contract.to_string()),
            ("provides", self.provides.join(", "), plugin.provides.join(", ")),
        ];
        for (field, stated, found) in pairs {
            if stated != found {
                let message = format!(
                    "the manifest of {} states {field} `{stated}`, but the library `{found}`",
                    library.display()
                );
                return Err(Diagnostic::error(Code::PLUGIN_MANIFEST, message));
            }
        }
        Ok(())
    }
}

/// Returns the SHA-256 of a file in hexadecimal digits.
///
/// # Errors
/// [`Code::PLUGIN_FILE`] if it cannot be read.
pub fn sha256(path: &Path) -> Result<String, Diagnostic> {
    use std::fmt::Write;
    let unreadable = |error: std::io::Error| {
        Diagnostic::error(Code::PLUGIN_FILE, format!("{} cannot be read: {error}", path.display()))
    };
    let mut file = files::open(path).map_err(unreadable)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer).map_err(unreadable)?;
        if read == 0 {
            break;
        }
        hash.update(buffer.get(..read).unwrap_or_default());
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

fn version(text: &str) -> Option<Version> {
    let (major, minor) = text.split_once('.')?;
    Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

fn read(path: &Path) -> Result<String, Diagnostic> {
    files::text(path, MAX_TEXT).map_err(|error| problem(path, &error.to_string()))
}

fn problem(path: &Path, why: &str) -> Diagnostic {
    let why = why.lines().next().unwrap_or_default();
    Diagnostic::error(Code::PLUGIN_MANIFEST, format!("the manifest {} cannot be read: {why}", path.display()))
}

#[cfg(test)]
mod tests;

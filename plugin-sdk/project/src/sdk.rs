//! Where a project gets the plugin SDK from.

use std::fs;
use std::path::{Path, PathBuf};

use onnxport_ir::diagnose::{Code, Diagnostic};

/// The sources of the SDK, as an archive; empty if this crate was built from a registry.
const SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sdk.zip"));

/// The folder of a project that holds them.
const FOLDER: &str = "sdk";

/// Where the plugin SDK comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// The sources that travel with this program; the project gets a copy.
    Bundled,
    /// The registry that this program was built from, in the same version.
    Registry,
    /// A folder that holds it.
    Path(PathBuf),
    /// A git repository that holds it.
    Git(String),
}

impl Sdk {
    /// The SDK of this version of onnxport.
    pub const fn own() -> Self {
        if SOURCES.is_empty() { Self::Registry } else { Self::Bundled }
    }

    /// A git address, or a folder.
    pub fn parse(text: &str) -> Self {
        if text.contains("://") || text.starts_with("git@") {
            Self::Git(text.to_owned())
        } else {
            Self::Path(text.into())
        }
    }

    /// The fields in a `Cargo.toml` of a dependency: the SDK, or a crate in a folder of it, such as `/testkit`.
    pub(super) fn dependency(&self, folder: &str) -> Result<String, Diagnostic> {
        let text = match self {
            Self::Bundled => return Ok(format!("path = \"{FOLDER}/plugin-sdk{folder}\"")),
            Self::Registry => return Ok(format!("version = \"{}\"", env!("CARGO_PKG_VERSION"))),
            Self::Git(address) => return Ok(format!("git = {}", quoted(address))),
            Self::Path(path) => path,
        };
        let full = text.canonicalize().ok().filter(|path| path.join("Cargo.toml").is_file());
        let manifest = full.as_ref().and_then(|path| fs::read_to_string(path.join("Cargo.toml")).ok());
        match (full, manifest) {
            (Some(full), Some(manifest)) if manifest.contains("name = \"onnxport-sdk\"") => {
                Ok(format!("path = {}", quoted(&format!("{}{folder}", full.to_string_lossy()))))
            }
            _ => {
                Err(Diagnostic::error(Code::PLUGIN_NEW, format!("{} is not the plugin SDK", text.display()))
                    .help("name the folder `plugin-sdk` of onnxport's sources, or their git address"))
            }
        }
    }

    /// The line of the project's workspace about the SDK's folder, which is a workspace of its own.
    pub(super) fn workspace(&self) -> String {
        match self {
            Self::Bundled => format!("[workspace]\nexclude = [\"{FOLDER}\"]\n"),
            Self::Registry | Self::Path(_) | Self::Git(_) => "[workspace]\n".to_owned(),
        }
    }

    /// Puts the sources into the project, if it is to have them.
    pub(super) fn unpack(&self, project: &Path) -> std::io::Result<()> {
        match self {
            Self::Bundled => onnxport_archive::unpack(SOURCES, &project.join(FOLDER)),
            Self::Registry | Self::Path(_) | Self::Git(_) => Ok(()),
        }
    }
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

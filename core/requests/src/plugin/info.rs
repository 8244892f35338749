//! Inspecting the library of a plugin.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::host::{Manifest, manifest};
use onnxport_core::{Host, session};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PluginInfo, exists};
use crate::Request;
use crate::progress::Progress;

/// Loads a plugin library and describes it.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct PluginInfoRequest {
    /// The library
    pub library: PathBuf,
}

/// A library with a plugin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct LibraryInfo {
    /// The plugin.
    #[serde(flatten)]
    pub plugin: PluginInfo,
    /// The hash of the library, in hexadecimal digits.
    pub sha256: String,
    /// The system that it was built for.
    pub target: String,
    /// The manifest beside it.
    pub manifest: Option<Manifest>,
}

impl PluginInfoRequest {
    /// Creates a request about the library at `library`.
    pub fn new(library: impl Into<PathBuf>) -> Self {
        Self { library: library.into() }
    }
}

impl Request for PluginInfoRequest {
    type Outcome = LibraryInfo;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, _: &Host, progress: &mut dyn Progress) -> Result<LibraryInfo, Report> {
        exists(&self.library)?;
        progress.stage("loading the plugin");
        let (plugin, manifest) = session::inspect(&self.library)?;
        let (sha256, target) = (manifest::sha256(&self.library)?, manifest::TARGET.to_owned());
        Ok(LibraryInfo { plugin: PluginInfo::from(&plugin), sha256, target, manifest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_does_not_exist_is_an_error() {
        let request = PluginInfoRequest::new("no/such/library.so");
        let problem = request.run(&Host::new(&[]).unwrap(), &mut ()).unwrap_err();
        assert_eq!(problem.diagnostics[0].message, "plugin library not found: no/such/library.so");
    }
}

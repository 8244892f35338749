//! Creating the project of a plugin.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use onnxport_core::Host;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_project::{self as project, Kind, Project, Sdk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::progress::Progress;

/// Creates a plugin project.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(default)]
pub struct PluginNewRequest {
    /// The name of the plugin, of its crate and of its operators' namespace
    pub name: String,
    /// The folder to create, or an empty one [default: NAME]
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
    /// The kind of plugin
    #[arg(long, value_enum, default_value_t)]
    pub kind: PluginKind,
    /// The plugin SDK: the folder `plugin-sdk` of onnxport's sources, or the URL of their git repository [default: a
    /// copy in the project of the sources that this program was built with; crates.io if it was built from there]
    #[arg(long, value_name = "PATH|URL", value_hint = ValueHint::AnyPath)]
    pub sdk: Option<String>,
}

/// The kind of a plugin.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum PluginKind {
    /// Lower operators to ONNX
    #[default]
    Lowerings,
    /// Rewrite parts of models
    Rules,
    /// Compile parts of models for hardware
    Backend,
    /// Provide weights, or transform them while they are written
    Weights,
    /// Run models
    Executor,
}

impl PluginKind {
    /// The subject of the tests of such a project.
    pub fn tested(self) -> &'static str {
        Kind::from(self).tested()
    }
}

impl From<PluginKind> for Kind {
    fn from(kind: PluginKind) -> Self {
        match kind {
            PluginKind::Lowerings => Self::Lowerings,
            PluginKind::Rules => Self::Rules,
            PluginKind::Backend => Self::Backend,
            PluginKind::Weights => Self::Weights,
            PluginKind::Executor => Self::Executor,
        }
    }
}

impl PluginNewRequest {
    /// Creates a request for the project `name` in a folder of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl Request for PluginNewRequest {
    type Outcome = Project;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, _: &Host, _: &mut dyn Progress) -> Result<Project, Report> {
        let folder = self.path.clone().unwrap_or_else(|| PathBuf::from(&self.name));
        let sdk = self.sdk.as_deref().map_or(Sdk::own(), Sdk::parse);
        Ok(project::new(&self.name, self.kind.into(), &folder, &sdk)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(request: &PluginNewRequest) -> Result<Project, Report> {
        request.run(&Host::new(&[]).unwrap(), &mut ())
    }

    #[test]
    fn a_project_of_the_kind_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine");
        let kind = PluginKind::Rules;
        let request = PluginNewRequest { path: Some(path.clone()), kind, ..PluginNewRequest::new("mylib") };
        let project = run(&request).unwrap();
        assert_eq!(project.folder, path);
        assert!(project.library.to_string_lossy().contains("mylib"));
        let code = std::fs::read_to_string(path.join("src/lib.rs")).unwrap();
        assert!(code.contains("rules!") && path.join("sdk").is_dir(), "{code}");
        let again = run(&request).unwrap_err();
        assert!(again.diagnostics[0].message.ends_with("exists and is not empty"), "{again:?}");
    }

    #[test]
    fn a_name_that_is_not_one_of_a_crate_is_refused() {
        let refused = run(&PluginNewRequest::new("Mine")).unwrap_err();
        assert!(refused.diagnostics[0].message.starts_with("`Mine` cannot be the name of a plugin"));
    }
}

//! `onnxport plugin new`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use onnxport_project::{self as project, Kind, Sdk};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::format::{bold, faint, good};
use crate::outcome::{CommandResult, Outcome};

/// Arguments of `plugin new`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The name of the plugin, of its crate and of its operators' namespace
    #[serde(default)]
    name: String,
    /// The folder to create, or an empty one [default: NAME]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// The kind of plugin
    #[arg(long, value_enum, default_value_t)]
    #[serde(default)]
    kind: KindArgument,
    /// The plugin SDK: the folder `plugin-sdk` of onnxport's sources, or the URL of their git repository [default: a
    /// copy in the project of the sources that this program was built with]
    #[arg(long, value_name = "PATH|URL", value_hint = ValueHint::AnyPath)]
    sdk: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
enum KindArgument {
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

impl KindArgument {
    fn kind(self) -> Kind {
        match self {
            Self::Lowerings => Kind::Lowerings,
            Self::Rules => Kind::Rules,
            Self::Backend => Kind::Backend,
            Self::Weights => Kind::Weights,
            Self::Executor => Kind::Executor,
        }
    }
}

/// Creates a plugin project.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let folder = arguments.path.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    let kind = arguments.kind.kind();
    let sdk = arguments.sdk.as_deref().map_or(Sdk::Bundled, Sdk::parse);
    let project = project::new(&arguments.name, kind, &folder, &sdk)?;
    let library = project.library.display().to_string();
    let commands = [
        (format!("cd {}", folder.display()), ""),
        ("cargo test".to_owned(), kind.tested()),
        ("cargo build --release".to_owned(), ""),
        (format!("onnxport plugin check {library}"), "everything that a host can ask of the library"),
    ];
    let mut outcome = Outcome::ok()
        .with("folder", folder.display().to_string())
        .with("library", &library)
        .with("next", commands.iter().map(|(command, _)| command).collect::<Vec<_>>());
    outcome.summary =
        format!("{}  plugin `{}` in {}\n", good("made"), bold(&arguments.name), folder.display());
    for (command, why) in commands {
        let why = if why.is_empty() { String::new() } else { faint(&format!("   # {why}")) };
        // Writing to a String cannot fail.
        let _ = writeln!(outcome.summary, "  {command}{why}");
    }
    Ok(outcome)
}

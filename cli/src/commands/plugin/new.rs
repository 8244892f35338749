//! `onnxport plugin new`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use onnxport_core::host::template::{self, Sdk};

use crate::format::{bold, faint, good};
use crate::outcome::{CommandResult, Outcome};

/// Arguments of `plugin new`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The name of the plugin, of its crate and of its operators' namespace
    name: String,
    /// The folder to make; empty or not there yet [default: NAME]
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// The plugin SDK, which is in no registry yet: the folder `plugin-sdk` of onnxport's sources, or the
    /// address of their git repository
    #[arg(long, value_name = "PATH|URL")]
    sdk: String,
}

/// Makes a plugin project.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let folder = arguments.path.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    let project = template::new(&arguments.name, &folder, &Sdk::parse(&arguments.sdk))?;
    let library = project.library.display().to_string();
    let commands = [
        (format!("cd {}", folder.display()), ""),
        ("cargo test".to_owned(), "the lowerings, without onnxport"),
        ("cargo build --release".to_owned(), ""),
        (format!("onnxport plugin check {library}"), "what a host can ask of the library"),
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

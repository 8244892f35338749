//! `onnxport schema`.

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};

use crate::config;
use crate::outcome::{CommandResult, Outcome};

/// The file whose schema is that of options.
const FILE: &str = "onnxport.toml";

/// Arguments of `schema`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Whose schema: onnxport.toml
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,
}

/// Prints a schema.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let what = arguments.what.join(" ");
    let schema = match what.as_str() {
        FILE => config::schema(),
        _ => {
            let message = format!("there is no schema of `{what}`");
            return Err(Diagnostic::error(Code::USAGE, message).help(format!("there is {FILE}")).into());
        }
    };
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    Ok(Outcome::text(format!("{text}\n")).with("schema", schema))
}

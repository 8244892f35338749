//! `onnxport schema`.

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_requests::object::nearest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::documents;
use crate::outcome::{CommandResult, Outcome};

/// The name of the options file.
const FILE: &str = "onnxport.toml";

/// Arguments of `schema`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// onnxport.toml, or a command such as convert or weights bind; without one, list all schemas
    #[arg(value_name = "WHAT")]
    #[serde(default)]
    what: Vec<String>,
}

/// Prints a schema; `of_file` generates that of the options file.
pub(crate) fn run(arguments: &Arguments, of_file: fn() -> Value) -> CommandResult {
    let what = arguments.what.join(" ");
    let all: Vec<&str> = std::iter::once(FILE).chain(documents::names()).collect();
    let schema = match what.as_str() {
        "" => return Ok(Outcome::text(format!("{}\n", all.join("\n"))).with("schemas", all)),
        FILE => Some(of_file()),
        name => documents::schema(name),
    };
    let Some(schema) = schema else {
        let message = format!("no schema for `{what}`");
        let help = match nearest(&what, all) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`onnxport schema` lists all".to_owned(),
        };
        return Err(Diagnostic::error(Code::USAGE, message).help(help).into());
    };
    let text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    Ok(Outcome::text(format!("{text}\n")).with("schema", schema))
}

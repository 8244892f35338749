//! `onnxport completions SHELL`.

use clap::{Args, Command};
use clap_complete::Shell;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::outcome::Outcome;

/// Arguments of `completions`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    #[serde(deserialize_with = "shell")]
    #[schemars(with = "String")]
    shell: Shell,
}

fn shell<'de, D: Deserializer<'de>>(data: D) -> Result<Shell, D::Error> {
    String::deserialize(data)?.parse().map_err(D::Error::custom)
}

/// Generates the script for the command line `cli`.
pub(crate) fn run(arguments: &Arguments, mut cli: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli, "onnxport", &mut script);
    Outcome::text(String::from_utf8_lossy(&script).into_owned())
}

//! `onnxport completions SHELL`.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::outcome::Outcome;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Generates the script for the command line `cli`.
pub(crate) fn run(arguments: &Arguments, mut cli: Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut cli, "onnxport", &mut script);
    Outcome::text(String::from_utf8_lossy(&script).into_owned())
}

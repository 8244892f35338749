//! `onnxport completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::outcome::Outcome;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Makes the script.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "onnxport", &mut script);
    Outcome::text(String::from_utf8_lossy(&script).into_owned())
}

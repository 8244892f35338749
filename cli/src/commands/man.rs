//! `onnxport man`.

use clap::CommandFactory;
use onnxport_core::diagnose::{Code, Diagnostic};

use crate::args::Cli;
use crate::outcome::{CommandResult, Outcome};

/// Makes the manual page, every command's included.
pub(crate) fn run() -> CommandResult {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut page = Vec::new();
    let failed = |e: std::io::Error| Diagnostic::error(Code::INTERNAL, format!("no manual page: {e}"));
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for subcommand in command.get_subcommands() {
        clap_mangen::Man::new(subcommand.clone()).render(&mut page).map_err(failed)?;
    }
    Ok(Outcome::text(String::from_utf8_lossy(&page).into_owned()))
}

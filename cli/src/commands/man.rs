//! `onnxport man`.

use clap::Command;
use onnxport_core::diagnose::{Code, Diagnostic};

use crate::outcome::{CommandResult, Outcome};

/// Generates the manual page of the command line `cli`, including every command.
pub(crate) fn run(cli: Command) -> CommandResult {
    let mut command = cli.disable_help_subcommand(true);
    command.build();
    let mut page = Vec::new();
    let failed = |e: std::io::Error| Diagnostic::error(Code::INTERNAL, format!("no manual page: {e}"));
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(failed)?;
    for subcommand in command.get_subcommands() {
        clap_mangen::Man::new(subcommand.clone()).render(&mut page).map_err(failed)?;
    }
    Ok(Outcome::text(String::from_utf8_lossy(&page).into_owned()))
}

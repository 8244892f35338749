//! A file per command: its arguments, and how its result is shown.

pub(crate) mod bisect;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod converting;
pub(crate) mod diff;
pub(crate) mod draw;
pub(crate) mod explain;
pub(crate) mod exporting;
mod given;
mod histogram;
pub(crate) mod inspect;
pub(crate) mod man;
mod modules;
pub(crate) mod ops;
pub(crate) mod optimising;
pub(crate) mod optimize;
pub(crate) mod package;
pub(crate) mod plugin;
pub(crate) mod profile;
pub(crate) mod profiled;
pub(crate) mod report;
mod reports;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod schema;
mod suggesting;
pub(crate) mod verified;
pub(crate) mod verify;
pub(crate) mod verifying;
pub(crate) mod weights;
pub(crate) mod writing;
mod written;

use crate::args::Command;
use crate::outcome::CommandResult;
use crate::progress::Progress;

/// Runs `command`.
pub(crate) fn run(command: &Command, progress: &Progress) -> CommandResult {
    match command {
        Command::Convert(arguments) => convert::run(arguments, progress),
        Command::Check(arguments) => check::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Verify(arguments) => verify::run(arguments, progress),
        Command::Bisect(arguments) => bisect::run(arguments, progress),
        Command::Diff(arguments) => diff::run(arguments, progress),
        Command::Run(arguments) => run::run(arguments, progress),
        Command::Profile(arguments) => profile::run(arguments, progress),
        Command::Optimize(arguments) => optimize::run(arguments, progress),
        Command::Report(arguments) => report::run(arguments),
        Command::Draw(arguments) => draw::run(arguments),
        Command::Ops(arguments) => ops::run(arguments),
        Command::Rules(arguments) => rules::run(arguments),
        Command::Plugin(arguments) => plugin::run(arguments),
        Command::Package(arguments) => package::run(arguments, progress),
        Command::Weights(arguments) => weights::run(arguments, progress),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Completions(arguments) => Ok(completions::run(arguments)),
        Command::Man => man::run(),
    }
}

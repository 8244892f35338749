//! Runs the command of a parsed command line.

use clap::CommandFactory;

use crate::args::{Cli, Command};
use crate::commands::{
    bench, bisect, check, completions, convert, diff, draw, explain, inspect, legal, llm, man, ops, optimize,
    package, partition, plugin, profile, report, rules, run as once, schema, verify, weights,
};
use crate::config;
use crate::outcome::CommandResult;
use crate::progress::Progress;

/// Runs `command`.
pub(crate) fn run(command: &Command, progress: &Progress) -> CommandResult {
    match command {
        Command::Convert(arguments) => convert::run(arguments, progress),
        Command::Check(arguments) => check::run(arguments, progress),
        Command::Inspect(arguments) => inspect::run(arguments, progress),
        Command::Legal(arguments) => legal::run(arguments, progress),
        Command::Partition(arguments) => partition::run(arguments, progress),
        Command::Verify(arguments) => verify::run(arguments, progress),
        Command::Bisect(arguments) => bisect::run(arguments, progress),
        Command::Diff(arguments) => diff::run(arguments, progress),
        Command::Run(arguments) => once::run(arguments, progress),
        Command::Profile(arguments) => profile::run(arguments, progress),
        Command::Optimize(arguments) => optimize::run(arguments, progress),
        Command::Report(arguments) => report::run(arguments, progress),
        Command::Draw(arguments) => draw::run(arguments, progress),
        Command::Ops(arguments) => ops::run(arguments, progress),
        Command::Rules(arguments) => rules::run(arguments, progress),
        Command::Plugin(arguments) => plugin::run(arguments, progress),
        Command::Package(arguments) => package::run(arguments, progress),
        Command::Llm(arguments) => llm::run(arguments, progress),
        Command::Bench(arguments) => bench::run(arguments, progress),
        Command::Weights(arguments) => weights::run(arguments, progress),
        Command::Schema(arguments) => schema::run(arguments, config::schema),
        Command::Explain(arguments) => explain::run(arguments, progress),
        Command::Completions(arguments) => Ok(completions::run(arguments, Cli::command())),
        Command::Man => man::run(Cli::command()),
    }
}

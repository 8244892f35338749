//! The command line.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand};
use onnxport_requests::{DiffRequest, Hosted, OptimizeRequest, RunRequest};

use crate::commands::{
    bisect, check, completions, convert, draw, explain, inspect, ops, package, plugin, profile, report,
    rules, schema, verify, weights,
};
use crate::exit;
use crate::global::{ConfigArguments, Global};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Converts PyTorch exported programs (.pt2) to ONNX.
#[derive(Debug, Parser)]
#[command(name = "onnxport", version, styles = STYLES, after_help = exit::HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(flatten)]
    pub config: ConfigArguments,
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert a program and verify the result
    Convert(Box<convert::Arguments>),
    /// List everything in a program that cannot be converted
    Check(check::Arguments),
    /// Show what a .pt2 or .onnx file, or a file of weights, holds
    Inspect(inspect::Arguments),
    /// Run a model and compare what it computes with what PyTorch computed
    Verify(verify::Arguments),
    /// Find the first node, or the first step of the optimizer, that computes something else
    Bisect(Box<bisect::Arguments>),
    /// Say what differs between two ONNX models, node by node
    Diff(Box<Hosted<DiffRequest>>),
    /// Run an ONNX model once, and show or write what comes out
    Run(Box<Hosted<RunRequest>>),
    /// Say where the time of a model goes in ONNX Runtime, or what is slower in another one
    Profile(Box<profile::Arguments>),
    /// Read an ONNX model, check it and write it again
    Optimize(Box<Hosted<OptimizeRequest>>),
    /// Say what an ONNX model consists of, as a page or as data
    Report(report::Arguments),
    /// Draw the graph of a program, a model or a rule, folded by module
    Draw(draw::Arguments),
    /// List the operators that can be converted
    Ops(ops::Arguments),
    /// List the rules and passes of the optimizer, or show what one does
    Rules(rules::Arguments),
    /// Show, make and check plugins
    Plugin(plugin::Arguments),
    /// Convert several programs into a folder, with one data file for all
    Package(Box<package::Arguments>),
    /// Give a model weights
    Weights(weights::Arguments),
    /// Print the JSON schema of options in a file, or of what a command prints with --json
    Schema(schema::Arguments),
    /// Explain a diagnostic code
    Explain(explain::Arguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
    /// Print the manual page
    Man,
}

impl Command {
    /// The name on the command line.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Convert(_) => "convert",
            Command::Check(_) => "check",
            Command::Inspect(_) => "inspect",
            Command::Verify(_) => "verify",
            Command::Bisect(_) => "bisect",
            Command::Diff(_) => "diff",
            Command::Run(_) => "run",
            Command::Profile(_) => "profile",
            Command::Optimize(_) => "optimize",
            Command::Report(_) => "report",
            Command::Draw(_) => "draw",
            Command::Ops(_) => "ops",
            Command::Rules(_) => "rules",
            Command::Plugin(_) => "plugin",
            Command::Package(_) => "package",
            Command::Weights(_) => "weights",
            Command::Schema(_) => "schema",
            Command::Explain(_) => "explain",
            Command::Completions(_) => "completions",
            Command::Man => "man",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn arguments_do_not_contradict_each_other() {
        super::Cli::command().debug_assert();
    }
}

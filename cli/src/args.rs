//! The command line.

use std::sync::LazyLock;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{CommandFactory as _, Parser, Subcommand};
use onnxport_requests::{
    BenchRequest, DiffRequest, DrawRequest, ExplainRequest, Hosted, LlmRequest, OpsRequest, OptimizeRequest,
    ReportRequest, RulesRequest, RunRequest,
};

use crate::commands::{
    bisect, check, completions, convert, inspect, legal, package, partition, plugin, profile, schema, verify,
    weights,
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

impl Cli {
    /// Returns the command line with everything that clap derives from it, which takes a while to build.
    pub(crate) fn built() -> &'static clap::Command {
        static BUILT: LazyLock<clap::Command> = LazyLock::new(|| {
            let mut cli = Cli::command();
            cli.build();
            cli
        });
        &BUILT
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Convert a program and verify the result
    Convert(Box<convert::Arguments>),
    /// List everything in a program that onnxport cannot convert
    Check(Box<check::Arguments>),
    /// Show the contents of a .pt2, .onnx or weight file
    Inspect(Box<inspect::Arguments>),
    /// Tell how a target takes each node of a program or a model
    Legal(Box<legal::Arguments>),
    /// Show which parts of a program or a model backends would compile
    Partition(Box<partition::Arguments>),
    /// Run a model and compare its outputs with PyTorch's
    Verify(Box<verify::Arguments>),
    /// Find the first node or optimizer step whose results diverge
    Bisect(Box<bisect::Arguments>),
    /// Compare two ONNX models node by node
    Diff(Box<Hosted<DiffRequest>>),
    /// Run an ONNX model once and show or save its outputs
    Run(Box<Hosted<RunRequest>>),
    /// Show where a model spends its time in ONNX Runtime, or compare two models
    Profile(Box<profile::Arguments>),
    /// Read an ONNX model, check it, optimize it and write it back
    Optimize(Box<Hosted<OptimizeRequest>>),
    /// Describe an ONNX model as a page or as data
    Report(ReportRequest),
    /// Draw the graph of a program, a model or a rule, folded by module
    Draw(Box<Hosted<DrawRequest>>),
    /// List the supported operators
    Ops(Hosted<OpsRequest>),
    /// List the optimizer's rules and passes, or show one in detail
    Rules(Hosted<RulesRequest>),
    /// List, inspect, check and create plugins
    Plugin(plugin::Arguments),
    /// Convert several programs into one folder with shared weights
    Package(Box<package::Arguments>),
    /// Convert a checkpoint of a language model into a folder for a server
    Llm(Box<Hosted<LlmRequest>>),
    /// Measure tokens per second of a language model in a folder, or compare two folders
    Bench(Box<Hosted<BenchRequest>>),
    /// Bind weights to a model
    Weights(weights::Arguments),
    /// Print the JSON schema of onnxport.toml or of a command's --json output
    Schema(schema::Arguments),
    /// Explain a diagnostic code
    Explain(Hosted<ExplainRequest>),
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
            Command::Legal(_) => "legal",
            Command::Partition(_) => "partition",
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
            Command::Llm(_) => "llm",
            Command::Bench(_) => "bench",
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

//! Arguments and output about decompositions.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnxport_core::decompose::{DecomposeOptions, Decomposed, Decompositions, Mode};
use onnxport_core::diagnose::Report;

use crate::format::bold;
use crate::outcome::Outcome;

/// Arguments about calls that are decomposed.
#[derive(Debug, Args)]
pub(crate) struct DecomposeArguments {
    /// Which calls to decompose into simpler ones
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::Core)]
    decompose: Which,
    /// A file of decompositions, which take precedence over those of plugins; can be repeated
    #[arg(long, value_name = "FILE")]
    decompositions: Vec<PathBuf>,
}

/// Which calls are decomposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// None
    None,
    /// Calls that no plugin lowers
    Core,
    /// Every call that has a decomposition
    All,
}

impl DecomposeArguments {
    /// Builds the options of decompositions; reads the files.
    pub(crate) fn options(&self) -> Result<DecomposeOptions, Report> {
        let mode = match self.decompose {
            Which::None => Mode::None,
            Which::Core => Mode::Core,
            Which::All => Mode::All,
        };
        let mut tables = Vec::new();
        for path in &self.decompositions {
            tables.push(Decompositions::open(path)?);
        }
        Ok(DecomposeOptions { mode, tables })
    }
}

/// Adds the decomposed operators to `outcome`, if there are any.
pub(crate) fn describe(done: &Decomposed, outcome: &mut Outcome) {
    if done.operators.is_empty() {
        return;
    }
    outcome.put("decomposed", &done.operators);
    let counts: Vec<String> = done.operators.iter().map(|(name, count)| format!("{name} {count}")).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(outcome.summary, "{}  {}", bold("decomposed"), counts.join(", "));
}

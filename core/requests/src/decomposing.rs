//! The options about decompositions.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnxport_core::decompose::{DecomposeOptions, Decompositions, Mode};
use onnxport_core::diagnose::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The calls to decompose.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Decomposing {
    /// Which calls to decompose into simpler ones
    #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
    pub decompose: Which,
    /// A file of decompositions, which take precedence over those of plugins; can be repeated
    #[arg(long, value_name = "FILE")]
    pub decompositions: Vec<PathBuf>,
}

/// Which calls are decomposed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// None
    None,
    /// Calls that no plugin lowers
    #[default]
    Core,
    /// Every call that has a decomposition
    All,
}

impl Decomposing {
    /// Reads the files.
    ///
    /// # Errors
    /// Those of [`Decompositions::open`].
    pub fn options(&self) -> Result<DecomposeOptions, Report> {
        let mode = match self.decompose {
            Which::None => Mode::None,
            Which::Core => Mode::Core,
            Which::All => Mode::All,
        };
        let tables: Result<_, _> =
            self.decompositions.iter().map(|path| Decompositions::open(path)).collect();
        Ok(DecomposeOptions { mode, tables: tables? })
    }
}

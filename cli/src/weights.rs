//! Weights that the user gives besides a program.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::program::Program;
use onnxport_core::weights::{self, NameMap, WeightSet};

/// Where weights come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct WeightArguments {
    /// A file of weights, or a folder of shards: .safetensors, an index of shards, a checkpoint of
    /// torch.save, another .pt2; can be repeated
    #[arg(long = "weights", value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    names: NameArguments,
}

/// How names in the files become the program's.
#[derive(Debug, Args)]
#[command(next_help_heading = "Weights")]
pub(crate) struct NameArguments {
    /// Rules for names: a TOML or JSON file with the tables `rename` and `prefix`
    #[arg(long = "weights-map", value_name = "FILE")]
    map: Option<PathBuf>,
    /// What names in the files start with and the program's do not, such as model.
    #[arg(long = "weights-prefix", value_name = "PREFIX")]
    prefix: Option<String>,
    /// The entry of a checkpoint that holds the weights, with dots between levels
    #[arg(long = "weights-key", value_name = "KEY")]
    key: Option<String>,
}

impl WeightArguments {
    /// Gives `program` the weights that the user named; returns warnings.
    pub(crate) fn bind(&self, program: &mut Program) -> Result<Vec<Diagnostic>, Report> {
        if self.paths.is_empty() {
            return Ok(Vec::new());
        }
        let (set, names) = self.names.open(&self.paths)?;
        Ok(weights::bind(program, &set, &names)?.diagnostics)
    }
}

impl NameArguments {
    /// Opens `paths`, with the rules for their names.
    pub(crate) fn open(&self, paths: &[PathBuf]) -> Result<(WeightSet, NameMap), Report> {
        let mut names = match &self.map {
            Some(path) => NameMap::read(path)?,
            None => NameMap::default(),
        };
        if let Some(prefix) = &self.prefix {
            names.add_prefix(prefix)?;
        }
        Ok((WeightSet::open(paths, self.key.as_deref())?, names))
    }
}

//! Running a model once.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::backend::check_compiled;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::run::{self, Draw, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::feeding::{DimSize, Inputs, sizes};
use crate::object::wrong;
use crate::progress::Progress;
use crate::runtime::Running;

/// Runs an ONNX model once.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct RunRequest {
    /// The ONNX model
    pub model: PathBuf,
    /// Values of inputs.
    #[command(flatten)]
    #[serde(flatten)]
    pub given: Inputs,
    /// Use random values for missing inputs: floats between -1 and 1, integers and booleans 0 or 1
    #[arg(long)]
    pub random: bool,
    /// Seed for random values
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "random")]
    pub seed: u64,
    /// The size of a dynamic dimension of random inputs, by name or by input and axis, such as batch=2 or x:0=2
    #[arg(long, value_name = "NAME=SIZE", requires = "random")]
    pub dim: Vec<DimSize>,
    /// Write the outputs to this file, .safetensors
    #[arg(short, long, value_name = "SAFETENSORS")]
    pub output: Option<PathBuf>,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

/// A run.
#[derive(Debug)]
pub struct Ran {
    /// The inputs and outputs.
    pub run: Run,
    /// The file with the outputs, if requested.
    pub written: Option<PathBuf>,
}

impl RunRequest {
    /// Creates a request that runs the model at `model` on random values.
    pub fn random(model: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), random: true, ..Self::default() }
    }
}

impl Request for RunRequest {
    type Outcome = Ran;

    fn check(&self) -> Result<(), Diagnostic> {
        let given = [(self.seed != 0, "seed"), (!self.dim.is_empty(), "dim")];
        match given.into_iter().find(|(given, _)| *given && !self.random) {
            Some((_, name)) => Err(wrong(format!("`{name}` needs `random`")).help("add `random`")),
            None => Ok(()),
        }
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Ran, Report> {
        self.check()?;
        progress.stage("reading the inputs");
        let given = self.given.read()?;
        let draw = self.random.then_some(Draw { seed: self.seed });
        check_compiled(host, &self.model)?;
        let runtime = self.running.open(host, progress.restart())?;
        progress.stage("running the model");
        let deadline =
            progress.deadline(self.running.options.deadline(), runtime.name(), "running the model")?;
        let run = run::run(&runtime, &self.model, &given, &sizes(&self.dim), draw)?;
        drop(deadline);
        if let Some(path) = &self.output {
            let mut sources = given.files().to_vec();
            sources.push(self.model.clone());
            run.save(path, &sources)?;
        }
        Ok(Ran { run, written: self.output.clone() })
    }
}

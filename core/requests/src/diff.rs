//! Comparing two models, node by node.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::diff::Diff;
use onnxport_core::taps::{Report as Values, Verdict};
use onnxport_core::{Host, bisect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::feeding::Feeding;
use crate::progress::Progress;
use crate::runtime::Running;

/// Lists the differences between two ONNX models, node by node.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct DiffRequest {
    /// The first ONNX model
    pub a: PathBuf,
    /// The second ONNX model
    pub b: PathBuf,
    /// Also run both models and compare their values node by node
    #[arg(long)]
    pub values: bool,
    /// Exit with code 4 if the models differ
    #[arg(long)]
    pub exit_code: bool,
    /// The values that both are run on.
    #[command(flatten)]
    #[serde(flatten)]
    pub feeding: Feeding,
    /// The runtime.
    #[command(flatten)]
    #[serde(flatten)]
    pub running: Running,
}

/// The differences between two models.
#[derive(Debug)]
pub struct Differences {
    /// Those of the graphs.
    pub diff: Diff,
    /// The comparison of values, if requested.
    pub values: Option<Values>,
}

impl Differences {
    /// Whether graphs and values are the same.
    pub fn is_empty(&self) -> bool {
        let departs = |values: &Values| values.rows.iter().any(|row| row.verdict == Verdict::Departs);
        self.diff.is_empty() && !self.values.as_ref().is_some_and(departs)
    }
}

impl DiffRequest {
    /// Creates a request that compares the graphs of two models.
    pub fn new(a: impl Into<PathBuf>, b: impl Into<PathBuf>) -> Self {
        Self { a: a.into(), b: b.into(), ..Self::default() }
    }
}

impl Request for DiffRequest {
    type Outcome = Differences;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Differences, Report> {
        progress.stage("comparing the models");
        let options = self.feeding.options()?;
        let runtime = self.values.then(|| self.running.open(host, progress.restart())).transpose()?;
        let (diff, values) = bisect::compare(&self.a, &self.b, runtime.as_ref(), &options)?;
        Ok(Differences { diff, values })
    }
}

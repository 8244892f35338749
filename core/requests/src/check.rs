//! Checking whether a program can be converted.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::LowerOptions;
use onnxport_core::optimise::Level;
use onnxport_core::trace::stage;
use onnxport_core::{ConvertOptions, Host, pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decomposing::Decomposing;
use crate::levels::{Levels, has_error};
use crate::profiling::Profiling;
use crate::progress::Progress;
use crate::{Request, optimizing};

/// Lists everything in a program that onnxport cannot convert.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct CheckRequest {
    /// The exported program
    pub program: PathBuf,
    /// The opset to check for
    #[arg(long, default_value_t = DEFAULT_OPSET)]
    pub opset: i64,
    /// Decompositions.
    #[command(flatten)]
    #[serde(flatten)]
    pub decomposing: Decomposing,
    /// The levels of diagnostics.
    #[command(flatten)]
    #[serde(flatten)]
    pub levels: Levels,
    /// A record of the work.
    #[command(flatten)]
    #[serde(flatten)]
    pub profiling: Profiling,
}

impl Default for CheckRequest {
    fn default() -> Self {
        Self {
            program: PathBuf::new(),
            opset: DEFAULT_OPSET,
            decomposing: Decomposing::default(),
            levels: Levels::default(),
            profiling: Profiling::default(),
        }
    }
}

/// The obstacles to a conversion.
#[derive(Debug)]
pub struct Obstacles {
    /// The number of calls in the program.
    pub calls: usize,
    /// Whether the program can be converted.
    pub convertible: bool,
    /// The number of diagnostics about the program, hidden ones included.
    pub gaps: usize,
    /// Everything that was found: errors if it cannot be converted, otherwise warnings and notes, at the levels that the
    /// user chose.
    pub report: Report,
    /// Failures besides those of the program: a trace that could not be written.
    pub failures: Vec<Diagnostic>,
    /// The file with the trace, if requested.
    pub profile: Option<PathBuf>,
}

impl Obstacles {
    /// Whether the program can be converted, and no warning is treated as an error.
    pub fn is_empty(&self) -> bool {
        self.convertible && !has_error(&self.report.diagnostics) && self.failures.is_empty()
    }
}

impl CheckRequest {
    /// Creates a request about `program`, with defaults for everything else.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), ..Self::default() }
    }

    fn look(&self, host: &Host) -> Result<Obstacles, Report> {
        let reading = stage("read");
        let archive = pipeline::read(&self.program)?;
        drop(reading);
        let calls = archive.program.body.calls.len();
        let options = ConvertOptions {
            decompose: self.decomposing.options()?,
            lower: LowerOptions { opset: self.opset, ..LowerOptions::default() },
            validate: true,
            optimise: optimizing::at(Level::default()),
            ..ConvertOptions::default()
        };
        let (convertible, mut report) = match pipeline::check(host, archive.program, &options) {
            Ok(converted) => {
                (true, Report { diagnostics: converted.diagnostics, origins: converted.model.origins })
            }
            Err(report) => (false, report),
        };
        let gaps = report.diagnostics.len();
        self.levels.judge(&mut report.diagnostics);
        Ok(Obstacles { calls, convertible, gaps, report, failures: Vec::new(), profile: None })
    }
}

impl Request for CheckRequest {
    type Outcome = Obstacles;

    fn check(&self) -> Result<(), Diagnostic> {
        self.levels.check()
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Obstacles, Report> {
        self.check()?;
        progress.stage("checking the program");
        let program = std::slice::from_ref(&self.program);
        let (mut found, recorded) = self.profiling.record("check", program, || self.look(host))?;
        found.failures = recorded.problems;
        found.profile = recorded.path;
        Ok(found)
    }
}

//! Optimizes a model: reads, checks, rewrites and publishes it, and compares it on request.

use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::backend::{BackendOptions, Blobs, Partitioned};
use onnxport_core::calibrate::Calibration;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::legalise::Legalised;
use onnxport_core::optimise::{Matched, OptimiseOptions, Optimised, OptimizePipeline, Rewritten};
use onnxport_core::trace::stage;
use onnxport_core::write::{self, WriteOptions, WriteReport};
use onnxport_core::{Host, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::backends::Backends;
use crate::calibrating::Calibrating;
use crate::holding::{Held, Holding};
use crate::object::{needs, wrong};
use crate::optimizing::Optimizing;
use crate::profiling::Profiling;
use crate::progress::Progress;
use crate::target::Targeting;
use crate::writing::Places;

/// The option of ONNX Runtime's plugin that has a provider run the model.
const PROVIDER: &str = "provider";

/// Reads an ONNX model, applies rules and passes, checks it and writes it again.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct OptimizeRequest {
    /// The ONNX model
    pub model: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "ONNX", required_unless_present_any = ["emit", "explain_partition"])]
    pub output: Option<PathBuf>,
    /// Print the graph as text instead of writing a model
    #[arg(long, conflicts_with = "output")]
    pub emit: bool,
    /// Show the regions that backends would claim, and why they leave the others, without compiling or writing anything
    #[arg(long, requires = "backend", conflicts_with_all = ["output", "emit", "verify"], help_heading = "Backends")]
    pub explain_partition: bool,
    /// Rules and passes.
    #[command(flatten)]
    #[serde(flatten)]
    pub optimizing: Optimizing,
    /// The runtime that the model is for.
    #[command(flatten)]
    #[serde(flatten)]
    pub targeting: Targeting,
    /// A static quantization.
    #[command(flatten)]
    #[serde(flatten)]
    pub calibrating: Calibrating,
    /// Backends.
    #[command(flatten)]
    #[serde(flatten)]
    pub backends: Backends,
    /// Where to store the weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub places: Places,
    /// A comparison with the model before.
    #[command(flatten)]
    #[serde(flatten)]
    pub holding: Holding,
    /// A record of the work.
    #[command(flatten)]
    #[serde(flatten)]
    pub profiling: Profiling,
}

/// An optimized model.
#[derive(Debug)]
pub struct Optimized {
    /// The model.
    pub model: Model,
    /// The record of the optimizer.
    pub optimised: Optimised,
    /// The changes made for the target.
    pub legalised: Legalised,
    /// The static quantization, if requested.
    pub calibration: Option<Calibration>,
    /// The regions of backends; `None` if no backend was asked.
    pub partitioned: Option<Partitioned>,
    /// Both sides of each match, if [`Optimizing::dump_matches`] requests them.
    pub matches: Vec<PathBuf>,
    /// The result of the comparison, if requested.
    pub held: Option<Held>,
    /// The files; `None` if none were requested, or if the results of the model changed.
    pub written: Option<WriteReport>,
    /// Failures besides the model's own: files about it that could not be written.
    pub failures: Vec<Diagnostic>,
    /// The file with the trace, if requested.
    pub profile: Option<PathBuf>,
    /// Warnings and notes. Their origins are those of the model.
    pub diagnostics: Vec<Diagnostic>,
}

impl Optimized {
    /// Whether everything requested was done, and the results stayed the same if that was checked. A model that fails
    /// is not in `written`, unless it was to be kept under a name that says so.
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && self.held.as_ref().is_none_or(Held::passed)
    }
}

impl OptimizeRequest {
    /// Creates a request that writes the model at `model` to `output`, with defaults for everything else.
    pub fn new(model: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), output: Some(output.into()), ..Self::default() }
    }
}

impl Request for OptimizeRequest {
    type Outcome = Optimized;

    fn check(&self) -> Result<(), Diagnostic> {
        if self.output.is_none() && !self.emit && !self.explain_partition {
            return Err(wrong("neither `output` nor `emit` is given".to_owned())
                .help("name the file to write with `output`"));
        }
        needs(
            "backend",
            !self.backends.backends.is_empty(),
            &[("explain_partition", self.explain_partition)],
        )?;
        self.check_parts()
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Optimized, Report> {
        self.check()?;
        let others: Vec<PathBuf> = std::iter::once(&self.model).chain(&self.output).cloned().collect();
        self.recorded(&others, || {
            progress.stage("reading the model");
            let reading = stage("read");
            let read = Model::read_with_warnings(&self.model)?;
            drop(reading);
            let mut outcome = self.optimize(host, read, progress)?;
            if let Some(output) = self.output.as_ref().filter(|_| !self.emit && !self.explain_partition) {
                self.write(host, output, &mut outcome, progress)?;
            }
            Ok(outcome)
        })
    }
}

impl OptimizeRequest {
    /// Optimizes a model in memory, which came with some warnings, instead of the one in a file. Writes no model. If the
    /// results changed, [`Optimized::passed`] is false.
    ///
    /// # Errors
    /// Those of [`run`](Request::run), except for errors of files.
    pub fn run_on(
        &self,
        host: &Host,
        read: (Model, Vec<Diagnostic>),
        progress: &mut dyn Progress,
    ) -> Result<Optimized, Report> {
        self.check_parts()?;
        self.recorded(&[], || {
            let before = self.holding.verify.then(|| read.0.clone());
            let mut outcome = self.optimize(host, read, progress)?;
            if let Some(before) = before {
                outcome.held = Some(self.hold(host, &before, &outcome.model, progress)?);
            }
            self.dump(&mut outcome);
            Ok(outcome)
        })
    }

    fn check_parts(&self) -> Result<(), Diagnostic> {
        self.optimizing.check()?;
        self.backends.check()?;
        // A quantized model is compared by its own measure.
        let others = [("backend", !self.backends.backends.is_empty()), ("verify", self.holding.verify)];
        self.calibrating.check(self.targeting.name(), &others)?;
        self.holding.check()
    }

    /// Records `work`, if requested.
    fn recorded(
        &self,
        others: &[PathBuf],
        work: impl FnOnce() -> Result<Optimized, Report>,
    ) -> Result<Optimized, Report> {
        let (mut outcome, recorded) = self.profiling.record("optimize", others, work)?;
        outcome.profile = recorded.path;
        outcome.failures.extend(recorded.problems);
        Ok(outcome)
    }

    /// Compares two models in memory. Runtimes read models from files.
    fn hold(
        &self,
        host: &Host,
        before: &Model,
        after: &Model,
        progress: &mut dyn Progress,
    ) -> Result<Held, Report> {
        let failed = |error: std::io::Error| {
            Diagnostic::error(Code::WRITE_IO, format!("no folder for the models to compare: {error}"))
        };
        let folder = tempfile::tempdir().map_err(failed)?;
        let options = WriteOptions { weightless: true, ..WriteOptions::default() };
        let paths = ["before.onnx", "after.onnx"].map(|name| folder.path().join(name));
        for (model, path) in [before, after].into_iter().zip(&paths) {
            write::write(model, path, &options)?;
        }
        let [before, after] = &paths;
        self.compare(host, before, after, progress)
    }

    /// Compares two models. The model before runs without the execution provider that runs compiled regions, so that the
    /// reference does not depend on the provider.
    fn compare(
        &self,
        host: &Host,
        before: &Path,
        after: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Held, Report> {
        let mut plain = self.holding.running.clone();
        if !self.backends.backends.is_empty() {
            plain.options.executor_option.retain(|option| option.name != PROVIDER);
            // ONNX Runtime's results can depend on the providers that the process has loaded.
            plain.options.isolate |= plain != self.holding.running && progress.restart()().is_ok();
        }
        self.holding.hold(host, [(&plain, before), (&self.holding.running, after)], progress)
    }

    fn optimize(
        &self,
        host: &Host,
        (model, warned): (Model, Vec<Diagnostic>),
        progress: &mut dyn Progress,
    ) -> Result<Optimized, Report> {
        progress.stage("optimising");
        // Rules for integer kernels are about ONNX's own operators.
        let is_own = self.targeting.names_runtime() && !self.calibrating.is_requested();
        let options = self.optimizing.options(is_own);
        // A model that refers to its weights in other files leaves them in their stored form.
        let options = OptimiseOptions { separate: self.places.refers(), ..options };
        let backend = BackendOptions {
            dry_run: self.explain_partition,
            isolated: self.holding.running.options.isolated(progress.restart()),
            ..self.backends.options(self.output.as_deref())
        };
        let backend = match backend.blobs {
            // Blobs cannot be stored beside a model that is not written.
            Blobs::Auto if self.output.is_none() => BackendOptions { blobs: Blobs::Embed, ..backend },
            _ => backend,
        };
        let target = self.targeting.options();
        let pipeline = OptimizePipeline::new();
        let rewritten = pipeline.run_with_backends(host, model, &options, &target, &backend)?;
        let Rewritten { mut model, optimised, legalised, partitioned, mut diagnostics } = rewritten;
        progress.go_on()?;
        let running = &self.holding.running;
        let calibrated = self.calibrating.apply(host, &mut model, &target.target, running, progress)?;
        let (calibration, notes) = calibrated.unzip();
        diagnostics.extend(notes.into_iter().flatten());
        Ok(Optimized {
            model,
            optimised,
            legalised,
            calibration,
            partitioned,
            matches: Vec::new(),
            held: None,
            written: None,
            failures: Vec::new(),
            profile: None,
            diagnostics: [warned, diagnostics].concat(),
        })
    }

    /// Writes the model under hidden names, compares it on request, and publishes it.
    fn write(
        &self,
        host: &Host,
        output: &Path,
        outcome: &mut Optimized,
        progress: &mut dyn Progress,
    ) -> Result<(), Report> {
        let options = WriteOptions {
            progress: progress.bytes("writing"),
            sources: vec![self.model.clone()],
            // A model without weights stays so.
            weightless: true,
            ..self.places.options()
        };
        let writing = stage("write");
        let mut staged = write::stage(&outcome.model, output, &options)?;
        drop(writing);
        if self.holding.verify {
            let _stage = stage("verify");
            let readable = staged.readable()?;
            outcome.held = Some(self.compare(host, &self.model, readable.path(), progress)?);
        }
        progress.go_on()?;
        let _publishing = stage("write");
        let written = match &outcome.held {
            Some(held) if !held.passed() && !self.holding.keep_failed => return Ok(()),
            Some(held) if !held.passed() => staged.publish_failed()?,
            _ => staged.publish()?,
        };
        outcome.diagnostics.extend(written.diagnostics.iter().cloned());
        outcome.written = Some(written);
        self.dump(outcome);
        Ok(())
    }

    /// Writes both sides of each match, if requested.
    fn dump(&self, outcome: &mut Optimized) {
        let dumped = self.optimizing.dump_matches.as_ref().filter(|_| !outcome.optimised.is_none());
        if let Some(folder) = dumped {
            match Matched::write_all(&outcome.optimised.matches, folder) {
                Ok(paths) => outcome.matches = paths,
                Err(report) => outcome.failures.extend(report.diagnostics),
            }
        }
    }
}

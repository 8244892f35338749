//! Converting a program: it is read, converted, written, verified and published.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::normalise::normalise;
use onnxport_core::trace::stage;
use onnxport_core::{Conversion, Host, pipeline};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::calibrating::Calibrating;
use crate::export::{Export, Plan, Prepared, Purpose, Saved, Unwritten};
use crate::object::{needs, wrong};
use crate::progress::Progress;

/// Converts a program and verifies the result.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct ConvertRequest {
    /// The exported program, as saved by torch.export.save
    pub program: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "ONNX", required_unless_present_any = ["emit", "explain_partition"])]
    pub output: Option<PathBuf>,
    /// Print the graph as text instead of writing a model
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["output", "explain_rule"])]
    pub emit: Option<Form>,
    /// Show the regions that backends would claim, and why they leave the others, without compiling or writing anything
    #[arg(long, requires = "backend", conflicts_with_all = ["output", "emit"], help_heading = "Backends")]
    pub explain_partition: bool,
    /// A static quantization.
    #[command(flatten)]
    #[serde(flatten)]
    pub calibrating: Calibrating,
    /// The conversion and the output.
    #[command(flatten)]
    #[serde(flatten)]
    pub export: Export,
}

/// A text form.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize, ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// The program as it was exported
    Program,
    /// The program after normalization, without side effects
    Normalised,
    /// The ONNX graph
    Ir,
}

/// A converted program.
#[derive(Debug)]
pub struct Converted {
    /// The result.
    pub done: Done,
    /// Failures besides the conversion's own: a trace that could not be written.
    pub failures: Vec<Diagnostic>,
    /// The file with the trace, if requested.
    pub profile: Option<PathBuf>,
}

/// The result of a conversion.
#[derive(Debug)]
pub enum Done {
    /// The text that [`ConvertRequest::emit`] requests.
    Text(String),
    /// The model with the regions that backends would compile.
    Partitioned(Box<pipeline::Converted>),
    /// The model and the plan of writing it.
    Planned(Box<(Unwritten, Plan)>),
    /// The model, which must not be written, since the levels make one of its diagnostics an error.
    Refused(Box<Unwritten>),
    /// The model and its files.
    Saved(Box<(Unwritten, Saved)>),
}

impl Converted {
    /// Whether everything requested was done without a failure.
    pub fn passed(&self) -> bool {
        let done = match &self.done {
            Done::Text(_) | Done::Partitioned(_) => true,
            Done::Planned(planned) => !planned.0.is_refused(),
            Done::Refused(_) => false,
            Done::Saved(saved) => saved.1.passed(),
        };
        done && self.failures.is_empty()
    }

    /// The files of the model, if it was written, and the result of its verification.
    pub fn saved(&self) -> Option<&Saved> {
        match &self.done {
            Done::Saved(saved) => Some(&saved.1),
            _ => None,
        }
    }
}

impl ConvertRequest {
    /// Creates a request that converts `program` to the model at `output`, with defaults for everything else.
    pub fn new(program: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), output: Some(output.into()), ..Self::default() }
    }

    /// The files that the request is about: a report or a trace must not replace them.
    pub fn files(&self) -> Vec<PathBuf> {
        std::iter::once(&self.program).chain(&self.output).cloned().collect()
    }

    /// Whether the model is written and run.
    pub fn verifies(&self) -> bool {
        self.output.is_some() && self.export.verifies()
    }

    fn convert(&self, host: &Host, progress: &mut dyn Progress) -> Result<Done, Report> {
        let reading = stage("read");
        progress.stage("reading the program");
        let conversion = Conversion::open(&self.program)?;
        let purpose = match &self.output {
            _ if self.explain_partition => Purpose::Partition,
            Some(path) => Purpose::Write(Some(path)),
            None => Purpose::Show,
        };
        let converting = &self.export.converting;
        let running = &converting.verifying.running;
        let mut prepared = self.export.prepare(host, conversion, purpose, reading, progress.restart())?;
        if self.calibrating.is_requested() {
            // Rules for integer kernels are about ONNX's own operators, in the main graph.
            prepared.options.optimise.level = converting.optimizing.level(false);
        }
        let target = prepared.options.legalise.target.clone();
        let Some(path) = &self.output else { return self.show(host, prepared) };
        let source = self.program.display().to_string();
        let mut unwritten = prepared.convert(host, source, &self.export.levels, progress)?;
        let converted = &mut unwritten.program.converted;
        let calibrated = self.calibrating.apply(host, &mut converted.model, &target, running, progress)?;
        if let Some((calibration, mut notes)) = calibrated {
            self.export.levels.judge(&mut notes);
            converted.diagnostics.extend(notes);
            unwritten.calibration = Some(calibration);
        }
        let writing = &self.export.writing;
        if writing.planning.plan.is_some() {
            let options = Unwritten::write_options(&self.export, writing);
            let plan = unwritten.plan(path, &options)?;
            return Ok(Done::Planned(Box::new((unwritten, plan))));
        }
        if unwritten.is_refused() {
            return Ok(Done::Refused(Box::new(unwritten)));
        }
        let saved = unwritten.save(host, path, &self.export, writing, progress)?;
        Ok(Done::Saved(Box::new((unwritten, saved))))
    }

    fn show(&self, host: &Host, prepared: Prepared) -> Result<Done, Report> {
        let Prepared { conversion, options, .. } = prepared;
        let program = conversion.into_archive().program;
        if self.explain_partition {
            return Ok(Done::Partitioned(Box::new(pipeline::convert(host, program, &options)?)));
        }
        Ok(Done::Text(match self.emit {
            Some(Form::Program) => program.to_text(),
            Some(Form::Normalised) => normalise(program, &host.schemas)?.to_text(),
            Some(Form::Ir) | None => pipeline::convert(host, program, &options)?.model.to_text(),
        }))
    }
}

impl Request for ConvertRequest {
    type Outcome = Converted;

    fn check(&self) -> Result<(), Diagnostic> {
        if self.output.is_none() && self.emit.is_none() && !self.explain_partition {
            return Err(wrong("neither `output` nor `emit` is given".to_owned())
                .help("name the file to write with `output`"));
        }
        let backends = &self.export.converting.backends.backends;
        needs("backend", !backends.is_empty(), &[("explain_partition", self.explain_partition)])?;
        let others = [
            ("backend", !backends.is_empty()),
            ("emit", self.emit.is_some()),
            ("weightless", self.export.binding.weightless),
            ("no_initializers", self.export.writing.no_initializers),
        ];
        self.calibrating.check(self.export.converting.targeting.name(), &others)?;
        self.export.check()
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Converted, Report> {
        self.check()?;
        let work = || self.convert(host, progress);
        let (done, recorded) = self.export.profiling.record("convert", &self.files(), work)?;
        Ok(Converted { done, failures: recorded.problems, profile: recorded.path })
    }
}

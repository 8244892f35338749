//! Exports a program to files in two steps: the conversion, which runs once, and the writing, which can be repeated.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use onnxport_core::backend::BackendOptions;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::Host;
use onnxport_core::inspect::WeightForm;
use onnxport_core::lower::{LowerOptions, Names};
use onnxport_core::optimise::OptimiseOptions;
use onnxport_core::pipeline::ConvertOptions;
use onnxport_core::sizes::InputAxis;
use onnxport_core::trace::{OpenStage, Stage, stage};
use onnxport_core::verify::Signature;
use onnxport_core::{Conversion, ConvertedProgram, WriteOptions};
use onnxport_requests::profile::Profiling;

use super::converting::{self, Axis, ConvertingArguments};
use super::optimising;
use super::verifying;
use super::writing::{self, WriteArguments};
use super::written::{self, Facts};
use crate::backends;
use crate::decomposing;
use crate::documents::UncheckedJson;
use crate::exit::Exit;
use crate::levels::LevelArguments;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::precision;
use crate::progress::Progress;
use crate::target;
use crate::weights::WeightArguments;

/// Arguments about one program that becomes one model.
#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// Names for all inputs in order, or new names for some: pixels,mask or x=pixels
    #[arg(long, value_name = "NAMES", value_parser = converting::parse_names)]
    input_names: Option<Names>,
    /// Names for all outputs in order, or new names for some
    #[arg(long, value_name = "NAMES", value_parser = converting::parse_names)]
    output_names: Option<Names>,
    /// A name for a dynamic dimension of an input, such as x:0=batch, or a fixed size, such as x:0=8
    #[arg(long = "dim", value_name = "INPUT:AXIS=NAME|SIZE", value_parser = converting::parse_axis)]
    dims: Vec<Axis>,
    /// Fail if this axis of an input, such as x:0, has a fixed size or fewer sizes than were declared; can be repeated
    #[arg(long, value_name = "INPUT:AXIS", value_parser = converting::parse_input_axis)]
    require_dynamic: Vec<InputAxis>,
    #[command(flatten)]
    converting: ConvertingArguments,
    #[command(flatten)]
    pub writing: WriteArguments,
    #[command(flatten)]
    weights: WeightArguments,
    #[command(flatten)]
    pub levels: LevelArguments,
    #[command(flatten)]
    pub profile: Profiling,
}

impl ExportArguments {
    /// Whether the model may wait for weights.
    pub(crate) fn is_weightless(&self) -> bool {
        self.weights.weightless
    }
}

/// The purpose of the conversion.
#[derive(Clone, Copy)]
pub(crate) enum Purpose<'a> {
    /// Write it, to this path if that is known already.
    Write(Option<&'a Path>),
    /// Its text is shown.
    Show,
    /// Show which nodes backends would take.
    Partition,
}

/// A program with the plugins and the options for it.
pub(crate) struct Prepared {
    pub host: Host,
    pub conversion: Conversion,
    pub options: ConvertOptions,
    reading: Stage,
}

impl Prepared {
    /// Applies the weights and the options to the program; `reading` began when it was read.
    pub(crate) fn new(
        mut conversion: Conversion,
        arguments: &ExportArguments,
        purpose: Purpose<'_>,
        reading: OpenStage,
    ) -> Result<Self, Report> {
        let converting = &arguments.converting;
        arguments.levels.check()?;
        let host = plugins::host(&converting.plugins)?;
        let reweighted = arguments.weights.bind(&host, &mut conversion)?;
        let reading = reading.end();
        let output = if let Purpose::Write(path) = purpose { path } else { None };
        let options = converting.options(output)?;
        let (dims, fixed) = converting::axes(&arguments.dims);
        let names = LowerOptions {
            input_names: arguments.input_names.clone().unwrap_or_default(),
            output_names: arguments.output_names.clone().unwrap_or_default(),
            dims,
            ..options.lower
        };
        let options = ConvertOptions {
            lower: converting.naming(names, conversion.program()),
            fixed,
            dynamic: arguments.require_dynamic.clone(),
            backend: BackendOptions { dry_run: matches!(purpose, Purpose::Partition), ..options.backend },
            weightless: arguments.weights.weightless || !matches!(purpose, Purpose::Write(_)),
            // Which weights of a model are tied is unknown before they are supplied.
            separate: reweighted || arguments.writing.names_weights(),
            // Weights that the model refers to in other files keep their layout.
            optimise: OptimiseOptions { separate: arguments.writing.refers(), ..options.optimise },
            ..options
        };
        let options = if converting.freeze_all { conversion.freeze(&host, options)? } else { options };
        let verified = !converting.verifying.no_verify && arguments.writing.plan().is_none();
        if verified && matches!(purpose, Purpose::Write(_)) {
            converting.verifying.prepare(&host);
        }
        let referring = &converting.verifying.referring;
        let conversion = conversion.drawing(referring.draws());
        let conversion = match referring.source() {
            Ok(reference) if verified && matches!(purpose, Purpose::Write(_)) => {
                conversion.refer_ahead(reference)
            }
            // A source that is misspelled is reported where it is used.
            _ => conversion,
        };
        let conversion = if verified { conversion } else { conversion.unverified() };
        Ok(Self { host, conversion, options, reading })
    }

    /// Converts the program; `source` is its name.
    pub(crate) fn convert(self, source: String, progress: &Progress) -> Result<Made, Report> {
        progress.stage("converting");
        let Self { host, conversion, options, reading } = self;
        let opset = options.lower.opset;
        let program = conversion.options(options).run(&host)?;
        progress.go_on()?;
        Ok(Made { host, program, source, opset, reading })
    }
}

/// A converted model, to be written.
pub(crate) struct Made {
    host: Host,
    pub program: ConvertedProgram,
    source: String,
    opset: i64,
    reading: Stage,
}

impl Made {
    fn stages(&self) -> Vec<Stage> {
        let stages = self.program.converted.stages.iter().copied();
        std::iter::once(self.reading).chain(stages).collect()
    }

    /// Describes a model that has not been written yet.
    pub(crate) fn describe(&self, arguments: &ExportArguments) -> Outcome {
        let converted = &self.program.converted;
        let mut outcome = Outcome::ok();
        let (diagnostics, origins) = (converted.diagnostics.clone(), converted.model.origins.clone());
        outcome.report = Report { diagnostics, origins };
        arguments.levels.judge(&mut outcome);
        if let Some(partitioned) = &converted.partitioned {
            outcome.summary.push_str(&backends::summary(partitioned));
            outcome.put("backends", &partitioned.backends);
        }
        precision::describe(&converted.changed, &mut outcome);
        target::describe(&converted.legalised, &mut outcome);
        outcome.put(
            "unchecked",
            UncheckedJson {
                calls: converted.checked.unknown,
                operators: converted.checked.operators.iter().cloned().collect(),
            },
        );
        decomposing::describe(&converted.decomposed, &mut outcome);
        outcome.put("lowered", &converted.provided);
        outcome.put("weight_forms", WeightForm::from_model(&converted.model));
        optimising::describe(&arguments.converting.optimizing, &converted.optimised, "", &mut outcome);
        outcome.put("opset", self.opset);
        outcome.put("nodes", converted.model.graph.node_count());
        written::put_stages(&self.stages(), &mut outcome);
        outcome
    }

    /// Writes the model to `path`, verifies it, and renames it to its final name, or shows the plan.
    pub(crate) fn save(
        &self,
        path: &Path,
        arguments: &ExportArguments,
        write: &WriteArguments,
        progress: &Progress,
    ) -> CommandResult {
        let writing = stage("write");
        let verifying = &arguments.converting.verifying;
        let program = &self.program;
        let options = WriteOptions { weightless: arguments.is_weightless(), ..write.options() };
        let options = arguments.converting.metadata.write(options);
        if let Some(planned) = write.plan() {
            return writing::plan(program, path, &options, planned);
        }
        let found = self.describe(arguments);
        if found.exit != Exit::Ok {
            return Ok(found);
        }
        let bar = progress.bytes("writing");
        let options = WriteOptions { progress: Some(Arc::new(bar)), ..options };
        let mut staged = program.stage(path, &options)?;
        let writing = writing.end();
        let mut checked = match &program.calls {
            Some(_) if write.no_initializers || staged.files.unbound() > 0 => {
                let why = "the model is written without its weights";
                let mut outcome = Outcome::ok();
                verifying.skip(&mut outcome, &Diagnostic::error(Code::VERIFY_EXPECTED, why));
                outcome
            }
            Some(calls) => {
                let _stage = stage("verify");
                let readable = staged.files.readable()?;
                verifying.verify(&self.host, readable.path(), calls.clone(), progress)
            }
            None => Outcome::ok(),
        };
        arguments.levels.judge(&mut checked);
        progress.go_on()?;
        let publishing = stage("write");
        let written = match checked.exit {
            Exit::Ok => staged.publish()?,
            _ if verifying.keep_failed => staged.files.publish_failed()?,
            _ => {
                let mut outcome = checked;
                outcome.report.diagnostics.push(verifying::withheld(path, None));
                return Ok(outcome);
            }
        };
        let converted = &program.converted;
        let nodes = converted.model.graph.node_count();
        let mut stages = self.stages();
        stages.push(writing.and(publishing.end()));

        let mut outcome = found;
        outcome.report.diagnostics.extend(written.diagnostics.iter().cloned());
        let signature = Signature::read(&written.model)?;
        let (source, opset) = (self.source.as_str(), self.opset);
        let facts = Facts { source, opset, signature: &signature, written: &written, nodes, stages: &stages };
        outcome.summary.insert_str(0, &facts.summary());
        facts.json(&mut outcome);
        outcome.add(checked);
        if outcome.exit != Exit::Ok {
            outcome.report.diagnostics.push(verifying::withheld(path, Some(&written.model)));
        }
        arguments.levels.judge(&mut outcome);
        Ok(outcome)
    }
}

//! One program that becomes one model, in two steps: the conversion, which runs once, and the writing, which can be
//! repeated.

use std::path::Path;

use clap::Args;
use onnxport_core::backend::BackendOptions;
use onnxport_core::calibrate::Calibration;
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::inspect::WeightTable;
use onnxport_core::lower::LowerOptions;
use onnxport_core::optimise::OptimiseOptions;
use onnxport_core::trace::{OpenStage, Stage, stage};
use onnxport_core::verify::Signature;
use onnxport_core::{
    Conversion, ConvertOptions, ConvertedProgram, Host, WriteOptions, WritePlan, WriteReport,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::axes::{Axis, DynamicAxis, PortNames};
use crate::converting::Converting;
use crate::levels::{Levels, has_error};
use crate::profiling::Profiling;
use crate::progress::{Progress, Restart};
use crate::verifying::Checked;
use crate::weights::Binding;
use crate::writing::Writing;

/// How a program becomes the files of a model.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct Export {
    /// Names for all inputs in order, or new names for some: pixels,mask or x=pixels
    #[arg(long, value_name = "NAMES")]
    pub input_names: Option<PortNames>,
    /// Names for all outputs in order, or new names for some
    #[arg(long, value_name = "NAMES")]
    pub output_names: Option<PortNames>,
    /// A name for a dynamic dimension of an input, such as x:0=batch, or a fixed size, such as x:0=8
    #[arg(long = "dim", value_name = "INPUT:AXIS=NAME|SIZE")]
    #[serde(rename = "dim")]
    pub dims: Vec<Axis>,
    /// Fail if this axis of an input, such as x:0, has a fixed size or fewer sizes than were declared; can be repeated
    #[arg(long, value_name = "INPUT:AXIS")]
    pub require_dynamic: Vec<DynamicAxis>,
    /// The conversion.
    #[command(flatten)]
    #[serde(flatten)]
    pub converting: Converting,
    /// The output.
    #[command(flatten)]
    #[serde(flatten)]
    pub writing: Writing,
    /// The weights.
    #[command(flatten)]
    #[serde(flatten)]
    pub binding: Binding,
    /// The levels of diagnostics.
    #[command(flatten)]
    #[serde(flatten)]
    pub levels: Levels,
    /// A record of the work.
    #[command(flatten)]
    #[serde(flatten)]
    pub profiling: Profiling,
}

/// The purpose of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// The model is written, to this path if it is known already.
    Write(Option<&'a Path>),
    /// The text of the model is shown.
    Show,
    /// The regions that backends would compile are shown.
    Partition,
}

impl Export {
    /// Fails for options that contradict each other, or are out of range.
    ///
    /// # Errors
    /// `OP001`.
    pub fn check(&self) -> Result<(), Diagnostic> {
        self.converting.check()?;
        self.levels.check()
    }

    /// Whether a model that is written is run first.
    pub fn verifies(&self) -> bool {
        !self.converting.verifying.no_verify && self.writing.planning.plan.is_none()
    }

    /// Applies the weights and the options to a program; `reading` began when it was read.
    ///
    /// # Errors
    /// `OP001`, and those of the options' files.
    pub fn prepare(
        &self,
        host: &Host,
        mut conversion: Conversion,
        purpose: Purpose<'_>,
        reading: OpenStage,
        restart: Restart,
    ) -> Result<Prepared, Report> {
        self.check()?;
        let converting = &self.converting;
        let reweighted = self.binding.bind(host, &mut conversion)?;
        let reading = reading.end();
        let output = if let Purpose::Write(path) = purpose { path } else { None };
        let is_written = matches!(purpose, Purpose::Write(_));
        let options = converting.options(output, restart)?;
        let (dims, fixed) = Axis::split(&self.dims);
        let names = |given: &Option<PortNames>| given.clone().unwrap_or_default().0;
        let lower = LowerOptions {
            input_names: names(&self.input_names),
            output_names: names(&self.output_names),
            dims,
            ..options.lower
        };
        let options = ConvertOptions {
            lower: converting.name(lower, conversion.program()),
            fixed,
            dynamic: self.require_dynamic.iter().map(|DynamicAxis(axis)| axis.clone()).collect(),
            backend: BackendOptions { dry_run: purpose == Purpose::Partition, ..options.backend },
            weightless: self.binding.weightless || !is_written,
            // Which weights of a model are tied is unknown before they are supplied.
            separate: reweighted || self.writing.names_weights(),
            // Weights that the model refers to in other files keep their layout.
            optimise: OptimiseOptions { separate: self.writing.places.refers(), ..options.optimise },
            ..options
        };
        let options = if converting.freeze_all { conversion.freeze(host, options)? } else { options };
        let referring = &converting.verifying.referring;
        let conversion = conversion.drawing(referring.draws());
        let conversion = match referring.source() {
            Ok(reference) if self.verifies() && is_written => conversion.refer_ahead(reference),
            // A misspelled source is reported where it is used.
            _ => conversion,
        };
        let conversion = if self.verifies() { conversion } else { conversion.unverified() };
        Ok(Prepared { conversion, options, reading })
    }
}

/// A program, and the options of its conversion.
pub struct Prepared {
    /// The program.
    pub conversion: Conversion,
    /// The options.
    pub options: ConvertOptions,
    reading: Stage,
}

impl Prepared {
    /// Converts the program; `source` is its name, and `levels` apply to the diagnostics.
    ///
    /// # Errors
    /// Those of [`Conversion::run`], and `OP617` if the caller cancels the work.
    pub fn convert(
        self,
        host: &Host,
        source: String,
        levels: &Levels,
        progress: &mut dyn Progress,
    ) -> Result<Unwritten, Report> {
        progress.stage("converting");
        let Self { conversion, options, reading } = self;
        let opset = options.lower.opset;
        let mut program = conversion.options(options).run(host)?;
        levels.judge(&mut program.converted.diagnostics);
        progress.go_on()?;
        Ok(Unwritten { program, source, opset, calibration: None, reading })
    }
}

/// A converted model that is not in a file yet.
#[derive(Debug)]
pub struct Unwritten {
    /// The model, the record of its conversion, and the calls to verify it with.
    pub program: ConvertedProgram,
    /// The name of the program.
    pub source: String,
    /// The opset of the model.
    pub opset: i64,
    /// The static quantization, if there was one.
    pub calibration: Option<Calibration>,
    reading: Stage,
}

/// The plan of a write.
pub type Plan = (WritePlan, WeightTable);

impl Unwritten {
    /// Whether the levels of the user make a diagnostic an error, so that the model must not be written.
    pub fn is_refused(&self) -> bool {
        has_error(&self.program.converted.diagnostics)
    }

    /// The report on the conversion.
    pub fn report(&self) -> Report {
        let converted = &self.program.converted;
        Report { diagnostics: converted.diagnostics.clone(), origins: converted.model.origins.clone() }
    }

    /// The stages so far.
    pub fn stages(&self) -> Vec<Stage> {
        let stages = self.program.converted.stages.iter().copied();
        std::iter::once(self.reading).chain(stages).collect()
    }

    /// Returns the options of a write: those of `export`, with `writing` about the output.
    pub fn write_options(export: &Export, writing: &Writing) -> WriteOptions {
        let options = WriteOptions { weightless: export.binding.weightless, ..writing.options() };
        export.converting.metadata.apply(options)
    }

    /// Plans a write to `path`.
    ///
    /// # Errors
    /// Those of [`ConvertedProgram::plan`].
    pub fn plan(&self, path: &Path, options: &WriteOptions) -> Result<Plan, Report> {
        self.program.plan(path, options)
    }

    /// Writes the model under a temporary name, verifies it, and publishes it at `path` if it passes.
    ///
    /// # Errors
    /// The report on a [refused](Self::is_refused) model, and those of writing.
    pub fn save(
        &self,
        host: &Host,
        path: &Path,
        export: &Export,
        writing: &Writing,
        progress: &mut dyn Progress,
    ) -> Result<Saved, Report> {
        if self.is_refused() {
            return Err(self.report());
        }
        let (verifying, levels) = (&export.converting.verifying, &export.levels);
        let options =
            WriteOptions { progress: progress.bytes("writing"), ..Self::write_options(export, writing) };
        let writing_stage = stage("write");
        let mut staged = self.program.stage(path, &options)?;
        let writing_stage = writing_stage.end();
        let checked = match &self.program.calls {
            Some(_) if writing.no_initializers || staged.files.unbound() > 0 => {
                let why = "the model is written without its weights";
                verifying.unrun(Diagnostic::error(Code::VERIFY_EXPECTED, why), levels)
            }
            Some(calls) => {
                let _stage = stage("verify");
                let readable = staged.files.readable()?;
                verifying.verify(host, readable.path(), calls.clone(), levels, progress)
            }
            None => Checked::default(),
        };
        progress.go_on()?;
        let publishing = stage("write");
        let report = match checked.passed() {
            true => staged.publish()?,
            false if verifying.keep_failed => staged.files.publish_failed()?,
            false => return Ok(Saved { checked, written: None }),
        };
        let mut stages = self.stages();
        stages.push(writing_stage.and(publishing.end()));
        let mut found = report.diagnostics.clone();
        levels.judge(&mut found);
        let signature = Signature::read(&report.model)?;
        Ok(Saved { checked, written: Some(Written { report, signature, stages, found }) })
    }
}

/// A model that was to be written.
#[derive(Debug)]
pub struct Saved {
    /// The result of its verification; empty if none was requested.
    pub checked: Checked,
    /// The files: none if the model failed, unless failed models are kept.
    pub written: Option<Written>,
}

/// The files of a model.
#[derive(Debug)]
pub struct Written {
    /// The files.
    pub report: WriteReport,
    /// The inputs and outputs.
    pub signature: Signature,
    /// The stages, from reading the program to publishing the model.
    pub stages: Vec<Stage>,
    /// Warnings and notes about the files.
    pub found: Vec<Diagnostic>,
}

impl Saved {
    /// Whether the model was published without a failure.
    pub fn passed(&self) -> bool {
        self.checked.passed() && self.written.as_ref().is_some_and(|written| !has_error(&written.found))
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::object;

    fn map(object: Value) -> Map<String, Value> {
        let Value::Object(object) = object else { panic!("an object") };
        object
    }

    fn export(object: Value) -> Result<Export, String> {
        let export: Export = object::read("export", &map(object)).map_err(|problem| problem.message)?;
        export.check().map_err(|problem| problem.message)?;
        Ok(export)
    }

    /// The options of a command line.
    fn line(words: &[&str]) -> Export {
        let command = Export::augment_args(Command::new("export").no_binary_name(true));
        Export::from_arg_matches(&command.try_get_matches_from(words).expect("a command line"))
            .expect("options")
    }

    #[test]
    fn a_command_line_and_an_object_are_the_same_options() {
        assert_eq!(export(json!({})).unwrap(), line(&[]));
        assert_eq!(Export::default(), line(&[]));
        let words = "--input-names x=y --output-names [\"a,b\"] --dim x:0=n --dim y:1=8 --require-dynamic x:0 --opset 21 \
                     --naming genai --no-verify --decompose all --dtype f16 --keep-dtype head.* --quantize int4:block=64 \
                     --accuracy-level 1 --transform lib/prune:conv* --backend b --blobs file --metadata full \
                     --no-initializers --plan=tensors --weights w.safetensors --weights-cast --weightless -A OP310 -D op408";
        let object = json!({
            "input_names": { "x": "y" }, "output_names": ["a,b"], "dim": ["x:0=n", ["y", 1, 8]], "require_dynamic": "x:0",
            "opset": 21, "naming": "genai", "verify": false, "decompose": "all", "dtype": "f16", "keep_dtype": "head.*",
            "quantize": "int4:block=64", "accuracy_level": 1, "transform": "lib/prune:conv*", "backend": ["b"],
            "blobs": "file", "metadata": "full", "no_initializers": true, "plan": "tensors", "weights": "w.safetensors",
            "weights_cast": true, "weightless": true, "allow": ["OP310"], "deny": "OP408",
        });
        let both = export(object).unwrap();
        assert_eq!(both, line(&words.split_whitespace().collect::<Vec<_>>()));
        let written = serde_json::to_value(&both).unwrap();
        assert_eq!(serde_json::from_value::<Export>(written).unwrap(), both);
        assert_eq!(export(json!({ "plan": true })).unwrap(), line(&["--plan"]));
        assert_eq!(export(json!({ "plan": false })).unwrap(), line(&[]));
    }

    #[test]
    fn contradictory_options_are_refused() {
        let refused = [
            (
                json!({ "verify": false, "keep_failed": true }),
                "`keep_failed` cannot be used with `no_verify`",
            ),
            (json!({ "keep_dtype": "head.*" }), "`keep_dtype` needs `dtype`"),
            (json!({ "quantize_only": "head.*" }), "`quantize_only` needs `quantize`"),
            (json!({ "quantize": "int4", "accuracy_level": 5 }), "`accuracy_level` is 5, and at most 4"),
            (json!({ "blobs": "file" }), "`blobs` needs `backend`"),
            (
                json!({ "dim": ["x:0"] }),
                "invalid value for `dim`: expected INPUT:AXIS=NAME or INPUT:AXIS=SIZE",
            ),
            (json!({ "allow": "OP310", "deny": "OP310" }), "OP310 is given more than once"),
            (json!({ "deny": "OP999" }), "invalid value for `deny`: unknown code"),
        ];
        for (object, message) in refused {
            let said = export(object).unwrap_err();
            assert!(said.starts_with(message), "{said}");
        }
    }

    #[test]
    fn later_options_about_the_output_override_earlier_ones() {
        let under = map(json!({ "opset": 21, "external_data": "inline", "check_weights": false }));
        let read = |over: Value| object::read_over::<Writing>("writing", &under, &map(over));
        let kept = read(json!({})).unwrap();
        assert!(kept.places.refers() || kept.places.files.no_check_weights);
        let both = read(json!({ "external_data": "reference", "no_check_weights": false })).unwrap();
        assert!(both.places.refers() && !both.places.files.no_check_weights);
        assert!(read(json!({ "opset": 21 })).is_err());
    }
}

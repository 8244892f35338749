//! Conversions: their options, and the functions that run them. [`ConvertPipeline`] has the stages, in order; each takes
//! the result of the one before.

mod stages;

use std::collections::BTreeSet;
use std::path::Path;

use crate::backend::{BackendOptions, Partitioned};
use crate::decompose::{self, DecomposeOptions, Decomposed};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::functions::Selection;
use crate::host::Host;
use crate::ir::Model;
use crate::ir::opset::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET, OLDEST_OPSET};
use crate::legalise::{LegaliseOptions, Legalised};
use crate::lower::{self, LowerOptions, OutputNames};
use crate::meta::{self, Checked};
use crate::normalise;
use crate::onnx::SizeRanges;
use crate::optimise::{OptimiseOptions, Optimised};
use crate::precision::{Changed, PrecisionOptions};
use crate::program::Program;
use crate::pt2::{self, Archive};
use crate::sizes::{self, AxisSize, InputAxis};
use crate::states::StateChoice;
use crate::trace::Stage;
use crate::write::{self, LEAST_IR_VERSION, MOST_IR_VERSION};

pub use stages::{ConvertPipeline, Converting};

/// The user's options for a conversion.
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
#[derive(Clone, Debug, Default)]
pub struct ConvertOptions {
    /// The opset and the model's interface.
    pub lower: LowerOptions,
    /// The IR version to write; where it is absent, the lowest that the opset and the model need.
    pub ir_version: Option<i64>,
    /// Record on the model the metadata of PyTorch's exporter: [`Metadata::Full`](crate::write::Metadata::Full).
    pub provenance: bool,
    /// Sizes to specialize the model to, of inputs by the model's names or the program's.
    pub fixed: Vec<AxisSize>,
    /// Add an output that tells whether the sizes of inputs are ones that the program takes.
    pub guards: bool,
    /// Axes that must be dynamic, of inputs by the model's names or the program's.
    pub dynamic: Vec<InputAxis>,
    /// The options of decompositions.
    pub decompose: DecomposeOptions,
    /// Which rules and passes run.
    pub optimise: OptimiseOptions,
    /// The types in which weights are stored.
    pub precision: PrecisionOptions,
    /// The target of the model.
    pub legalise: LegaliseOptions,
    /// Which backends take their parts of the model.
    pub backend: BackendOptions,
    /// The modules that become local functions.
    pub functions: Selection,
    /// How to treat buffers, parameters and inputs that the program writes to.
    pub state: StateChoice,
    /// Check the model against the rules of ONNX and the types that the program states.
    pub validate: bool,
    /// Convert a program whose weights are missing, to a model that waits for them.
    pub weightless: bool,
    /// Every parameter and buffer stays a separate initializer, so that it can be supplied by name;
    /// otherwise an initializer that is a transposed view of another one is derived from that.
    pub separate: bool,
}

/// A converted model, ready to be written.
#[derive(Debug)]
pub struct Converted {
    /// The model.
    pub model: Model,
    /// The operators that were decomposed.
    pub decomposed: Decomposed,
    /// The plugin that lowered each operator.
    pub provided: Vec<lower::Provided>,
    /// The record of the optimizer.
    pub optimised: Optimised,
    /// Warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// The sizes that the program takes.
    pub sizes: SizeRanges,
    /// The result of checking the program's stated types.
    pub checked: Checked,
    /// The changes to weights.
    pub changed: Changed,
    /// The changes made for the target.
    pub legalised: Legalised,
    /// The regions of backends; `None` if no backend was asked.
    pub partitioned: Option<Partitioned>,
    /// The stages that ran, in order; names are those of the pipeline.
    pub stages: Vec<Stage>,
}

/// The names of all stages of a standard conversion, in order, with those that read and write.
pub fn stage_names() -> impl Iterator<Item = &'static str> {
    std::iter::once("read").chain(ConvertPipeline::new().names()).chain(["write"])
}

/// Reads the archive at `path`. See [`pt2::read`].
///
/// # Errors
/// Those of [`pt2::read`].
pub fn read(path: &Path) -> Result<Archive, Report> {
    pt2::read(path)
}

/// Converts a program to a model, with the standard [`Pipeline`](crate::Pipeline).
///
/// # Errors
/// A report of every problem of the first stage that has any.
pub fn convert(host: &Host, program: Program, options: &ConvertOptions) -> Result<Converted, Report> {
    ConvertPipeline::new().run(host, program, options)
}

/// Finds everything in a program that cannot be converted: unlike [`convert`], it continues with the
/// operators if a write cannot be expressed.
///
/// # Errors
/// A report of every problem of every stage.
pub fn check(host: &Host, mut program: Program, options: &ConvertOptions) -> Result<Converted, Report> {
    check_opset(options.lower.opset)?;
    fix(host, &mut program, options)?;
    let checked = contradictions(&program, host)?;
    let (attempted, mut problems) = normalise::attempt(program.clone(), &host.schemas, |_| true);
    if problems.is_empty() {
        let options = ConvertOptions { weightless: true, ..options.clone() };
        return convert(host, program, &options);
    }
    let lowering = LowerOptions { opset: worked(options.lower.opset), ..options.lower.clone() };
    let (attempted, _, more) = decompose::decompose(host, attempted, lowering.opset, &options.decompose);
    problems.extend(more);
    let origins = attempted.origins.clone();
    let known: BTreeSet<_> = problems.iter().filter_map(|d| d.origin).collect();
    if let Err(report) = lower::lower(host, attempted, &lowering, &OutputNames::default()) {
        let report = attributed(&checked, report);
        // Calls that normalisation could not remove have no lowering; those errors say nothing new.
        let more = report.diagnostics.into_iter();
        problems.extend(more.filter(|d| d.origin.is_none_or(|o| !known.contains(&o))));
    }
    Err(Report { diagnostics: problems, origins })
}

/// Specializes the program to the sizes and equal dimensions of the options, unless it already is; returns the sizes by
/// the program's names of inputs, and a note on them, if any.
///
/// # Errors
/// Those of [`sizes::fix`] and [`sizes::merge`].
pub fn fix(
    host: &Host,
    program: &mut Program,
    options: &ConvertOptions,
) -> Result<(Vec<AxisSize>, Option<Diagnostic>), Report> {
    let own = |input: &str| {
        let own = lower::program_input(program, &options.lower.input_names, input);
        own.map_or(input, |(own, _)| own).to_owned()
    };
    let named = |size: &AxisSize| AxisSize { input: own(&size.input), ..size.clone() };
    let fixed: Vec<AxisSize> = options.fixed.iter().map(named).collect();
    let inputs: Vec<String> = options.lower.dims.iter().map(|dim| own(&dim.input)).collect();
    let axes: Vec<(&str, usize, &str)> = (inputs.iter().zip(&options.lower.dims))
        .map(|(input, dim)| (input.as_str(), dim.axis, dim.name.as_str()))
        .collect();
    sizes::merge(program, &host.schemas, &axes)?;
    let note = sizes::fix(program, &host.schemas, &fixed)?;
    Ok((fixed, note))
}

/// Holds the program against itself.
fn contradictions(program: &Program, host: &Host) -> Result<Checked, Report> {
    let mut checked = meta::check(program, &host.schemas);
    if checked.diagnostics.is_empty() {
        return Ok(checked);
    }
    let diagnostics = std::mem::take(&mut checked.diagnostics);
    Err(Report { diagnostics, origins: program.origins.clone() })
}

/// Returns a report about a lowered program, which blames the program too for nodes whose types could not be checked.
fn attributed(checked: &Checked, mut report: Report) -> Report {
    checked.attribute(&mut report.diagnostics, &report.origins);
    report
}

/// The opset of the stages, for a model of this one: an older model is translated at the end.
fn worked(opset: i64) -> i64 {
    opset.max(MIN_OPSET)
}

/// Has `model` written with an IR version.
fn set_ir_version(model: &mut Model, version: i64) -> Result<(), Report> {
    let least = write::least_ir_version(model);
    let functions = if model.functions.is_empty() { "" } else { ", which has local functions," };
    let (message, help) = if !(LEAST_IR_VERSION..=MOST_IR_VERSION).contains(&version) {
        let message = format!("IR version {version} is not one of {LEAST_IR_VERSION} to {MOST_IR_VERSION}");
        (message, "leave it out: the lowest that the model needs is written".to_owned())
    } else if version < least {
        let message = format!("the model{functions} needs IR version {least}, not {version}");
        (message, format!("ask for IR version {least}, or leave out its functions and narrow types"))
    } else {
        model.ir_version = Some(version);
        return Ok(());
    };
    Err(Diagnostic::error(Code::LOWER_OPSET, message).help(help).into())
}

fn check_opset(opset: i64) -> Result<(), Report> {
    if (OLDEST_OPSET..=MAX_OPSET).contains(&opset) {
        return Ok(());
    }
    let message = format!("opset {opset} is not one of {OLDEST_OPSET} to {MAX_OPSET}");
    let nearest = opset.clamp(OLDEST_OPSET, MAX_OPSET);
    let help = format!(
        "convert with opset {nearest}, or use the default, {DEFAULT_OPSET}, which released runtimes support"
    );
    Err(Diagnostic::error(Code::LOWER_OPSET, message).help(help).into())
}

//! `onnxport convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnxport_core::normalise::normalise;
use onnxport_core::pipeline;
use onnxport_core::trace::stage;
use onnxport_core::{Conversion, Trace};

use super::exporting::{ExportArguments, Prepared, Purpose};
use super::profiled;
use super::reports::ReportArguments;
use crate::backends;
use crate::outcome::{CommandResult, Outcome};
use crate::progress::Progress;

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The exported program, as saved by torch.export.save
    program: PathBuf,
    /// The model to write
    #[arg(short, long, value_name = "ONNX", required_unless_present_any = ["emit", "explain_partition"])]
    output: Option<PathBuf>,
    /// Print the graph as text instead of writing a model
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["output", "explain_rule"])]
    emit: Option<Form>,
    /// Show the regions that backends would claim, and why they leave the others, without compiling or writing anything
    #[arg(long, requires = "backends", conflicts_with_all = ["output", "emit"], help_heading = "Backends")]
    explain_partition: bool,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    export: ExportArguments,
}

/// A text form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The program as it was exported
    Program,
    /// The program after normalization, without side effects
    Normalised,
    /// The ONNX graph
    Ir,
}

/// Converts, writes, verifies and reports.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    arguments.reports.check()?;
    // Reports include the memory of each stage, which a trace measures.
    let profile = &arguments.export.profile;
    let trace = profile.trace().or_else(|| arguments.reports.are_asked().then(Trace::new));
    let others: Vec<PathBuf> =
        std::iter::once(&arguments.program).chain(&arguments.output).cloned().collect();
    let mut result =
        profiled::around_in(profile, trace.as_ref(), "convert", &others, || convert(arguments, progress));
    let (Ok(outcome) | Err(outcome)) = &mut result;
    let model = arguments.output.as_deref().filter(|_| outcome.json.contains_key("files"));
    arguments.reports.write_model("convert", &arguments.program, model, outcome)?;
    result
}

fn convert(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let reading = stage("read");
    progress.stage("reading the program");
    let conversion = Conversion::open(&arguments.program)?;
    let source = arguments.program.display().to_string();
    let purpose = match (&arguments.output, arguments.emit) {
        _ if arguments.explain_partition => Purpose::Partition,
        (Some(path), None) => Purpose::Write(Some(path)),
        _ => Purpose::Show,
    };
    let prepared = Prepared::new(conversion, &arguments.export, purpose, reading)?;
    match (&arguments.output, arguments.emit) {
        _ if arguments.explain_partition => {
            let Prepared { host, conversion, options, .. } = prepared;
            backends::explain(&host, conversion.into_archive().program, &options)
        }
        (Some(path), None) => {
            let converted = prepared.convert(source, progress)?;
            converted.save(path, &arguments.export, &arguments.export.writing, progress)
        }
        (_, form) => emit(prepared, form.unwrap_or(Form::Ir)),
    }
}

fn emit(prepared: Prepared, form: Form) -> CommandResult {
    let Prepared { host, conversion, options, .. } = prepared;
    let program = conversion.into_archive().program;
    let text = match form {
        Form::Program => program.to_text(),
        Form::Normalised => normalise(program, &host.schemas)?.to_text(),
        Form::Ir => pipeline::convert(&host, program, &options)?.model.to_text(),
    };
    Ok(Outcome::text(text))
}

//! `onnxport profile`.

mod text;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use onnxport_core::host::Host;
use onnxport_core::profile::{Changes, Profile, Subject, compare, measure};
use onnxport_core::run::{self, Computed, Draw, Given, Sizes};
use onnxport_core::verify::{Runtime, Signature};
use onnxport_requests::Plugins;
use onnxport_requests::feeding::{DimSize, Inputs};
use onnxport_requests::runtime::Running;
use onnxport_requests::value::NameValue;

use super::reports::{Contents, ReportArguments};
use crate::deadline::Deadline;
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `profile`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The ONNX model, or a profile saved as .json
    model: PathBuf,
    /// Another model or saved profile to compare with; models are run alternately
    #[arg(long, value_name = "ONNX|JSON")]
    against: Option<PathBuf>,
    #[command(flatten)]
    given: Inputs,
    /// Seed for random inputs: floats between -1 and 1, integers and booleans 0 or 1
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
    /// The size of a dynamic dimension of random inputs, by name or by input and axis, such as batch=2 or x:0=2
    #[arg(long, value_name = "NAME=SIZE")]
    dim: Vec<DimSize>,
    /// How many times to run each model, after two warm-up runs
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// How many threads the runtime may use within an operator; chosen by the runtime by default
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Show only this breakdown
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Option<By>,
    /// Show every row
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    runtime: Running,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    plugins: Plugins,
}

/// The grouping of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// The operators, as the runtime calls them
    Operator,
    /// The modules, including their submodules
    Module,
    /// The lines of source code
    Line,
    /// The nodes that the runtime ran
    Node,
}

/// Measures one or two models, and reports where the time goes.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    arguments.reports.check()?;
    let mut notes = Vec::new();
    let [first, second] = measured(arguments, &mut notes, progress)?;
    let Some(first) = first else {
        return Err(Diagnostic::error(Code::INTERNAL, "nothing was measured").into());
    };
    let in_turn =
        arguments.against.as_deref().is_some_and(|path| !is_saved(path)) && !is_saved(&arguments.model);
    let changes: Option<Changes> = second.as_ref().map(|second| compare(&first, second, in_turn));
    let shown: &[By] = match &arguments.by {
        Some(by) => {
            answers(*by, &first)?;
            std::slice::from_ref(by)
        }
        None => &[By::Operator, By::Module, By::Line],
    };
    let most = if arguments.all { usize::MAX } else { text::ROWS };
    let text = match (&second, &changes) {
        (Some(second), Some(changes)) => text::changes(&first, second, changes, shown, most)?,
        _ => text::profile(&first, shown, most),
    };
    let mut outcome = Outcome::text(text).with("profile", &first);
    for profile in std::iter::once(&first).chain(&second) {
        outcome.report.diagnostics.extend(silence(profile));
    }
    outcome.report.diagnostics.extend(notes);
    if let (Some(second), Some(changes)) = (&second, &changes) {
        outcome.put("against", second);
        outcome.put("changes", changes);
    }
    let sources: Vec<PathBuf> =
        std::iter::once(&arguments.model).chain(&arguments.against).cloned().collect();
    let page = || onnxport_report::profile::page(&first, second.as_ref().zip(changes.as_ref()));
    let text = outcome.text.clone();
    let contents = Contents { command: "profile", text: &text, page: &page };
    arguments.reports.write(&sources, &contents, &mut outcome)?;
    Ok(outcome)
}

/// Whether a path names a profile rather than a model.
fn is_saved(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// The profiles of both arguments: read, or measured in turn.
fn measured(
    arguments: &Arguments,
    notes: &mut Vec<Diagnostic>,
    progress: &Progress,
) -> Result<[Option<Profile>; 2], Report> {
    let mut found = [None, None];
    let mut models: Vec<(usize, &Path)> = Vec::new();
    for (at, path) in std::iter::once(&arguments.model).chain(&arguments.against).enumerate() {
        if !path.is_file() {
            let message = format!("file not found: {}", path.display());
            return Err(Diagnostic::error(Code::READ_IO, message).into());
        }
        if !is_saved(path) {
            models.push((at, path));
        } else if let Some(slot) = found.get_mut(at) {
            *slot = Some(Profile::read(path)?);
        }
    }
    if !models.is_empty() {
        let paths: Vec<&Path> = models.iter().map(|(_, path)| *path).collect();
        for ((at, _), profile) in models.iter().zip(run_models(arguments, &paths, notes, progress)?) {
            if let Some(slot) = found.get_mut(*at) {
                *slot = Some(profile);
            }
        }
    }
    Ok(found)
}

/// Profiles of `models`.
fn run_models(
    arguments: &Arguments,
    models: &[&Path],
    notes: &mut Vec<Diagnostic>,
    progress: &Progress,
) -> Result<Vec<Profile>, Report> {
    let host = plugins::host(&arguments.plugins)?;
    plugins::prepare(&host, &arguments.runtime);
    progress.stage("reading the inputs");
    let given: Given = arguments.given.read()?;
    let sizes: Sizes = arguments.dim.iter().map(|dim| (dim.name.clone(), dim.size.into())).collect();
    let draw = Some(Draw { seed: arguments.seed });
    let mut inputs: Vec<Vec<Computed>> = Vec::new();
    for model in models {
        let (signature, fed) = run::inputs_or_drawn(model, &given, &sizes, draw)?;
        if given.is_empty() && sizes.is_empty() {
            notes.extend(drawn_sizes(model, &signature, &fed));
        }
        inputs.push(fed);
    }
    let opened: Vec<(tempfile::TempDir, Runtime)> =
        models.iter().map(|_| open(arguments, &host)).collect::<Result<_, Diagnostic>>()?;
    let parts = models.iter().zip(&inputs).zip(&opened);
    let subjects: Vec<Subject<'_>> = parts
        .map(|((model, inputs), (folder, runtime))| Subject { model, runtime, folder: folder.path(), inputs })
        .collect();
    let name = opened.first().map_or("", |(_, runtime)| runtime.name());
    progress.stage("loading the model");
    let _deadline = Deadline::start(arguments.runtime.options.deadline(), name, "profiling the model")?;
    let tell = &mut |done, all| {
        progress.stage(format!("running the model, {done} of {all}"));
        progress.go_on().is_ok()
    };
    Ok(measure(&subjects, arguments.runs as usize, tell)?)
}

/// Opens a runtime that measures, and creates its output folder.
fn open(arguments: &Arguments, host: &Host) -> Result<(tempfile::TempDir, Runtime), Diagnostic> {
    let failed = |why: String| Diagnostic::error(Code::WRITE_IO, format!("no folder for the profile: {why}"));
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let path = folder.path().to_str().ok_or_else(|| failed("its path is not UTF-8".to_owned()))?;
    let option = |name: &str, value: &str| NameValue { name: name.to_owned(), value: value.to_owned() };
    let mut extra = vec![option("profile", path)];
    extra.extend(arguments.threads.map(|threads| option("threads", &threads.to_string())));
    let Running { executor, options } = &arguments.runtime;
    let runtime = options.with(extra).open(host, executor.as_deref(), plugins::restart)?;
    Ok((folder, runtime))
}

/// Fails if the model lacks the metadata for the requested table.
fn answers(by: By, profile: &Profile) -> Result<(), Diagnostic> {
    let lacking = match by {
        By::Module if !profile.knows_modules() => "a module",
        By::Line if !profile.knows_lines() => "a line of code",
        _ => return Ok(()),
    };
    let message = format!("no node of `{}` records {lacking}", profile.model);
    Err(Diagnostic::error(Code::RUN_PROFILE, message)
        .help("convert with --metadata full, or ask for --by operator or --by node"))
}

/// Returns a note if sizes of dynamic dimensions were drawn: times depend on them.
fn drawn_sizes(model: &Path, signature: &Signature, inputs: &[Computed]) -> Option<Diagnostic> {
    let shapes = run::dynamic_shapes(signature, inputs)?;
    let message = format!("`{}` ran with randomly chosen sizes: {shapes}", model.display());
    let note = Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::RUN_PROFILE, message) };
    Some(note.help("times depend on sizes; set them with --dim NAME=SIZE"))
}

/// Returns a note on the metadata that the model's nodes lack.
fn silence(profile: &Profile) -> Option<Diagnostic> {
    let lacking = match (profile.knows_modules(), profile.knows_lines()) {
        (true, true) => return None,
        (true, false) => "no lines of code",
        (false, true) => "no modules",
        (false, false) => "neither modules nor lines of code",
    };
    let message = format!("nodes of `{}` record {lacking}", profile.model);
    let note = Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::RUN_PROFILE, message) };
    Some(note.help("convert with --metadata full to see them"))
}

//! `onnxport verify`, and how a verification is shown.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::verify::{
    self, Against, CaseReport, Comparer, Options, Runtime, Signature, Source, Verification,
};

use crate::args;
use crate::deadline::Deadline;
use crate::exit::Exit;
use crate::format::{bad, count, duration, faint, good};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins::{self, PluginArguments};
use crate::progress::Progress;
use crate::reference::ReferenceArguments;

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The ONNX model
    model: PathBuf,
    /// The program that it was converted from, or the expected values recorded beside it
    #[arg(long, value_name = "PT2|SAFETENSORS")]
    against: PathBuf,
    #[command(flatten)]
    reference: ReferenceArguments,
    #[command(flatten)]
    pub runtime: RuntimeArguments,
    /// Replace the relative tolerance of floating-point outputs
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    rtol: Option<f64>,
    /// Replace the absolute tolerance of floating-point outputs
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    atol: Option<f64>,
    /// The plugin that compares the outputs; without one, onnxport does
    #[arg(long, value_name = "PLUGIN")]
    comparer: Option<String>,
    #[command(flatten)]
    plugins: PluginArguments,
}

/// Arguments about what runs the model.
#[derive(Debug, Args)]
pub(crate) struct RuntimeArguments {
    /// The plugin that runs the model: ort for ONNX Runtime, reference for onnxport's own evaluator, which is
    /// exact and slow, or one that is loaded; otherwise the first
    #[arg(long, value_name = "PLUGIN")]
    pub executor: Option<String>,
    /// The ONNX Runtime library; otherwise ORT_DYLIB_PATH, the active Python's packages and the
    /// system's folders are searched
    #[arg(long, value_name = "PATH")]
    pub ort_library: Option<PathBuf>,
    /// An option of the runtime, such as `custom_ops=PATH` for a library of custom operators, or
    /// `bytes=NUMBER` and `steps=NUMBER` for the budgets of the evaluator; can be repeated
    #[arg(long = "executor-option", value_name = "NAME=VALUE", value_parser = parse_option)]
    pub executor_options: Vec<(String, String)>,
    /// Run the model in a process of its own: what crashes or hangs there is reported, and nothing else ends with it
    #[arg(long)]
    pub isolate: bool,
    /// The longest that the runtime may take to load the model and to run it on all cases, in seconds, and
    /// that PyTorch may take to say what is expected (300 where nothing is said)
    #[arg(long, value_name = "SECONDS", value_parser = args::seconds)]
    pub timeout: Option<Duration>,
}

impl RuntimeArguments {
    /// How long this process waits for a runtime before it ends; one that is isolated is ended alone.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.timeout.filter(|_| !self.isolate)
    }
}

fn parse_option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("expected a number that is not negative".to_owned()),
    }
}

/// Verifies a model.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    if !arguments.model.is_file() {
        let message = format!("there is no file {}", arguments.model.display());
        return Err(Diagnostic::error(Code::READ_IO, message).into());
    }
    let host = plugins::host(&arguments.plugins)?;
    plugins::prepare(&host, &arguments.runtime);
    let fixed = Signature::read(&arguments.model)?.fixed;
    let draws = arguments.reference.draws();
    let (mut against, source) = Against::open(&arguments.against, &host.schemas, &fixed, draws)?;
    let runtime = plugins::runtime(&host, &arguments.runtime)?;
    let comparer = arguments.comparer.as_deref().map(|id| Comparer::open(&host, id, &[])).transpose()?;
    let (rtol, atol) = (arguments.rtol, arguments.atol);
    let options = Options { rtol, atol, comparer: comparer.as_ref(), measure: false };
    let limit = arguments.runtime.timeout;
    let note = arguments.reference.refer(&mut against, limit, progress)?;
    let deadline = arguments.runtime.deadline();
    let verification = execute(&runtime, &arguments.model, &against, &options, deadline, progress)?;
    let mut outcome = Outcome::ok();
    outcome.report.diagnostics.extend(note);
    describe(&verification, &source, &mut outcome);
    Ok(outcome)
}

/// Runs the model on every case. The process ends when it takes longer than `limit`.
pub(crate) fn execute(
    runtime: &Runtime,
    model: &Path,
    against: &Against,
    options: &Options<'_>,
    limit: Option<Duration>,
    progress: &Progress,
) -> Result<Verification, Diagnostic> {
    progress.stage("loading the model");
    let deadline = Deadline::start(limit, runtime.name(), "loading the model")?;
    verify::verify(runtime, model, against, options, &mut |case| {
        progress.stage(format!("running {}", case.name));
        deadline.doing(format!("running the case {}", case.name));
    })
}

/// Adds a verification to an outcome.
pub(crate) fn describe(verification: &Verification, source: &Path, outcome: &mut Outcome) {
    let passed = verification.passed();
    let mut text = String::new();
    let judged = verification.values_compared && !verification.measured;
    let verdict = match (passed, judged) {
        (true, true) => good("verified"),
        (true, false) => good("runs    "),
        (false, _) => bad("MISMATCH"),
    };
    let cases = count(verification.cases.len(), "case");
    let time = duration(Duration::from_secs_f64(verification.seconds.max(0.0)));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{verdict}  {cases} in {time} by {}", verification.executor);
    let _ = writeln!(text, "          {}", compared(verification, source));
    if let Some(step) = verification.codes() {
        let _ = writeln!(
            text,
            "          results differ by one code, {step:.2e}, to which integer kernels may round"
        );
    }
    // Said of each case where it is not said of all.
    let is_one = verification.cases.windows(2).all(|pair| match pair {
        [a, b] => a.expected == b.expected,
        _ => true,
    });
    for case in &verification.cases {
        let from = if is_one { String::new() } else { faint(&format!("  {}", from(case))) };
        let _ = writeln!(text, "  {}{from}", case_line(case));
    }
    outcome.summary.push_str(&text);
    outcome.put("verification", verification);
    outcome.put("against", source.display().to_string());
    outcome.report.diagnostics.extend(verification.diagnostics());
    if !passed {
        outcome.exit = outcome.exit.max(Exit::Mismatch);
    }
}

/// What the outputs were compared with, and how far they are from it.
fn compared(verification: &Verification, source: &Path) -> String {
    let source = source.display();
    let is_recorded = verification.cases.iter().any(|case| case.expected == Source::Recorded);
    let against = match &verification.torch {
        Some(torch) if is_recorded => format!("{source} and {torch}"),
        Some(torch) => torch.clone(),
        None => source.to_string(),
    };
    let (max_abs, max_rel) = (verification.max_abs(), verification.max_rel());
    if verification.values_compared && verification.measured {
        let cosine = verification.min_cosine();
        format!(
            "max abs {max_abs:.2e}, cosine {cosine:.6} against {against}: a measure, since weights were changed"
        )
    } else if verification.values_compared {
        format!("max abs {max_abs:.2e}, max rel {max_rel:.2e} against {against}")
    } else if verification.random() {
        "the program draws random numbers: element types and shapes were checked, values were not".to_owned()
    } else if verification.cases.iter().any(|case| case.not_applicable.is_some()) {
        format!(
            "{source} records no values for the model's sizes: element types and shapes were checked, values were not"
        )
    } else if verification.made {
        format!(
            "{source} records no inputs that can be fed, so ones were: element types and shapes were checked"
        )
    } else {
        format!("{source} records no expected values: element types and shapes were checked, values were not")
    }
}

/// Where the expected values of a case come from.
fn from(case: &CaseReport) -> &'static str {
    match case.expected {
        Source::Recorded => "recorded values",
        Source::Torch => "values of PyTorch",
        Source::Nothing => "no values",
    }
}

fn case_line(case: &CaseReport) -> String {
    let inputs: Vec<String> = case.inputs.iter().map(|t| format!("{}{:?}", t.name, t.shape)).collect();
    let mut inputs = inputs.join(" ");
    if inputs.chars().count() > 72 {
        inputs = inputs.chars().take(69).chain("...".chars()).collect();
    }
    let mark = match (case.passed(), case.not_tried() || case.not_applicable.is_some()) {
        (_, true) => faint("none"),
        (true, _) => good("ok  "),
        (false, false) => bad("FAIL"),
    };
    format!("{mark} {:<8} {}", case.name, faint(&inputs))
}

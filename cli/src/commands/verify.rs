//! `onnxport verify`.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::bisect::{Found, Options as SearchOptions, Reference, bisect as search};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::host::Host;
use onnxport_core::taps::Recorded;
use onnxport_core::tensor::LazyTensor;
use onnxport_core::verify::{Against, Chosen, Drawing, InProcess, Options, Runtime, Signature, Verification};
use onnxport_core::{Conversion, IN_MEMORY};
use onnxport_requests::Plugins;
use onnxport_requests::profile::Profiling;
use onnxport_requests::progress::Progress as _;
use onnxport_requests::runtime::{self, RuntimeOptions};
use onnxport_requests::value::{ByteSize, Draw, NameValue, Tolerance};

use super::histogram::histograms;
use super::reports::{Contents, ReportArguments};
use super::{bisect, profiled, verified};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;
use crate::reference::ReferenceArguments;

/// The evaluator's plugin.
const EVALUATOR: &str = "reference";

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The ONNX model
    model: PathBuf,
    /// The program that the model was converted from, or the expected values recorded beside it; without one, compare
    /// the executors with each other on random inputs
    #[arg(long, value_name = "PT2|SAFETENSORS")]
    against: Option<PathBuf>,
    /// A file with the inputs of the calls to run, by input name: .npz, .json, .safetensors or another weight file.
    /// With several calls per file, prefix each name with that of its call, as in first/x; can be repeated
    #[arg(long = "inputs", value_name = "FILE")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    drawing: DrawingArguments,
    #[command(flatten)]
    pub(crate) reference: ReferenceArguments,
    /// A plugin to run the model: ort for ONNX Runtime, reference for onnxport's own exact but slow evaluator, or a
    /// loaded plugin; can be repeated [default: the first available]
    #[arg(long = "executor", value_name = "PLUGIN")]
    executors: Vec<String>,
    #[command(flatten)]
    pub runtime: RuntimeOptions,
    /// How to choose tolerances for floating-point outputs: by element type, or by the numerical noise of the program,
    /// measured against float64
    #[arg(long, value_enum, value_name = "FROM", default_value_t = From::Default)]
    tolerance: From,
    /// Override the relative tolerance for floating-point outputs
    #[arg(long, value_name = "NUMBER", conflicts_with = "tolerance")]
    rtol: Option<Tolerance>,
    /// Override the absolute tolerance for floating-point outputs
    #[arg(long, value_name = "NUMBER", conflicts_with = "tolerance")]
    atol: Option<Tolerance>,
    /// The plugin that compares outputs instead of onnxport. With --taps, a plugin that also runs the model compares
    /// intermediate values on its device, such as the GPU
    #[arg(long, value_name = "PLUGIN")]
    comparer: Option<String>,
    /// An option for the comparer, such as `device=1` or `memory=BYTES` for cuda-parity; can be repeated
    #[arg(long = "comparer-option", value_name = "NAME=VALUE", requires = "comparer")]
    comparer_options: Vec<NameValue>,
    /// If the plugin cannot compare something, compare it without the plugin and warn instead of failing
    #[arg(long, requires = "comparer")]
    comparer_fallback: bool,
    /// Also compare intermediate values with recorded ones, with another executor's, or with those of onnxport's own
    /// evaluator; a report shows the error along the graph
    #[arg(long)]
    taps: bool,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    profile: Profiling,
    #[command(flatten)]
    plugins: Plugins,
}

/// Where tolerances come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum From {
    /// The element types
    Default,
    /// The numerical noise of the program
    Auto,
}

/// Arguments about calls that are drawn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drawn calls")]
struct DrawingArguments {
    /// How to generate the values of an input: normal(MEAN,DEVIATION), uniform(LOW,HIGH), integers(LOW,HIGH), ones,
    /// arange or mask; can be repeated. For other inputs, the recorded values and the operators that read them suggest
    /// a rule
    #[arg(long = "draw", value_name = "INPUT=RULE")]
    rules: Vec<Draw>,
    /// Generate a call with random values from this seed
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Memory budget for all values of the program in the largest generated call
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    max_memory: ByteSize,
}

impl DrawingArguments {
    /// What is drawn; `besides` says that it is wanted also where calls were recorded.
    fn drawing(&self, besides: bool) -> Drawing {
        let Self { rules, seed, max_memory } = self;
        let by_rule = seed.is_some() || !rules.is_empty();
        Drawing {
            besides: besides || by_rule,
            extremes: Some(max_memory.0),
            seed: *seed,
            rules: rules.iter().map(|draw| (draw.input.clone(), draw.rule)).collect(),
        }
    }
}

/// A program in the memory of this process that a model is held against.
pub(crate) struct Held {
    /// With the call whose inputs are known.
    pub conversion: Conversion,
    /// What runs it.
    pub runs: InProcess,
    /// Whether calls are drawn besides also where nobody asks for that.
    pub draws: bool,
}

/// Verifies a model.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    run_against(arguments, None, progress)
}

/// Verifies a model, against the program `held` if that is given.
pub(crate) fn run_against(arguments: &Arguments, held: Option<&Held>, progress: &Progress) -> CommandResult {
    let others: Vec<PathBuf> = std::iter::once(&arguments.model).chain(&arguments.against).cloned().collect();
    profiled::around(&arguments.profile, "verify", &others, || verify(arguments, held, progress))
}

fn verify(arguments: &Arguments, held: Option<&Held>, progress: &Progress) -> CommandResult {
    if !arguments.model.is_file() {
        let message = format!("file not found: {}", arguments.model.display());
        return Err(Diagnostic::error(Code::READ_IO, message).into());
    }
    arguments.reports.check()?;
    let host = plugins::host(&arguments.plugins)?;
    plugins::prepare_for(&host, arguments.executors.first().map(String::as_str), &arguments.runtime);
    let signature = Signature::read(&arguments.model)?;
    let (mut against, source) = match held {
        Some(held) => calls_of(arguments, &host, &signature, held)?,
        None => calls(arguments, &host, &signature)?,
    };
    against.exact = arguments.tolerance == From::Auto;
    against.step(&signature);
    let runtimes = arguments.runtime.open_all(&host, &arguments.executors, plugins::restart)?;
    let comparer = comparer(arguments, &host)?;
    let options = Options {
        rtol: arguments.rtol.map(|bound| bound.0),
        atol: arguments.atol.map(|bound| bound.0),
        comparer: comparer.as_ref(),
        measure: false,
        auto: arguments.tolerance == From::Auto,
    };
    let limit = arguments.runtime.limit();
    let note = arguments.reference.refer(&mut against, limit, progress)?;
    let mut outcome = Outcome::ok();
    outcome.report.diagnostics.extend(note);
    let found = judged(arguments, &host, &runtimes, &mut against, &options, &mut outcome, progress)?;
    verified::describe_all(&found, &source, &mut outcome);
    let given = against.first_call(&signature)?;
    let values = arguments.taps.then(|| inside(arguments, &host, &runtimes, given, progress)).transpose()?;
    if let Some(values) = &values {
        outcome.add(bisect::describe(values));
    }
    outcome.report.diagnostics.extend(comparer.into_iter().flat_map(Chosen::reasons));
    let text = format!("{}{}{}", outcome.summary, outcome.text, histograms(&found));
    let name = arguments.model.file_name().unwrap_or_default().to_string_lossy();
    let page = || onnxport_report::verification(&name, &found, values.as_ref());
    let contents = Contents { command: "verify", text: &text, page: &page };
    arguments.reports.write(&[arguments.model.clone(), source], &contents, &mut outcome)?;
    Ok(outcome)
}

/// The values inside of the model, beside recorded ones, or, on the inputs `given`, those of the second executor or of
/// the evaluator.
fn inside(
    arguments: &Arguments,
    host: &Host,
    runtimes: &[Runtime],
    given: Vec<(String, LazyTensor)>,
    progress: &Progress,
) -> Result<Found, Report> {
    let Some((first, others)) = runtimes.split_first() else {
        return Err(Diagnostic::error(Code::VERIFY_EXECUTOR, "there is no executor").into());
    };
    progress.stage("comparing the values");
    let _deadline =
        progress.clone().deadline(arguments.runtime.deadline(), first.name(), "comparing the values")?;
    // Where the plugin that compares runs the model, intermediate values stay on its device.
    let in_place = arguments.comparer.as_deref() == Some(first.id());
    let mut options = SearchOptions { whole: true, in_place, ..SearchOptions::default() };
    let recording = arguments.against.as_deref().map(Recorded::beside).filter(|path| path.is_file());
    if let Some(recording) = &recording {
        let recorded = Reference::Recording { values: recording, program: None };
        return search(&arguments.model, first, &recorded, &options);
    }
    for (name, tensor) in given {
        options.given.insert(name, tensor);
    }
    if let Some(other) = others.first() {
        return search(&arguments.model, first, &Reference::Runtime(other), &options);
    }
    let evaluator = arguments.runtime.without_library().open(host, Some(EVALUATOR), plugins::restart)?;
    search(&arguments.model, first, &Reference::Runtime(&evaluator), &options)
}

/// The plugin that compares, if one is to.
fn comparer(arguments: &Arguments, host: &Host) -> Result<Option<Chosen>, Diagnostic> {
    let Arguments { comparer, comparer_options, comparer_fallback, .. } = arguments;
    let options: Vec<(&str, &str)> =
        comparer_options.iter().map(|pair| (pair.name.as_str(), pair.value.as_str())).collect();
    let open = |id: &str| Chosen::open(host, id, &options, *comparer_fallback);
    comparer.as_deref().map(open).transpose()
}

/// The calls of a program in memory.
fn calls_of(
    arguments: &Arguments,
    host: &Host,
    signature: &Signature,
    held: &Held,
) -> Result<(Against, PathBuf), Outcome> {
    if arguments.against.is_some() {
        let message = "the model is compared with the program in memory; a file cannot be given as well";
        return Err(Diagnostic::error(Code::USAGE, message).into());
    }
    let drawing = arguments.drawing.drawing(true);
    let drawing = Some(&drawing).filter(|drawing| held.draws || drawing.by_rule());
    let mut against = held.conversion.against(host, &signature.fixed, drawing)?;
    against.in_process = Some(held.runs.clone());
    if !arguments.inputs.is_empty() {
        against.give(&arguments.inputs, signature)?;
    }
    Ok((against, PathBuf::from(IN_MEMORY)))
}

/// The calls, and what they come from.
fn calls(arguments: &Arguments, host: &Host, signature: &Signature) -> Result<(Against, PathBuf), Outcome> {
    let is_referred = arguments.reference.draws() || arguments.reference.evaluates();
    let drawing = arguments.drawing.drawing(is_referred || arguments.executors.len() > 1);
    let inputs = &arguments.inputs;
    let (mut against, source) = match &arguments.against {
        Some(path) => match Against::open(path, &host.schemas, &signature.fixed, &drawing) {
            // A program that records no calls is run on those that are given.
            Err(report) if !inputs.is_empty() && lacks_calls(&report) => {
                (Against { program: Some(path.clone()), ..Against::default() }, path.clone())
            }
            found => found?,
        },
        None if arguments.executors.len() < 2 && !arguments.reference.evaluates() => {
            let message = "there is nothing to compare the model with";
            let help = "give its program with --against, several executors, or --reference evaluator";
            return Err(Diagnostic::error(Code::USAGE, message).help(help).into());
        }
        None if inputs.is_empty() => {
            (Against::of_model(&arguments.model, &drawing)?, arguments.model.clone())
        }
        None => (Against::default(), arguments.model.clone()),
    };
    if !inputs.is_empty() {
        against.give(inputs, signature)?;
    }
    Ok((against, source))
}

fn lacks_calls(report: &Report) -> bool {
    report.diagnostics.iter().all(|diagnostic| diagnostic.code == Code::VERIFY_EXPECTED)
}

/// Runs the model in every runtime. Where nothing says what a call must give, the evaluator does, if it is among them or
/// was asked to, else the first of several.
fn judged(
    arguments: &Arguments,
    host: &Host,
    runtimes: &[Runtime],
    against: &mut Against,
    options: &Options<'_>,
    outcome: &mut Outcome,
    progress: &Progress,
) -> Result<Vec<Verification>, Diagnostic> {
    let (model, limit) = (&arguments.model, arguments.runtime.deadline());
    let progress = &mut progress.clone();
    let asked = |id: &str| arguments.executors.iter().position(|known| known == id);
    let evaluates = arguments.reference.evaluates();
    let oracle = asked(EVALUATOR).or((runtimes.len() > 1 && !evaluates).then_some(0));
    let mut found: Vec<Option<Verification>> = runtimes.iter().map(|_| None).collect();
    let several = runtimes.len() > 1;
    // Of several executors, one that does not run the model does not keep others from it.
    let failed = |problem: Diagnostic, outcome: &mut Outcome| {
        if !several {
            return Err(problem);
        }
        outcome.fail(problem);
        Ok(())
    };
    let oracle = oracle.filter(|_| against.lacks_values());
    if oracle.is_none() && evaluates {
        let runtime = arguments.runtime.without_library().open(host, Some(EVALUATOR), plugins::restart)?;
        runtime::consult(&runtime, model, against, options, limit, progress)?;
    }
    let mut order: Vec<usize> = (0..runtimes.len()).collect();
    order.sort_by_key(|at| Some(*at) != oracle);
    for at in order {
        let (Some(runtime), Some(slot)) = (runtimes.get(at), found.get_mut(at)) else { continue };
        let ran = if Some(at) == oracle {
            runtime::consult(runtime, model, against, options, limit, progress)
        } else {
            runtime::execute(runtime, model, against, options, limit, progress)
        };
        match ran {
            Ok(verification) => *slot = Some(verification),
            Err(problem) => failed(problem, outcome)?,
        }
    }
    Ok(found.into_iter().flatten().collect())
}

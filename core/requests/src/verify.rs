//! Verifying a model: it is run, and its results are compared.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::backend::check_compiled;
use onnxport_core::bisect::{Found, Options as SearchOptions, Reference, bisect as search};
use onnxport_core::diagnose::{Code, Diagnostic, Report};
use onnxport_core::taps::Recorded;
use onnxport_core::tensor::LazyTensor;
use onnxport_core::verify::{Against, Chosen, Drawing, InProcess, Options, Runtime, Signature, Verification};
use onnxport_core::{Conversion, Host, IN_MEMORY};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::object::needs;
use crate::profiling::Profiling;
use crate::progress::Progress;
use crate::reference::Referring;
use crate::runtime::{RuntimeOptions, consult, execute};
use crate::value::{ByteSize, Draw, NameValue, Tolerance};

/// The evaluator's plugin.
const EVALUATOR: &str = "reference";

/// Runs a model and compares its results with those of PyTorch.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct VerifyRequest {
    /// The ONNX model
    pub model: PathBuf,
    /// The program that the model was converted from, or the expected values recorded beside it; without one, compare
    /// the executors with each other on random inputs
    #[arg(long, value_name = "PT2|SAFETENSORS")]
    pub against: Option<PathBuf>,
    /// A file with the inputs of the calls to run, by input name: .npz, .json, .safetensors or another weight file.
    /// With several calls per file, prefix each name with that of its call, as in first/x; can be repeated
    #[arg(long, value_name = "FILE")]
    pub inputs: Vec<PathBuf>,
    /// Generated calls.
    #[command(flatten)]
    #[serde(flatten)]
    pub drawing: Drawn,
    /// The source of expected values.
    #[command(flatten)]
    #[serde(flatten)]
    pub referring: Referring,
    /// A plugin to run the model: ort for ONNX Runtime, openvino for OpenVINO, reference for onnxport's own exact but
    /// slow evaluator, or a loaded plugin; can be repeated [default: the first available]
    #[arg(long, value_name = "PLUGIN")]
    pub executor: Vec<String>,
    /// The options of executors.
    #[command(flatten)]
    #[serde(flatten)]
    pub runtime: RuntimeOptions,
    /// How to choose tolerances for floating-point outputs: by element type, or by the numerical noise of the program,
    /// measured against float64
    #[arg(long, value_enum, value_name = "FROM", default_value_t)]
    pub tolerance: From,
    /// Override the relative tolerance for floating-point outputs
    #[arg(long, value_name = "NUMBER", conflicts_with = "tolerance")]
    pub rtol: Option<Tolerance>,
    /// Override the absolute tolerance for floating-point outputs
    #[arg(long, value_name = "NUMBER", conflicts_with = "tolerance")]
    pub atol: Option<Tolerance>,
    /// The plugin that compares outputs instead of onnxport. With --taps, a plugin that also runs the model compares
    /// intermediate values on its device, such as the GPU
    #[arg(long, value_name = "PLUGIN")]
    pub comparer: Option<String>,
    /// An option for the comparer, such as `device=1` or `memory=BYTES` for cuda-parity; can be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "comparer")]
    pub comparer_option: Vec<NameValue>,
    /// If the plugin cannot compare something, compare it without the plugin and warn instead of failing
    #[arg(long, requires = "comparer")]
    pub comparer_fallback: bool,
    /// Also compare intermediate values with recorded ones, with another executor's, or with those of onnxport's own
    /// evaluator; a report shows the error along the graph
    #[arg(long)]
    pub taps: bool,
    /// A record of the work.
    #[command(flatten)]
    #[serde(flatten)]
    pub profiling: Profiling,
}

/// Where tolerances come from.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// The element types
    #[default]
    Default,
    /// The numerical noise of the program
    Auto,
}

/// Generated calls.
#[derive(Args, Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[command(next_help_heading = "Generated calls")]
#[serde(default)]
pub struct Drawn {
    /// How to generate the values of an input: normal(MEAN,DEVIATION), uniform(LOW,HIGH), integers(LOW,HIGH), ones,
    /// arange or mask; can be repeated. For other inputs, the recorded values and the operators that read them suggest
    /// a rule
    #[arg(long, value_name = "INPUT=RULE")]
    pub draw: Vec<Draw>,
    /// Generate a call with random values from this seed
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Memory budget for all values of the program in the largest generated call
    #[arg(long, value_name = "SIZE", default_value_t = Self::default().max_memory)]
    pub max_memory: ByteSize,
}

impl Default for Drawn {
    fn default() -> Self {
        Self { draw: Vec::new(), seed: None, max_memory: ByteSize(64 << 20) }
    }
}

impl Drawn {
    /// Returns the options for generated calls; `besides` requests them even if calls were recorded.
    fn drawing(&self, besides: bool) -> Drawing {
        let Self { draw, seed, max_memory } = self;
        let by_rule = seed.is_some() || !draw.is_empty();
        Drawing {
            besides: besides || by_rule,
            extremes: Some(max_memory.0),
            seed: *seed,
            rules: draw.iter().map(|draw| (draw.input.clone(), draw.rule)).collect(),
        }
    }
}

/// A program in the memory of this process to compare a model with.
pub struct InMemory {
    /// The program, with the call whose inputs are known.
    pub conversion: Conversion,
    /// The function that runs it.
    pub runs: InProcess,
    /// Whether further calls are generated even if the options do not request them.
    pub draws: bool,
}

/// The results of a verification.
#[derive(Debug)]
pub struct Verified {
    /// The results of each executor, compared with the expected values.
    pub verifications: Vec<Verification>,
    /// The source file of the calls.
    pub source: PathBuf,
    /// The comparison of intermediate values, if requested.
    pub values: Option<Found>,
    /// Executors, of several, that did not run the model, executors that ran no call, and a trace that could not be
    /// written.
    pub failures: Vec<Diagnostic>,
    /// The file with the trace, if requested.
    pub profile: Option<PathBuf>,
    /// Notes on expected values.
    pub notes: Vec<Diagnostic>,
    /// The comparisons that a plugin refused, with the reasons.
    pub fallbacks: Vec<Diagnostic>,
}

impl Verified {
    /// Whether every executor ran the model with the expected results.
    pub fn passed(&self) -> bool {
        let agree = self.values.as_ref().is_none_or(|values| values.innermost().is_none());
        self.failures.is_empty() && agree && self.verifications.iter().all(Verification::passed)
    }
}

impl VerifyRequest {
    /// Creates a request that compares the model at `model` with the program at `against`.
    pub fn new(model: impl Into<PathBuf>, against: impl Into<PathBuf>) -> Self {
        Self { model: model.into(), against: Some(against.into()), ..Self::default() }
    }

    /// Does the work of [`run`](Request::run), and compares with a program in memory if one is given; environment
    /// variables about expected values are then ignored.
    ///
    /// # Errors
    /// A problem that prevents the command from running.
    pub fn run_against(
        &self,
        host: &Host,
        program: Option<&InMemory>,
        progress: &mut dyn Progress,
    ) -> Result<Verified, Report> {
        self.check()?;
        let request = match program {
            Some(_) => &Self { referring: self.referring.alone(), ..self.clone() },
            None => self,
        };
        let others: Vec<PathBuf> = std::iter::once(&self.model).chain(&self.against).cloned().collect();
        let work = || verify(request, host, program, progress);
        let (mut outcome, recorded) = self.profiling.record("verify", &others, work)?;
        outcome.profile = recorded.path;
        outcome.failures.extend(recorded.problems);
        Ok(outcome)
    }
}

impl Request for VerifyRequest {
    type Outcome = Verified;

    fn check(&self) -> Result<(), Diagnostic> {
        let given = [
            ("comparer_option", !self.comparer_option.is_empty()),
            ("comparer_fallback", self.comparer_fallback),
        ];
        needs("comparer", self.comparer.is_some(), &given)
    }

    fn run(&self, host: &Host, progress: &mut dyn Progress) -> Result<Verified, Report> {
        self.run_against(host, None, progress)
    }
}

fn verify(
    request: &VerifyRequest,
    host: &Host,
    program: Option<&InMemory>,
    progress: &mut dyn Progress,
) -> Result<Verified, Report> {
    if !request.model.is_file() {
        let message = format!("file not found: {}", request.model.display());
        return Err(Diagnostic::error(Code::READ_IO, message).into());
    }
    let signature = Signature::read(&request.model)?;
    let (mut against, source) = match program {
        Some(program) => calls_of(request, host, &signature, program)?,
        None => calls(request, host, &signature)?,
    };
    against.exact = request.tolerance == From::Auto;
    against.step(&signature);
    against.fit(&signature)?;
    check_compiled(host, &request.model)?;
    let runtimes = request.runtime.open_all(host, &request.executor, progress.restart())?;
    let comparer = comparer(request, host)?;
    let options = Options {
        rtol: request.rtol.map(|bound| bound.0),
        atol: request.atol.map(|bound| bound.0),
        comparer: comparer.as_ref(),
        measure: false,
        auto: request.tolerance == From::Auto,
    };
    let note = request.referring.refer(&mut against, request.runtime.limit(), progress)?;
    let mut failures = Vec::new();
    let mut verifications =
        judged(request, host, &runtimes, &mut against, &options, &mut failures, progress)?;
    if request.referring.measure_noise(&mut against, &verifications, request.runtime.limit(), progress)? {
        failures.clear();
        verifications = judged(request, host, &runtimes, &mut against, &options, &mut failures, progress)?;
    }
    // An executor that failed says more than another one that ran nothing.
    if failures.is_empty() {
        failures.extend(verifications.iter().filter_map(Verification::untried));
    }
    let given = against.first_call(&signature)?;
    let values = request.taps.then(|| inside(request, host, &runtimes, given, progress)).transpose()?;
    Ok(Verified {
        verifications,
        source,
        values,
        failures,
        profile: None,
        notes: note.into_iter().collect(),
        fallbacks: comparer.into_iter().flat_map(Chosen::reasons).collect(),
    })
}

/// Compares the intermediate values of the model with recorded ones, or, on the inputs `given`, with those of the
/// second executor or of the evaluator.
fn inside(
    request: &VerifyRequest,
    host: &Host,
    runtimes: &[Runtime],
    given: Vec<(String, LazyTensor)>,
    progress: &mut dyn Progress,
) -> Result<Found, Report> {
    let Some((first, others)) = runtimes.split_first() else {
        return Err(Diagnostic::error(Code::VERIFY_EXECUTOR, "there is no executor").into());
    };
    progress.stage("comparing the values");
    let _deadline = progress.deadline(request.runtime.deadline(), first.name(), "comparing the values")?;
    // If the comparer plugin also runs the model, intermediate values stay on its device.
    let in_place = request.comparer.as_deref() == Some(first.id());
    let mut options = SearchOptions { whole: true, in_place, ..SearchOptions::default() };
    let recording = request.against.as_deref().map(Recorded::beside).filter(|path| path.is_file());
    if let Some(recording) = &recording {
        let recorded = Reference::Recording { values: recording, program: None };
        return search(&request.model, first, &recorded, &options);
    }
    for (name, tensor) in given {
        options.given.insert(name, tensor);
    }
    if let Some(other) = others.first() {
        return search(&request.model, first, &Reference::Runtime(other), &options);
    }
    let evaluator = request.runtime.without_library().open(host, Some(EVALUATOR), progress.restart())?;
    search(&request.model, first, &Reference::Runtime(&evaluator), &options)
}

/// Opens the comparer plugin, if one is requested.
fn comparer(request: &VerifyRequest, host: &Host) -> Result<Option<Chosen>, Diagnostic> {
    let VerifyRequest { comparer, comparer_option, comparer_fallback, .. } = request;
    let options: Vec<(&str, &str)> =
        comparer_option.iter().map(|pair| (pair.name.as_str(), pair.value.as_str())).collect();
    let open = |id: &str| Chosen::open(host, id, &options, *comparer_fallback);
    comparer.as_deref().map(open).transpose()
}

/// The calls of a program in memory.
fn calls_of(
    request: &VerifyRequest,
    host: &Host,
    signature: &Signature,
    held: &InMemory,
) -> Result<(Against, PathBuf), Report> {
    if request.against.is_some() {
        let message = "the model is compared with the program in memory; a file cannot be given as well";
        return Err(Diagnostic::error(Code::USAGE, message).into());
    }
    let drawing = request.drawing.drawing(true);
    let drawing = Some(&drawing).filter(|drawing| held.draws || drawing.by_rule());
    let mut against = held.conversion.against(host, &signature.fixed, drawing)?;
    against.in_process = Some(held.runs.clone());
    if !request.inputs.is_empty() {
        against.give(&request.inputs, signature)?;
    }
    Ok((against, PathBuf::from(IN_MEMORY)))
}

/// Returns the calls, and their source.
fn calls(request: &VerifyRequest, host: &Host, signature: &Signature) -> Result<(Against, PathBuf), Report> {
    let is_referred = request.referring.draws() || request.referring.evaluates();
    let drawing = request.drawing.drawing(is_referred || request.executor.len() > 1);
    let inputs = &request.inputs;
    let (mut against, source) = match &request.against {
        Some(path) => match Against::open(path, &host.schemas, &signature.fixed, &drawing) {
            // A program without recorded calls is run on the given ones.
            Err(report) if !inputs.is_empty() && lacks_calls(&report) => {
                (Against { program: Some(path.clone()), ..Against::default() }, path.clone())
            }
            found => found?,
        },
        None if request.executor.len() < 2 && !request.referring.evaluates() => {
            let message = "there is nothing to compare the model with";
            let help = "give its program with --against, several executors, or --reference evaluator";
            return Err(Diagnostic::error(Code::USAGE, message).help(help).into());
        }
        None if inputs.is_empty() => (Against::of_model(&request.model, &drawing)?, request.model.clone()),
        None => (Against::default(), request.model.clone()),
    };
    if !inputs.is_empty() {
        against.give(inputs, signature)?;
    }
    Ok((against, source))
}

fn lacks_calls(report: &Report) -> bool {
    report.diagnostics.iter().all(|diagnostic| diagnostic.code == Code::VERIFY_EXPECTED)
}

/// Runs the model in every runtime. Without expected values, the reference is the evaluator, if it is among them or was
/// requested, else the first of several runtimes.
fn judged(
    request: &VerifyRequest,
    host: &Host,
    runtimes: &[Runtime],
    against: &mut Against,
    options: &Options<'_>,
    failures: &mut Vec<Diagnostic>,
    progress: &mut dyn Progress,
) -> Result<Vec<Verification>, Diagnostic> {
    let (model, limit) = (&request.model, request.runtime.deadline());
    let asked = |id: &str| request.executor.iter().position(|known| known == id);
    let evaluates = request.referring.evaluates();
    let oracle = asked(EVALUATOR).or((runtimes.len() > 1 && !evaluates).then_some(0));
    let mut found: Vec<Option<Verification>> = runtimes.iter().map(|_| None).collect();
    let several = runtimes.len() > 1;
    // Of several executors, one that fails to run the model does not stop the others.
    let failed = |problem: Diagnostic, failures: &mut Vec<Diagnostic>| {
        if !several {
            return Err(problem);
        }
        failures.push(problem);
        Ok(())
    };
    let oracle = oracle.filter(|_| against.lacks_values());
    if oracle.is_none() && evaluates {
        let runtime = request.runtime.without_library().open(host, Some(EVALUATOR), progress.restart())?;
        consult(&runtime, model, against, options, limit, progress)?;
    }
    let mut order: Vec<usize> = (0..runtimes.len()).collect();
    order.sort_by_key(|at| Some(*at) != oracle);
    for at in order {
        let (Some(runtime), Some(slot)) = (runtimes.get(at), found.get_mut(at)) else { continue };
        let ran = if Some(at) == oracle {
            consult(runtime, model, against, options, limit, progress)
        } else {
            execute(runtime, model, against, options, limit, progress)
        };
        match ran {
            Ok(verification) => *slot = Some(verification),
            Err(problem) => failed(problem, failures)?,
        }
    }
    Ok(found.into_iter().flatten().collect())
}

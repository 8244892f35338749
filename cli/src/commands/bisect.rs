//! `onnxport bisect`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use onnxport_core::bisect::modules;
use onnxport_core::bisect::passes::{self, Broken, Source, Steps};
use onnxport_core::bisect::{self, Fault, Found, Options, Reference, Wrong};
use onnxport_core::diagnose::{Code, Diagnostic, Report, Severity};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::lower::LowerOptions;
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::taps::{Recorded, Recording};
use onnxport_core::verify::{Executor, Runtime};
use onnxport_requests::Plugins;
use onnxport_requests::feeding::Feeding;
use onnxport_requests::optimizing::{self, Optimizing};
use onnxport_requests::runtime::Running;
use onnxport_requests::target::Targeting;

use super::diff;
use super::modules::ModuleArguments;
use super::reports::{Contents, ReportArguments};
use crate::deadline::Deadline;
use crate::format::{bad, bold, count, good, plain};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `bisect`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The ONNX model, or with --passes also an exported program; with --modules, an exported program
    model: PathBuf,
    /// What to compare the model with: a program with recorded intermediate values beside it, the recording itself,
    /// another ONNX model, or the plugin of another runtime
    #[arg(long, value_name = "PT2|SAFETENSORS|ONNX|PLUGIN", required_unless_present = "converts")]
    against: Option<PathBuf>,
    /// Run the program with PyTorch in the active Python and compare with its values instead of recorded ones. PyTorch
    /// may execute code from the file: use it only for files that you would load yourself
    #[arg(long, requires = "against", conflicts_with = "converts")]
    record: bool,
    /// Find the first rule, pass or legalization that changes the results
    #[arg(long, group = "converts", conflicts_with = "against")]
    passes: bool,
    /// The plugin that compares values; it must also run the model. Values stay on its device, such as the GPU with
    /// cuda-parity, and only the findings are copied back
    #[arg(long, value_name = "PLUGIN", requires = "against", conflicts_with = "converts")]
    comparer: Option<String>,
    #[command(flatten)]
    modules: ModuleArguments,
    /// Compare every value, including those after the first wrong node, and list them with --json; with --modules,
    /// compare all modules
    #[arg(long)]
    all: bool,
    /// The ONNX opset for --passes and --modules
    #[arg(long, default_value_t = DEFAULT_OPSET, requires = "converts")]
    opset: i64,
    /// The optimizer level for --passes: 0, 1, 2 or target; the default is that of convert
    #[arg(long, alias = "optimise", value_name = "LEVEL", value_parser = optimizing::levels(), requires = "passes")]
    optimize: Option<Level>,
    #[command(flatten)]
    targeting: Targeting,
    #[command(flatten)]
    feeding: Feeding,
    #[command(flatten)]
    reports: ReportArguments,
    #[command(flatten)]
    runtime: Running,
    #[command(flatten)]
    plugins: Plugins,
}

/// Finds the first wrong node, the first wrong step, or the wrong modules.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    if arguments.modules.modules {
        progress.stage("converting modules by themselves");
        let options = modules::Options {
            opset: arguments.opset,
            all: arguments.all,
            once: arguments.modules.once,
            plugins: arguments.plugins.plugin.clone(),
            options: further(arguments),
        };
        let limit = arguments.runtime.options.limit();
        return super::modules::run(&arguments.model, &options, limit, &arguments.reports, progress);
    }
    arguments.reports.check()?;
    let host = plugins::host(&arguments.plugins)?;
    plugins::prepare(&host, &arguments.runtime);
    let runtime = plugins::runtime(&host, &arguments.runtime)?;
    let in_place = in_place(arguments, &runtime)?;
    let options = Options { whole: arguments.all, in_place, ..arguments.feeding.options()? };
    progress.stage("comparing the values");
    let limit = arguments.runtime.options.limit();
    let _deadline = Deadline::start(limit, runtime.name(), "comparing the values")?;
    let Some(against) = arguments.against.as_ref().filter(|_| !arguments.passes) else {
        let recording = Some(Recorded::beside(&arguments.model)).filter(|path| path.is_file());
        let recorded = recording.as_deref().map(Recorded::open).transpose()?;
        let search =
            |source: &Source<'_>| passes::passes(&host, source, &runtime, recorded.as_ref(), &options);
        let named = Optimizing { optimize: arguments.optimize, ..Optimizing::default() };
        let level = named.level(arguments.targeting.names_runtime());
        let optimise =
            OptimiseOptions { target: arguments.targeting.options().target, ..optimizing::at(level) };
        let steps = if has_extension(&arguments.model, "onnx") {
            search(&Source::Model(&pipeline::import(&arguments.model)?, &optimise))?
        } else {
            let archive = pipeline::read(&arguments.model)?;
            let convert = ConvertOptions {
                lower: LowerOptions { opset: arguments.opset, ..LowerOptions::default() },
                legalise: arguments.targeting.options(),
                optimise,
                ..ConvertOptions::default()
            };
            search(&Source::Program(&archive.program, &convert))?
        };
        return Ok(describe_steps(&steps));
    };
    let model = arguments.model.as_path();
    let found = if has_extension(against, "onnx") {
        bisect::bisect(model, &runtime, &Reference::Model(against, &runtime), &options)?
    } else if has_extension(against, "safetensors") {
        bisect::bisect(model, &runtime, &Reference::Recording { values: against, program: None }, &options)?
    } else if has_extension(against, "pt2") {
        let recording = recording(against, arguments)?;
        let reference = Reference::Recording { values: recording.path(), program: Some(against) };
        bisect::bisect(model, &runtime, &reference, &options)?
    } else {
        let id = against.to_str().unwrap_or_default();
        let other = Executor::find(&host, Some(id))?.open(&[])?;
        bisect::bisect(model, &runtime, &Reference::Runtime(&other), &options)?
    };
    let mut outcome = describe(&found);
    let text = outcome.text.clone();
    let name = model.file_name().unwrap_or_default().to_string_lossy();
    let page = || onnxport_report::values(&name, &found);
    let contents = Contents { command: "bisect", text: &text, page: &page };
    let sources = [arguments.model.clone(), against.clone()];
    arguments.reports.write(&sources, &contents, &mut outcome)?;
    Ok(outcome)
}

/// Whether values are compared on their device.
fn in_place(arguments: &Arguments, runtime: &Runtime) -> Result<bool, Diagnostic> {
    match arguments.comparer.as_deref() {
        Some(id) if id != runtime.id() => {
            let message = format!("`{id}` cannot compare values while `{}` runs the model", runtime.id());
            let help = format!("add `--executor {id}`, or leave out `--comparer` to let onnxport compare");
            Err(Diagnostic::error(Code::USAGE, message).help(help))
        }
        comparer => Ok(comparer.is_some()),
    }
}

/// Returns the options for conversions of modules that other searches do not have.
fn further(arguments: &Arguments) -> serde_json::Map<String, serde_json::Value> {
    let mut options = plugins::further(&arguments.plugins);
    options.extend(arguments.targeting.name().map(|target| ("target".to_owned(), target.into())));
    options
}

/// Returns PyTorch's values of a program: the recording beside it, or one made on request.
fn recording(program: &Path, arguments: &Arguments) -> Result<Recording, Report> {
    if arguments.record {
        return Ok(Recording::make(program, arguments.feeding.seed, arguments.runtime.options.limit())?);
    }
    Recording::beside(program).ok_or_else(|| {
        let message = format!("no recorded intermediate values beside {}", program.display());
        let help = "record them with `--record`, or with `onnxport.save(program, path, intermediates=True)` in Python";
        Diagnostic::error(Code::VERIFY_EXPECTED, message).help(help).into()
    })
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// Describes the result of a search.
pub(super) fn describe(found: &Found) -> Outcome {
    let mut outcome = Outcome::ok();
    let mut text = String::new();
    // Writing to a String cannot fail.
    match found.innermost() {
        None if found.only_untapped.is_empty() => {
            let _ = writeln!(text, "{}  no divergence found", good("agree"));
        }
        None => {
            let names = found.only_untapped.join(", ");
            let message = format!("{names} diverge only in a run that returns nothing but the outputs");
            outcome.fail(
                Diagnostic::error(Code::VERIFY_DEPARTS, message)
                    .note("all values agree when the runtime returns every one of them, so one of its fusions is wrong")
                    .help("turn off the runtime's own optimizations, and report this to its developers"),
            );
        }
        Some((way, fault)) => {
            let _ = writeln!(text, "{}  {}", bad("first wrong"), diff::describe(&fault.row.place));
            if !way.is_empty() {
                let _ = writeln!(text, "    inside of {}", way.join(", "));
            }
            lines(&mut text, fault, found);
            outcome.fail(diagnostic(&way, fault, found));
        }
    }
    let all = found.values.rows.len();
    let _ = writeln!(
        text,
        "{}  {} in {} with {}{}",
        bold("compared"),
        count(all, "value"),
        count(found.values.rounds, "round"),
        found.values.reference,
        match found.values.without_counterpart {
            0 => String::new(),
            n => format!("; {} without counterpart", count(n, "value")),
        }
    );
    if !found.cleared.is_empty() {
        let _ = writeln!(
            text,
            "{}  {} only amplified rounding errors of their inputs or follow another order of equal keys",
            bold("cleared "),
            count(found.cleared.len(), "node")
        );
    }
    if !found.ties.is_empty() {
        let _ = writeln!(
            text,
            "{}  {} in another order of equal keys, or of an unsorted selection, which is right as well",
            bold("ties    "),
            count(found.ties.len(), "sort result")
        );
    }
    if let Some(why) = &found.values.not_in_place {
        let message = format!("the comparer compared no values: {why}");
        let warning =
            Diagnostic { severity: Severity::Warning, ..Diagnostic::error(Code::VERIFY_COMPARER, message) };
        outcome.report.diagnostics.push(warning.note("onnxport compared them itself"));
    }
    outcome.text = text;
    outcome.put("bisect", found);
    outcome
}

fn lines(text: &mut String, fault: &Fault, found: &Found) {
    let row = &fault.row;
    let types =
        if row.got == row.expected { row.got.clone() } else { format!("{}, not {}", row.got, row.expected) };
    let _ = writeln!(
        text,
        "    {} is {types}: relative error {:.2e}; inputs at most {:.2e}",
        plain(&row.value),
        row.error,
        row.error_of_inputs
    );
    if fault.nodes.len() > 1 {
        let _ = writeln!(text, "    one of {}:", count(fault.nodes.len(), "node"));
        for node in &fault.nodes {
            let _ = writeln!(text, "      {}", diff::describe(node));
        }
    }
    for read in &fault.reads {
        let off = read.error.map_or("not compared".to_owned(), |error| format!("relative error {error:.2e}"));
        let _ = writeln!(text, "    reads {}: {off}", plain(&read.value));
    }
    if let Some(alone) = &fault.alone {
        let _ = writeln!(
            text,
            "    alone, on the reference's inputs: relative error {:.2e}; rounding explains {:.2e}",
            alone.error, alone.allowed
        );
    }
    let _ = writeln!(text, "    {}", verdict(fault.wrong, found));
}

fn verdict(wrong: Wrong, found: &Found) -> String {
    // The location of a runtime's library is in --json only.
    let short = |text: &str| text.split(", ").next().unwrap_or_default().to_owned();
    let (ours, theirs) = (short(&found.values.model), short(&found.values.reference));
    match wrong {
        Wrong::Model => format!("the model is wrong: onnxport's evaluator agrees with {ours}"),
        Wrong::Executor => format!("{ours} is wrong: onnxport's evaluator agrees with {theirs}"),
        Wrong::Reference => format!("{theirs} is wrong: onnxport's evaluator agrees with {ours}"),
        Wrong::Unknown => "unknown which side is wrong: the evaluator agrees with neither".to_owned(),
    }
}

fn diagnostic(way: &[&str], fault: &Fault, found: &Found) -> Diagnostic {
    let place = &fault.row.place;
    let inside = if way.is_empty() { String::new() } else { format!(", inside of {}", way.join(", ")) };
    let message = format!("`{}` ({}) is the first node that diverges{inside}", place.node, place.operator);
    let help = match fault.wrong {
        Wrong::Model => {
            "check the lowering of this operator, or convert with --no-optimize; \
             `onnxport bisect --passes` finds a faulty rule"
        }
        Wrong::Executor | Wrong::Reference => {
            "report this node to the runtime's developers; another version, or turning off its own optimizations, \
             may help"
        }
        Wrong::Unknown => "compare with a third side: --against reference, ort or a recording",
    };
    let mut diagnostic = Diagnostic::error(Code::VERIFY_DEPARTS, message).help(help);
    if !place.module.is_empty() {
        diagnostic = diagnostic.note(format!("in the module `{}`", place.module));
    }
    if !place.source.is_empty() {
        diagnostic = diagnostic.note(format!("from {}", place.source));
    }
    diagnostic.note(verdict(fault.wrong, found))
}

fn describe_steps(steps: &Steps) -> Outcome {
    let mut outcome = Outcome::ok();
    let mut text = String::new();
    let patches =
        if steps.patches == 1 { "1 patch".to_owned() } else { format!("{} patches", steps.patches) };
    let runs = count(steps.runs, "run");
    let (name, help, nodes) = match &steps.broken {
        None => {
            let _ = writeln!(
                text,
                "{}  {patches} do not change the outputs: error {:.2e}, tolerance {:.2e}",
                good("agree"),
                steps.error,
                steps.allowed
            );
            outcome.text = text;
            outcome.put("passes", steps);
            return outcome;
        }
        Some(Broken::Patch { number, applied, nodes }) => {
            let name = format!("patch {number}, `{}` of plugin `{}`", applied.name, applied.plugin);
            (name, format!("--skip-rule {}", applied.name), nodes)
        }
        Some(Broken::Folding { nodes }) => {
            ("constant folding".to_owned(), "--fold-budget 0".to_owned(), nodes)
        }
        Some(Broken::Legalisation { target, nodes }) => {
            (format!("legalization for {target}"), "--target onnx".to_owned(), nodes)
        }
    };
    let _ = writeln!(text, "{}  {name}", bad("first wrong"));
    let _ = writeln!(
        text,
        "    output error {:.2e}, tolerance {:.2e}; {patches} in all, {runs} by {}",
        steps.error, steps.allowed, steps.executor
    );
    text.push_str(&diff::structure(nodes));
    outcome.text = text;
    outcome.put("passes", steps);
    let message = format!("{name} is the first step that changes the model's results");
    let help = format!("convert with `{help}` for now, and report this to the author of the step");
    outcome.fail(Diagnostic::error(Code::VERIFY_STEP, message).help(help));
    outcome
}

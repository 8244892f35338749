//! `onnxport run`.

use std::path::PathBuf;

use clap::Args;
use onnxport_core::run::{self, Draw, Number, Run, Sizes, Summary};
use onnxport_requests::Plugins;
use onnxport_requests::runtime::Running;

use super::given::{GivenArguments, parse_size};
use crate::deadline::Deadline;
use crate::format::{bold, duration, plain, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The ONNX model
    model: PathBuf,
    #[command(flatten)]
    given: GivenArguments,
    /// Draw the inputs that are not given: floats between -1 and 1, integers and truth values 0 or 1
    #[arg(long)]
    random: bool,
    /// What drawn values depend on
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "random")]
    seed: u64,
    /// The size of a dynamic dimension of drawn inputs, by its name or its place, such as batch=2 or x:0=2
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = parse_size, requires = "random")]
    sizes: Vec<(String, i64)>,
    /// Write the outputs to this file, .safetensors
    #[arg(short, long, value_name = "SAFETENSORS")]
    output: Option<PathBuf>,
    #[command(flatten)]
    runtime: Running,
    #[command(flatten)]
    plugins: Plugins,
}

/// Runs a model once, shows what comes out, and writes it.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let host = plugins::host(&arguments.plugins)?;
    plugins::prepare(&host, &arguments.runtime);
    progress.stage("reading the inputs");
    let given = arguments.given.read()?;
    let sizes: Sizes = arguments.sizes.iter().cloned().collect();
    let draw = arguments.random.then_some(Draw { seed: arguments.seed });
    let runtime = plugins::runtime(&host, &arguments.runtime)?;
    progress.stage("running the model");
    let deadline =
        Deadline::start(arguments.runtime.options.deadline(), runtime.name(), "running the model")?;
    let ran = run::run(&runtime, &arguments.model, &given, &sizes, draw)?;
    drop(deadline);
    let mut outcome = Outcome::text(text(&ran)).with("run", &ran);
    if let Some(path) = &arguments.output {
        let mut sources = given.files().to_vec();
        sources.push(arguments.model.clone());
        ran.save(path, &sources)?;
        outcome.summary = format!("{}  {}\n", bold("wrote"), path.display());
        outcome.put("files", [path.display().to_string()]);
    }
    Ok(outcome)
}

fn text(ran: &Run) -> String {
    let head = ["", "type", "min", "max", "mean", "NaN"].map(str::to_owned).to_vec();
    let rows = |all: &[Summary]| {
        let rows: Vec<Vec<String>> = std::iter::once(head.clone()).chain(all.iter().map(row)).collect();
        table(&rows)
    };
    let time = duration(std::time::Duration::from_secs_f64(ran.seconds.max(0.0)));
    format!(
        "{}\n{}{}\n{}{}  {time} by {}\n",
        bold("inputs"),
        rows(&ran.inputs),
        bold("outputs"),
        rows(&ran.outputs),
        bold("ran"),
        ran.executor
    )
}

fn row(tensor: &Summary) -> Vec<String> {
    let number = |number: Option<Number>| match number {
        None => "-".to_owned(),
        Some(Number::Int(n)) => n.to_string(),
        Some(Number::Float(x)) if x == 0.0 || (1e-3..1e6).contains(&x.abs()) => format!("{x:.6}"),
        Some(Number::Float(x)) => format!("{x:.6e}"),
    };
    let ty = format!("{}{:?}", tensor.dtype, tensor.shape);
    let numbers = [tensor.min, tensor.max, tensor.mean].map(number);
    let nan = tensor.nan.to_string();
    [plain(&tensor.name), ty].into_iter().chain(numbers).chain([nan]).collect()
}

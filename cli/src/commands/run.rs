//! `onnxport run`.

use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_core::run::{Number, Run, Summary};
use onnxport_requests::{Hosted, Ran, Request, RunRequest};

use crate::format::{bold, duration, plain, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Runs a model once, and shows the results.
pub(crate) fn run(arguments: &Hosted<RunRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let host = plugins::host(plugins)?;
    plugins::prepare(&host, &request.running);
    let Ran { run, written } = request.run(&host, &mut progress.clone())?;
    let mut outcome = Outcome::text(text(&run)).with("run", &run);
    if let Some(shapes) = &run.chosen_sizes {
        let message = format!("`{}` ran with randomly chosen sizes: {shapes}", request.model.display());
        let note = Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::RUN_INPUT, message) };
        outcome.report.diagnostics.push(note.help("set them with --dim NAME=SIZE"));
    }
    if let Some(path) = written {
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

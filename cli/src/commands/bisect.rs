//! `onnxport bisect`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::bisect::passes::{Broken, Steps};
use onnxport_core::bisect::{Fault, Found, Wrong};
use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_requests::{BisectRequest, Bisected, Hosted};
use schemars::JsonSchema;
use serde::Deserialize;

use super::reports::{Contents, ReportArguments};
use super::{diff, modules};
use crate::format::{bad, bold, count, good, plain};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `bisect`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<BisectRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Finds the first wrong node, the first wrong step, or the wrong modules.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, plugins }, reports } = arguments;
    reports.check()?;
    // The Python package converts modules, with plugins of its own.
    let host = if request.separating.modules { Host::new(&[])? } else { plugins::host(plugins)? };
    if !request.separating.modules {
        plugins::prepare(&host, &request.running);
    }
    let found = request.run_with(&host, plugins, &mut progress.clone())?;
    let name = request.model.file_name().unwrap_or_default().to_string_lossy();
    let (mut outcome, page): (Outcome, Box<dyn Fn() -> String>) = match &found {
        Bisected::Node(found) => (describe(found), Box::new(|| onnxport_report::values(&name, found))),
        Bisected::Step(steps) => return Ok(describe_steps(steps)),
        Bisected::Modules(found) => {
            (modules::describe(found), Box::new(|| onnxport_report::modules(&name, found)))
        }
    };
    let text = outcome.text.clone();
    let contents = Contents { command: "bisect", text: &text, page: &page };
    let sources: Vec<PathBuf> = std::iter::once(&request.model).chain(&request.against).cloned().collect();
    reports.write(&sources, &contents, &mut outcome)?;
    Ok(outcome)
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

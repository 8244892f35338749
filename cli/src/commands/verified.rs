//! The results of running a model on calls, as text.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use onnxport_core::verify::{CaseReport, Judged, Source, Verification};
use onnxport_requests::verifying::is_judged;

use crate::exit::Exit;
use crate::format::{bad, bold, count, duration, faint, good, plain, table};
use crate::outcome::Outcome;

/// Adds the verdicts of several executors: their differences are a table of executors and cases.
pub(crate) fn describe_all(found: &[Verification], source: &Path, outcome: &mut Outcome) {
    for verification in found {
        describe(verification, source, outcome);
    }
    if found.len() > 1 {
        outcome.summary.push_str(&compared_executors(found));
        // The first one takes the place of the single one.
        outcome.put("verification", found.first());
        outcome.put("verified", found.iter().all(is_verified));
        outcome.put("executors", found);
    }
}

fn compared_executors(found: &[Verification]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for case in found.iter().flat_map(|verification| &verification.cases) {
        if !names.contains(&case.name.as_str()) {
            names.push(&case.name);
        }
    }
    let head = found.iter().map(|verification| plain(short(&verification.executor)));
    let mut rows = vec![std::iter::once(bold("case")).chain(head).collect::<Vec<String>>()];
    for name in names {
        let cells = found.iter().map(|verification| {
            let case = verification.cases.iter().find(|case| case.name == name);
            case.map_or_else(|| faint("none"), cell)
        });
        rows.push(std::iter::once(plain(name)).chain(cells).collect());
    }
    table(&rows)
}

/// Returns the name and the version of an executor, without its location.
fn short(executor: &str) -> &str {
    executor.split_once(", ").map_or(executor, |(name, _)| name)
}

/// Returns the verdict on a case, and the largest error of its outputs.
fn cell(case: &CaseReport) -> String {
    let off = case.outputs.iter().filter_map(|output| output.difference.as_ref()).map(|d| d.max_abs);
    match off.reduce(f64::max) {
        Some(off) => format!("{} {off:.2e}", mark(case)),
        None => mark(case),
    }
}

/// Adds a verification to an outcome, with its diagnostics.
pub(crate) fn describe(verification: &Verification, source: &Path, outcome: &mut Outcome) {
    show(verification, source, outcome);
    outcome.report.diagnostics.extend(verification.diagnostics());
}

/// Adds a verification to an outcome, without its diagnostics.
pub(crate) fn show(verification: &Verification, source: &Path, outcome: &mut Outcome) {
    let passed = verification.passed();
    let mut text = String::new();
    let judged = is_judged(verification);
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
            "          results differ by one quantization step, {step:.2e}, which integer kernels may round differently"
        );
    }
    // Mentioned for each case unless it holds for all.
    let is_one = verification.cases.windows(2).all(|pair| match pair {
        [a, b] => a.expected == b.expected,
        _ => true,
    });
    for case in &verification.cases {
        let from = if is_one { String::new() } else { faint(&format!("  {}", from(case))) };
        let _ = writeln!(text, "  {}{from}", case_line(case));
    }
    for line in remarks(verification) {
        let _ = writeln!(text, "          {line}");
    }
    outcome.summary.push_str(&text);
    outcome.put("verified", passed && judged);
    outcome.put("verification", verification);
    outcome.put("against", source.display().to_string());
    if !passed {
        outcome.exit = outcome.exit.max(Exit::Mismatch);
    }
}

fn is_verified(verification: &Verification) -> bool {
    verification.passed() && is_judged(verification)
}

/// Returns remarks on the values of outputs, each once with its cases.
fn remarks(verification: &Verification) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for case in &verification.cases {
        for output in &case.outputs {
            for remark in &output.remarks {
                let text = format!("{}: {remark}", plain(&output.tensor.name));
                match said.iter_mut().find(|(known, _)| *known == text) {
                    Some((_, cases)) => cases.push(&case.name),
                    None => said.push((text, vec![&case.name])),
                }
            }
        }
    }
    said.into_iter().map(|(text, cases)| format!("{text} ({})", cases.join(", "))).collect()
}

/// Describes the reference of the outputs, and their errors.
fn compared(verification: &Verification, source: &Path) -> String {
    let source = source.display();
    let is_recorded = verification.cases.iter().any(|case| case.expected == Source::Recorded);
    let against = match &verification.torch {
        Some(torch) if is_recorded => format!("{source} and {torch}"),
        Some(torch) => torch.clone(),
        None if verification.cases.iter().any(|case| case.expected == Source::Executor) => {
            verification.oracle.clone().unwrap_or_default()
        }
        None => source.to_string(),
    };
    let (max_abs, max_rel) = (verification.max_abs(), verification.max_rel());
    if verification.values_compared && verification.measured {
        let cosine = verification.min_cosine();
        format!(
            "max abs {max_abs:.2e}, cosine {cosine:.6} against {against}: reported only, since weights were changed"
        )
    } else if verification.values_compared {
        let times = match floors(verification) {
            Some(times) => format!(", {times:.1} times the numerical noise"),
            None if verification.tolerance == Judged::Auto => ", numerical noise unknown".to_owned(),
            None => String::new(),
        };
        format!("max abs {max_abs:.2e}, max rel {max_rel:.2e}{times} against {against}")
    } else if verification.oracle.as_ref() == Some(&verification.executor) {
        "its outputs are the expected values for the other executors".to_owned()
    } else if verification.random() {
        "the program uses random numbers: checked element types and shapes, not values".to_owned()
    } else if verification.cases.iter().any(|case| case.not_applicable.is_some()) {
        format!(
            "{source} has no recorded values at the model's sizes: checked element types and shapes, not values"
        )
    } else if verification.made {
        format!(
            "{source} has no usable recorded inputs, so random ones were used: checked element types and shapes only"
        )
    } else {
        format!("{source} has no expected values: checked element types and shapes, not values")
    }
}

/// Describes the source of a case's expected values.
fn from(case: &CaseReport) -> &'static str {
    match case.expected {
        Source::Recorded => "recorded values",
        Source::Torch => "values of PyTorch",
        Source::Executor => "values of another executor",
        Source::Nothing => "no values",
    }
}

fn case_line(case: &CaseReport) -> String {
    let inputs: Vec<String> = case.inputs.iter().map(|t| format!("{}{:?}", t.name, t.shape)).collect();
    let mut inputs = inputs.join(" ");
    if inputs.chars().count() > 72 {
        inputs = inputs.chars().take(69).chain("...".chars()).collect();
    }
    format!("{} {:<8} {}", mark(case), case.name, faint(&inputs))
}

fn mark(case: &CaseReport) -> String {
    match (case.passed(), case.not_tried() || case.not_applicable.is_some()) {
        (_, true) => faint("none"),
        (true, _) => good("ok  "),
        (false, false) => bad("FAIL"),
    }
}

/// Returns the largest ratio of an output's error to the noise of its computation, if that is known.
fn floors(verification: &Verification) -> Option<f64> {
    let outputs = verification.cases.iter().flat_map(|case| &case.outputs);
    let times = outputs.filter_map(|output| {
        let noise = output.floor.as_ref()?.noise;
        let off = output.difference.as_ref()?.max_abs;
        Some(if off == 0.0 { 0.0 } else { off / noise })
    });
    times.reduce(f64::max)
}

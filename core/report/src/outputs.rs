//! The outputs of a model in every call, and the calls.

use maud::{Markup, html};
use onnxport_core::compare::{Difference, decade_edges};
use onnxport_core::verify::{CaseReport, OutputReport, Source, TensorReport, Verification};

use crate::chart::{Bar, bars};
use crate::page::{Section, Verdict};
use crate::short;

/// How verifications ended, in a word and in words.
pub(crate) fn verdict(found: &[Verification]) -> (Verdict, String) {
    let (mut calls, mut wrong) = (0, 0);
    for case in found.iter().flat_map(|one| &one.cases) {
        if case.not_applicable.is_none() && !case.not_tried() {
            calls += 1;
            wrong += usize::from(!case.passed());
        }
    }
    if found.is_empty() || !found.iter().all(Verification::passed) {
        return (Verdict::Failed, format!("{wrong} of {calls} calls differ from the expected values"));
    }
    if !found.iter().any(Verification::says_something) {
        return (Verdict::Open, format!("{calls} calls run; there were no values to compare them with"));
    }
    (Verdict::Passed, format!("{calls} calls agree with the expected values"))
}

/// One row for each output of each call.
pub(crate) fn table(found: &[Verification]) -> Markup {
    let cases = || found.iter().flat_map(|one| one.cases.iter().map(move |case| (one, case)));
    let rows = || cases().flat_map(|(one, case)| case.outputs.iter().map(move |output| (one, case, output)));
    let several = found.len() > 1;
    if rows().next().is_none() {
        return html! { p.empty { "No call gave any outputs." } };
    }
    html! {
        div.scroll { table {
            thead { tr {
                th { "" } @if several { th { "Run by" } } th { "Call" } th { "Output" } th.number { "Largest difference" } th.number { "Relative" }
                th.number { "Cosine" } th.number { "Wrong" } th { "Differences by power of ten" }
            } }
            tbody { @for (one, case, output) in rows() {
                (row(several.then_some(one.executor.as_str()), case, output))
            } }
        } }
        p.note {
            "Heights are logarithmic. The first bar counts equal elements; bars in the other colour are beyond the "
            "absolute tolerance, where a relative one may still allow them. What is NaN or infinite on one side only "
            "is the last bar."
        }
    }
}

fn row(executor: Option<&str>, case: &CaseReport, output: &OutputReport) -> Markup {
    let wrong = output.problem.is_some();
    let (class, word) = match (&output.difference, wrong) {
        (_, true) => ("bad", "wrong"),
        (Some(_), false) => ("good", "agrees"),
        (None, false) => ("open", "ran"),
    };
    html! {
        tr.wrong[wrong] {
            td.state.(class) { (word) }
            @if let Some(executor) = executor { td { (short(executor)) } }
            td { (case.name) }
            td {
                (tensor(&output.tensor))
                @if let Some(state) = &output.state { " " span.note { "state " (state) } }
                @if let Some(problem) = &output.problem { br; span.note { (problem) } }
                @for remark in &output.remarks { br; span.note { (remark) } }
            }
            @match &output.difference {
                Some(difference) => (numbers(&output.tensor.name, difference)),
                None => { td.number colspan="5" { span.note { "no expected values" } } }
            }
        }
    }
}

fn numbers(name: &str, difference: &Difference) -> Markup {
    html! {
        td.number { (format!("{:.2e}", difference.max_abs)) }
        td.number { (format!("{:.2e}", difference.max_rel)) }
        td.number { (format!("{:.7}", difference.cosine)) }
        td.number { (difference.wrong) " of " (difference.elements) }
        td {
            @match &difference.spread {
                Some(spread) => {
                    (bars(
                        &histogram(&spread.decades, spread.nan.saturating_add(spread.infinite), difference.allowed.atol),
                        &format!("differences of {name}"),
                    ))
                }
                None => span.note { "not known" },
            }
        }
    }
}

/// The buckets of a spread between the first and the last that hold anything, and of equal and lost values: NaN or
/// infinite on one side. Buckets beyond `atol` are wrong.
pub(crate) fn histogram(decades: &[u64], lost: u64, atol: f64) -> Vec<Bar> {
    let edges: Vec<f64> = decade_edges().collect();
    let bar = |at: usize, count: u64| {
        let low = at.checked_sub(2).and_then(|below| edges.get(below)).copied();
        let high = at.checked_sub(1).and_then(|above| edges.get(above)).copied();
        let label = match (low, high) {
            (Some(low), Some(high)) => format!("{low:e} to {high:e}"),
            (Some(low), None) => format!("{low:e} and more"),
            (None, Some(high)) => format!("below {high:e}"),
            (None, None) => "equal".to_owned(),
        };
        let is_wrong = at > 0 && low.unwrap_or(0.0) >= atol;
        Bar { label, count, is_wrong }
    };
    let filled = |count: &u64| *count > 0;
    let rest = decades.get(1..).unwrap_or_default();
    let first = rest.iter().position(filled).unwrap_or(0);
    let last = rest.iter().rposition(filled).map_or(0, |at| at + 1);
    let mut found = vec![bar(0, decades.first().copied().unwrap_or(0))];
    found.extend(rest.iter().enumerate().take(last).skip(first).map(|(at, count)| bar(at + 1, *count)));
    if lost > 0 {
        found.push(Bar { label: "NaN or infinite on one side".to_owned(), count: lost, is_wrong: true });
    }
    found
}

/// The inputs, and the source of expected values.
pub(crate) fn calls(found: &[Verification]) -> Markup {
    let several = found.len() > 1;
    let cases = || found.iter().flat_map(|one| one.cases.iter().map(move |case| (one, case)));
    html! {
        div.scroll { table {
            thead { tr { @if several { th { "Run by" } } th { "Call" } th { "Inputs" } th { "Expected values" } th { "Outcome" } } }
            tbody { @for (one, case) in cases() { tr {
                @if several { td { (short(&one.executor)) } }
                td { (case.name) @if case.drawn { " " span.note { "drawn" } } }
                td { @for input in &case.inputs { (tensor(input)) br; } }
                td { (source(case)) }
                td { (outcome(case)) }
            } } }
        } }
    }
}

fn source(case: &CaseReport) -> &'static str {
    match case.expected {
        _ if case.random => "types and shapes: the program draws random numbers",
        Source::Nothing => "none: types and shapes",
        Source::Recorded => "recorded beside the program",
        Source::Torch => "PyTorch",
        Source::Executor => "another executor",
    }
}

fn outcome(case: &CaseReport) -> Markup {
    html! {
        @if let Some(why) = &case.not_applicable {
            "not applicable: " (why)
        } @else if let Some(why) = &case.refused {
            "the program refuses it: " (why)
        } @else if let Some(why) = &case.error {
            (why)
        } @else if case.passed() {
            "ran"
        } @else {
            "ran, with wrong outputs"
        }
    }
}

/// The branches that no call entered.
pub(crate) fn branches(found: &[Verification]) -> Option<Section> {
    // Every executor runs the same calls.
    let not_entered = found.first().map(|one| &one.not_entered).filter(|branches| !branches.is_empty())?;
    let body = html! {
        ul { @for branch in not_entered { li {
            code { (branch.name) }
            @if !branch.place.is_empty() { " " span.note { (branch.place) } }
            @if let Some(when) = &branch.when { ": the branch for a condition that is " (when) }
        } } }
    };
    Some(Section { id: "branches", title: "Branches that no call entered".to_owned(), body })
}

fn tensor(tensor: &TensorReport) -> Markup {
    html! { code { (tensor.name) } " " span.note { (tensor.dtype) (format!("{:?}", tensor.shape)) } }
}

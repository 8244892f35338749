//! The values inside of a model, in the order in which it computes them.

use maud::{Markup, html};
use onnxport_core::bisect::Found;
use onnxport_core::taps::{GROWTH, Row, Verdict};

use crate::chart::{Point, Points, State};
use crate::page::Section;
use crate::short;

/// The prefix of the row ids of the table.
const ROWS: &str = "value";

/// How many values depart.
pub(crate) fn departures(found: &Found) -> usize {
    found.values.rows.iter().filter(|row| said(row, found) == Judgement::Departs).count()
}

/// The verdict of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Judgement {
    Agrees,
    /// Its error is explained by the errors of its node's inputs.
    HandedOn,
    /// It departs, and its node computed alone agrees.
    PassedOn,
    Departs,
    NotJudged,
}

fn said(row: &Row, found: &Found) -> Judgement {
    match row.verdict {
        Verdict::Agrees if row.error > row.allowed - GROWTH * row.error_of_inputs => Judgement::HandedOn,
        Verdict::Agrees => Judgement::Agrees,
        Verdict::Departs if found.cleared.contains(&row.value) || found.ties.contains(&row.value) => {
            Judgement::PassedOn
        }
        Verdict::Departs => Judgement::Departs,
        Verdict::NotJudged(_) => Judgement::NotJudged,
    }
}

impl Judgement {
    fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::HandedOn | Self::PassedOn => "handed on",
            Self::Departs => "departs",
            Self::NotJudged => "not judged",
        }
    }

    fn state(self) -> State {
        match self {
            Self::Agrees | Self::HandedOn | Self::PassedOn => State::Good,
            Self::Departs => State::Wrong,
            Self::NotJudged => State::Unknown,
        }
    }
}

/// The error along the graph, as a picture and as a table.
pub(crate) fn section(found: &Found) -> Section {
    let rows = || found.values.rows.iter().map(|row| (row, said(row, found)));
    let picture = Points {
        values: "error, relative to the largest expected magnitude".to_owned(),
        order: "nodes, in the order of the model".to_owned(),
        limit: None,
        points: rows().map(|(row, said)| point(row, said)).collect(),
        keys: ["explained by rounding and by the node's inputs", "departs", "not compared"]
            .map(str::to_owned),
        rows: ROWS.to_owned(),
    };
    let body = html! {
        p {
            "Values of " (short(&found.values.model)) " beside those of " (short(&found.values.reference)) ". A value diverges if its error is "
            "larger than rounding and the errors of the node's inputs explain. Other errors were only propagated."
        }
        (picture.draw())
        (filter("values"))
        div.scroll { table #values {
            thead { tr {
                th { "" } th { "Value" } th { "Operator" } th { "Module and line" }
                th.number { "Error" } th.number { "Of its inputs" } th.number { "Allowed" }
            } }
            tbody { @for (at, (row, said)) in rows().enumerate() { (line(at, row, said)) } }
        } }
    };
    Section { id: "along", title: "Error along the graph".to_owned(), body }
}

/// The search field of the table `id`.
fn filter(id: &str) -> Markup {
    html! {
        div.filter data-table=(id) {
            input type="search" placeholder="operator, module, file" aria-label="Search the table";
            label { input type="checkbox"; " only diverging values" }
        }
    }
}

fn point(row: &Row, said: Judgement) -> Point {
    let judged = !matches!(row.verdict, Verdict::NotJudged(_));
    let parts = [row.place.operator.as_str(), &row.value, &row.place.module, &row.place.source];
    let place = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    let about = match &row.verdict {
        Verdict::NotJudged(why) => format!("{place} · {why}"),
        _ => format!("{place} · {:.2e}", row.error),
    };
    Point { value: judged.then_some(row.error), state: said.state(), about }
}

fn line(at: usize, row: &Row, said: Judgement) -> Markup {
    let state = said.state();
    html! {
        tr #{ (ROWS) "-" (at) } .wrong[said == Judgement::Departs] {
            td.state.(state.class()) { (said.word()) }
            td {
                code { (row.value) } " " span.note { (row.got) }
                @if row.expected != row.got { " " span.note { "expected " (row.expected) } }
                @if let Verdict::NotJudged(why) = &row.verdict { br; span.note { (why) } }
            }
            td { (row.place.operator) }
            td {
                @if !row.place.module.is_empty() { code { (row.place.module) } br; }
                span.note { (row.place.source) }
            }
            td.number { (format!("{:.2e}", row.error)) }
            td.number { (format!("{:.2e}", row.error_of_inputs)) }
            td.number { (format!("{:.2e}", row.allowed)) }
        }
    }
}

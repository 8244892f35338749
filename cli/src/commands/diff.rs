//! `onnxport diff`.

use std::fmt::Write;

use onnxport_core::Host;
use onnxport_core::diff::{Change, Diff, NodeSite};
use onnxport_core::taps::{Report, Verdict};
use onnxport_requests::{DiffRequest, Differences, Hosted, Request};

use crate::exit::Exit;
use crate::format::{bad, bold, count, faint, good, plain};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// The number of lines shown of each kind; JSON has all.
const SHOWN: usize = 40;

/// Lists the differences between two models.
pub(crate) fn run(arguments: &Hosted<DiffRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    // Graphs are compared without any plugin.
    let host = if request.values { plugins::host(plugins)? } else { Host::new(&[])? };
    if request.values {
        plugins::prepare(&host, &request.running);
    }
    let found = request.run(&host, &mut progress.clone())?;
    let differs = !found.is_empty();
    let Differences { diff, values } = found;
    let mut outcome = Outcome::text(structure(&diff)).with("diff", &diff).with("same", diff.is_empty());
    if let Some(values) = &values {
        outcome.text.push_str(&numbers(values));
        outcome.put("values", values);
    }
    if differs && request.exit_code {
        outcome.exit = Exit::Mismatch;
    }
    Ok(outcome)
}

/// Formats the differences as lines.
pub(crate) fn structure(found: &Diff) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if found.is_empty() {
        let _ = writeln!(text, "{}  {} are the same", good("same"), count(found.same, "node"));
        return text;
    }
    let counts = [
        count(found.same, "node") + " the same",
        format!("{} changed", found.changed.len()),
        format!("{} removed", found.removed.len()),
        format!("{} added", found.added.len()),
    ];
    let _ = writeln!(text, "{}  {}", bold("differ"), counts.join(", "));
    for change in &found.declared {
        line(&mut text, change);
    }
    for pair in found.changed.iter().take(SHOWN) {
        let _ = writeln!(text, "{} {}", bold("~"), describe(&pair.after));
        pair.changes.iter().for_each(|change| line(&mut text, change));
    }
    more(&mut text, found.changed.len(), "changed node");
    for (sign, nodes) in [(bad("-"), &found.removed), (good("+"), &found.added)] {
        for node in nodes.iter().take(SHOWN) {
            let _ = writeln!(text, "{sign} {}", describe(node));
        }
        more(&mut text, nodes.len(), "node");
    }
    for change in found.weights.iter().take(SHOWN) {
        line(&mut text, change);
    }
    more(&mut text, found.weights.len(), "weight");
    text
}

fn more(text: &mut String, all: usize, noun: &str) {
    if all > SHOWN {
        let _ = writeln!(text, "  and {} more; --json lists all", count(all - SHOWN, noun));
    }
}

fn line(text: &mut String, change: &Change) {
    let side = |side: &str| if side.is_empty() { faint("nothing") } else { plain(side) };
    let _ =
        writeln!(text, "    {}: {} -> {}", plain(&change.what), side(&change.before), side(&change.after));
}

/// A node in a line.
pub(crate) fn describe(place: &NodeSite) -> String {
    let module =
        if place.module.is_empty() { String::new() } else { format!(" in {}", plain(&place.module)) };
    let source =
        if place.source.is_empty() { String::new() } else { format!(" at {}", plain(&place.source)) };
    format!("{} ({}){}", plain(&place.node), plain(&place.operator), faint(&format!("{module}{source}")))
}

/// Formats the differences of values as lines.
fn numbers(values: &Report) -> String {
    let mut text = String::new();
    let departing: Vec<_> = values.rows.iter().filter(|row| row.verdict == Verdict::Departs).collect();
    let worst = values.rows.iter().map(|row| row.error).fold(0.0, f64::max);
    let _ = writeln!(
        text,
        "{}  {} compared by {}: relative error at most {worst:.2e}, {} without counterpart",
        bold("values"),
        count(values.rows.len(), "value"),
        plain(&values.model),
        values.without_counterpart
    );
    for row in departing.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "    {} {}: relative error {:.2e}, inputs {:.2e}  {}",
            plain(&row.value),
            plain(&row.got),
            row.error,
            row.error_of_inputs,
            describe(&row.place)
        );
    }
    more(&mut text, departing.len(), "value");
    text
}

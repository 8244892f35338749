//! The record of the optimizer, as text.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use onnxport_core::optimise::{Matched, Optimised, Outcome as Became, With};
use onnxport_requests::optimizing::Optimizing;

use crate::format::{bold, bytes, count, faint, table};
use crate::outcome::Outcome;

/// Adds the record to `outcome`, if there is one, and writes matches to the user's folder, below `part`.
pub(crate) fn describe(options: &Optimizing, done: &Optimised, part: &str, outcome: &mut Outcome) {
    if done.is_none() {
        return;
    }
    dump(options, done, part, outcome);
    show(options, done, outcome);
}

/// Adds the record to `outcome`, if there is one.
pub(crate) fn show(options: &Optimizing, done: &Optimised, outcome: &mut Outcome) {
    if done.is_none() {
        return;
    }
    outcome.put("optimised", done);
    let counts: Vec<String> =
        done.counts.iter().map(|c| format!("{} {} ({})", c.name, c.applied, c.plugin)).collect();
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let stopped = if done.stopped { ", stopped" } else { "" };
    let cleaned = [
        (done.inlined, "call", "inlined"),
        (done.layouts, "node", "converted to another layout"),
        (done.folded, "node", "folded"),
        (done.merged, "node", "merged"),
        (done.decided, "node", "decided"),
        (done.outlined, "part", "outlined"),
    ];
    let cleaned: Vec<String> = (cleaned.into_iter().filter(|(n, ..)| *n > 0))
        .map(|(n, of, what)| format!(", {} {what}", count(n, of)))
        .collect();
    let cleaned = cleaned.concat();
    let nodes = if done.before == done.after {
        String::new()
    } else {
        format!(", {} nodes (before: {})", done.after, done.before)
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        outcome.summary,
        "{}  {} in {}{stopped}{cleaned}{nodes}{counts}",
        bold("optimised"),
        if done.applied == 1 { "1 patch".to_owned() } else { format!("{} patches", done.applied) },
        count(done.sweeps, "sweep")
    );
    if !done.functions.is_empty() {
        let functions = done.functions.iter();
        let functions =
            functions.map(|f| format!("{} ({}, {})", f.name, count(f.calls, "call"), count(f.nodes, "node")));
        let functions = functions.collect::<Vec<_>>().join(", ");
        let _ = writeln!(outcome.summary, "{}  {functions}", bold("functions"));
    }
    if !done.unused.is_empty() {
        let unused = done.unused.iter().map(|unused| {
            let with = match &unused.with {
                With::Target(target) => format!("--target {target}"),
                With::Opset(opset) => format!("--opset {opset}"),
            };
            format!("{} {} ({with})", unused.name, unused.places)
        });
        let _ = writeln!(outcome.summary, "{}  {}", bold("not used"), unused.collect::<Vec<_>>().join(", "));
    }
    if let Some(memory) = done.memory {
        let _ = writeln!(
            outcome.summary,
            "{}  peak memory {} instead of {}: {} moved",
            bold("ordered"),
            bytes(memory.after),
            bytes(memory.before),
            count(memory.moved, "node")
        );
    }
    let Some(name) = &options.explain_rule else { return };
    let rows: Vec<Vec<String>> = done
        .places
        .iter()
        .map(|place| vec![became(place.outcome).to_owned(), place.node.clone(), faint(&place.reason)])
        .collect();
    let _ = writeln!(outcome.summary, "{}", bold(&format!("places of {name}")));
    outcome.summary.push_str(&if rows.is_empty() { "  none\n".to_owned() } else { table(&rows) });
}

/// Writes both sides of each match, if the user asks for it.
fn dump(options: &Optimizing, done: &Optimised, part: &str, outcome: &mut Outcome) {
    let Some(folder) = &options.dump_matches else { return };
    let folder = folder.join(part);
    match Matched::write_all(&done.matches, &folder) {
        Ok(paths) => dumped(&folder, &paths, outcome),
        Err(report) => outcome.add(Outcome::failed(report)),
    }
}

/// Adds to `outcome` the files of matches in `folder`.
pub(crate) fn dumped(folder: &Path, paths: &[PathBuf], outcome: &mut Outcome) {
    outcome.put("matches", paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>());
    let matches =
        if paths.len() == 2 { "1 match".to_owned() } else { format!("{} matches", paths.len() / 2) };
    // Writing to a String cannot fail.
    let _ = writeln!(outcome.summary, "{}  {matches} to {}", bold("wrote"), folder.display());
}

fn became(outcome: Became) -> &'static str {
    match outcome {
        Became::Applied => "applied",
        Became::NoMatch => "no match",
        Became::Refused => "refused",
        Became::Rejected => "not sound",
        Became::Note => "note",
    }
}

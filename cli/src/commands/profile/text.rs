//! Profiles as tables.

use std::fmt::Write;

use onnxport_core::diagnose::Diagnostic;
use onnxport_core::profile::{Change, ModulesFrom, NodeTimes, Profile, Row, Times, Verdict};
use onnxport_report::profile::{middle, share, time};
use onnxport_requests::profile::Contrast;

use super::{By, answers};
use crate::format::{bold, count, faint, plain, table};

/// The number of rows shown by default.
pub(super) const ROWS: usize = 15;

/// A smaller share is shown as nothing.
const SEEN: f64 = 5e-4;

/// The label for unattributed nodes.
const UNKNOWN: &str = "(not attributed)";

/// The tables of one profile.
pub(super) fn profile(profile: &Profile, shown: &[By], most: usize) -> String {
    let mut out = head(profile);
    for by in shown.iter().filter(|by| answers(**by, profile).is_ok()) {
        let (title, head, rows): (_, _, Vec<Vec<String>>) = match by {
            By::Operator => (
                "by operator",
                &["", "nodes", "time", "half of the runs", "share"][..],
                rows(&profile.operators),
            ),
            By::Line => {
                ("by line", &["", "nodes", "time", "half of the runs", "share"], rows(&profile.lines))
            }
            By::Module => (
                "by module",
                &["", "class", "nodes", "time", "itself", "half of the runs", "share"],
                profile.modules.iter().map(module).collect(),
            ),
            By::Node => (
                "by node",
                &["", "operator", "time", "half of the runs", "stands for", "line"],
                nodes(profile),
            ),
        };
        put(&mut out, title, head, rows, most);
    }
    out
}

/// Formats the changes between two profiles.
///
/// # Errors
/// `OP713` if the only requested table needs metadata that the second model lacks.
pub(super) fn changes(
    before: &Profile,
    against: &Contrast,
    shown: &[By],
    most: usize,
) -> Result<String, Diagnostic> {
    let Contrast { profile: after, changes } = against;
    if let [by] = shown {
        answers(*by, after)?;
    }
    let mut out = format!("{}{}", head(before), head(after));
    let how = if changes.in_turn { "run in turn" } else { "measured at different times" };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}  {}; {how}", bold("change"), said(&changes.total));
    let head = ["", "before", "after", "difference", "", ""];
    for by in shown {
        let (title, rows) = match by {
            By::Operator => ("by operator", &changes.operators),
            By::Module => ("by module", &changes.modules),
            By::Line => ("by line", &changes.lines),
            // Nodes of two models are not the same ones.
            By::Node => continue,
        };
        if answers(*by, before).is_err() && answers(*by, after).is_err() {
            continue;
        }
        let is_told = |row: &&Change| most == usize::MAX || row.verdict != Verdict::Noise;
        let rows: Vec<Vec<String>> = rows.iter().filter(is_told).map(change).collect();
        if rows.is_empty() {
            let _ = writeln!(out, "{}\n  {}", bold(title), faint("no significant change"));
        }
        put(&mut out, title, &head, rows, most);
    }
    Ok(out)
}

fn head(profile: &Profile) -> String {
    let mut out = String::new();
    let (model, runs) = (plain(&profile.model), count(profile.runs, "run"));
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{}  {model} by {}: {} per run, half of {runs} took {}; {} outside of nodes",
        bold("profiled"),
        profile.executor,
        time(profile.total.median),
        middle(&profile.total),
        time(profile.between.median)
    );
    let told = &profile.attributed;
    let by = [
        (told.name, "by their names"),
        (told.value, "by their values"),
        (told.derived, "by derived names"),
        (told.neighbour, "by their neighbours"),
        (told.none, "not attributed"),
    ];
    let parts: Vec<String> = by
        .iter()
        .filter(|(share, _)| *share >= SEEN)
        .map(|(part, how)| format!("{} {how}", share(*part)))
        .collect();
    let names = match profile.modules_from {
        ModulesFrom::Names => "; modules are inferred from node names",
        _ => "",
    };
    let _ = writeln!(out, "{}  {}{names}", bold("attributed"), parts.join(", "));
    out
}

/// Appends a table of a limited number of rows below its head.
fn put(out: &mut String, title: &str, head: &[&str], rows: Vec<Vec<String>>, most: usize) {
    if rows.is_empty() {
        return;
    }
    let names: Vec<String> = head.iter().map(|name| faint(name)).collect();
    let total = rows.len();
    let mut kept = vec![names];
    kept.extend(rows.into_iter().take(most));
    // Writing to a String cannot fail.
    let _ = write!(out, "{}\n{}", bold(title), table(&kept));
    if total > most {
        let _ = writeln!(out, "  {}", faint(&format!("... {} more, see --all", total - most)));
    }
}

fn rows(rows: &[Row]) -> Vec<Vec<String>> {
    let row = |row: &Row| {
        let name = key(row.key.as_deref());
        vec![name, row.nodes.to_string(), time(row.times.median), middle(&row.times), share(row.share)]
    };
    rows.iter().map(row).collect()
}

fn module(row: &Row) -> Vec<String> {
    let (own, whole) = (time(row.own.median), time(row.times.median));
    let [name, class] = [key(row.key.as_deref()), plain(short(&row.class))];
    vec![name, class, row.nodes.to_string(), whole, own, middle(&row.times), share(row.share)]
}

fn nodes(profile: &Profile) -> Vec<Vec<String>> {
    let mut nodes: Vec<&NodeTimes> = profile.nodes.iter().collect();
    nodes.sort_by(|a, b| b.times.median.total_cmp(&a.times.median));
    let row = |node: &NodeTimes| {
        let stands = node.node.as_deref().map_or_else(|| UNKNOWN.to_owned(), plain);
        let [name, operator, line] = [&node.name, &node.operator, &node.line].map(|text| plain(text));
        vec![name, operator, time(node.times.median), middle(&node.times), stands, line]
    };
    nodes.into_iter().map(row).collect()
}

fn change(change: &Change) -> Vec<String> {
    let of = |times: Option<Times>| times.map_or_else(|| "-".to_owned(), |times| time(times.median));
    let sign = if change.difference < 0.0 { "-" } else { "+" };
    let ratio = change.before.zip(change.after).filter(|(before, _)| before.median > 0.0);
    let percent = ratio.map(|(before, _)| format!("{:+.1} %", 100.0 * change.difference / before.median));
    vec![
        key(change.key.as_deref()),
        of(change.before),
        of(change.after),
        format!("{sign}{}", time(change.difference.abs())),
        percent.unwrap_or_default(),
        verdict(change.verdict).to_owned(),
    ]
}

/// A change in a sentence.
fn said(change: &Change) -> String {
    let cells = self::change(change);
    let [_, before, after, _, percent, verdict] = cells.as_slice() else { return String::new() };
    format!("{before} became {after} ({percent}): {verdict}")
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Noise => "within the noise",
        Verdict::Open => "too few runs for a verdict",
    }
}

fn key(key: Option<&str>) -> String {
    match key {
        None => UNKNOWN.to_owned(),
        Some("") => "(the root)".to_owned(),
        Some(key) => plain(key),
    }
}

/// Returns a class without its module.
fn short(class: &str) -> &str {
    class.rsplit('.').next().unwrap_or(class)
}

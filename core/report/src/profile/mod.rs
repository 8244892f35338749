//! The page of a profile: a flame graph by module, and tables; for two profiles, also their differences.

mod flame;

use maud::{Markup, PreEscaped, html};
use onnxport_core::profile::{Change, Changes, ModulesFrom, NodeTimes, Profile, Row, Times, Verdict};

use crate::page::{self, Page, Section};

const SCRIPT: &str = include_str!("../assets/profile.js");
const STYLE: &str = include_str!("../assets/profile.css");

/// The label of nodes without attribution.
const UNKNOWN: &str = "(not attributed)";

/// The page of a profile, or of the differences from another one.
pub fn page(profile: &Profile, other: Option<(&Profile, &Changes)>) -> String {
    let mut sections =
        vec![Section { id: "flame", title: "Time by module".to_owned(), body: graph(profile, other) }];
    let mut section = |id, title: &str, body| sections.push(Section { id, title: title.to_owned(), body });
    if let Some((_, changes)) = other {
        let parts = [
            ("changed-modules", "Changes by module", &changes.modules),
            ("changed-operators", "Changes by operator", &changes.operators),
            ("changed-lines", "Changes by line", &changes.lines),
        ];
        for (id, title, rows) in parts {
            if rows.iter().any(|row| row.key.is_some()) {
                section(id, title, changed(rows));
            }
        }
    }
    section("operators", "Operators", rows("Operator", &profile.operators));
    if profile.knows_modules() {
        section("modules", "Modules", modules(&profile.modules));
    }
    if profile.knows_lines() {
        section("lines", "Lines of code", rows("Line", &profile.lines));
    }
    section("nodes", "Nodes", nodes(&profile.nodes));
    let (verdict, summary) = summary(profile, other);
    page::render(&Page {
        title: profile.model.clone(),
        verdict,
        summary,
        facts: facts(profile, other),
        sections,
    })
}

fn summary(profile: &Profile, other: Option<(&Profile, &Changes)>) -> (page::Verdict, String) {
    let Some((other, changes)) = other else {
        return (page::Verdict::Told, format!("a run takes {}", time(profile.total.median)));
    };
    let (a, b) = (time(profile.total.median), time(other.total.median));
    match changes.total.verdict {
        Verdict::Slower => (page::Verdict::Failed, format!("slower: {b} instead of {a}")),
        Verdict::Faster => (page::Verdict::Passed, format!("faster: {b} instead of {a}")),
        Verdict::Noise => (page::Verdict::Told, format!("{b} and {a} differ by noise")),
        Verdict::Open => (page::Verdict::Open, format!("{b} instead of {a}, too few runs for a verdict")),
    }
}

fn facts(profile: &Profile, other: Option<(&Profile, &Changes)>) -> Vec<(String, String)> {
    let told = &profile.attributed;
    let mut facts = vec![
        ("Run by", profile.executor.clone()),
        ("Runs", profile.runs.to_string()),
        ("Half of them took", middle(&profile.total)),
        ("In no node", time(profile.between.median)),
        ("Attributed", share(1.0 - told.none)),
    ];
    if profile.modules_from == ModulesFrom::Names {
        facts.push(("Modules", "read from the names of nodes".to_owned()));
    }
    if let Some((other, changes)) = other {
        facts.push(("Against", other.model.clone()));
        let how = if changes.in_turn { "in turn" } else { "at different times" };
        facts.push(("Measured", how.to_owned()));
    }
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn graph(profile: &Profile, other: Option<(&Profile, &Changes)>) -> Markup {
    let data = flame::data(profile, other);
    let text = crate::model::embedded(&data);
    html! {
        style { (PreEscaped(STYLE)) }
        div.searched {
            input #wanted type="search" placeholder="Module, operator, node or line" autocomplete="off";
            button #whole type="button" { "all" }
            span #told.told { }
        }
        div #flames role="img" aria-label="Time by module" {}
        p.note {
            "The width of a box is the median of its time; its contents are below. Click a box to zoom in."
            @if other.is_some() { " Red modules take more time in the other model, blue ones less; pale ones differ by noise." }
        }
        (PreEscaped("<script type=\"application/json\" id=\"data\">")) (PreEscaped(text)) (PreEscaped("</script>"))
        script { (PreEscaped(SCRIPT)) }
    }
}

fn table(head: &[(&str, bool)], body: &Markup) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { @for (name, number) in head { th.number[*number] { (name) } } } }
            tbody { (body) }
        } }
    }
}

fn rows(name: &str, rows: &[Row]) -> Markup {
    let head = [(name, false), ("Nodes", true), ("Time", true), ("Half of the runs", true), ("Share", true)];
    let body = html! { @for row in rows { tr {
        td { (key(row.key.as_deref())) }
        td.number { (row.nodes) } td.number { (time(row.times.median)) }
        td.number { (middle(&row.times)) } td.number { (share(row.share)) }
    } } };
    table(&head, &body)
}

fn modules(rows: &[Row]) -> Markup {
    let head = [
        ("Module", false),
        ("Class", false),
        ("Nodes", true),
        ("Time", true),
        ("Itself", true),
        ("Half of the runs", true),
        ("Share", true),
    ];
    let body = html! { @for row in rows { tr {
        td { (key(row.key.as_deref())) } td { (row.class) }
        td.number { (row.nodes) } td.number { (time(row.times.median)) } td.number { (time(row.own.median)) }
        td.number { (middle(&row.times)) } td.number { (share(row.share)) }
    } } };
    table(&head, &body)
}

fn nodes(nodes: &[NodeTimes]) -> Markup {
    let mut sorted: Vec<&NodeTimes> = nodes.iter().collect();
    sorted.sort_by(|a, b| b.times.median.total_cmp(&a.times.median));
    let head = [
        ("Node", false),
        ("Operator", false),
        ("Run by", false),
        ("Time", true),
        ("Half of the runs", true),
        ("Stands for", false),
        ("Line", false),
    ];
    let body = html! { @for node in sorted { tr {
        td { (node.name) } td { (node.operator) } td { (node.provider) }
        td.number { (time(node.times.median)) } td.number { (middle(&node.times)) }
        td { (node.node.as_deref().unwrap_or(UNKNOWN)) } td { (node.line) }
    } } };
    table(&head, &body)
}

fn changed(rows: &[Change]) -> Markup {
    let head = [("", false), ("Before", true), ("After", true), ("Difference", true), ("", false)];
    let of = |times: Option<Times>| times.map_or_else(|| "-".to_owned(), |times| time(times.median));
    let body = html! { @for row in rows { tr {
        td { (key(row.key.as_deref())) }
        td.number { (of(row.before)) } td.number { (of(row.after)) }
        td.number { @if row.difference < 0.0 { "-" } @else { "+" } (time(row.difference.abs())) }
        @match row.verdict {
            Verdict::Slower => td.state.bad { "slower" },
            Verdict::Faster => td.state.good { "faster" },
            Verdict::Noise => td { span.note { "within the noise" } },
            Verdict::Open => td { span.note { "too few runs for a verdict" } },
        }
    } } };
    table(&head, &body)
}

fn key(key: Option<&str>) -> &str {
    match key {
        None => UNKNOWN,
        Some("") => "(the root)",
        Some(key) => key,
    }
}

/// Microseconds with their unit: `3.0 µs`, `1.25 ms`, `2.10 s`.
pub fn time(micros: f64) -> String {
    match micros {
        _ if micros < 10.0 => format!("{micros:.1} µs"),
        _ if micros < 1e3 => format!("{micros:.0} µs"),
        _ if micros < 1e6 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// The interquartile range of the runs.
pub fn middle(times: &Times) -> String {
    format!("{} to {}", time(times.low), time(times.high))
}

/// A part of a whole as a percentage.
pub fn share(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_are_short() {
        let times = [0.0, 3.0, 42.4, 1250.0, 2.1e6].map(time);
        assert_eq!(times, ["0.0 µs", "3.0 µs", "42 µs", "1.25 ms", "2.10 s"]);
    }
}

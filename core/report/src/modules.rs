//! The modules of a program, each with the result of converting it separately.

use maud::{Markup, html};
use onnxport_core::bisect::modules::{Measure, Node, Pieces, Verdict as Outcome};

use crate::chart::{Point, Points, State};
use crate::page::{self, Page, Section, Verdict};
use crate::short;

/// The prefix of the row ids of the tree.
const ROWS: &str = "module";

/// The page of the modules of the program called `program`.
pub fn modules(program: &str, found: &Pieces) -> String {
    let begins = found.found();
    let (verdict, summary) = match begins.as_slice() {
        [] => (Verdict::Passed, "the program converts, and agrees with PyTorch".to_owned()),
        [one] => (Verdict::Failed, format!("{} {}", name(one), one.verdict.text())),
        several => (Verdict::Failed, format!("something is wrong that begins in {} modules", several.len())),
    };
    let mut rows = Vec::new();
    let mut unseen = 0;
    seen(&found.root, 0, &mut rows, &mut unseen);
    let mut facts = vec![
        ("Conversions".to_owned(), found.conversions.to_string()),
        ("Modules looked at".to_owned(), rows.len().to_string()),
        ("Not looked at".to_owned(), unseen.to_string()),
    ];
    if !found.python.is_empty() {
        facts.insert(0, ("Run by".to_owned(), short(&found.python)));
    }
    let mut sections = vec![Section { id: "tree", title: "Modules".to_owned(), body: tree(&rows) }];
    if !begins.is_empty() {
        sections.push(Section { id: "begins", title: "Where it begins".to_owned(), body: details(&begins) });
    }
    page::render(&Page { title: program.to_owned(), verdict, summary, facts, sections })
}

/// A module, and how deep it lies.
type Row<'a> = (usize, &'a Node);

/// The modules that are shown, parents first, and how many others there are.
fn seen<'a>(node: &'a Node, depth: usize, rows: &mut Vec<Row<'a>>, unseen: &mut usize) {
    if !node.is_seen() {
        *unseen += size(node);
        return;
    }
    rows.push((depth, node));
    for child in &node.children {
        seen(child, depth + 1, rows, unseen);
    }
}

fn size(node: &Node) -> usize {
    1 + node.children.iter().map(size).sum::<usize>()
}

fn name(node: &Node) -> &str {
    if node.path.is_empty() { "(the model)" } else { &node.path }
}

fn state(node: &Node) -> State {
    match node.verdict {
        Outcome::Agrees => State::Good,
        Outcome::Uncalled | Outcome::Unseen => State::Unknown,
        _ => State::Wrong,
    }
}

fn number(measure: Option<&Measure>) -> String {
    match measure {
        None => String::new(),
        Some(Measure::Number(value)) => format!("{value:.2e}"),
        Some(Measure::Text(text)) => text.clone(),
    }
}

/// The tree as a picture of errors and as a table.
fn tree(rows: &[Row<'_>]) -> Markup {
    let picture = Points {
        values: "largest difference from the module's outputs".to_owned(),
        order: "modules, in the order of the program".to_owned(),
        limit: None,
        points: rows.iter().map(|(_, node)| point(node)).collect(),
        keys: ["agrees", "is wrong", "not compared"].map(str::to_owned),
        rows: ROWS.to_owned(),
    };
    html! {
        p { "Each module was converted separately and run on its inputs from the recorded call." }
        (picture.draw())
        div.filter data-table="modules" {
            input type="search" placeholder="module, class, verdict" aria-label="Search the table";
            label { input type="checkbox"; " only failures" }
        }
        div.scroll { table #modules {
            thead { tr {
                th { "" } th { "Module" } th { "Class" } th.number { "Calls" } th.number { "Difference" }
                th.number { "Relative" }
            } }
            tbody { @for (at, (depth, node)) in rows.iter().enumerate() { (line(at, *depth, node)) } }
        } }
    }
}

fn point(node: &Node) -> Point {
    let (value, off) = match &node.max_abs_diff {
        Some(Measure::Number(value)) => (Some(*value), format!(" · {value:.2e}")),
        Some(Measure::Text(text)) => (None, format!(" · {text}")),
        None => (None, String::new()),
    };
    let about = format!("{} · {} · {}{off}", name(node), node.kind, node.verdict.text());
    Point { value, state: state(node), about }
}

fn line(at: usize, depth: usize, node: &Node) -> Markup {
    let state = state(node);
    html! {
        tr #{ (ROWS) "-" (at) } .wrong[state == State::Wrong] {
            td.state.(state.class()) { (node.verdict.text()) }
            td style={ "padding-left:" (depth * 18) "px" } {
                @if node.begins { b { code { (name(node)) } } " it begins here" } @else { code { (name(node)) } }
                @if let Some(like) = &node.like { br; span.note { "as " code { (like) } } }
                @if let Some(reason) = &node.reason { br; span.note { (reason) } }
            }
            td { (node.kind) }
            td.number { (node.calls) }
            td.number { (number(node.max_abs_diff.as_ref())) }
            td.number { (number(node.max_rel_diff.as_ref())) }
        }
    }
}

/// The diagnostics of the modules at fault.
fn details(begins: &[&Node]) -> Markup {
    html! {
        @for node in begins {
            h3 { code { (name(node)) } " (" (node.kind) "): " (node.verdict.text()) }
            @for said in &node.diagnostics {
                p.(class(&said.severity)) { (said.severity) "[" (said.code) "]: " (said.message) }
                @if let Some(notes) = said.more.get("notes").and_then(|notes| notes.as_array()) {
                    @for note in notes.iter().filter_map(|note| note.as_str()) { p.note { (note) } }
                }
                @if let Some(help) = said.more.get("help").and_then(|help| help.as_str()) { p { "help: " (help) } }
            }
            @if let (true, Some(reason)) = (node.diagnostics.is_empty(), &node.reason) { p { (reason) } }
        }
    }
}

fn class(severity: &str) -> &'static str {
    if severity == "error" { "bad" } else { "plain" }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(path: &str, verdict: &str, begins: bool, children: Vec<serde_json::Value>) -> serde_json::Value {
        let (abs, rel) =
            if verdict == "disagrees" { (json!(0.5), json!("inf")) } else { (json!(null), json!(null)) };
        json!({
            "path": path, "kind": "Layer<T>", "calls": 1, "verdict": verdict, "reason": null, "max_abs_diff": abs,
            "max_rel_diff": rel, "like": null, "begins": begins, "children": children,
            "diagnostics": [{"severity": "error", "code": "OP301", "message": "no <lowering>", "notes": ["a note"]}],
        })
    }

    fn page(verdict: &str, begins: bool) -> String {
        let inner =
            vec![node("a", verdict, begins, Vec::new()), node("b", "not looked at", false, Vec::new())];
        let outer = if begins { "disagrees" } else { "agrees" };
        let tree = json!({"ok": !begins, "conversions": 2, "root": node("", outer, false, inner)});
        modules("m.pt2", &serde_json::from_value(tree).unwrap())
    }

    #[test]
    fn the_page_says_where_it_begins() {
        let page = page("disagrees", true);
        for wanted in [
            "a disagrees",
            "no &lt;lowering&gt;",
            "a note",
            "Layer&lt;T&gt;",
            "5.00e-1",
            "inf",
            r#"<tr class="wrong" id="module-1""#,
            "<dt>Not looked at</dt><dd>1</dd>",
        ] {
            assert!(page.contains(wanted), "{wanted}: {page}");
        }
        assert!(!page.contains("module-2"));
    }

    #[test]
    fn a_program_that_agrees_has_nothing_that_begins() {
        let page = page("agrees", false);
        assert!(page.contains("converts, and agrees with PyTorch"));
        assert!(!page.contains("begins") && !page.contains("no &lt;lowering&gt;"));
    }
}

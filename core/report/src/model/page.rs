//! A report as a page.

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::embedded;
use super::tables::{Table, facts, list, tables, text};
use crate::chart::bars;
use crate::page::{Page, Section, Verdict, render};

/// The tree opens no further by itself.
const DEPTH: usize = 16;

const SCRIPT: &str = include_str!("../assets/model.js");

/// The marker before the data.
pub(super) const DATA: &str = "<script type=\"application/json\" id=\"data\">";

/// The report as a page of one file.
pub fn page(data: &Value) -> String {
    let mut sections: Vec<Section> = Vec::new();
    if data["model"].is_object() {
        sections.push(Section {
            id: "tree",
            title: "Module tree".to_owned(),
            body: tree(list(&data["model"]["modules"])),
        });
        sections.push(Section { id: "graph", title: "Graph".to_owned(), body: graph() });
    }
    for table in tables(data) {
        sections.push(Section { id: table.id, title: table.title.to_owned(), body: shown(&table) });
    }
    if let Some(last) = sections.last_mut() {
        last.body = html! {
            (last.body)
            (PreEscaped(DATA)) (PreEscaped(embedded(data))) (PreEscaped("</script>"))
            script { (PreEscaped(SCRIPT)) }
        };
    }
    let (verdict, summary) = verdict(data);
    render(&Page { title: text(&data["name"]), verdict, summary, facts: facts(data), sections })
}

fn verdict(data: &Value) -> (Verdict, String) {
    let conversion = &data["conversion"];
    if let Some(counts) = conversion["legal"]["counts"].as_object() {
        let target = text(&conversion["legal"]["target"]);
        let count = |key: &str| counts.get(key).and_then(Value::as_u64).unwrap_or_default();
        return match (count("refused"), count("unknown")) {
            (0, 0) => (Verdict::Passed, format!("{target} runs every node")),
            (0, unknown) => (Verdict::Open, format!("unknown for {target}: {unknown} nodes")),
            (refused, _) => (Verdict::Failed, format!("refused by {target}: {refused} nodes")),
        };
    }
    if let Some(share) = conversion["placement"]["share"].as_f64() {
        let summary = format!("backends take {:.1} % of the nodes", share * 100.0);
        let verdict = if conversion["ok"] == false { Verdict::Failed } else { Verdict::Passed };
        return (verdict, summary);
    }
    match (conversion["ok"].as_bool(), conversion["verification"]["values_compared"].as_bool()) {
        (Some(false), _) => (Verdict::Failed, "the conversion failed".to_owned()),
        (Some(true), Some(true)) => (Verdict::Passed, "converted, and agrees with PyTorch".to_owned()),
        (Some(true), _) => (Verdict::Open, "converted; its values were not compared".to_owned()),
        (None, _) => (Verdict::Open, "contents of the model".to_owned()),
    }
}

fn tree(modules: &[Value]) -> Markup {
    html! {
        div.filter {
            label { input type="radio" name="measure" value="elements" checked; " parameters" }
            label { input type="radio" name="measure" value="nodes"; " operations" }
            button #up type="button" { "up" }
            span #path.note {}
        }
        div #treemap data-open=(opened(modules)) role="img" aria-label="Modules by size" {}
        p.note { "Click a module to open it, and up to close it. Areas show the size of a module, including its submodules." }
    }
}

/// The module that the tree shows first: one that holds nearly all parameters itself or in several parts.
fn opened(modules: &[Value]) -> String {
    let mut open = String::new();
    for _ in 0..DEPTH {
        let (mut total, mut parts) = (0u64, BTreeMap::<&str, (u64, bool)>::new());
        for row in modules {
            let (path, elements) =
                (row["path"].as_str().unwrap_or_default(), row["elements"].as_u64().unwrap_or(0));
            let inside = path
                .strip_prefix(&open)
                .filter(|rest| !rest.is_empty())
                .and_then(|rest| if open.is_empty() { Some(rest) } else { rest.strip_prefix('.') });
            let Some(inside) = inside else {
                total = total.saturating_add(if path == open { elements } else { 0 });
                continue;
            };
            total = total.saturating_add(elements);
            let (part, rest) = inside.split_once('.').map_or((inside, false), |(part, _)| (part, true));
            let (size, nests) = parts.entry(part).or_default();
            *size = size.saturating_add(elements);
            *nests |= rest;
        }
        // All but a twentieth.
        let large = |(_, (size, nests)): &(&str, (u64, bool))| *nests && total - size < total.div_ceil(20);
        match parts.into_iter().find(large) {
            Some((part, _)) if open.is_empty() => part.clone_into(&mut open),
            Some((part, _)) => open = format!("{open}.{part}"),
            None => break,
        }
    }
    open
}

fn graph() -> Markup {
    html! {
        div.filter {
            input #find type="search" placeholder="Name, operator, module or line" list="nodes" autocomplete="off";
            datalist #nodes {}
            label { "steps " input #steps type="number" min="1" max="4" value="2"; }
            span #node.told {}
        }
        div #around.scroll {}
        p.note { "Click to follow a node. Zoom with the wheel; drag to move the picture." }
    }
}

fn shown(table: &Table) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { @for (name, number) in &table.head { th.number[*number] { (name) } } } }
            tbody { @for (at, row) in table.rows.iter().enumerate() {
                tr { @for (column, (text, (_, number))) in row.iter().zip(&table.head).enumerate() {
                    @let drawn = table.bars.get(at).filter(|bars| column + 1 == row.len() && !bars.is_empty());
                    td.number[*number] {
                        @if let Some(drawn) = drawn { (bars(drawn, text)) }
                        @else if text.contains('\n') { pre { (text.trim()) } }
                        @else { (text) }
                    }
                } }
            } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_tree_opens_where_the_parameters_are() {
        let row = |path: &str, elements: u64| json!({"path": path, "elements": elements});
        let open = |rows: &[Value]| opened(rows);
        assert_eq!(open(&[row("", 0), row("net.a", 50), row("net.b", 50)]), "net");
        assert_eq!(open(&[row("head", 2), row("net.body.a", 50), row("net.body.b", 50)]), "net.body");
        assert_eq!(open(&[row("head", 20), row("net.a", 50), row("net.b", 50)]), "");
        assert_eq!(open(&[row("head", 50)]), "", "nothing is inside of it");
        assert_eq!(open(&[row("network.a", 1), row("net.a", 50), row("net.b", 50)]), "net");
        assert_eq!(open(&[]), "");
    }
}

//! A report as a page.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::embedded;
use super::tables::{Table, facts, tables, text};
use crate::chart::bars;
use crate::page::{Page, Section, Verdict, render};

const SCRIPT: &str = include_str!("../assets/model.js");

/// What stands before the data.
pub(super) const DATA: &str = "<script type=\"application/json\" id=\"data\">";

/// The report as a page of one file.
pub fn page(data: &Value) -> String {
    let mut sections: Vec<Section> = Vec::new();
    if data["model"].is_object() {
        sections.push(Section { id: "tree", title: "Module tree".to_owned(), body: tree() });
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
    match (conversion["ok"].as_bool(), conversion["verification"]["values_compared"].as_bool()) {
        (Some(false), _) => (Verdict::Failed, "the conversion failed".to_owned()),
        (Some(true), Some(true)) => (Verdict::Passed, "converted, and computes what PyTorch does".to_owned()),
        (Some(true), _) => (Verdict::Open, "converted; its values were not compared".to_owned()),
        (None, _) => (Verdict::Open, "what the model consists of".to_owned()),
    }
}

fn tree() -> Markup {
    html! {
        div.filter {
            label { input type="radio" name="measure" value="elements" checked; " parameters" }
            label { input type="radio" name="measure" value="nodes"; " operations" }
            button #up type="button" { "up" }
            span #path.note {}
        }
        div #treemap role="img" aria-label="Modules by size" {}
        p.note { "A click opens a module; up closes it. Areas are what a module holds, with what is inside of it." }
    }
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
        p.note { "A click goes on to a node. The wheel makes the picture larger or smaller; dragging moves it." }
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

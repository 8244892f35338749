//! A scene as a page. It holds the layers of every group, and the script places and paints what is open: this is what
//! [`place`](super::place) and [`paint`](super::paint) do.

use maud::{DOCTYPE, PreEscaped, html};
use serde_json::{Value, json};

use super::body::{Body, Vertex};
use super::card::{self, Line};
use super::fold::Folding;
use super::paint::{class, style};
use super::place::Plan;
use super::scene::ROOT;
use super::text::clean;
use crate::model::embedded;

const SCRIPT: &str = include_str!("../assets/draw.js");
const FRAME: &str = include_str!("../assets/drawing.css");
const THEME: &str = include_str!("../assets/page.js");

/// The page as one file that needs no network.
pub(super) fn page(plan: &Plan<'_>, folding: &Folding) -> String {
    let scene = plan.scene;
    let title = clean(&scene.title);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "onnxport " (env!("CARGO_PKG_VERSION")) };
                title { (title) }
                style { (PreEscaped(style(scene))) (PreEscaped(FRAME)) }
            }
            body {
                header {
                    h1 { (title) }
                    input #find type="search" placeholder="Name, operator, module or line" autocomplete="off";
                    span #found {}
                    button #less type="button" title="Close the innermost modules" { "close one level" }
                    button #more type="button" title="Open the modules that are closed" { "open one level" }
                    button #all type="button" { "open all" }
                    button #fit type="button" { "fit" }
                    button #theme type="button" title="Switch between light and dark" { "light / dark" }
                }
                main #canvas { noscript { "This page needs scripts; a picture as .svg does not." } }
                aside #about hidden { button #hide type="button" title="Close" { "×" } pre {} }
                (PreEscaped("<script type=\"application/json\" id=\"data\">"))
                (PreEscaped(embedded(&data(plan, folding))))
                (PreEscaped("</script>"))
                script { (PreEscaped(THEME)) (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// All that the script draws from.
fn data(plan: &Plan<'_>, folding: &Folding) -> Value {
    let scene = plan.scene;
    let all = scene.within(ROOT);
    let mut items = vec![Value::Null; scene.items.len()];
    for &id in &all {
        let (item, card) = (&scene.items[id], &plan.cards[id]);
        let line = |line: &Line| json!([line.text, line.style.class(), line.width]);
        let mut said = json!({
            "c": class(item),
            "l": card.lines.iter().map(line).collect::<Vec<_>>(),
            "w": card.width,
            "h": card.height,
            "t": clean(&card::tip(scene, id)),
            "o": item.outgoing(),
            "a": item.above,
        });
        if item.is_group() || id == ROOT {
            let head = card::head(item);
            said["b"] = body(&Body::for_group(scene, id));
            said["g"] = json!(item.gives);
            said["k"] = json!(item.takes);
            said["m"] = json!([head.text, head.width]);
        }
        items[id] = said;
    }
    let open: Vec<usize> = all.iter().copied().filter(|id| folding.is_open(*id)).collect();
    json!({ "items": items, "values": plan.pills, "open": open })
}

/// The graph of a group. Vertices are pairs of kind and owner; pieces of edges are triples.
fn body(body: &Body) -> Value {
    let vertices = body.vertices.iter().flat_map(|vertex| match vertex {
        Vertex::Item(item) => [0, *item],
        Vertex::Take(value) => [1, *value],
        Vertex::Hand(value) => [2, *value],
        Vertex::Bend(value) => [3, *value],
    });
    let pieces = body.segments.iter().flat_map(|piece| [piece.from, piece.to, piece.value]);
    json!({
        "v": vertices.collect::<Vec<_>>(),
        "r": body.layers,
        "s": pieces.collect::<Vec<_>>(),
        "c": body.columns,
    })
}

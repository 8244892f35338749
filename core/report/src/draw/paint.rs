//! A placed scene as SVG.

use std::fmt::Write;

use super::body::{Segment, Vertex};
use super::card::{self, PAD, PILL, RIM, Style};
use super::place::{Open, Placed, Plan, STEM};
use super::scene::{Item, Kind, Scene};
use super::text::escape;

const STYLE: &str = include_str!("../assets/draw.css");
const MARKS: &str = include_str!("../assets/partition.css");

/// The whole as a file.
pub(super) fn file(plan: &Plan<'_>, open: &Open) -> String {
    let mut out = String::new();
    let (width, height) = (number(open.width), number(open.height));
    put(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"drawing\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\"><title>{}</title>\n<style>{}</style>\n{ARROW}\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n",
            escape(&plan.scene.title),
            style(plan.scene),
        ),
    );
    let head = card::head(&plan.scene.items[open.item]);
    if !head.text.is_empty() {
        text(&mut out, "head", 16.0, 20.0, head.width, &head.text);
    }
    inside(&mut out, plan, open, 0.0, 0.0);
    out.push_str("</svg>\n");
    out
}

/// How round the corners of boxes are.
const ROUND: f64 = 6.0;

/// The head of edges.
const ARROW: &str = "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
                     <path class=\"arrow\" d=\"M0 0.8 L7.4 4 L0 7.2 Z\"/></marker></defs>";

fn inside(out: &mut String, plan: &Plan<'_>, open: &Open, left: f64, top: f64) {
    for (Segment { from, to, value }, end) in open.body.segments.iter().zip(open.arrivals()) {
        let bends = |at: usize| matches!(open.body.vertices[at], Vertex::Bend(_));
        let (x1, x2) = (left + open.leaves(*from, *value), left + end);
        let (row, next) = (open.rows[open.layer[*from]], open.rows[open.layer[*to]]);
        let placed = &open.boxes[*from];
        let is_labelled = placed.leaves.iter().any(|(of, _, labelled)| of == value && *labelled);
        let label = if is_labelled { STEM + PILL } else { 0.0 };
        let start = if bends(*from) { row.1 } else { placed.height + label };
        let (y0, y1, y2) = (top + row.0 + start, top + row.0 + row.1, top + next.0);
        let mut path = format!("M{} {}", number(x1), number(y0));
        if y1 > y0 {
            put(&mut path, format_args!("V{}", number(y1)));
        }
        if (x1 - x2).abs() < 0.05 {
            put(&mut path, format_args!("V{}", number(y2)));
        } else {
            let middle = number(f64::midpoint(y1, y2));
            let (x1, x2, y2) = (number(x1), number(x2), number(y2));
            put(&mut path, format_args!("C{x1} {middle} {x2} {middle} {x2} {y2}"));
        }
        if bends(*to) && next.1 > 0.0 {
            put(&mut path, format_args!("V{}", number(y2 + next.1)));
        }
        let arrow = match open.body.vertices[*to] {
            Vertex::Item(item) if !goes_on(plan, item, &open.boxes[*to], *value) => {
                " marker-end=\"url(#arrow)\""
            }
            _ => "",
        };
        put(out, format_args!("<path class=\"edge\" d=\"{path}\"{arrow}/>\n"));
    }
    for (at, vertex) in open.body.vertices.iter().enumerate() {
        let Vertex::Item(item) = vertex else { continue };
        let placed = &open.boxes[at];
        let (x, y) = (left + open.x[at] - placed.width / 2.0, top + open.rows[open.layer[at]].0);
        let data = &plan.scene.items[*item];
        put(
            out,
            format_args!(
                "<g class=\"{}\" data-item=\"{item}\"><title>{}</title>",
                class(data),
                escape(&card::tip(plan.scene, *item))
            ),
        );
        match &placed.inside {
            Some(open) => frame(out, plan, data, open, placed, x, y),
            None => closed(out, plan, *item, placed, x, y),
        }
        for (value, at, _) in placed.leaves.iter().filter(|(_, _, labelled)| *labelled) {
            // A row of labels can be wider than its box.
            let room = (placed.width / 2.0 - ROUND).max(0.0);
            let (middle, bottom) = (x + placed.width / 2.0, y + placed.height);
            pill(out, &plan.pills[*value], middle + at, bottom, middle + at.clamp(-room, room));
        }
        out.push_str("</g>\n");
    }
}

/// Whether an edge goes on through the upper rim of an open group.
fn goes_on(plan: &Plan<'_>, item: usize, placed: &Placed, value: usize) -> bool {
    placed.inside.is_some() && plan.scene.items[item].takes.contains(&value)
}

/// The classes of an item.
pub(super) fn class(item: &Item) -> String {
    match item.mark {
        Some(mark) => format!("{} {}", kind(item), mark.class()),
        None => kind(item),
    }
}

/// The style of a picture, with that of a partition if it shows one.
pub(super) fn style(scene: &Scene) -> String {
    let is_partitioned = scene.items.iter().any(|item| item.mark.is_some());
    if is_partitioned { format!("{}\n{}", STYLE.trim(), MARKS.trim()) } else { STYLE.trim().to_owned() }
}

fn kind(item: &Item) -> String {
    match item.kind {
        Kind::Operator(family) => format!("item operator {}", family.class()),
        Kind::Input => "item input".to_owned(),
        Kind::Output => "item output".to_owned(),
        Kind::Module => "item module".to_owned(),
        Kind::Holder => "item holder".to_owned(),
        Kind::Graph | Kind::Whole => "item graph".to_owned(),
    }
}

fn frame(out: &mut String, plan: &Plan<'_>, item: &Item, open: &Open, placed: &Placed, x: f64, y: f64) {
    rectangle(out, "frame", x, y, placed.width, placed.height, 10.0);
    for (_, port) in placed.ports.iter().filter(|(value, _)| item.takes.contains(value)) {
        let at = number(x + placed.width / 2.0 + port);
        let end = number(y + open.rows.first().map_or(0.0, |row| row.0));
        put(out, format_args!("<path class=\"edge\" d=\"M{at} {}V{end}\"/>", number(y)));
    }
    let head = card::head(item);
    rectangle(out, "tab", x + 6.0, y + 5.0, head.width + 12.0, 18.0, 5.0);
    text(out, "head", x + 12.0, y + 18.0, head.width, &head.text);
    inside(out, plan, open, x, y);
}

fn closed(out: &mut String, plan: &Plan<'_>, item: usize, placed: &Placed, x: f64, y: f64) {
    let (card, data) = (&plan.cards[item], &plan.scene.items[item]);
    let rounded = match data.kind {
        Kind::Input | Kind::Output => placed.height / 2.0,
        _ => ROUND,
    };
    if data.is_group() {
        rectangle(out, "behind", x + 3.0, y + 3.0, placed.width, placed.height, rounded);
    }
    rectangle(out, "box", x, y, placed.width, placed.height, rounded);
    let mut base = y + RIM;
    for line in &card.lines {
        base += line.style.height();
        let indent = line.style.indent();
        if indent > 0.0 {
            let (mark, middle) = (x + PAD + 3.0, base - 7.5);
            put(
                out,
                format_args!(
                    "<path class=\"mark {}\" d=\"M{} {}l3.5 3.5l-3.5 3.5l-3.5 -3.5Z\"/>",
                    line.style.class(),
                    number(mark),
                    number(middle - 3.5)
                ),
            );
        }
        let start = match line.style {
            // Titles and subtitles are centered.
            Style::Title | Style::Note => x + (placed.width - line.width) / 2.0,
            _ => x + PAD + indent,
        };
        text(out, line.style.class(), start, base - 4.0, line.width, &line.text);
    }
}

/// The label of a value, at `x` below the lower rim `y` of its box, which its stem leaves at `start`.
fn pill(out: &mut String, (label, width): &(String, f64), x: f64, y: f64, start: f64) {
    let (end, half) = (y + STEM, y + STEM / 2.0);
    let stem = if start == x {
        format!("V{}", number(end))
    } else {
        let [half, end, x, start] = [half, end, x, start].map(number);
        format!("C{start} {half} {x} {half} {x} {end}")
    };
    put(out, format_args!("<path class=\"edge\" d=\"M{} {}{stem}\"/>", number(start), number(y)));
    rectangle(out, "pill", x - width / 2.0, y + STEM, *width, PILL, PILL / 2.0);
    text(out, "value", x - width / 2.0 + 6.0, y + STEM + 11.5, width - 12.0, label);
}

fn rectangle(out: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64, rounded: f64) {
    let [x, y, width, height, rounded] = [x, y, width, height, rounded].map(number);
    put(
        out,
        format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{rounded}\"/>"
        ),
    );
}

/// Text whose width is stated, so that no font makes it leave its box.
fn text(out: &mut String, class: &str, x: f64, y: f64, width: f64, text: &str) {
    if text.is_empty() {
        return;
    }
    let [x, y, width] = [x, y, width].map(number);
    put(
        out,
        format_args!(
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            escape(text)
        ),
    );
}

/// A tenth is finer than anybody sees. Rounded as the script does, so that both write the same.
fn number(x: f64) -> String {
    // No negative zero.
    format!("{}", (x * 10.0 + 0.5).floor() / 10.0 + 0.0)
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}

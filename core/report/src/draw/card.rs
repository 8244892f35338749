//! The content of a box, and its size.

use super::scene::{Item, ItemId, Kind, Scene, ValueId};
use super::text::{fit, width};

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Title,
    /// A class, or the size of a module.
    Note,
    /// A weight.
    Weight,
    /// A small constant.
    Constant,
}

impl Style {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Note => "note",
            Self::Weight => "weight",
            Self::Constant => "constant",
        }
    }

    const fn size(self) -> f64 {
        match self {
            Self::Title => 13.0,
            _ => 10.0,
        }
    }

    /// How far it stands from the left: marks stand before weights.
    pub(super) const fn indent(self) -> f64 {
        match self {
            Self::Weight | Self::Constant => 11.0,
            _ => 0.0,
        }
    }

    /// How high a line of it is.
    pub(super) const fn height(self) -> f64 {
        match self {
            Self::Title => 18.0,
            _ => 14.0,
        }
    }
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) style: Style,
    /// Its width, which the picture states.
    pub(super) width: f64,
}

/// A closed box: its lines and its size.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Card {
    pub(super) lines: Vec<Line>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The padding on either side of text.
pub(super) const PAD: f64 = 10.0;
/// The padding above and below the lines of a box.
pub(super) const RIM: f64 = 6.0;
/// The height of the label of a value.
pub(super) const PILL: f64 = 16.0;
/// The size of its letters.
const PILL_TEXT: f64 = 10.0;
const WIDEST: f64 = 250.0;
const NARROWEST: f64 = 56.0;
/// So many weights are shown in a box.
const WEIGHTS: usize = 4;

impl Card {
    /// The closed box of `item`.
    pub(super) fn for_item(scene: &Scene, item: &Item) -> Self {
        let mut lines = vec![line(&item.title, Style::Title)];
        let mut note = |text: &str| {
            if !text.is_empty() {
                lines.push(line(text, Style::Note));
            }
        };
        note(&item.class);
        if item.is_group() {
            note(&held(item));
            note(&passing(scene, item));
        } else {
            for weight in item.weights.iter().take(WEIGHTS) {
                let weight = &scene.weights[*weight];
                let is_weight = weight.elements > 0;
                let name = weight.name.rsplit(['.', '/']).next().unwrap_or_default();
                let text = match name {
                    name if is_weight && !name.is_empty() => format!("{name} {}", weight.label),
                    _ => weight.label.clone(),
                };
                lines.push(line(&text, if is_weight { Style::Weight } else { Style::Constant }));
            }
            if let Some(more) = item.weights.len().checked_sub(WEIGHTS).filter(|more| *more > 0) {
                lines.push(line(&format!("and {more} more"), Style::Note));
            }
        }
        let widest = lines.iter().map(|line| line.style.indent() + line.width).fold(0.0, f64::max);
        let height: f64 = lines.iter().map(|line| line.style.height()).sum();
        Self { width: (widest + 2.0 * PAD).max(NARROWEST), height: height + 2.0 * RIM - 2.0, lines }
    }
}

/// The line at the head of an opened box: its name, and its class.
pub(super) fn head(item: &Item) -> Line {
    let text = match item.class.as_str() {
        "" => item.title.clone(),
        class => format!("{} · {class}", item.title),
    };
    let text = fit(&text, 11.0, true, WIDEST);
    let width = width(&text, 11.0, true);
    Line { text, style: Style::Title, width }
}

fn line(text: &str, style: Style) -> Line {
    let bold = style == Style::Title;
    let text = fit(text, style.size(), bold, WIDEST - style.indent());
    let width = width(&text, style.size(), bold);
    Line { text, style, width }
}

/// The size of a group, `73,984 parameters · 7 nodes`.
fn held(item: &Item) -> String {
    let nodes = if item.nodes == 1 { "1 node".to_owned() } else { format!("{} nodes", item.nodes) };
    match item.elements {
        0 => nodes,
        n => format!("{} parameters · {nodes}", short(n)),
    }
}

/// The inputs and outputs of a group, `f32[1, 64] → f32[1, 10]`.
fn passing(scene: &Scene, item: &Item) -> String {
    let side = |values: &[ValueId]| {
        let mut labels =
            values.iter().map(|value| scene.values[*value].label.as_str()).filter(|l| !l.is_empty());
        match (labels.next(), labels.count()) {
            (None, _) => String::new(),
            (Some(label), 0) => label.to_owned(),
            (Some(label), more) => format!("{label} +{more}"),
        }
    };
    match (side(&item.incoming()), side(&item.outgoing())) {
        (into, out) if into.is_empty() && out.is_empty() => String::new(),
        (into, out) => format!("{into} → {out}").trim().to_owned(),
    }
}

/// `25.6 M`.
pub(super) fn short(n: u64) -> String {
    let scaled = |by: f64, unit: &str| {
        let text = format!("{:.1}", n as f64 / by);
        format!("{} {unit}", text.trim_end_matches(".0"))
    };
    match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => scaled(1e3, "k"),
        1_000_000..1_000_000_000 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// The label of a value: its text, and the width of the whole.
pub(super) fn pill(scene: &Scene, value: ValueId) -> (String, f64) {
    let value = &scene.values[value];
    let text = if value.label.is_empty() { &value.name } else { &value.label };
    let text = fit(text, PILL_TEXT, false, WIDEST);
    let width = width(&text, PILL_TEXT, false);
    (text, width + 12.0)
}

/// The tooltip of an item.
pub(super) fn tip(scene: &Scene, id: ItemId) -> String {
    let item = &scene.items[id];
    let mut lines = Vec::new();
    if item.is_group() {
        lines.push(item.title.clone());
    }
    lines.extend(item.tip.iter().cloned());
    if item.is_group() {
        lines.push(held(item));
        let said = |what: &str, value: ValueId| {
            let value = &scene.values[value];
            format!("{what} {}: {}", value.name, value.label)
        };
        if matches!(item.kind, Kind::Module) {
            lines.extend(item.incoming().into_iter().take(TOLD).map(|value| said("reads", value)));
            lines.extend(item.outgoing().into_iter().take(TOLD).map(|value| said("gives", value)));
        }
    }
    lines.join("\n")
}

/// So many values of a module are told.
const TOLD: usize = 12;

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn counts_are_short() {
        let texts: Vec<String> = [7, 1_000, 73_984, 25_557_032, 8_030_261_248].map(short).into();
        assert_eq!(texts, ["7", "1 k", "74 k", "25.6 M", "8 G"]);
    }
}

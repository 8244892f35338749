//! The data of a flame graph: modules inside of modules, and the nodes in them.

use std::collections::BTreeMap;

use onnxport_core::profile::{Changes, NodeTimes, Profile, Verdict};
use serde_json::{Map, Value, json};

use super::UNKNOWN;

/// A box: a module, or a node in it.
#[derive(Default)]
struct Frame<'p> {
    class: &'p str,
    /// Modules inside, in order.
    inside: BTreeMap<&'p str, Frame<'p>>,
    nodes: Vec<&'p NodeTimes>,
    /// The time of this module's nodes in the other profile, in microseconds.
    other: f64,
}

/// The tree of `profile`, with the times of the modules in `other`. Times are medians in microseconds.
pub(super) fn data(profile: &Profile, compared: Option<(&Profile, &Changes)>) -> Value {
    let mut root = Frame::default();
    let mut unknown = Frame::default();
    for node in &profile.nodes {
        let frame = frame(&mut root, &mut unknown, node);
        frame.nodes.push(node);
        if frame.class.is_empty() {
            frame.class = &node.class;
        }
    }
    for node in compared.into_iter().flat_map(|(other, _)| &other.nodes) {
        frame(&mut root, &mut unknown, node).other += node.times.median;
    }
    let verdicts = |changes: &Changes| {
        let rows = changes.modules.iter();
        rows.filter_map(|row| Some((row.key.clone()?, row.verdict))).collect::<BTreeMap<String, Verdict>>()
    };
    let verdicts = compared.map(|(_, changes)| verdicts(changes));
    let mut tree = shown(&profile.model, "", &root, verdicts.as_ref());
    if !unknown.nodes.is_empty() || unknown.other > 0.0 {
        // It is not a module.
        let none = verdicts.as_ref().map(|_| BTreeMap::new());
        let lost = shown(UNKNOWN, "", &unknown, none.as_ref());
        for sum in ["time", "other"] {
            let whole = tree[sum].as_f64().zip(lost[sum].as_f64()).map(|(a, b)| a + b);
            if let Some(whole) = whole {
                tree[sum] = whole.into();
            }
        }
        if let Some(inside) = tree["inside"].as_array_mut() {
            inside.push(lost);
        }
    }
    tree
}

/// The frame that a node belongs to.
fn frame<'f, 'p>(
    root: &'f mut Frame<'p>,
    unknown: &'f mut Frame<'p>,
    node: &'p NodeTimes,
) -> &'f mut Frame<'p> {
    if node.node.is_none() {
        return unknown;
    }
    let parts = node.module.split('.').filter(|part| !part.is_empty());
    parts.fold(root, |frame, part| frame.inside.entry(part).or_default())
}

fn shown(name: &str, path: &str, frame: &Frame<'_>, verdicts: Option<&BTreeMap<String, Verdict>>) -> Value {
    let (mut inside, mut time, mut other) = (Vec::new(), 0.0, frame.other);
    for (part, module) in &frame.inside {
        let path = if path.is_empty() { (*part).to_owned() } else { format!("{path}.{part}") };
        let value = shown(part, &path, module, verdicts);
        time += value["time"].as_f64().unwrap_or(0.0);
        other += value["other"].as_f64().unwrap_or(0.0);
        inside.push(value);
    }
    for node in &frame.nodes {
        time += node.times.median;
        inside.push(json!({
            "name": node.operator,
            "node": node.name,
            "line": node.line,
            "time": node.times.median,
        }));
    }
    let mut value = Map::new();
    value.insert("name".to_owned(), name.into());
    value.insert("path".to_owned(), path.into());
    value.insert("class".to_owned(), frame.class.into());
    value.insert("time".to_owned(), time.into());
    if let Some(verdicts) = verdicts {
        let verdict = match verdicts.get(path) {
            Some(Verdict::Slower) => "slower",
            Some(Verdict::Faster) => "faster",
            _ => "",
        };
        value.insert("other".to_owned(), other.into());
        value.insert("verdict".to_owned(), verdict.into());
    }
    value.insert("inside".to_owned(), inside.into());
    Value::Object(value)
}

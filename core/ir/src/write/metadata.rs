//! Metadata of models and nodes.

use onnxport_proto::StringStringEntryProto;
use serde::Serialize;

use super::in_place;
use super::names::{GraphNames, Names};
use super::plan::{Plan, Weight};
use super::{Metadata, WriteOptions};
use crate::Name;
use crate::diagnose::OriginId;
use crate::ir::{Graph, Model, NodeId};
use crate::onnx::{IN_PLACE_KEY, InPlace, NODE_KEY, RESULTS_KEY, SOURCES_KEY, STATE_KEY, UNBOUND_KEY, torch};

#[derive(Serialize)]
struct StateEntry<'a> {
    input: &'a str,
    output: &'a str,
    kind: &'static str,
    name: &'a str,
}

pub(super) fn entry(key: &str, value: impl Into<String>) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.to_owned()), value: Some(value.into()) }
}

/// The metadata of `model`, sorted by key.
pub(super) fn model(model: &Model, names: &Names) -> Vec<StringStringEntryProto> {
    let outputs = names.graph.outputs(model.graph.main());
    let states: Vec<StateEntry<'_>> = model
        .states
        .iter()
        .map(|state| StateEntry {
            input: names.graph.value(state.input),
            output: outputs.get(state.output).map_or("", |o| o.name.as_str()),
            kind: state.kind.as_str(),
            name: &state.name,
        })
        .collect();
    // Pairs that were read may not be any more.
    let stated = model.metadata.iter().filter(|(key, _)| key != IN_PLACE_KEY);
    let mut entries: Vec<_> = stated.map(|(k, v)| entry(k, v)).collect();
    let was_read = model.origin.is_imported() && model.metadata.iter().all(|(key, _)| key != IN_PLACE_KEY);
    let pairs = if was_read { Vec::new() } else { in_place::pairs(model) };
    let pairs: Vec<InPlace> = pairs
        .into_iter()
        .map(|(input, place)| InPlace {
            input: names.graph.value(input).to_owned(),
            output: outputs.get(place).map_or(String::new(), |output| output.name.to_string()),
        })
        .collect();
    if !pairs.is_empty() {
        entries.push(entry(IN_PLACE_KEY, serde_json::to_string(&pairs).unwrap_or_default()));
    }
    if !states.is_empty() {
        // Strings always serialise.
        entries.push(entry(STATE_KEY, serde_json::to_string(&states).unwrap_or_default()));
    }
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

/// Adds entries and keeps them sorted by key; one of a key that is there already replaces it.
pub(super) fn extend(entries: &mut Vec<StringStringEntryProto>, more: Vec<StringStringEntryProto>) {
    entries.retain(|entry| !more.iter().any(|new| new.key == entry.key));
    entries.extend(more);
    entries.sort_by(|a, b| a.key.cmp(&b.key));
}

/// Adds entries whose keys are not there yet.
pub(super) fn add(entries: &mut Vec<StringStringEntryProto>, more: &[(String, String)]) {
    for (key, text) in more {
        if !entries.iter().any(|known| known.key() == key) {
            entries.push(entry(key, text));
        }
    }
}

/// Returns the metadata about weights outside of the model: unbound ones, and files that it points into.
pub(super) fn of_weights(weights: &[Weight<'_>], plan: &Plan) -> Vec<StringStringEntryProto> {
    let unbound = super::unbound::entries(weights, plan);
    let mut entries = Vec::new();
    // Strings and numbers always serialise.
    if !unbound.is_empty() {
        entries.push(entry(UNBOUND_KEY, serde_json::to_string(&unbound).unwrap_or_default()));
    }
    if !plan.pointed.is_empty() {
        entries.push(entry(SOURCES_KEY, serde_json::to_string(&plan.pointed).unwrap_or_default()));
    }
    entries
}

/// The metadata of a node of `model` that comes from `id`. Of a node in a model that was read, which only a rewrite
/// makes, it has the form of the others.
pub(super) fn node(model: &Model, id: OriginId, options: &WriteOptions) -> Vec<StringStringEntryProto> {
    let origin = model.origins.get(id);
    let as_read = model.origin.is_imported() && !origin.target.is_empty();
    let mut entries = Vec::new();
    let node = || entry(NODE_KEY, origin.node.as_str());
    match options.metadata {
        _ if as_read => entries.extend(described(model, id, options)),
        Metadata::None => {}
        Metadata::Names => {
            if !origin.module.is_empty() {
                entries.push(entry(torch::NAMESPACE, origin.module.as_str()));
            }
            if !origin.node.is_empty() {
                entries.push(node());
            }
        }
        Metadata::Full if origin.node.is_empty() => {}
        Metadata::Full => {
            entries.extend(described(model, id, options));
            entries.insert(1, node());
        }
    }
    entries
}

/// States the exported calls whose results the outputs of a node are, where the names of the outputs do not say it: an
/// output has the name that the model gives it, or a number because another value has its name.
pub(super) fn results(
    graph: &Graph,
    names: &GraphNames,
    node: NodeId,
    options: &WriteOptions,
) -> Option<StringStringEntryProto> {
    let outputs = || {
        graph.nodes[node].outputs.iter().map(|value| {
            value.map_or(("", "", false), |value| {
                let own = graph.values[value].name.as_deref().unwrap_or_default();
                (own, names.value(value), graph.is_returned(value))
            })
        })
    };
    let is_unsaid = outputs().any(|(own, written, returned)| own != written && (returned || !own.is_empty()));
    let is_told = options.metadata != Metadata::None && is_unsaid;
    is_told.then(|| entry(RESULTS_KEY, outputs().map(|(own, ..)| own).collect::<Vec<_>>().join(",")))
}

/// Returns the metadata that PyTorch's exporter writes for a node with the origin `id`.
fn described<'m>(
    model: &'m Model,
    id: OriginId,
    options: &'m WriteOptions,
) -> impl Iterator<Item = StringStringEntryProto> + use<'m> {
    let printed = model.origins.printed(id).map(Name::as_str);
    let entries = torch::describe(model.origins.get(id), printed, options.source_root.as_deref());
    entries.into_iter().map(|(key, text)| entry(key, text))
}

//! Outlines stretches that repeat consecutively: the layers of a network, or the steps of an unrolled loop.
//!
//! Each node gets a number for its computation, whatever its inputs are. If a stretch of numbers repeats consecutively,
//! the copies are compared: each node must read the same nodes of its copy, and outside values at the same positions.
//! Adjacent copies for which this holds become calls of one function.

mod copies;
mod repeats;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::origin;
use super::{Level, OptimiseOptions};
use crate::diagnose::{CallSite, Origin, OriginId, Origins};
use crate::ir::{Attr, Def, Function, Graph, Model, Node, NodeId, OpsetImport, Type, ValueId};
use crate::tidy;
use crate::trace;
use copies::{Copies, Source};

/// The domain of the functions.
const DOMAIN: &str = "onnxport.parts";

/// The limit on searches of the graph.
const ROUNDS: usize = 8;

/// Outlines stretches of the main graph with at least as many nodes as the options say, if they say so and the level
/// is not 0; returns the number of calls. The results of the model stay the same, bit for bit.
pub fn outline(model: &mut Model, options: &OptimiseOptions) -> usize {
    let Some(least) = options.outline.filter(|_| options.level != Level::Nothing) else { return 0 };
    let _span = trace::span("rules", "outline");
    let mut calls = 0;
    for _ in 0..ROUNDS {
        let order: Vec<NodeId> = model.graph.order(model.graph.main()).collect();
        let items = kinds(&model.graph, &order);
        let before = calls;
        for repeat in repeats::repeats(&items, least.max(2)) {
            for copies in copies::all(&model.graph, &order, &repeat) {
                calls += copies.starts.len();
                replace(model, &order, &copies);
            }
        }
        if calls == before {
            break;
        }
    }
    if calls > 0 {
        let imports = &mut model.opsets;
        if imports.iter().all(|import| import.domain != DOMAIN) {
            imports.push(OpsetImport { domain: DOMAIN.to_owned(), version: 1 });
            imports.sort();
        }
        // Removes the constants that went into functions.
        tidy::model(model);
    }
    calls
}

/// Numbers the computations of nodes: equal numbers mean equal operators, attributes and positions of present inputs
/// and outputs. A node with nested graphs, or with large attributes, is unique.
fn kinds(graph: &Graph, order: &[NodeId]) -> Vec<u32> {
    let mut known: FxHashMap<String, u32> = FxHashMap::default();
    let mut next = 0;
    let mut new = || {
        next += 1;
        next
    };
    let mut kinds = Vec::with_capacity(order.len());
    for id in order {
        kinds.push(match text(&graph.nodes[*id]) {
            Some(text) => *known.entry(text).or_insert_with(&mut new),
            None => new(),
        });
    }
    kinds
}

fn text(node: &Node) -> Option<String> {
    let is_plain = |attr: &Attr| {
        use Attr::{Float, Floats, Int, Ints, Str, Strs};
        matches!(attr, Int(_) | Float(_) | Str(_) | Ints(_) | Floats(_) | Strs(_))
    };
    // Calls of outlined functions stay in the main graph.
    if node.domain == DOMAIN || !node.attributes.iter().all(|attribute| is_plain(&attribute.value)) {
        return None;
    }
    let given = |places: &[Option<ValueId>]| places.iter().map(Option::is_some).collect::<Vec<_>>();
    let (inputs, outputs) = (given(&node.inputs), given(&node.outputs));
    let Node { domain, op, overload, attributes, .. } = node;
    Some(format!("{domain} {op} {overload} {attributes:?} {inputs:?} {outputs:?}"))
}

/// Replaces copies by calls, and adds the function to the model.
fn replace(model: &mut Model, order: &[NodeId], copies: &Copies) {
    let Some(first) = copies.nodes(order, 0) else { return };
    let name = name(model, first);
    let function = function(&model.graph, copies, first, name.clone());
    model.functions.push(function);
    for copy in 0..copies.starts.len() {
        let (Some(nodes), Some(given)) = (copies.nodes(order, copy), copies.given.get(copy)) else {
            continue;
        };
        let origin = shared(&mut model.origins, &model.graph, nodes);
        let graph = &mut model.graph;
        let (Some(head), main) = (nodes.first(), graph.main()) else { continue };
        let inputs = copies.inputs.iter().map(|slot| given.get(*slot).copied());
        let inputs: SmallVec<[Option<ValueId>; 4]> = inputs.collect();
        let count = copies.outputs.len();
        let call = graph.append(main, DOMAIN, &name, inputs, Vec::new(), count, origin);
        graph.move_before(call, *head);
        let made: Vec<Option<ValueId>> = graph.nodes[call].outputs.to_vec();
        for ((at, output), made) in copies.outputs.iter().zip(made) {
            let old =
                nodes.get(*at).and_then(|node| graph.nodes[*node].outputs.get(*output).copied().flatten());
            if let (Some(old), Some(made)) = (old, made) {
                // The value keeps its name, its type and its readers.
                graph.swap_definitions(made, old);
            }
        }
        for node in nodes.iter().rev() {
            graph.remove(*node);
        }
    }
}

/// Returns the function with the computation of the nodes `first`.
fn function(from: &Graph, copies: &Copies, first: &[NodeId], name: String) -> Function {
    let mut graph = Graph::default();
    let main = graph.main();
    let given = copies.given.first().map(Vec::as_slice).unwrap_or_default();
    let mut outside: FxHashMap<usize, ValueId> = FxHashMap::default();
    for slot in &copies.inputs {
        outside.insert(*slot, graph.add_input(main, None, Type::Unknown));
    }
    for slot in &copies.constants {
        if let Some(data) = given.get(*slot).and_then(|value| from.initializer(*value)) {
            outside.insert(*slot, graph.add_initializer(None, data.clone()));
        }
    }
    let mut made: Vec<NodeId> = Vec::with_capacity(first.len());
    let mut sources = copies.sources.iter();
    for id in first {
        let node = &from.nodes[*id];
        let inputs = node.inputs.iter().map(|input| {
            input.and_then(|_| match sources.next()? {
                Source::Inside(at, output) => graph.nodes[*made.get(*at)?].outputs.get(*output).copied()?,
                Source::Outside(slot) => outside.get(slot).copied(),
            })
        });
        let inputs: SmallVec<[Option<ValueId>; 4]> = inputs.collect();
        let count = node.outputs.len();
        let attributes = node.attributes.clone();
        let new = graph.append(main, &node.domain, &node.op, inputs, attributes, count, None);
        graph.nodes[new].overload = node.overload.clone();
        for (index, _) in node.outputs.iter().enumerate().filter(|(_, output)| output.is_none()) {
            if let Some(value) = graph.nodes[new].outputs.get_mut(index).and_then(Option::take) {
                graph.values[value].def = Def::Gone;
            }
        }
        made.push(new);
    }
    let returned = copies.outputs.iter().filter_map(|(at, output)| {
        made.get(*at).and_then(|node| graph.nodes[*node].outputs.get(*output).copied().flatten())
    });
    let returned: Vec<ValueId> = returned.collect();
    graph.set_outputs(main, returned);
    Function { domain: DOMAIN.to_owned(), name, graph, ..Function::default() }
}

/// Returns the class of the nodes' module, if known, with a number if several functions have the same.
fn name(model: &Model, nodes: &[NodeId]) -> String {
    let origins = nodes.iter().filter_map(|node| model.graph.nodes[*node].origin);
    let stacks = origins.map(|id| &*model.origins.get(id).modules).filter(|modules| !modules.is_empty());
    let shared = origin::shared(stacks);
    // The root is the whole model.
    let class = shared.last().filter(|_| shared.len() > 1).map(|call| call.class.rsplit('.').next());
    let plain = class.flatten().map(|class| class.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let base = plain.filter(|name| !name.is_empty()).unwrap_or_else(|| "Part".to_owned());
    let taken = |name: &str| model.functions.iter().any(|f| f.domain == DOMAIN && f.name == name);
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name)).unwrap_or(base)
}

/// Returns the origin of a call: the common module of its nodes.
fn shared(origins: &mut Origins, graph: &Graph, nodes: &[NodeId]) -> Option<OriginId> {
    let all: Vec<&Origin> =
        nodes.iter().filter_map(|node| graph.nodes[*node].origin).map(|id| origins.get(id)).collect();
    let first = all.first()?;
    let modules = origin::shared(all.iter().map(|origin| &*origin.modules).filter(|all| !all.is_empty()));
    let call = modules.last().cloned().unwrap_or_default();
    let place = CallSite {
        target: crate::Name::new(),
        module: call.path,
        class: call.class,
        modules: modules.into(),
        trace: first.trace.clone(),
        frames: first.frames.clone(),
    };
    let origin = Origin::new(first.node.clone(), place);
    Some(origins.push(origin))
}

//! Turns the body of a node into a model.

use rustc_hash::FxHashSet;

use crate::ir::{Attr, BlockId, Def, Function, Model, NodeId, ValueId};
use crate::verify::Runtime;

/// A node of one side.
pub(super) struct Half<'a> {
    pub model: &'a Model,
    pub node: NodeId,
    pub runtime: &'a Runtime,
}

/// The body of a node as a model, with its own inputs and its outputs.
pub(super) struct Body {
    pub model: Model,
    pub inputs: Vec<ValueId>,
    pub outputs: Vec<ValueId>,
    /// The nodes that belong to it; `None` if it is the whole graph.
    pub nodes: Option<FxHashSet<NodeId>>,
}

/// Returns the graph in the attribute `name` of a node as the body of the node.
pub(super) fn body(half: &Half<'_>, name: &str) -> Option<Body> {
    let Some(Attr::Block(block)) = half.model.graph.nodes[half.node].attr(name) else { return None };
    Some(lifted(half.model, half.node, *block))
}

/// Returns the body of a local function, with the types of one call.
pub(super) fn called(half: &Half<'_>) -> Option<Body> {
    let function = function(half.model, half.node)?;
    let call = &half.model.graph.nodes[half.node];
    let mut graph = function.graph.clone();
    for node in graph.nodes.ids().collect::<Vec<_>>() {
        for attribute in &mut graph.nodes[node].attributes {
            if let Attr::Ref(outer, _) = &attribute.value {
                let default =
                    || function.defaults.iter().find(|d| d.name == outer.as_str()).map(|d| &d.value);
                attribute.value = call.attr(outer).or_else(default)?.clone();
            }
        }
    }
    let main = graph.main();
    let (inputs, outputs) = (graph.blocks[main].inputs.clone(), graph.blocks[main].outputs().to_vec());
    let model = Model {
        graph,
        opsets: function.opsets(half.model).to_vec(),
        output_names: Vec::new(),
        ..half.model.clone()
    };
    Some(Body { model, inputs, outputs, nodes: None })
}

pub(super) fn function(model: &Model, node: NodeId) -> Option<&Function> {
    let node = &model.graph.nodes[node];
    model.functions.iter().find(|f| f.domain == node.domain && f.name == node.op)
}

fn lifted(model: &Model, node: NodeId, block: BlockId) -> Body {
    let mut model = model.clone();
    let graph = &mut model.graph;
    let outputs = graph.blocks[block].outputs().to_vec();
    let inputs = std::mem::take(&mut graph.blocks[block].inputs);
    let main = graph.main();
    for value in &inputs {
        graph.values[*value].def = Def::Input(main, graph.blocks[main].inputs.len() as u32);
        graph.blocks[main].inputs.push(*value);
    }
    let inner: Vec<NodeId> = graph.order(block).collect();
    for inner in &inner {
        graph.move_before(*inner, node);
    }
    graph.initializers.iter_mut().filter(|i| i.block == block).for_each(|i| i.block = main);
    graph.literals.iter_mut().filter(|l| l.block == block).for_each(|l| l.block = main);
    Body { model, inputs, outputs, nodes: Some(inner.into_iter().collect()) }
}

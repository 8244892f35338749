//! Tests whose operators are replaced by the bodies that ONNX gives them.

use onnxport_ir::ir::{Function, Model, Node, Type};
use onnxport_ir::ops::body;

/// The model with the bodies of its operators as local functions, which come before evaluators; `None` where no operator of
/// the main graph has one.
pub(crate) fn expanded(model: &Model) -> Option<Model> {
    let graph = &model.graph;
    let nodes: Vec<&Node> = graph.order(graph.main()).map(|node| &graph.nodes[node]).collect();
    let mut out = model.clone();
    let mut defined = Vec::new();
    for node in &nodes {
        // A body may be for this call only, and in it the operator is the operator again.
        let calls = |f: &Function| f.graph.nodes.iter().any(|(_, inner)| inner.op == node.op);
        let single = nodes.iter().filter(|other| other.op == node.op).count() == 1;
        let types = node.inputs.iter().map(|v| v.map_or(Type::Unknown, |v| graph.values[v].ty.clone()));
        let opset = model.opsets.iter().find(|o| o.domain == node.domain).map_or(0, |o| o.version);
        let found = body(graph, node, &types.collect::<Vec<_>>(), opset).filter(|f| single && !calls(f));
        if let Some(function) = found {
            out.functions.push(function.into_owned());
            defined.push(node.op.clone());
        }
    }
    // Graphs of a call are part of its body.
    for node in out.graph.order(out.graph.main()).collect::<Vec<_>>() {
        let node = &mut out.graph.nodes[node];
        if defined.contains(&node.op) {
            node.attributes.retain(|a| a.value.blocks().is_empty());
        }
    }
    (!defined.is_empty()).then_some(out)
}

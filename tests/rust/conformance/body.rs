//! Tests whose operators are replaced by the bodies that ONNX gives them.

use onnxport_ir::ir::{Function, Model, Node};
use onnxport_ir::ops::body;

/// The model with the bodies of its operators as local functions, which come before evaluators; `None` where no operator of
/// the main graph has one.
pub(crate) fn expanded(model: &Model) -> Option<Model> {
    let graph = &model.graph;
    let nodes: Vec<&Node> = graph.order(graph.main()).map(|node| &graph.nodes[node]).collect();
    let mut out = model.clone();
    for node in &nodes {
        // A body may be for this call only, and in it the operator is the operator again.
        let calls = |f: &Function| f.graph.nodes.iter().any(|(_, inner)| inner.op == node.op);
        let single = nodes.iter().filter(|other| other.op == node.op).count() == 1;
        let dtypes: Vec<_> =
            node.inputs.iter().map(|value| value.and_then(|v| graph.values[v].ty.dtype())).collect();
        let found = body(node, &dtypes, model.opset()).filter(|f| single && !calls(f));
        out.functions.extend(found.map(std::borrow::Cow::into_owned));
    }
    (out.functions.len() > model.functions.len()).then_some(out)
}

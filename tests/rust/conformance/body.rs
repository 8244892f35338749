//! Tests whose operators are replaced by the bodies that ONNX gives them.

use onnxport_ir::ir::Model;
use onnxport_ir::ops::body;

/// The model with the bodies of its operators as local functions, which come before evaluators; `None` where no operator of
/// the main graph has one.
pub(crate) fn expanded(model: &Model) -> Option<Model> {
    let mut out = model.clone();
    for node in model.graph.order(model.graph.main()) {
        let node = &model.graph.nodes[node];
        let here = out.functions.iter().any(|f| f.domain == node.domain && f.name == node.op);
        // In the body the operator is the operator again.
        let calls =
            |f: &onnxport_ir::ir::Function| f.graph.nodes.iter().any(|(_, inner)| inner.op == node.op);
        if let Some(body) = body(&node.domain, &node.op, model.opset()).filter(|f| !here && !calls(f)) {
            out.functions.push(body.clone());
        }
    }
    (out.functions.len() > model.functions.len()).then_some(out)
}

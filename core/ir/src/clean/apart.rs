//! What the body of a `Scan` returns is not what it was given.

use crate::ir::{Def, Graph, NodeId, ValueId};

/// Puts an `Identity` where the body of a `Scan` returns an input of its own. ONNX allows it, but ONNX Runtime 1.31
/// hands out memory then that nothing was written to.
pub fn apart(graph: &mut Graph) {
    let scans: Vec<NodeId> = graph
        .nodes
        .iter()
        .filter(|(_, node)| node.block.is_some() && node.is("Scan"))
        .map(|(id, _)| id)
        .collect();
    for scan in scans {
        let origin = graph.nodes[scan].origin;
        let Some(body) = graph.nodes[scan].blocks().next() else { continue };
        let mut returned: Vec<ValueId> = graph.blocks[body].outputs().to_vec();
        let given = |graph: &Graph, value: ValueId| matches!(graph.values[value].def, Def::Input(block, _) if block == body);
        if !returned.iter().any(|value| given(graph, *value)) {
            continue;
        }
        for value in &mut returned {
            if !given(graph, *value) {
                continue;
            }
            let copy = graph.append(body, "", "Identity", [Some(*value)], Vec::new(), 1, origin);
            let ty = graph.values[*value].ty.clone();
            if let Some(made) = graph.nodes[copy].outputs.first().copied().flatten() {
                graph.values[made].ty = ty;
                *value = made;
            }
        }
        graph.set_outputs(body, returned);
    }
}

//! Gives each value that a body returns a definition of its own.

use crate::ir::{BlockId, Def, Graph, NodeId, ValueId};
use crate::op;

/// Puts an `Identity` where the body of a `Scan` returns an input of its own. ONNX allows it, but ONNX Runtime 1.31
/// hands out memory then that nothing was written to.
pub fn apart(graph: &mut Graph) {
    let scans: Vec<NodeId> = graph
        .nodes
        .iter()
        .filter(|(_, node)| node.block.is_some() && node.is(op::Scan))
        .map(|(id, _)| id)
        .collect();
    for scan in scans {
        let Some(body) = graph.nodes[scan].blocks().next() else { continue };
        let given = |graph: &Graph, value: ValueId| matches!(graph.values[value].def, Def::Input(block, _) if block == body);
        copied(graph, scan, body, |graph, returned, place| {
            returned.get(place).is_some_and(|value| given(graph, *value))
        });
    }
}

/// Puts an `Identity` where a graph inside of a node returns a value once more, for models that keep the names that they
/// have: ONNX has no rule against two outputs of one name, but ONNX Runtime 1.31 gives other results then.
pub fn once(graph: &mut Graph) {
    let nodes: Vec<NodeId> = (graph.nodes.iter())
        .filter(|(_, node)| node.block.is_some() && node.blocks().next().is_some())
        .map(|(id, _)| id)
        .collect();
    for node in nodes {
        for block in graph.nodes[node].blocks().collect::<Vec<_>>() {
            copied(graph, node, block, |_, returned, place| {
                returned.iter().take(place).any(|before| Some(before) == returned.get(place))
            });
        }
    }
}

/// Copies each value that `block`, a body of `node`, returns at an index for which `must` holds.
fn copied(graph: &mut Graph, node: NodeId, block: BlockId, must: impl Fn(&Graph, &[ValueId], usize) -> bool) {
    let mut returned: Vec<ValueId> = graph.blocks[block].outputs().to_vec();
    let places: Vec<usize> = (0..returned.len()).filter(|place| must(graph, &returned, *place)).collect();
    if places.is_empty() {
        return;
    }
    let origin = graph.nodes[node].origin;
    for place in places {
        let Some(value) = returned.get_mut(place) else { continue };
        let copy = graph.append(block, "", op::Identity, [Some(*value)], Vec::new(), 1, origin);
        if let Some(made) = graph.nodes[copy].outputs.first().copied().flatten() {
            graph.values[made].ty = graph.values[*value].ty.clone();
            *value = made;
        }
    }
    graph.set_outputs(block, returned);
}

#[cfg(test)]
mod tests {
    use crate::ir::Model;

    #[test]
    fn a_graph_inside_returns_a_value_once() {
        let text = "opset 20\ngraph {\n  input %s: f32[2]\n  input %x: f32[3, 2]\n  \
                    %0, %1 = Scan(%s, %x) {num_scan_inputs = 1, body = {\n    input %a: f32[2]\n    input %b: f32[2]\n    \
                    %2 = Add(%a, %b)\n    output %2\n    output %2\n  }}\n  output %0 as sum\n  output %1 as sums\n}\n";
        let mut model = Model::parse(text).unwrap();
        let nodes = model.graph.node_count();
        for _ in 0..2 {
            super::once(&mut model.graph);
            assert_eq!(model.graph.node_count(), nodes + 1);
        }
    }
}

//! Turns `Constant` nodes of tensors into initializers, so that constants have one form.

use crate::ir::{Attr, Graph, NodeId};
use crate::op;

/// Replaces the `Constant` nodes of `graph` that hold tensors with initializers, and returns their number. Outputs of a graph
/// stay nodes, and so do attributes that only the call of a function defines.
pub fn constants(graph: &mut Graph) -> usize {
    let (main, mut count) = (graph.main(), 0);
    let nodes: Vec<NodeId> = graph.nodes.ids().filter(|node| graph.nodes[*node].block.is_some()).collect();
    for node in nodes {
        let data = &graph.nodes[node];
        let (Some(Attr::Tensor(tensor)), [Some(value)]) = (data.attr("value"), &data.outputs[..]) else {
            continue;
        };
        if !data.is(op::Constant) || graph.is_returned(*value) {
            continue;
        }
        let (value, tensor) = (*value, tensor.clone());
        // A name in a nested graph may mean something else in the graph around it.
        let name = graph.values[value].name.take().filter(|_| graph.nodes[node].block == Some(main));
        let constant = graph.add_initializer(name, tensor);
        graph.replace_uses(value, constant);
        graph.remove(node);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::{Growth, weights};
    use super::constants;
    use crate::ir::Model;

    #[test]
    fn weights_are_folded_behind_constant_nodes() {
        let text = "opset 20
graph {
  constant %w: f32[4, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
  input %x: f32[2, 3]
  %start: i64[1] = Constant() {value = tensor i64[1] [0]}
  %end: i64[1] = Constant() {value = tensor i64[1] [2]}
  %part: f32[2, 2] = Slice(%w, %start, %end, %start)
  %y: f32[2, 3] = MatMul(%part, %x)
  output %y as y
}
";
        let mut model = Model::parse(text).expect("a model");
        model.graph.initializers[0].weight = true;
        assert_eq!(constants(&mut model.graph), 2);
        let mut room = Growth::from_model(&model);
        assert_eq!(weights(&mut model, true, &mut room), 1);
        assert_eq!(model.graph.node_count(), 1, "{}", model.to_text());
    }
}

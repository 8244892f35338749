//! Which values exist only inside of a chain of elementwise operators.

use onnxport_ir::ir::{Def, Graph, Node, ValueId};
use rustc_hash::FxHashSet;

use crate::executor::ops::is_elementwise;

/// The results of elementwise nodes that one elementwise node of the same block reads, and nobody else.
pub(super) fn fused(
    graph: &Graph,
    functions: &FxHashSet<&str>,
    seen: &FxHashSet<ValueId>,
) -> FxHashSet<ValueId> {
    let chains = |node: &Node| {
        node.domain.is_empty() && is_elementwise(&node.op) && !functions.contains(node.op.as_str())
    };
    let inside = |value: ValueId| {
        let info = &graph.values[value];
        let (Def::Node(maker, 0), [only]) = (info.def, info.uses()) else { return false };
        let (maker, reader) = (&graph.nodes[maker], &graph.nodes[only.node]);
        chains(maker) && chains(reader) && maker.block == reader.block
    };
    let free = |value: &ValueId| !graph.is_returned(*value) && !seen.contains(value);
    graph.values.iter().map(|(value, _)| value).filter(|value| free(value) && inside(*value)).collect()
}

#[cfg(test)]
mod tests {
    use onnxport_ir::ir::Model;

    use super::*;

    fn found(body: &str, functions: &[&str]) -> Vec<String> {
        let model = Model::parse(&format!("opset 20\ngraph {{\n  input %x: f32[2, 3]\n{body}}}\n")).unwrap();
        let fused = fused(&model.graph, &functions.iter().copied().collect(), &FxHashSet::default());
        let mut ops: Vec<String> = fused
            .into_iter()
            .filter_map(|value| match model.graph.values[value].def {
                Def::Node(node, _) => Some(model.graph.nodes[node].op.to_string()),
                _ => None,
            })
            .collect();
        ops.sort();
        ops
    }

    #[test]
    fn what_one_elementwise_node_reads_is_fused() {
        let chain = "  %0 = Exp(%x)\n  %1 = Add(%0, %x)\n  %2 = Tanh(%1)\n  output %2 as y\n";
        assert_eq!(found(chain, &[]), ["Add", "Exp"]);
        assert_eq!(found(chain, &["Tanh"]), ["Exp"]);
    }

    #[test]
    fn what_others_see_is_not() {
        let twice = "  %0 = Exp(%x)\n  %1 = Add(%0, %0)\n  output %1 as y\n";
        assert!(found(twice, &[]).is_empty());
        let returned = "  %0 = Exp(%x)\n  %1 = Neg(%0)\n  output %0 as z\n  output %1 as y\n";
        assert!(found(returned, &[]).is_empty());
        let moved = "  %0 = Exp(%x)\n  %1 = Transpose(%0)\n  %2 = Neg(%1)\n  output %2 as y\n";
        assert!(found(moved, &[]).is_empty());
    }
}

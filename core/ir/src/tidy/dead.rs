//! Removal of dead nodes and constants.

use crate::ir::{BlockId, Def, Graph, NodeId, ValueId};

/// Removes every node that no output depends on; returns how many.
pub(super) fn nodes(graph: &mut Graph) -> usize {
    let mut live = vec![false; graph.nodes.len()];
    let mut pending: Vec<ValueId> = graph.blocks[graph.main()].outputs().to_vec();
    while let Some(value) = pending.pop() {
        let Def::Node(node, _) = graph.values[value].def else { continue };
        match live.get_mut(node.index()) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        let data = &graph.nodes[node];
        pending.extend(data.inputs.iter().flatten());
        for block in data.blocks() {
            pending.extend(graph.blocks[block].outputs());
        }
    }
    let dead = graph.nodes.iter().zip(live).filter(|((_, node), live)| node.block.is_some() && !live);
    let dead: Vec<NodeId> = dead.map(|((id, _), _)| id).collect();
    for node in &dead {
        let held: Vec<BlockId> = graph.nodes[*node].blocks().collect();
        for block in held {
            graph.set_outputs(block, []);
        }
        graph.remove(*node);
    }
    dead.len()
}

/// Removes every initializer that nothing reads; returns how many.
pub(super) fn initializers(graph: &mut Graph) -> usize {
    let before = graph.initializers.len();
    let all = std::mem::take(&mut graph.initializers);
    for initializer in all {
        let value = initializer.value;
        if graph.is_read(value) {
            graph.values[value].def = Def::Initializer(graph.initializers.len() as u32);
            graph.initializers.push(initializer);
        } else {
            graph.values[value].def = Def::Gone;
        }
    }
    before - graph.initializers.len()
}

//! Removal of what nothing reads.

use rustc_hash::FxHashSet;

use crate::ir::{Def, Graph, NodeId, ValueId};

/// Removes every node that no output depends on; returns how many.
pub(super) fn nodes(graph: &mut Graph) -> usize {
    let mut live = vec![false; graph.nodes.len()];
    let mut pending: Vec<ValueId> = graph.blocks[graph.main()].outputs.clone();
    while let Some(value) = pending.pop() {
        let Def::Node(node, _) = graph.values[value].def else { continue };
        if std::mem::replace(&mut live[node.index()], true) {
            continue;
        }
        let data = &graph.nodes[node];
        pending.extend(data.inputs.iter().flatten());
        for block in data.blocks() {
            pending.extend(&graph.blocks[block].outputs);
        }
    }
    let dead: Vec<NodeId> =
        graph.nodes.ids().filter(|n| graph.nodes[*n].block.is_some() && !live[n.index()]).collect();
    // In one sweep: taking uses out one by one would cost as many steps as a value has uses.
    let mut read: FxHashSet<ValueId> = FxHashSet::default();
    for node in &dead {
        graph.unlink(*node);
        read.extend(std::mem::take(&mut graph.nodes[*node].inputs).into_iter().flatten());
        for output in std::mem::take(&mut graph.nodes[*node].outputs).into_iter().flatten() {
            graph.values[output].def = Def::Gone;
        }
    }
    for value in read {
        graph.values[value].uses.retain(|u| live[u.node.index()]);
    }
    dead.len()
}

/// Removes every initializer that nothing reads; returns how many.
pub(super) fn initializers(graph: &mut Graph) -> usize {
    let blocks = graph.blocks.iter();
    let returned: FxHashSet<ValueId> = blocks.flat_map(|(_, b)| b.outputs.iter().copied()).collect();
    let before = graph.initializers.len();
    let all = std::mem::take(&mut graph.initializers);
    for initializer in all {
        let value = initializer.value;
        if graph.values[value].uses.is_empty() && !returned.contains(&value) {
            graph.values[value].def = Def::Gone;
        } else {
            graph.values[value].def = Def::Initializer(graph.initializers.len() as u32);
            graph.initializers.push(initializer);
        }
    }
    before - graph.initializers.len()
}

//! The values that nodes of the main graph read, those in their nested graphs included.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{BlockId, Def, Graph, NodeId, ValueId};

/// Reads of nested graphs, by the nodes of the main graph that hold them.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The values of the main graph that nested graphs of a node read or return, each once.
    captured: FxHashMap<NodeId, Vec<ValueId>>,
    /// The nodes whose nested graphs read or return a value.
    readers: FxHashMap<ValueId, Vec<NodeId>>,
    /// The values that the main graph returns.
    returned: FxHashSet<ValueId>,
    /// The constants of nested graphs.
    held: FxHashMap<BlockId, Vec<ValueId>>,
}

impl Links {
    pub(super) fn from_graph(graph: &Graph) -> Self {
        let main = graph.main();
        let mut links =
            Self { returned: graph.blocks[main].outputs().iter().copied().collect(), ..Self::default() };
        let constants = graph.initializers.iter().map(|constant| (constant.block, constant.value));
        let literals = graph.literals.iter().map(|constant| (constant.block, constant.value));
        for (block, value) in constants.chain(literals).filter(|(block, _)| *block != main) {
            links.held.entry(block).or_default().push(value);
        }
        let holders = graph.order(main).filter(|node| graph.nodes[*node].blocks().next().is_some());
        for holder in holders {
            let captured = captured(graph, holder);
            for value in &captured {
                links.readers.entry(*value).or_default().push(holder);
            }
            links.captured.insert(holder, captured);
        }
        links
    }

    /// The values that `node` of the main graph reads.
    pub(super) fn reads<'a>(&'a self, graph: &'a Graph, node: NodeId) -> impl Iterator<Item = ValueId> + 'a {
        let captured = self.captured.get(&node).into_iter().flatten();
        graph.nodes[node].inputs.iter().flatten().chain(captured).copied()
    }

    /// The nodes of the main graph that read `value`.
    pub(super) fn readers<'a>(
        &'a self,
        graph: &'a Graph,
        value: ValueId,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let main = Some(graph.main());
        let direct = graph.values[value].uses().iter().map(|place| place.node);
        let holders = self.readers.get(&value).into_iter().flatten().copied();
        direct.chain(holders).filter(move |node| graph.nodes[*node].block == main)
    }

    /// Whether the model returns `value`.
    pub(super) fn is_returned(&self, value: ValueId) -> bool {
        self.returned.contains(&value)
    }

    /// The constants that `block`, which is not the main one, holds.
    pub(super) fn held(&self, block: BlockId) -> &[ValueId] {
        self.held.get(&block).map_or(&[], Vec::as_slice)
    }
}

/// The values of the main graph that the nested graphs of `node` read or return, each once.
fn captured(graph: &Graph, node: NodeId) -> Vec<ValueId> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut blocks: Vec<BlockId> = graph.nodes[node].blocks().collect();
    while let Some(block) = blocks.pop() {
        let mut read: Vec<ValueId> = Vec::new();
        for inner in graph.order(block) {
            read.extend(graph.nodes[inner].inputs.iter().flatten());
            blocks.extend(graph.nodes[inner].blocks());
        }
        read.extend(graph.blocks[block].outputs());
        found.extend(read.into_iter().filter(|value| is_of_main(graph, *value) && seen.insert(*value)));
    }
    found
}

/// Whether the main graph defines `value`.
pub(super) fn is_of_main(graph: &Graph, value: ValueId) -> bool {
    let main = graph.main();
    match graph.values[value].def {
        Def::Input(block, _) => block == main,
        Def::Node(node, _) => graph.nodes[node].block == Some(main),
        Def::Initializer(at) => graph.initializers.get(at as usize).is_some_and(|i| i.block == main),
        Def::Literal(at) => graph.literals.get(at as usize).is_some_and(|l| l.block == main),
        Def::Gone => false,
    }
}

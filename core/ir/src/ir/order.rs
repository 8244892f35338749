//! The order of nodes: a list per block, with a key in each node, so that comparing two nodes compares their keys.
//!
//! Keys leave gaps. When a gap is used up, the nodes around it get new keys: the smallest range of keys whose
//! density is below a threshold that falls with the size of the range (Bender and others, *Two Simplified
//! Algorithms for Maintaining Order in a List*, 2002). An insertion costs amortized logarithmic time.

use super::{BlockId, Def, Graph, Node, NodeId, ValueId};

/// The gap between nodes that are appended.
const GAP: u64 = 1 << 20;
/// The key of the first node of a block: as much room in front of it as behind.
const MIDDLE: u64 = 1 << 63;
/// The smallest range of keys that is given out anew, as a power of two.
const SMALLEST: u32 = 6;

impl Graph {
    /// The nodes of `block` in order.
    pub fn order(&self, block: BlockId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.blocks[block].first, |node| self.nodes[*node].next)
    }

    /// Every block that is part of the graph, the main one first, outer ones before inner ones, in the order of their nodes.
    pub fn reachable_blocks(&self) -> Vec<BlockId> {
        let mut found = vec![self.main()];
        let mut next = 0;
        while let Some(block) = found.get(next).copied() {
            next += 1;
            for node in self.order(block) {
                found.extend(self.nodes[node].blocks());
            }
        }
        found
    }

    /// The node after `node` in its block.
    pub fn next(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node].next
    }

    /// Whether `a` comes before `b`, which lies in the same block.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.nodes[a].key < self.nodes[b].key
    }

    /// The node whose body `block` is; `None` for the main block.
    pub fn holder(&self, block: BlockId) -> Option<NodeId> {
        self.blocks[block].holder
    }

    /// Whether `value` is defined in front of `node`, or in front of a node around it.
    pub fn sees(&self, node: NodeId, value: ValueId) -> bool {
        let home = match self.values[value].def {
            Def::Initializer(index) => self.initializers.get(index as usize).map(|i| i.block),
            Def::Literal(index) => self.literals.get(index as usize).map(|l| l.block),
            Def::Input(block, _) => Some(block),
            Def::Node(maker, _) => self.nodes[maker].block,
            Def::Gone => return false,
        };
        let mut at = node;
        while let Some(block) = self.nodes[at].block {
            if home == Some(block) {
                return match self.values[value].def {
                    Def::Node(maker, _) => self.is_before(maker, at),
                    _ => true,
                };
            }
            let Some(holder) = self.holder(block) else { return false };
            at = holder;
        }
        false
    }

    /// Moves `node` to just before `before`, in the same block.
    pub fn move_before(&mut self, node: NodeId, before: NodeId) {
        if node == before {
            return;
        }
        self.unlink(node);
        if let Some(block) = self.nodes[before].block {
            self.link(node, block, Some(before));
        }
    }

    /// Orders `block`: `order` names its nodes, each once.
    pub fn set_order(&mut self, block: BlockId, order: &[NodeId]) {
        (self.blocks[block].first, self.blocks[block].last) = (None, None);
        for node in order {
            self.link(*node, block, None);
        }
    }

    /// Puts `node`, which stands nowhere, before `next`, or at the end of `block`.
    pub(super) fn link(&mut self, node: NodeId, block: BlockId, next: Option<NodeId>) {
        let previous = match next {
            Some(next) => self.nodes[next].previous,
            None => self.blocks[block].last,
        };
        let key = self.between(previous, next).unwrap_or_else(|| {
            previous.or(next).into_iter().for_each(|near| self.make_room(near));
            self.between(previous, next).unwrap_or(MIDDLE)
        });
        let here = &mut self.nodes[node];
        (here.block, here.previous, here.next, here.key) = (Some(block), previous, next, key);
        match previous {
            Some(p) => self.nodes[p].next = Some(node),
            None => self.blocks[block].first = Some(node),
        }
        match next {
            Some(n) => self.nodes[n].previous = Some(node),
            None => self.blocks[block].last = Some(node),
        }
    }

    pub(super) fn unlink(&mut self, node: NodeId) {
        let Node { block, previous, next, .. } = self.nodes[node];
        let Some(block) = block else { return };
        match previous {
            Some(p) => self.nodes[p].next = next,
            None => self.blocks[block].first = next,
        }
        match next {
            Some(n) => self.nodes[n].previous = previous,
            None => self.blocks[block].last = previous,
        }
        let node = &mut self.nodes[node];
        (node.block, node.previous, node.next) = (None, None, None);
    }

    /// A key between those of two neighbours; `None` where there is none.
    fn between(&self, previous: Option<NodeId>, next: Option<NodeId>) -> Option<u64> {
        let middle = |low: u64, high: u64| (high - low > 1).then(|| low + (high - low) / 2);
        match (previous.map(|p| self.nodes[p].key), next.map(|n| self.nodes[n].key)) {
            (None, None) => Some(MIDDLE),
            (Some(low), None) => low.checked_add(GAP).or_else(|| middle(low, u64::MAX)),
            (None, Some(high)) => high.checked_sub(GAP).or_else(|| middle(0, high)),
            (Some(low), Some(high)) => middle(low, high),
        }
    }

    /// Spreads the keys around `near`.
    fn make_room(&mut self, near: NodeId) {
        let key = self.nodes[near].key;
        let (mut first, mut last, mut count) = (near, near, 1_u64);
        for bits in SMALLEST..=u64::BITS {
            let mask = u64::MAX >> (u64::BITS - bits);
            let (low, high) = (key & !mask, key | mask);
            while let Some(previous) = self.nodes[first].previous.filter(|p| self.nodes[*p].key >= low) {
                (first, count) = (previous, count + 1);
            }
            while let Some(next) = self.nodes[last].next.filter(|n| self.nodes[*n].key <= high) {
                (last, count) = (next, count + 1);
            }
            // The keys of a range of 2^b may be taken by (4/3)^b nodes.
            if bits == u64::BITS || (count as f64) < (4.0_f64 / 3.0).powi(bits as i32) {
                let step = mask / (count + 1);
                let (mut at, mut key) = (Some(first), low);
                for _ in 0..count {
                    let Some(node) = at else { return };
                    key += step;
                    self.nodes[node].key = key;
                    at = self.nodes[node].next;
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ir::{Attr, Attribute, BlockId, Graph, NodeId};

    fn node(graph: &mut Graph, block: BlockId) -> NodeId {
        graph.append(block, "", "Constant", [], Vec::new(), 1, None)
    }

    /// Asserts that the keys agree with the list.
    fn agree(graph: &Graph, block: BlockId) {
        let order: Vec<NodeId> = graph.order(block).collect();
        assert!(order.windows(2).all(|pair| graph.is_before(pair[0], pair[1])), "{order:?}");
    }

    #[test]
    fn keys_follow_the_list_wherever_nodes_go() {
        // Inserts repeatedly at one position, at the front, and at pseudo-random positions.
        for draw in [|_, _| 1, |_, _| 0, |step: usize, length: usize| step.wrapping_mul(0x9E37_79B9) % length]
        {
            let mut graph = Graph::default();
            let main = graph.main();
            let mut nodes = vec![node(&mut graph, main), node(&mut graph, main)];
            for step in 0..5_000 {
                let before = nodes[draw(step, nodes.len())];
                let new = node(&mut graph, main);
                graph.move_before(new, before);
                nodes.push(new);
                if step % 7 == 3 {
                    graph.remove(nodes.swap_remove(2));
                }
            }
            agree(&graph, main);
            assert_eq!(graph.order(main).count(), nodes.len());
            nodes.sort_unstable();
            graph.set_order(main, &nodes);
            agree(&graph, main);
            assert_eq!(graph.order(main).collect::<Vec<_>>(), nodes);
        }
    }

    #[test]
    fn values_are_seen_from_behind_and_from_inside() {
        let mut graph = Graph::default();
        let main = graph.main();
        let first = node(&mut graph, main);
        let body = graph.add_block(main);
        let inner = node(&mut graph, body);
        let attribute = Attribute { name: "body".into(), value: Attr::Block(body) };
        let holder = graph.append(main, "", "Loop", [], vec![attribute], 1, None);
        let last = node(&mut graph, main);
        let out = |node: NodeId| graph.nodes[node].outputs[0].unwrap();
        assert!(graph.sees(last, out(first)) && graph.sees(last, out(holder)));
        assert!(graph.sees(inner, out(first)));
        assert!(!graph.sees(inner, out(holder)) && !graph.sees(inner, out(last)));
        assert!(!graph.sees(last, out(inner)) && !graph.sees(first, out(first)));
    }

    #[test]
    fn uses_are_taken_away_wherever_they_stand() {
        let mut graph = Graph::default();
        let main = graph.main();
        let made = node(&mut graph, main);
        let hub = graph.nodes[made].outputs[0];
        let readers: Vec<NodeId> =
            (0..100).map(|_| graph.append(main, "", "Add", [hub, hub], Vec::new(), 1, None)).collect();
        for (step, reader) in readers.iter().enumerate().filter(|(step, _)| step % 3 != 0) {
            if step % 3 == 1 { graph.remove(*reader) } else { graph.set_input(*reader, 1, None) }
        }
        let uses = graph.values[hub.unwrap()].uses();
        assert_eq!(uses.len(), 34 * 2 + 33);
        for place in uses {
            assert_eq!(graph.nodes[place.node].inputs[place.index as usize], hub);
        }
    }
}

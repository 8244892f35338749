//! The graph: arenas of values, nodes and blocks, and every edit of them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::infer::ShapeValue;
use super::{Attribute, Block, BlockId, Def, Initializer, Node, NodeId, Type, Use, ValueId, ValueInfo};
use crate::arena::Arena;
use crate::diagnose::OriginId;
use crate::tensor::LazyTensor;

/// A graph with its nested blocks.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Every value.
    pub values: Arena<ValueInfo>,
    /// Every node, removed ones included; a [`Block`] orders those that count.
    pub nodes: Arena<Node>,
    /// The main block and the nested ones.
    pub blocks: Arena<Block>,
    /// Constant tensors, visible in every block.
    pub initializers: Vec<Initializer>,
    /// The contents of small integer values, as far as [`infer`](super::infer::infer) knows them.
    pub(super) shape_values: FxHashMap<ValueId, ShapeValue>,
    main: BlockId,
}

impl Default for Graph {
    fn default() -> Self {
        let mut blocks = Arena::default();
        let main = blocks.push(Block::default());
        Self {
            values: Arena::default(),
            nodes: Arena::default(),
            blocks,
            initializers: Vec::new(),
            shape_values: FxHashMap::default(),
            main,
        }
    }
}

impl Graph {
    /// The main block.
    pub fn main(&self) -> BlockId {
        self.main
    }

    /// Adds a block inside `parent`.
    pub fn add_block(&mut self, parent: BlockId) -> BlockId {
        self.blocks.push(Block { parent: Some(parent), ..Block::default() })
    }

    /// Adds an input to `block`.
    pub fn add_input(&mut self, block: BlockId, name: Option<String>, ty: Type) -> ValueId {
        let index = self.blocks[block].inputs.len() as u32;
        let value = self.add_value(name, ty, Def::Input(block, index));
        self.blocks[block].inputs.push(value);
        value
    }

    /// Adds an initializer.
    pub fn add_initializer(&mut self, name: Option<String>, data: LazyTensor) -> ValueId {
        let index = self.initializers.len() as u32;
        let shape = super::Shape::of(data.shape.iter().map(|d| crate::sym::Dim::Const(*d as i64)));
        let value = self.add_value(name, Type::tensor(data.dtype, shape), Def::Initializer(index));
        self.initializers.push(Initializer { value, data, weight: false });
        value
    }

    /// Adds an initializer that is a parameter or a buffer.
    pub fn add_weight(&mut self, name: Option<String>, data: LazyTensor) -> ValueId {
        let value = self.add_initializer(name, data);
        if let Some(initializer) = self.initializers.last_mut() {
            initializer.weight = true;
        }
        value
    }

    /// Swaps the places of two initializers in their order.
    pub fn swap_initializers(&mut self, a: ValueId, b: ValueId) {
        let (Def::Initializer(i), Def::Initializer(j)) = (self.values[a].def, self.values[b].def) else {
            return;
        };
        self.initializers.swap(i as usize, j as usize);
        self.values[a].def = Def::Initializer(j);
        self.values[b].def = Def::Initializer(i);
    }

    /// Whether `value` is a parameter or a buffer.
    pub fn is_weight(&self, value: ValueId) -> bool {
        match self.values[value].def {
            Def::Initializer(index) => self.initializers.get(index as usize).is_some_and(|i| i.weight),
            _ => false,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a node")]
    /// Appends a node to `block` with `outputs` fresh values of unknown type.
    pub fn append(
        &mut self,
        block: BlockId,
        domain: &str,
        op: &str,
        inputs: impl IntoIterator<Item = Option<ValueId>>,
        mut attributes: Vec<Attribute>,
        outputs: usize,
        origin: Option<OriginId>,
    ) -> NodeId {
        attributes.sort_by(|a, b| a.name.cmp(&b.name));
        let inputs: SmallVec<[Option<ValueId>; 3]> = inputs.into_iter().collect();
        let node = self.nodes.push(Node {
            domain: domain.to_owned(),
            op: op.to_owned(),
            inputs: inputs.clone(),
            outputs: SmallVec::new(),
            attributes,
            origin,
            block: Some(block),
            previous: self.blocks[block].last,
            next: None,
        });
        for (index, input) in inputs.iter().enumerate() {
            if let Some(value) = input {
                self.values[*value].uses.push(Use { node, index: index as u32 });
            }
        }
        for index in 0..outputs {
            let value = self.add_value(None, Type::Unknown, Def::Node(node, index as u32));
            self.nodes[node].outputs.push(Some(value));
        }
        match self.blocks[block].last.replace(node) {
            Some(last) => self.nodes[last].next = Some(node),
            None => self.blocks[block].first = Some(node),
        }
        node
    }

    /// Moves `node` to just before `before`, in the same block.
    pub fn move_before(&mut self, node: NodeId, before: NodeId) {
        if node == before {
            return;
        }
        let block = self.nodes[before].block;
        self.unlink(node);
        let previous = self.nodes[before].previous;
        self.nodes[node].previous = previous;
        self.nodes[node].next = Some(before);
        self.nodes[node].block = block;
        self.nodes[before].previous = Some(node);
        match (previous, block) {
            (Some(p), _) => self.nodes[p].next = Some(node),
            (None, Some(block)) => self.blocks[block].first = Some(node),
            (None, None) => {}
        }
    }

    /// Orders `block`: `order` names its nodes, each once.
    pub fn set_order(&mut self, block: BlockId, order: &[NodeId]) {
        let mut previous = None;
        for node in order {
            self.nodes[*node].previous = previous;
            self.nodes[*node].next = None;
            match previous {
                Some(p) => self.nodes[p].next = Some(*node),
                None => self.blocks[block].first = Some(*node),
            }
            previous = Some(*node);
        }
        self.blocks[block].last = previous;
    }

    /// Removes `node`; nothing may use its outputs any more.
    pub fn remove(&mut self, node: NodeId) {
        self.unlink(node);
        let inputs = std::mem::take(&mut self.nodes[node].inputs);
        for (index, value) in inputs.iter().enumerate() {
            if let Some(value) = value {
                let gone = Use { node, index: index as u32 };
                self.values[*value].uses.retain(|u| *u != gone);
            }
        }
        for output in std::mem::take(&mut self.nodes[node].outputs).into_iter().flatten() {
            self.values[output].def = Def::Gone;
        }
    }

    /// Removes `node` with everything in its blocks; nothing may use its outputs any more.
    pub fn remove_with_blocks(&mut self, node: NodeId) {
        let mut doomed = vec![node];
        let mut position = 0;
        while let Some(outer) = doomed.get(position).copied() {
            position += 1;
            let blocks: Vec<BlockId> = self.nodes[outer].blocks().collect();
            for block in blocks {
                self.blocks[block].outputs.clear();
                doomed.extend(self.order(block));
            }
        }
        for node in doomed {
            self.remove(node);
        }
    }

    /// The node after `node` in its block.
    pub fn next(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node].next
    }

    /// Makes `node` read `value` as its input `index`, which is there.
    pub fn set_input(&mut self, node: NodeId, index: usize, value: Option<ValueId>) {
        let Some(place) = self.nodes[node].inputs.get_mut(index) else { return };
        let old = std::mem::replace(place, value);
        let here = Use { node, index: index as u32 };
        if let Some(old) = old {
            self.values[old].uses.retain(|u| *u != here);
        }
        if let Some(new) = value {
            self.values[new].uses.push(here);
        }
    }

    /// Drops the initializers from `count` on, which nothing may use any more.
    pub fn drop_initializers(&mut self, count: usize) {
        for initializer in self.initializers.drain(count.min(self.initializers.len())..) {
            self.values[initializer.value].def = Def::Gone;
        }
    }

    /// Whether a block returns `value`.
    pub fn is_returned(&self, value: ValueId) -> bool {
        self.blocks.iter().any(|(_, block)| block.outputs.contains(&value))
    }

    /// Makes every use of `old`, block outputs included, use `new`.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        if old == new {
            return;
        }
        for place in std::mem::take(&mut self.values[old].uses) {
            self.nodes[place.node].inputs[place.index as usize] = Some(new);
            self.values[new].uses.push(place);
        }
        let blocks: Vec<BlockId> = self.blocks.ids().collect();
        for block in blocks {
            for output in &mut self.blocks[block].outputs {
                if *output == old {
                    *output = new;
                }
            }
        }
    }

    /// [`replace_uses`](Self::replace_uses) for many values in one sweep. No new value may be an
    /// old one.
    pub fn replace_all(&mut self, new: &FxHashMap<ValueId, ValueId>) {
        if new.is_empty() {
            return;
        }
        let mut old: Vec<ValueId> = new.keys().copied().collect();
        old.sort_unstable();
        for value in old {
            for place in std::mem::take(&mut self.values[value].uses) {
                self.nodes[place.node].inputs[place.index as usize] = Some(new[&value]);
                self.values[new[&value]].uses.push(place);
            }
        }
        let blocks: Vec<BlockId> = self.blocks.ids().collect();
        for block in blocks {
            for output in &mut self.blocks[block].outputs {
                *output = new.get(output).copied().unwrap_or(*output);
            }
        }
    }

    /// The nodes of `block` in order.
    pub fn order(&self, block: BlockId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.blocks[block].first, |node| self.nodes[*node].next)
    }

    /// The number of nodes, nested blocks included.
    pub fn node_count(&self) -> usize {
        self.nodes.iter().filter(|(_, n)| n.block.is_some()).count()
    }

    /// The data behind a value, when it is an initializer.
    pub fn initializer(&self, value: ValueId) -> Option<&LazyTensor> {
        match self.values[value].def {
            Def::Initializer(index) => self.initializers.get(index as usize).map(|i| &i.data),
            _ => None,
        }
    }

    /// Forgets the contents of small integer values that were followed.
    pub fn forget_contents(&mut self) {
        self.shape_values.clear();
    }

    fn add_value(&mut self, name: Option<String>, ty: Type, def: Def) -> ValueId {
        self.values.push(ValueInfo { name, ty, def, uses: SmallVec::new() })
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
}

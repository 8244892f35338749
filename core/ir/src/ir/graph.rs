//! The graph: arenas of values, nodes and blocks, and every edit of them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::contents::ShapeValue;
use super::{
    Attribute, Block, BlockId, Def, DefaultValue, Initializer, Literal, LiteralConstant, Node, NodeId, Notes,
    Type, Use, ValueId, ValueInfo,
};
use crate::arena::Arena;
use crate::diagnose::OriginId;
use crate::name::Name;
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
    /// Dense constants of numbers, each visible in its block and the blocks inside.
    pub initializers: Vec<Initializer>,
    /// Constants in other forms.
    pub literals: Vec<LiteralConstant>,
    /// The default values of inputs.
    pub defaults: Vec<DefaultValue>,
    /// Metadata of parts of the graph.
    pub notes: Notes,
    /// The contents of small integer values, as far as inference knows them.
    pub(super) shape_values: FxHashMap<ValueId, ShapeValue>,
    /// Where blocks return values: the blocks and the positions among their outputs.
    returns: FxHashMap<ValueId, SmallVec<[(BlockId, u32); 1]>>,
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
            literals: Vec::new(),
            defaults: Vec::new(),
            notes: Notes::default(),
            shape_values: FxHashMap::default(),
            returns: FxHashMap::default(),
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
    pub fn add_input(&mut self, block: BlockId, name: Option<Name>, ty: Type) -> ValueId {
        let index = self.blocks[block].inputs.len() as u32;
        let value = self.add_value(name, ty, Def::Input(block, index));
        self.blocks[block].inputs.push(value);
        value
    }

    /// Adds an output to `block`.
    pub fn add_output(&mut self, block: BlockId, value: ValueId) {
        let index = self.blocks[block].outputs.len() as u32;
        self.blocks[block].outputs.push(value);
        self.returns.entry(value).or_default().push((block, index));
    }

    /// Sets the outputs of `block`.
    pub fn set_outputs(&mut self, block: BlockId, outputs: impl IntoIterator<Item = ValueId>) {
        for value in std::mem::take(&mut self.blocks[block].outputs) {
            if let Some(places) = self.returns.get_mut(&value) {
                places.retain(|(of, _)| *of != block);
                if places.is_empty() {
                    self.returns.remove(&value);
                }
            }
        }
        for value in outputs {
            self.add_output(block, value);
        }
    }

    /// Adds an initializer.
    pub fn add_initializer(&mut self, name: Option<Name>, data: LazyTensor) -> ValueId {
        let index = self.initializers.len() as u32;
        let shape = super::Shape::of(data.shape.iter().map(|d| crate::sym::Dim::Const(*d as i64)));
        let value = self.add_value(name, Type::tensor(data.dtype, shape), Def::Initializer(index));
        self.initializers.push(Initializer { value, data, weight: false, block: self.main });
        value
    }

    /// Adds a constant that is not dense numbers to `block`.
    pub fn add_literal(&mut self, block: BlockId, name: Option<Name>, data: Literal) -> ValueId {
        let index = self.literals.len() as u32;
        let shape = super::Shape::of(data.shape().iter().map(|d| crate::sym::Dim::Const(*d as i64)));
        let value = self.add_value(name, Type::tensor(data.dtype(), shape), Def::Literal(index));
        self.literals.push(LiteralConstant { value, block, data });
        value
    }

    /// Adds an initializer that is a parameter or a buffer.
    pub fn add_weight(&mut self, name: Option<Name>, data: LazyTensor) -> ValueId {
        let value = self.add_initializer(name, data);
        if let Some(initializer) = self.initializers.last_mut() {
            initializer.weight = true;
        }
        value
    }

    /// Has `block` hold the initializer `value`, which nothing outside of it may read.
    pub fn hold_in(&mut self, value: ValueId, block: BlockId) {
        let Def::Initializer(index) = self.values[value].def else { return };
        if let Some(initializer) = self.initializers.get_mut(index as usize) {
            initializer.block = block;
        }
    }

    /// Swaps two initializers in their order.
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
        let inputs: SmallVec<[Option<ValueId>; 4]> = inputs.into_iter().collect();
        let node = self.nodes.push(Node {
            domain: domain.into(),
            op: op.into(),
            overload: Name::new(),
            places: inputs.iter().map(|_| 0).collect(),
            inputs: inputs.clone(),
            outputs: SmallVec::new(),
            attributes,
            origin,
            block: None,
            previous: None,
            next: None,
            key: 0,
        });
        for (index, input) in inputs.iter().enumerate() {
            if let Some(value) = input {
                self.add_use(*value, Use { node, index: index as u32 });
            }
        }
        for index in 0..outputs {
            let value = self.add_value(None, Type::Unknown, Def::Node(node, index as u32));
            self.nodes[node].outputs.push(Some(value));
        }
        let held: SmallVec<[BlockId; 2]> = self.nodes[node].blocks().collect();
        for inner in held {
            self.blocks[inner].holder = Some(node);
        }
        self.link(node, block, None);
        node
    }

    /// Removes `node`; nothing may use its outputs any more.
    pub fn remove(&mut self, node: NodeId) {
        self.unlink(node);
        let inputs = std::mem::take(&mut self.nodes[node].inputs);
        for (index, value) in inputs.iter().enumerate() {
            if let Some(value) = value {
                self.drop_use(*value, Use { node, index: index as u32 });
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
                self.set_outputs(block, []);
                doomed.extend(self.order(block));
            }
        }
        for node in doomed {
            self.remove(node);
        }
    }

    /// Makes `node` read `value` as its input `index`, which is there.
    pub fn set_input(&mut self, node: NodeId, index: usize, value: Option<ValueId>) {
        let Some(place) = self.nodes[node].inputs.get_mut(index) else { return };
        let old = std::mem::replace(place, value);
        let here = Use { node, index: index as u32 };
        if let Some(old) = old {
            self.drop_use(old, here);
        }
        if let Some(new) = value {
            self.add_use(new, here);
        }
    }

    /// Leaves out the inputs of `node` from `count` on.
    pub fn cut_inputs(&mut self, node: NodeId, count: usize) {
        for index in count..self.nodes[node].inputs.len() {
            self.set_input(node, index, None);
        }
        self.nodes[node].inputs.truncate(count);
        self.nodes[node].places.truncate(count);
    }

    /// Makes `node` read `value` as a further input.
    pub fn push_input(&mut self, node: NodeId, value: ValueId) {
        let index = self.nodes[node].inputs.len();
        self.nodes[node].inputs.push(None);
        self.nodes[node].places.push(0);
        self.set_input(node, index, Some(value));
    }

    /// Swaps the outputs of nodes that define two values. Readers keep reading the same values.
    pub fn swap_definitions(&mut self, a: ValueId, b: ValueId) {
        let (Def::Node(of_a, i), Def::Node(of_b, j)) = (self.values[a].def, self.values[b].def) else {
            return;
        };
        self.nodes[of_a].outputs[i as usize] = Some(b);
        self.nodes[of_b].outputs[j as usize] = Some(a);
        self.values[a].def = Def::Node(of_b, j);
        self.values[b].def = Def::Node(of_a, i);
    }

    /// Drops the initializers from `count` on, which nothing may use any more.
    pub fn drop_initializers(&mut self, count: usize) {
        for initializer in self.initializers.drain(count.min(self.initializers.len())..) {
            self.values[initializer.value].def = Def::Gone;
        }
    }

    /// Whether a block returns `value`.
    pub fn is_returned(&self, value: ValueId) -> bool {
        self.returns.contains_key(&value)
    }

    /// How often blocks return `value`.
    pub fn returned(&self, value: ValueId) -> usize {
        self.returns.get(&value).map_or(0, SmallVec::len)
    }

    /// Whether a node reads `value`, or a block returns it.
    pub fn is_read(&self, value: ValueId) -> bool {
        !self.values[value].uses.is_empty() || self.is_returned(value)
    }

    /// Makes every use of `old`, block outputs included, use `new`.
    pub fn replace_uses(&mut self, old: ValueId, new: ValueId) {
        if old == new {
            return;
        }
        for place in std::mem::take(&mut self.values[old].uses) {
            self.nodes[place.node].inputs[place.index as usize] = Some(new);
            self.add_use(new, place);
        }
        if let Some(places) = self.returns.remove(&old) {
            for (block, index) in &places {
                self.blocks[*block].outputs[*index as usize] = new;
            }
            self.returns.entry(new).or_default().extend(places);
        }
    }

    /// [`replace_uses`](Self::replace_uses) for many values in the order of their ids. No new value may
    /// be an old one.
    pub fn replace_all(&mut self, new: &FxHashMap<ValueId, ValueId>) {
        let mut pairs: Vec<(ValueId, ValueId)> = new.iter().map(|(old, new)| (*old, *new)).collect();
        pairs.sort_unstable();
        for (old, new) in pairs {
            self.replace_uses(old, new);
        }
    }

    /// Records that the nodes which make the values behind `same` stand for equal nodes, those in front.
    pub fn record_all_merged(&mut self, same: &FxHashMap<ValueId, ValueId>) {
        let mut pairs: Vec<(ValueId, ValueId)> = same.iter().map(|(twin, kept)| (*twin, *kept)).collect();
        pairs.sort_unstable();
        for (twin, kept) in pairs {
            self.record_merged(twin, kept);
        }
    }

    /// Records that the node which makes `kept` stands for the equal node which makes `twin`.
    fn record_merged(&mut self, twin: ValueId, kept: ValueId) {
        let (Def::Node(twin, _), Def::Node(kept, _)) = (self.values[twin].def, self.values[kept].def) else {
            return;
        };
        let mut origins = self.notes.merged.get(&twin).cloned().unwrap_or_default();
        origins.extend(self.nodes[twin].origin);
        self.record_origins(kept, &origins);
    }

    /// Records further origins of `node`, besides its own.
    pub fn record_origins(&mut self, node: NodeId, origins: &[OriginId]) {
        let own = self.nodes[node].origin;
        for origin in origins.iter().filter(|origin| own != Some(**origin)) {
            let known = self.notes.merged.entry(node).or_default();
            if !known.contains(origin) {
                known.push(*origin);
            }
        }
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

    fn add_value(&mut self, name: Option<Name>, ty: Type, def: Def) -> ValueId {
        self.values.push(ValueInfo { name, ty, def, uses: SmallVec::new() })
    }

    fn add_use(&mut self, value: ValueId, place: Use) {
        let uses = &mut self.values[value].uses;
        self.nodes[place.node].places[place.index as usize] = uses.len() as u32;
        uses.push(place);
    }

    /// Removes one use; the last use moves to its index.
    fn drop_use(&mut self, value: ValueId, place: Use) {
        let at = self.nodes[place.node].places[place.index as usize];
        let uses = &mut self.values[value].uses;
        uses.swap_remove(at as usize);
        if let Some(moved) = uses.get(at as usize) {
            self.nodes[moved.node].places[moved.index as usize] = at;
        }
    }
}

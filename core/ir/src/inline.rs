//! Inlines calls of local functions.
//!
//! Functions call only earlier ones. They are processed in that order, so an inlined body has no calls left.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ir::{Attr, Attribute, BlockId, Def, Function, Graph, Model, Node, NodeId, OpsetImport, ValueId};
use crate::name::Name;
use crate::ops::infer::infer;
use crate::sym::Symbols;

/// How many nodes a function has at most that is small.
pub const SMALL: usize = 8;

/// How many nodes are added at most: functions that call each other twice grow without end.
const MOST: usize = 300_000;

/// Replaces calls of functions that have at most `most` nodes, those of functions inside of them included; returns how many.
/// Left alone are functions that need other versions of operators than their callers, and calls that give graphs.
pub fn inline(model: &mut Model, most: usize) -> usize {
    let (mut count, mut added) = (0, 0);
    let mut functions = std::mem::take(&mut model.functions);
    for at in 0..=functions.len() {
        let (earlier, rest) = functions.split_at_mut(at);
        let earlier: &[Function] = earlier;
        let (opsets, opset) = match rest.first() {
            Some(function) => (function.opsets(model).to_vec(), function.opset(model)),
            None => (model.opsets.clone(), model.opset()),
        };
        let fits = |function: &&Function| function.graph.node_count() <= most;
        let known: FxHashMap<(&str, &str, &str), &Function> =
            earlier.iter().filter(fits).map(|f| ((&*f.domain, &*f.name, &*f.overload), f)).collect();
        let model_opsets = model.opsets.clone();
        let graph = rest.first_mut().map_or(&mut model.graph, |function| &mut function.graph);
        let calls: Vec<NodeId> = graph.nodes.ids().filter(|id| graph.nodes[*id].block.is_some()).collect();
        for call in calls {
            let node = &graph.nodes[call];
            if node.domain.is_empty() {
                continue;
            }
            let Some(function) = known.get(&(node.domain.as_str(), node.op.as_str(), node.overload.as_str()))
            else {
                continue;
            };
            let nodes = function.graph.node_count();
            let body_opsets = if function.opsets.is_empty() { &model_opsets } else { &function.opsets };
            if added + nodes > MOST || !agree(&function.graph, body_opsets, &opsets) {
                continue;
            }
            let mut work = Inlining::new(function, graph, &mut model.symbols, opset, call);
            if work.run().is_some() {
                (count, added) = (count + 1, added + nodes);
            }
        }
    }
    model.functions = functions;
    count
}

/// Puts the body of `function` in the place of `node`; returns whether that is possible. Both are of `opset`.
pub fn replace(
    function: &Function,
    graph: &mut Graph,
    symbols: &mut Symbols,
    opset: i64,
    node: NodeId,
) -> bool {
    Inlining::new(function, graph, symbols, opset, node).run().is_some()
}

/// Whether `graph` means the same with the operator sets `here` as with its own.
fn agree(graph: &Graph, own: &[OpsetImport], here: &[OpsetImport]) -> bool {
    let version = |opsets: &[OpsetImport], domain: &str| {
        opsets.iter().find(|opset| opset.domain == domain).map(|opset| opset.version)
    };
    let mut nodes = graph.nodes.iter().filter(|(_, node)| node.block.is_some());
    nodes.all(|(_, node)| version(own, &node.domain) == version(here, &node.domain))
}

/// A function that is being inlined at a call.
struct Inlining<'a> {
    from: &'a Graph,
    graph: &'a mut Graph,
    symbols: &'a mut Symbols,
    opset: i64,
    call: NodeId,
    /// The values of the function's attributes.
    attributes: FxHashMap<Name, Attr>,
    /// The value that replaces each value of the function; `None` for an omitted input.
    values: FxHashMap<ValueId, Option<ValueId>>,
}

impl<'a> Inlining<'a> {
    fn new(
        function: &'a Function,
        graph: &'a mut Graph,
        symbols: &'a mut Symbols,
        opset: i64,
        call: NodeId,
    ) -> Self {
        let node = &graph.nodes[call];
        let attributes = function.defaults.iter().chain(&node.attributes);
        let attributes = attributes.map(|a| (a.name.clone(), a.value.clone())).collect();
        let from = &function.graph;
        let formal = from.blocks[from.main()].inputs.iter();
        let given = node.inputs.iter().copied().chain(std::iter::repeat(None));
        let values = formal.copied().zip(given).collect();
        Self { from, graph, symbols, opset, call, attributes, values }
    }

    /// Replaces the call by the body; `None`, with the graph unchanged, if that is not possible.
    fn run(&mut self) -> Option<()> {
        let from = self.from;
        let home = self.graph.nodes[self.call].block?;
        let returned: Vec<ValueId> = from.blocks[from.main()].outputs().to_vec();
        let outputs = self.graph.nodes[self.call].outputs.clone();
        let absent = |value: &ValueId| self.values.get(value) == Some(&None);
        if self.graph.nodes[self.call].blocks().next().is_some()
            || self.graph.nodes[self.call].inputs.len() > from.blocks[from.main()].inputs.len()
            || outputs.len() > returned.len()
            || returned.iter().any(absent)
        {
            return None;
        }
        self.block(from.main(), home, Some(self.call));
        let mut named: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        for (output, made) in outputs.into_iter().zip(returned) {
            let (Some(output), Some(made)) = (output, self.values.get(&made).copied().flatten()) else {
                continue;
            };
            if let Some(first) = named.get(&made) {
                self.graph.replace_uses(output, *first);
            } else if self.is_new(made, home) {
                // The value keeps its name and its stated type.
                let ty = self.graph.values[made].ty.clone();
                if let Some((dtype, shape)) = ty.dtype().zip(ty.shape()) {
                    self.graph.values[output].ty.fill(dtype, shape);
                }
                self.graph.swap_definitions(output, made);
                self.graph.replace_uses(made, output);
                named.insert(made, output);
            } else {
                self.graph.replace_uses(output, made);
            }
        }
        self.graph.remove(self.call);
        Some(())
    }

    /// Whether a node of the function makes `value`.
    fn is_new(&self, value: ValueId, home: BlockId) -> bool {
        let given = self.graph.nodes[self.call].inputs.contains(&Some(value));
        matches!(self.graph.values[value].def, Def::Node(node, _) if !given && self.graph.nodes[node].block == Some(home))
    }

    /// Copies the contents of `block` into `into`, in front of `before`.
    fn block(&mut self, block: BlockId, into: BlockId, before: Option<NodeId>) {
        let from = self.from;
        for constant in from.initializers.iter().filter(|constant| constant.block == block) {
            let value = self.graph.add_initializer(None, constant.data.clone());
            if let Some(added) = self.graph.initializers.last_mut() {
                added.block = into;
            }
            self.values.insert(constant.value, Some(value));
        }
        for constant in from.literals.iter().filter(|constant| constant.block == block) {
            let value = self.graph.add_literal(into, None, constant.data.clone());
            self.values.insert(constant.value, Some(value));
        }
        for id in from.order(block) {
            self.node(&from.nodes[id], into, before);
        }
    }

    fn node(&mut self, node: &Node, into: BlockId, before: Option<NodeId>) {
        let stands =
            |value: &Option<ValueId>| value.and_then(|value| self.values.get(&value).copied().flatten());
        let inputs: SmallVec<[Option<ValueId>; 4]> = node.inputs.iter().map(stands).collect();
        let mut attributes = Vec::with_capacity(node.attributes.len());
        for attribute in &node.attributes {
            let value = match &attribute.value {
                Attr::Ref(outer, _) => self.attributes.get(outer.as_str()).cloned(),
                Attr::Block(inner) => Some(Attr::Block(self.nested(*inner, into))),
                Attr::Blocks(all) => {
                    Some(Attr::Blocks(all.iter().map(|inner| self.nested(*inner, into)).collect()))
                }
                value => Some(value.clone()),
            };
            attributes.extend(value.map(|value| Attribute { name: attribute.name.clone(), value }));
        }
        let origin = self.graph.nodes[self.call].origin;
        let count = node.outputs.len();
        let made = self.graph.append(into, &node.domain, &node.op, inputs, attributes, count, origin);
        self.graph.nodes[made].overload = node.overload.clone();
        if let Some(before) = before {
            self.graph.move_before(made, before);
        }
        let outputs = self.graph.nodes[made].outputs.clone();
        for (index, (old, new)) in node.outputs.iter().zip(outputs).enumerate() {
            match (old, new) {
                (Some(old), Some(new)) => {
                    self.graph.values[new].ty = self.from.values[*old].ty.without_symbols();
                    self.values.insert(*old, Some(new));
                }
                (None, Some(new)) => {
                    self.graph.values[new].def = Def::Gone;
                    if let Some(place) = self.graph.nodes[made].outputs.get_mut(index) {
                        *place = None;
                    }
                }
                (_, None) => {}
            }
        }
        infer(self.graph, self.symbols, self.opset, made);
    }

    /// A copy of the nested graph `block`, inside `parent`.
    fn nested(&mut self, block: BlockId, parent: BlockId) -> BlockId {
        let (from, made) = (self.from, self.graph.add_block(parent));
        for input in &from.blocks[block].inputs {
            let new = self.graph.add_input(made, None, from.values[*input].ty.without_symbols());
            self.values.insert(*input, Some(new));
        }
        self.block(block, made, None);
        for output in from.blocks[block].outputs() {
            if let Some(new) = self.values.get(output).copied().flatten() {
                self.graph.add_output(made, new);
            }
        }
        made
    }
}

//! Graphs that a call has as attributes, put into a body.
//!
//! In the text of a body, `%y = Graft(%x) {of = "score_mod"}` is the result of the graph called `score_mod` for `%x`.

use rustc_hash::FxHashMap;

use super::call::Call;
use crate::ir::{Attr, Attribute, BlockId, Def, Graph, Node, NodeId, ValueId};

/// Replaces each `Graft` of `graph` by the nodes that it stands for. `None` if they read outer values of the call, or
/// an attribute of the function that the call is in.
pub(super) fn resolve(graph: &mut Graph, call: &Call<'_>) -> Option<()> {
    let marks: Vec<NodeId> = graph.nodes.iter().filter(|(_, n)| n.op == "Graft").map(|(id, _)| id).collect();
    for mark in marks {
        let node = &graph.nodes[mark];
        let Some(Attr::Str(of)) = node.attr("of") else { return None };
        let block = call.block(of)?;
        let inputs: Vec<ValueId> = node.inputs.iter().copied().collect::<Option<_>>()?;
        let (home, outputs) = (node.block?, node.outputs.clone());
        let formal = &call.graph.blocks[block].inputs;
        if formal.len() != inputs.len() {
            return None;
        }
        let values = formal.iter().copied().zip(inputs).collect();
        let mut graft = Graft { from: call.graph, values, graph };
        graft.block(block, home, Some(mark))?;
        let returned = call.graph.blocks[block].outputs();
        let returned: Vec<ValueId> =
            returned.iter().map(|v| graft.values.get(v).copied()).collect::<Option<_>>()?;
        for (old, new) in outputs.into_iter().zip(&returned) {
            let old = old?;
            graph.replace_uses(old, *new);
        }
        graph.remove(mark);
    }
    Some(())
}

struct Graft<'g> {
    from: &'g Graph,
    /// The replacements of values of `from`.
    values: FxHashMap<ValueId, ValueId>,
    graph: &'g mut Graph,
}

impl Graft<'_> {
    /// Copies the constants and the nodes of `block` into `into`, in front of `before`.
    fn block(&mut self, block: BlockId, into: BlockId, before: Option<NodeId>) -> Option<()> {
        for constant in self.from.initializers.iter().filter(|i| i.block == block) {
            let name = self.from.values[constant.value].name.clone();
            let value = if into == self.graph.main() {
                // A function has no initializers.
                let value = Attribute { name: "value".into(), value: Attr::Tensor(constant.data.clone()) };
                let node = self.graph.append(into, "", "Constant", [], vec![value], 1, None);
                if let Some(before) = before {
                    self.graph.move_before(node, before);
                }
                let made = (*self.graph.nodes[node].outputs.first()?)?;
                self.graph.values[made].name = name;
                made
            } else {
                let value = self.graph.add_initializer(name, constant.data.clone());
                self.graph.initializers.last_mut()?.block = into;
                value
            };
            self.values.insert(constant.value, value);
        }
        if self.from.literals.iter().any(|l| l.block == block) {
            // A text or a sparse tensor: no such graph is known.
            return None;
        }
        for node in self.from.order(block) {
            self.node(&self.from.nodes[node], into, before)?;
        }
        Some(())
    }

    fn node(&mut self, node: &Node, into: BlockId, before: Option<NodeId>) -> Option<()> {
        let read = |value: &Option<ValueId>| match value {
            None => Some(None),
            Some(value) => self.values.get(value).copied().map(Some),
        };
        let inputs: Vec<Option<ValueId>> = node.inputs.iter().map(read).collect::<Option<_>>()?;
        let mut attributes = Vec::with_capacity(node.attributes.len());
        for attribute in &node.attributes {
            let value = match &attribute.value {
                Attr::Block(inner) => Attr::Block(self.nested(*inner, into)?),
                Attr::Blocks(_) | Attr::Ref(..) => return None,
                other => other.clone(),
            };
            attributes.push(Attribute { name: attribute.name.clone(), value });
        }
        let made =
            self.graph.append(into, &node.domain, &node.op, inputs, attributes, node.outputs.len(), None);
        self.graph.nodes[made].overload = node.overload.clone();
        if let Some(before) = before {
            self.graph.move_before(made, before);
        }
        for (index, output) in node.outputs.iter().enumerate() {
            let new = (*self.graph.nodes[made].outputs.get(index)?)?;
            match output {
                Some(output) => {
                    self.graph.values[new].name.clone_from(&self.from.values[*output].name);
                    self.graph.values[new].ty = self.from.values[*output].ty.without_symbols();
                    self.values.insert(*output, new);
                }
                None => {
                    self.graph.values[new].def = Def::Gone;
                    *self.graph.nodes[made].outputs.get_mut(index)? = None;
                }
            }
        }
        Some(())
    }

    /// A copy of the nested graph `block`, inside `parent`.
    fn nested(&mut self, block: BlockId, parent: BlockId) -> Option<BlockId> {
        let made = self.graph.add_block(parent);
        for input in &self.from.blocks[block].inputs {
            let info = &self.from.values[*input];
            let new = self.graph.add_input(made, info.name.clone(), info.ty.without_symbols());
            self.values.insert(*input, new);
        }
        self.block(block, made, None)?;
        for output in self.from.blocks[block].outputs() {
            let new = self.values.get(output).copied()?;
            self.graph.add_output(made, new);
        }
        Some(made)
    }
}

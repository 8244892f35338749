//! Graphs: their declarations, their constants and their nodes.

use onnxport_proto::{
    GraphProto, NodeProto, SparseTensorProto, StringStringEntryProto, TensorProto, ValueInfoProto,
};
use rustc_hash::FxHashMap;

use super::{Importer, Res, about, domain, pairs};
use crate::diagnose::{CallSite, Origin, OriginId};
use crate::ir::{About, BlockId, BlockNote, Constant, Def, DefaultValue, Literal, NodeNote, Type, ValueId};
use crate::onnx::torch;

/// The declarations of a graph, by name of the value.
pub(super) type Declared = FxHashMap<String, ValueInfoProto>;

impl Importer {
    /// The main graph.
    pub(super) fn main(&mut self, graph: GraphProto) -> Res<()> {
        let main = self.graph.main();
        self.model.output_names = graph.output.iter().map(|o| o.name().to_owned()).collect();
        self.block(graph, main)
    }

    /// A graph in an attribute of a node of `parent`.
    pub(super) fn nested(&mut self, graph: GraphProto, parent: BlockId) -> Res<BlockId> {
        let block = self.graph.add_block(parent);
        self.block(graph, block)?;
        Ok(block)
    }

    fn block(&mut self, mut graph: GraphProto, block: BlockId) -> Res<()> {
        self.scope.enter();
        let note = BlockNote {
            name: graph.name.take().unwrap_or_default(),
            about: about(graph.doc_string.take(), std::mem::take(&mut graph.metadata_props)),
        };
        self.graph.notes.blocks.insert(block, note);
        for input in std::mem::take(&mut graph.input) {
            let value = self.graph.add_input(block, Some(input.name().into()), Type::Unknown);
            self.define(input.name(), value)?;
            self.declare(value, input)?;
        }
        for tensor in std::mem::take(&mut graph.initializer) {
            self.initializer(tensor, block)?;
        }
        for tensor in std::mem::take(&mut graph.sparse_initializer) {
            self.sparse_initializer(tensor, block)?;
        }
        let mut declared: Declared = FxHashMap::default();
        for info in std::mem::take(&mut graph.value_info) {
            declared.insert(info.name().to_owned(), info);
        }
        for node in std::mem::take(&mut graph.node) {
            self.node(node, block, &mut declared)?;
        }
        for output in std::mem::take(&mut graph.output) {
            let Some(value) = self.scope.find(output.name()) else {
                return Err(format!("the output `{}` is not defined", output.name()));
            };
            self.graph.add_output(block, value);
            self.output(value, output, block)?;
        }
        for (name, info) in declared {
            self.late(&name, info)?;
        }
        for annotation in std::mem::take(&mut graph.quantization_annotation) {
            let name = annotation.tensor_name();
            let Some(value) = self.scope.find(name) else {
                return Err(format!("`{name}`, annotated as quantized, is not defined"));
            };
            let with = pairs(annotation.quant_parameter_tensor_names);
            self.graph.notes.values.entry(value).or_default().quantised.extend(with);
        }
        self.scope.leave();
        Ok(())
    }

    /// Names `value` in the innermost block.
    pub(super) fn define(&mut self, name: &str, value: ValueId) -> Res<()> {
        if name.is_empty() {
            return Err("an input or an initializer has no name".to_owned());
        }
        self.scope.define(name, value)
    }

    /// Records the declaration of a value.
    pub(super) fn declare(&mut self, value: ValueId, info: ValueInfoProto) -> Res<()> {
        let name = info.name.unwrap_or_default();
        if let Some(ty) = info.r#type {
            let stated = self.stated(ty).map_err(|why| format!("of `{name}`, {why}"))?;
            self.graph.values[value].ty = stated.ty;
            if !stated.denotation.is_empty() || !stated.axes.is_empty() {
                let note = self.graph.notes.values.entry(value).or_default();
                (note.denotation, note.axes) = (stated.denotation, stated.axes);
            }
        }
        let about = about(info.doc_string, info.metadata_props);
        if !about.is_empty() {
            self.graph.notes.values.entry(value).or_default().about = about;
        }
        Ok(())
    }

    /// Records the declaration of an output of `block`; it describes the value if the block defines it.
    fn output(&mut self, value: ValueId, info: ValueInfoProto, block: BlockId) -> Res<()> {
        let made_here = match self.graph.values[value].def {
            Def::Node(node, _) => self.graph.nodes[node].block == Some(block),
            _ => false,
        };
        if made_here || self.graph.values[value].ty == Type::Unknown {
            self.declare(value, info)
        } else {
            Ok(())
        }
    }

    /// Records the declaration of a value that no node defines: the type of an input or initializer is known
    /// already.
    fn late(&mut self, name: &str, info: ValueInfoProto) -> Res<()> {
        let Some(value) = self.scope.find(name) else { return Ok(()) };
        if self.graph.values[value].ty == Type::Unknown {
            return self.declare(value, info);
        }
        let is_constant = matches!(self.graph.values[value].def, Def::Initializer(_) | Def::Literal(_));
        let about = about(info.doc_string, info.metadata_props);
        if is_constant && !about.is_empty() {
            self.graph.notes.values.entry(value).or_default().about = about;
        }
        Ok(())
    }

    fn initializer(&mut self, mut tensor: TensorProto, block: BlockId) -> Res<()> {
        let name = tensor.name.take().unwrap_or_default();
        let about = about(tensor.doc_string.take(), std::mem::take(&mut tensor.metadata_props));
        // The main graph's are the first to be read, and the only ones that can be given later.
        let data = self.data.initializer(&name, tensor);
        let data = data.map_err(|why| format!("the initializer `{name}` {why}"))?;
        self.constant(name, data, about, block)
    }

    fn sparse_initializer(&mut self, mut tensor: SparseTensorProto, block: BlockId) -> Res<()> {
        let values = tensor.values.get_or_insert_default();
        let name = values.name.take().unwrap_or_default();
        let about = about(values.doc_string.take(), std::mem::take(&mut values.metadata_props));
        let data = self.data.sparse(tensor).map_err(|why| format!("the initializer `{name}` {why}"))?;
        self.constant(name, Constant::Literal(Literal::Sparse(data)), about, block)
    }

    /// Adds a constant called `name`: the default of an input, or a value of its own.
    fn constant(&mut self, name: String, data: Constant, about: About, block: BlockId) -> Res<()> {
        let input = self
            .scope
            .find(&name)
            .filter(|value| matches!(self.graph.values[*value].def, Def::Input(of, _) if of == block));
        let value = match (input, data) {
            (Some(value), data) => {
                if !self.given.insert(value) {
                    return Err(format!("`{name}` is defined twice"));
                }
                self.graph.defaults.push(DefaultValue { value, data });
                value
            }
            (None, Constant::Dense(data)) => {
                let value = self.graph.add_initializer(Some(name.as_str().into()), data);
                if let Some(initializer) = self.graph.initializers.last_mut() {
                    initializer.block = block;
                }
                self.define(&name, value)?;
                value
            }
            (None, Constant::Literal(literal)) => {
                let value = self.graph.add_literal(block, Some(name.as_str().into()), literal);
                self.define(&name, value)?;
                value
            }
        };
        if !about.is_empty() {
            self.graph.notes.values.entry(value).or_default().tensor = about;
        }
        Ok(())
    }

    /// Adds a node. Its nested graphs are read before it and are not ordered relative to it.
    pub(super) fn node(&mut self, node: NodeProto, block: BlockId, declared: &mut Declared) -> Res<()> {
        let called = match node.name() {
            "" => node.op_type().to_owned(),
            name => format!("{name} ({})", node.op_type()),
        };
        self.read_node(node, block, declared).map_err(|why| format!("the node `{called}`: {why}"))
    }

    fn read_node(&mut self, node: NodeProto, block: BlockId, declared: &mut Declared) -> Res<()> {
        let op = node.op_type.clone().filter(|op| !op.is_empty()).ok_or("it has no operator")?;
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            inputs.push(match name.as_str() {
                "" => None,
                name => match self.scope.find(name) {
                    Some(value) => Some(value),
                    None => return Err(format!("its input `{name}` is not defined before it")),
                },
            });
        }
        let origin = self.origin(&node);
        let mut attributes = Vec::with_capacity(node.attribute.len());
        for attribute in node.attribute {
            attributes.push(self.attribute(attribute, block)?);
        }
        let from = domain(node.domain.as_deref().unwrap_or_default());
        let count = node.output.len();
        let id = self.graph.append(block, from, &op, inputs, attributes, count, Some(origin));
        if let Some(pair) =
            self.graph.nodes[id].attributes.windows(2).find(|p| matches!(p, [a, b] if a.name == b.name))
        {
            let name = pair.first().map_or("", |a| a.name.as_str());
            return Err(format!("it has two attributes called `{name}`"));
        }
        self.graph.nodes[id].overload = node.overload.unwrap_or_default().into();
        let note = NodeNote {
            name: node.name.unwrap_or_default(),
            about: about(node.doc_string, node.metadata_props),
            devices: node.device_configurations,
        };
        self.graph.notes.nodes.insert(id, note);
        for (index, name) in node.output.into_iter().enumerate() {
            let Some(value) = self.graph.nodes[id].outputs.get(index).copied().flatten() else { continue };
            if name.is_empty() {
                if let Some(output) = self.graph.nodes[id].outputs.get_mut(index) {
                    *output = None;
                }
                self.graph.values[value].def = Def::Gone;
                continue;
            }
            self.scope.define(&name, value)?;
            if let Some(info) = declared.remove(&name) {
                self.declare(value, info)?;
            }
            self.graph.values[value].name = Some(name.into());
        }
        Ok(())
    }

    /// Returns the origin of a node for display: its name, and the module in its metadata.
    fn origin(&mut self, node: &NodeProto) -> OriginId {
        let said = |key: &str| {
            node.metadata_props.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
        };
        if let Some((origin, printed)) = torch::origin(said) {
            let id = self.model.origins.push(origin);
            if let Some(printed) = printed {
                self.model.origins.print(id, printed);
            }
            return id;
        }
        let result = node.output.iter().find(|name| !name.is_empty());
        let name = Some(node.name()).filter(|name| !name.is_empty()).or(result.map(String::as_str));
        let module = said(torch::NAMESPACE).map(Into::into).unwrap_or_default();
        self.model
            .origins
            .push(Origin::new(name.unwrap_or_default(), CallSite { module, ..CallSite::default() }))
    }
}

//! Writing the text form.

use std::collections::hash_map::Entry;
use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

use super::{literal, note};
use crate::diagnose::Origin;
use crate::ir::{
    Attr, BlockId, Constant, Def, DenseTensor, Function, Graph, Literal, Model, NodeId, OpsetImport, Shape,
    SparseTensor, State, TextTensor, Type, ValueId,
};
use crate::tensor::LazyTensor;
use crate::text::{self, name, quote};

pub(super) fn model(model: &Model) -> String {
    let mut out = String::new();
    if let Some(header) = model.origin.header() {
        line(&mut out, format_args!("{}", note::header(header)));
    }
    for opset in &model.opsets {
        line(&mut out, format_args!("{}", import(opset)));
    }
    out.push_str(&text::symbols(&model.symbols));
    for (key, value) in &model.metadata {
        line(&mut out, format_args!("metadata {} {}", name(key), quote(value)));
    }
    out.push_str("graph ");
    let mut printer = Printer::for_model(model, &model.graph, out);
    printer.block(model.graph.main(), 0);
    for function in &model.functions {
        let Printer { mut out, .. } = printer;
        let (domain, text) = (name(&function.domain), name(&function.name));
        // Writing to a String cannot fail.
        let _ = write!(out, "\nfunction {domain}::{text}");
        printer = Printer::for_model(model, &function.graph, out);
        printer.signature(function);
        printer.block(function.graph.main(), 0);
    }
    printer.out.push('\n');
    printer.out
}

/// An operator set: `opset 20`, `opset com.microsoft 1`.
fn import(opset: &OpsetImport) -> String {
    match opset.domain.as_str() {
        "" => format!("opset {}", opset.version),
        domain => format!("opset {} {}", name(domain), opset.version),
    }
}

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

struct Printer<'a> {
    model: &'a Model,
    graph: &'a Graph,
    /// Of values without a name of their own, in order of appearance.
    numbers: FxHashMap<ValueId, usize>,
    /// The names in the current block and those around it.
    names: FxHashMap<&'a str, ValueId>,
    /// The keys of `names`, in order.
    visible: Vec<&'a str>,
    /// The constants by the block that holds them.
    constants: FxHashMap<BlockId, Vec<ValueId>>,
    /// The default values of inputs.
    defaults: FxHashMap<ValueId, &'a Constant>,
    out: String,
}

impl<'a> Printer<'a> {
    fn for_model(model: &'a Model, graph: &'a Graph, out: String) -> Self {
        let mut constants: FxHashMap<BlockId, Vec<ValueId>> = FxHashMap::default();
        let dense = graph.initializers.iter().map(|i| (i.block, i.value));
        for (block, value) in dense.chain(graph.literals.iter().map(|l| (l.block, l.value))) {
            constants.entry(block).or_default().push(value);
        }
        let defaults = graph.defaults.iter().map(|d| (d.value, &d.data)).collect();
        Self {
            model,
            graph,
            numbers: FxHashMap::default(),
            names: FxHashMap::default(),
            visible: Vec::new(),
            constants,
            defaults,
            out,
        }
    }

    /// Writes the part between the name of a function and its body.
    fn signature(&mut self, function: &'a Function) {
        if !function.overload.is_empty() {
            self.put(format_args!(" overload {}", quote(&function.overload)));
        }
        self.out.push('(');
        for (index, attribute) in function.attributes.iter().enumerate() {
            self.comma(index);
            self.put(format_args!("{}", name(attribute)));
        }
        for (index, attribute) in function.defaults.iter().enumerate() {
            self.comma(index + function.attributes.len());
            self.put(format_args!("{} = ", name(&attribute.name)));
            self.attribute(&attribute.value, 0);
        }
        self.out.push(')');
        for opset in &function.opsets {
            self.put(format_args!(" {}", import(opset)));
        }
        self.out.push_str(&note::function(&function.about));
        self.out.push(' ');
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = self.out.write_fmt(text);
    }

    fn indent(&mut self, depth: usize) {
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }

    fn block(&mut self, block: BlockId, depth: usize) {
        let graph = self.graph;
        let is_main = block == graph.main();
        let outside = self.visible.len();
        self.out.push_str("{\n");
        if let Some(note) = graph.notes.blocks.get(&block) {
            let text = note::block(note);
            let text = if text.is_empty() { " note()" } else { &text };
            self.indent(depth + 1);
            self.put(format_args!("{}\n", text.trim_start()));
        }
        for value in self.constants.remove(&block).unwrap_or_default() {
            self.indent(depth + 1);
            self.out.push_str("constant ");
            self.definition(value);
            self.claim(value);
            self.out.push_str(" = ");
            match graph.values[value].def {
                Def::Literal(index) => match graph.literals.get(index as usize).map(|l| &l.data) {
                    Some(Literal::Text(text)) => self.put(format_args!("{}", literal::texts(&text.items))),
                    Some(Literal::Sparse(sparse)) => {
                        self.out.push_str("sparse ");
                        self.stored(sparse);
                    }
                    None => {}
                },
                _ => {
                    if let Some(data) = graph.initializer(value) {
                        self.put(format_args!("{}", literal::print(data)));
                    }
                }
            }
            self.out.push('\n');
        }
        for input in &graph.blocks[block].inputs {
            self.indent(depth + 1);
            self.out.push_str("input ");
            self.definition(*input);
            self.claim(*input);
            if let Some(data) = self.defaults.get(input).copied() {
                self.out.push_str(" = ");
                self.any(data);
            }
            self.out.push('\n');
        }
        for node in graph.order(block) {
            self.indent(depth + 1);
            self.node(node, depth + 1);
            graph.nodes[node].outputs.iter().flatten().for_each(|output| self.claim(*output));
            self.out.push('\n');
        }
        let is_model = is_main && std::ptr::eq(graph, &raw const self.model.graph);
        for (index, output) in graph.blocks[block].outputs.iter().enumerate() {
            self.indent(depth + 1);
            self.out.push_str("output ");
            self.value(*output);
            match self.model.output_names.get(index) {
                Some(text) if is_model => self.put(format_args!(" as {}\n", name(text))),
                _ => self.out.push('\n'),
            }
        }
        if is_model {
            for state in &self.model.states {
                self.indent(depth + 1);
                self.state(state);
            }
        }
        for name in self.visible.drain(outside..) {
            self.names.remove(name);
        }
        self.indent(depth);
        self.out.push('}');
    }

    fn state(&mut self, state: &State) {
        self.put(format_args!("state {} {} ", state.kind.as_str(), name(&state.name)));
        self.value(state.input);
        self.put(format_args!(" -> {}", state.output));
        if let Some(data) = &state.initial {
            self.out.push_str(" = ");
            self.tensor(data);
        }
        self.out.push('\n');
    }

    fn node(&mut self, id: NodeId, depth: usize) {
        let node = &self.graph.nodes[id];
        for (index, output) in node.outputs.iter().enumerate() {
            self.comma(index);
            match output {
                Some(value) => self.definition(*value),
                None => self.out.push('_'),
            }
        }
        // Behind an input, a bare `=` would be its default.
        self.out.push_str(if node.outputs.is_empty() { "none = " } else { " = " });
        if !node.domain.is_empty() {
            self.put(format_args!("{}::", name(&node.domain)));
        }
        self.put(format_args!("{}", name(&node.op)));
        if !node.overload.is_empty() {
            self.put(format_args!(" overload {}", quote(&node.overload)));
        }
        self.out.push('(');
        for (index, input) in node.inputs.iter().enumerate() {
            self.comma(index);
            match input {
                Some(value) => self.value(*value),
                None => self.out.push('_'),
            }
        }
        self.out.push(')');
        if !node.attributes.is_empty() {
            self.out.push_str(" {");
            for (index, attribute) in node.attributes.iter().enumerate() {
                self.comma(index);
                self.put(format_args!("{} = ", name(&attribute.name)));
                self.attribute(&attribute.value, depth);
            }
            self.out.push('}');
        }
        if let Some(note) = self.graph.notes.nodes.get(&id) {
            self.out.push_str(&note::node(note));
        }
        if let Some(origin) = node.origin {
            self.origin(self.model.origins.get(origin));
        }
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }

    fn attribute(&mut self, value: &Attr, depth: usize) {
        match value {
            Attr::Int(n) => self.put(format_args!("{n}")),
            Attr::Float(n) => self.put(format_args!("{n:?}")),
            Attr::Str(text) => self.put(format_args!("{}", quote(text))),
            Attr::Ints(items) => self.items("ints", items.iter().map(i64::to_string)),
            Attr::Floats(items) => self.items("floats", items.iter().map(|n| format!("{n:?}"))),
            Attr::Strs(items) => self.items("strs", items.iter().map(|s| quote(s))),
            Attr::Tensor(data) => {
                self.out.push_str("tensor ");
                self.tensor(data);
            }
            Attr::Block(block) => self.block(*block, depth),
            Attr::Ref(outer, None) => self.put(format_args!("ref {}", name(outer))),
            Attr::Ref(outer, Some(kind)) => self.put(format_args!("ref {}: {}", name(outer), kind.as_str())),
            Attr::Bytes(bytes) => self.put(format_args!("bytes \"{}\"", literal::hex(bytes))),
            Attr::BytesList(items) => {
                let items: Vec<String> = items.iter().map(|b| format!("\"{}\"", literal::hex(b))).collect();
                self.put(format_args!("bytes[{}]", items.join(", ")));
            }
            Attr::Text(text) => {
                self.out.push_str("tensor ");
                self.text(text);
            }
            Attr::Sparse(sparse) => {
                self.out.push_str("sparse ");
                self.sparse(sparse);
            }
            Attr::Tensors(items) => self.group("tensors", items, Self::either),
            Attr::Sparses(items) => self.group("sparses", items, Self::sparse),
            Attr::Blocks(blocks) => self.group("blocks", blocks, |p, block| p.block(*block, depth)),
            Attr::Type(ty) => {
                let text = self.ty(ty);
                self.put(format_args!("type {text}"));
            }
            Attr::Types(types) => self.group("types", types, |p, ty| {
                let text = p.ty(ty);
                p.out.push_str(&text);
            }),
        }
    }

    /// `kind[item, item]`.
    fn group<T>(&mut self, kind: &str, items: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.put(format_args!("{kind}["));
        for (index, item) in items.iter().enumerate() {
            self.comma(index);
            each(self, item);
        }
        self.out.push(']');
    }

    /// A constant with its type.
    fn any(&mut self, constant: &Constant) {
        match constant {
            Constant::Dense(data) => self.tensor(data),
            Constant::Literal(Literal::Text(text)) => self.text(text),
            Constant::Literal(Literal::Sparse(sparse)) => {
                self.out.push_str("sparse ");
                self.sparse(sparse);
            }
        }
    }

    fn either(&mut self, tensor: &DenseTensor) {
        match tensor {
            DenseTensor::Numbers(data) => self.tensor(data),
            DenseTensor::Text(text) => self.text(text),
        }
    }

    fn text(&mut self, text: &TextTensor) {
        self.put(format_args!("string[{}] {}", extents(&text.shape), literal::texts(&text.items)));
    }

    fn sparse(&mut self, sparse: &SparseTensor) {
        self.put(format_args!("{}[{}] ", sparse.values.dtype, extents(&sparse.shape)));
        self.stored(sparse);
    }

    /// The elements that a sparse tensor stores, and where they stand.
    fn stored(&mut self, sparse: &SparseTensor) {
        self.tensor(&sparse.values);
        self.out.push_str(" at ");
        self.tensor(&sparse.indices);
    }

    /// Writes a list; an empty one states the kind of its items.
    fn items(&mut self, kind: &str, items: impl Iterator<Item = String>) {
        let items: Vec<String> = items.collect();
        let kind = if items.is_empty() { kind } else { "" };
        self.put(format_args!("{kind}[{}]", items.join(", ")));
    }

    fn tensor(&mut self, data: &LazyTensor) {
        self.put(format_args!("{}[{}] {}", data.dtype, extents(&data.shape), literal::print(data)));
    }

    fn origin(&mut self, origin: &Origin) {
        self.put(format_args!(" @ {}", name(&origin.node)));
        if !origin.target.is_empty() {
            self.put(format_args!(" ({})", name(&origin.target)));
        }
        if !origin.module.is_empty() {
            self.put(format_args!(" in {}", name(&origin.module)));
        }
        if let Some(frame) = origin.user_frame() {
            self.put(format_args!(" at {}:{}", quote(&frame.file), frame.line));
        }
    }

    fn definition(&mut self, value: ValueId) {
        self.value(value);
        let graph = self.graph;
        if graph.values[value].ty != Type::Unknown {
            let text = self.ty(&graph.values[value].ty);
            self.put(format_args!(": {text}"));
        }
        if let Some(note) = graph.notes.values.get(&value) {
            self.out.push_str(&note::value(note));
        }
    }

    fn ty(&self, ty: &Type) -> String {
        type_text(self.model, ty)
    }

    /// Gives `value` its name until the end of the block, unless a value of a block around it has the same: imported models
    /// may hide names.
    fn claim(&mut self, value: ValueId) {
        let Some(name) = self.graph.values[value].name.as_deref() else { return };
        if let Entry::Vacant(free) = self.names.entry(name) {
            free.insert(value);
            self.visible.push(name);
        }
    }

    fn value(&mut self, value: ValueId) {
        let is_own = |text: &str| self.names.get(text).is_none_or(|named| *named == value);
        match self.graph.values[value].name.as_deref() {
            Some(text) if !text.is_empty() && is_own(text) => self.put(format_args!("%{}", name(text))),
            _ => {
                let next = self.numbers.len();
                let number = *self.numbers.entry(value).or_insert(next);
                self.put(format_args!("%{number}"));
            }
        }
    }
}

/// A type: `f32[batch, 3]`.
pub(super) fn type_text(model: &Model, ty: &Type) -> String {
    let symbols = &model.symbols;
    let inner = |ty: &Type| type_text(model, ty);
    match ty {
        Type::Unknown => "unknown".to_owned(),
        Type::Sequence(element) => format!("seq {}", inner(element)),
        Type::Optional(element) => format!("optional {}", inner(element)),
        Type::Map(key, value) => format!("map {key} {}", inner(value)),
        Type::Opaque { domain, name } => format!("opaque {} {}", quote(domain), quote(name)),
        Type::Tensor { dtype, shape } | Type::SparseTensor { dtype, shape } => {
            let sparse = if matches!(ty, Type::Tensor { .. }) { "" } else { "sparse " };
            let dtype = dtype.map_or("?", crate::tensor::DType::as_str);
            match shape {
                Shape::Unranked => format!("{sparse}{dtype}"),
                Shape::Ranked(dims) => {
                    let dims = dims.iter().map(|d| d.map_or_else(|| "?".to_owned(), |d| symbols.quoted(d)));
                    format!("{sparse}{dtype}[{}]", dims.collect::<Vec<_>>().join(", "))
                }
            }
        }
    }
}

/// The sizes of a constant.
fn extents(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

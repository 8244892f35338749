//! Writing the text form.

use std::fmt::{self, Write};

use rustc_hash::FxHashMap;

use super::literal;
use crate::diagnose::Origin;
use crate::ir::{Attr, BlockId, Graph, Model, NodeId, Shape, State, Type, ValueId};
use crate::tensor::LazyTensor;
use crate::text::{self, name, quote};

pub(super) fn model(model: &Model) -> String {
    let mut out = String::new();
    for opset in &model.opsets {
        match opset.domain.as_str() {
            "" => line(&mut out, format_args!("opset {}", opset.version)),
            domain => line(&mut out, format_args!("opset {} {}", name(domain), opset.version)),
        }
    }
    out.push_str(&text::symbols(&model.symbols));
    for (key, value) in &model.metadata {
        line(&mut out, format_args!("metadata {} {}", name(key), quote(value)));
    }
    out.push_str("graph ");
    let mut printer = Printer { model, graph: &model.graph, numbers: FxHashMap::default(), out };
    printer.block(model.graph.main(), 0);
    for function in &model.functions {
        let Printer { mut out, .. } = printer;
        let attributes: Vec<String> = function.attributes.iter().map(|a| name(a).into_owned()).collect();
        let (domain, text) = (name(&function.domain), name(&function.name));
        // Writing to a String cannot fail.
        let _ = write!(out, "\nfunction {domain}::{text}({}) ", attributes.join(", "));
        printer = Printer { model, graph: &function.graph, numbers: FxHashMap::default(), out };
        printer.block(function.graph.main(), 0);
    }
    printer.out.push('\n');
    printer.out
}

fn line(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}

struct Printer<'a> {
    model: &'a Model,
    graph: &'a Graph,
    /// Of values without a name, in order of appearance.
    numbers: FxHashMap<ValueId, usize>,
    out: String,
}

impl Printer<'_> {
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
        self.out.push_str("{\n");
        if is_main {
            for initializer in &graph.initializers {
                self.indent(depth + 1);
                self.out.push_str("constant ");
                self.definition(initializer.value);
                self.put(format_args!(" = {}\n", literal::print(&initializer.data)));
            }
        }
        for input in &graph.blocks[block].inputs {
            self.indent(depth + 1);
            self.out.push_str("input ");
            self.definition(*input);
            self.out.push('\n');
        }
        for node in graph.order(block) {
            self.indent(depth + 1);
            self.node(node, depth + 1);
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
        self.out.push_str(if node.outputs.is_empty() { "= " } else { " = " });
        if !node.domain.is_empty() {
            self.put(format_args!("{}::", name(&node.domain)));
        }
        self.put(format_args!("{}(", name(&node.op)));
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
            Attr::Ref(outer) => self.put(format_args!("ref {}", name(outer))),
        }
    }

    /// A list; an empty one says of what.
    fn items(&mut self, kind: &str, items: impl Iterator<Item = String>) {
        let items: Vec<String> = items.collect();
        let kind = if items.is_empty() { kind } else { "" };
        self.put(format_args!("{kind}[{}]", items.join(", ")));
    }

    fn tensor(&mut self, data: &LazyTensor) {
        let dims: Vec<String> = data.shape.iter().map(u64::to_string).collect();
        self.put(format_args!("{}[{}] {}", data.dtype, dims.join(", "), literal::print(data)));
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
        let symbols = &self.model.symbols;
        let text = match &self.graph.values[value].ty {
            Type::Unknown => return,
            Type::Sequence(dtype) => format!(": seq {dtype}"),
            Type::Tensor { dtype, shape } => {
                let dtype = dtype.map_or("?", crate::tensor::DType::as_str);
                match shape {
                    Shape::Unranked => format!(": {dtype}"),
                    Shape::Ranked(dims) => {
                        let dims =
                            dims.iter().map(|d| d.map_or_else(|| "?".to_owned(), |d| symbols.display(d)));
                        format!(": {dtype}[{}]", dims.collect::<Vec<_>>().join(", "))
                    }
                }
            }
        };
        self.out.push_str(&text);
    }

    fn value(&mut self, value: ValueId) {
        match self.graph.values[value].name.as_deref() {
            Some(text) if !text.is_empty() => self.put(format_args!("%{}", name(text))),
            _ => {
                let next = self.numbers.len();
                let number = *self.numbers.entry(value).or_insert(next);
                self.put(format_args!("%{number}"));
            }
        }
    }
}

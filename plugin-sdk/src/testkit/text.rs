//! The text form of what was emitted, close to that of the host:
//! `%0: f32[n, 2] = Mul(%x, %1) {axis = 1}`.

use std::fmt::Write;

use super::Tensor;
use super::eval::Lowered;
use super::graph::{Attr, Block, Node};
use super::infer::TESTKIT;

impl Lowered {
    /// Everything that was emitted: the constants, then the nodes in order, then the results. Nodes and
    /// constants are numbered in this order.
    pub fn to_text(&self) -> String {
        let mut printer = Printer { lowered: self, names: vec![None; self.graph.values.len()], next: 0 };
        for (value, info) in self.graph.values.iter().enumerate() {
            printer.names[value] = info.name.as_ref().map(|name| format!("%{name}"));
        }
        let mut text = String::new();
        for (value, info) in self.graph.values.iter().enumerate() {
            if let Some(tensor) = &info.constant {
                let name = printer.define(value);
                let _ = writeln!(text, "constant {name} = {}", elements(tensor));
            }
        }
        printer.block(&self.graph.blocks[0], 0, &mut text);
        let results: Vec<String> = self.results.iter().map(|value| printer.value(*value)).collect();
        let _ = writeln!(text, "results {}", results.join(", "));
        text
    }
}

struct Printer<'a> {
    lowered: &'a Lowered,
    names: Vec<Option<String>>,
    next: usize,
}

impl Printer<'_> {
    /// Numbers `value` and returns it with its type.
    fn define(&mut self, value: usize) -> String {
        let name = format!("%{}", self.next);
        self.next += 1;
        let info = &self.lowered.graph.values[value];
        let dtype = info.dtype.map_or("?", |d| d.as_str());
        let shape = info
            .shape
            .as_ref()
            .map_or_else(|| "[..]".into(), |s| format!("[{}]", self.lowered.symbols.list(s)));
        self.names[value] = Some(name.clone());
        format!("{name}: {dtype}{shape}")
    }

    fn value(&self, value: Option<usize>) -> String {
        value.map_or_else(|| "_".to_owned(), |v| self.names[v].clone().unwrap_or_else(|| "?".to_owned()))
    }

    fn block(&mut self, block: &Block, depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        for value in &block.inputs {
            let name = self.define(*value);
            let _ = writeln!(text, "{indent}input {name}");
        }
        for node in &block.nodes {
            let inputs: Vec<String> = node.inputs.iter().map(|v| self.value(*v)).collect();
            let outputs: Vec<String> = node.outputs.iter().map(|v| self.define(*v)).collect();
            let dot = if node.domain.is_empty() || node.domain == TESTKIT { "" } else { "." };
            let domain = if dot.is_empty() { "" } else { node.domain.as_str() };
            let head = format!("{domain}{dot}{}({})", node.op, inputs.join(", "));
            let _ = write!(text, "{indent}{} = {head}", outputs.join(", "));
            self.attributes(node, depth, text);
            text.push('\n');
        }
        if depth > 0 {
            let outputs: Vec<String> = block.outputs.iter().map(|v| self.value(Some(*v))).collect();
            let _ = writeln!(text, "{indent}output {}", outputs.join(", "));
        }
    }

    fn attributes(&mut self, node: &Node, depth: usize, text: &mut String) {
        let plain: Vec<String> = node
            .attributes
            .iter()
            .filter_map(|(name, attr)| self.attribute(attr).map(|value| format!("{name} = {value}")))
            .collect();
        if !plain.is_empty() {
            let _ = write!(text, " {{{}}}", plain.join(", "));
        }
        for (name, attr) in &node.attributes {
            if let Attr::Block(block) = attr {
                let lowered = self.lowered;
                let _ = writeln!(text, " {name} {{");
                self.block(&lowered.graph.blocks[*block], depth + 1, text);
                let _ = write!(text, "{}}}", "  ".repeat(depth));
            }
        }
    }

    fn attribute(&self, attr: &Attr) -> Option<String> {
        Some(match attr {
            Attr::Int(n) => n.to_string(),
            Attr::Float(x) => format!("{x:?}"),
            Attr::Str(text) => format!("{text:?}"),
            Attr::Ints(ints) => format!("{ints:?}"),
            Attr::Floats(floats) => format!("{floats:?}"),
            Attr::Strs(texts) => format!("{texts:?}"),
            Attr::Tensor(tensor) => elements(tensor),
            Attr::Dims(dims) => format!("[{}]", self.lowered.symbols.list(dims)),
            Attr::Ref { name, .. } => format!("@{name}"),
            Attr::Block(_) => return None,
        })
    }
}

/// The first elements.
fn elements(tensor: &Tensor) -> String {
    const SHOWN: usize = 8;
    let text: Vec<String> = if tensor.dtype().is_float() {
        tensor.to_f64().iter().take(SHOWN).map(|x| format!("{x:?}")).collect()
    } else {
        tensor.to_i64().iter().take(SHOWN).map(i64::to_string).collect()
    };
    let more = if tensor.len() > SHOWN { ", .." } else { "" };
    format!("[{}{more}]", text.join(", "))
}

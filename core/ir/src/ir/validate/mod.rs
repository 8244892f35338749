//! Checks that a model is one: structure, names, operator signatures, types.
//!
//! Every finding is an `OP401` diagnostic. The time is linear in the size of the model.

mod names;
mod schema;
mod topology;
mod types;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
pub use types::dims_differ;

use super::opset::{MAX_OPSET, MIN_OPSET};
use super::{Graph, Model, NodeId, Shape, Type, ValueId};
use crate::diagnose::{Code, Diagnostic, Origins};
use crate::sym::Symbols;
use crate::tensor::DType;

/// What the exported program states about values of the main graph.
pub type Stated = FxHashMap<ValueId, (DType, Shape)>;

/// Everything that is wrong with `model`; `stated` is what the program says about its values.
pub fn validate(model: &Model, stated: &Stated) -> Vec<Diagnostic> {
    let mut cx = Cx { model, origins: &model.origins, symbols: model.symbols.clone(), found: Vec::new() };
    cx.opsets();
    names::check(&mut cx);
    let none = Stated::default();
    let functions = model.functions.iter().map(|f| (&f.graph, &none));
    for (graph, stated) in std::iter::once((&model.graph, stated)).chain(functions) {
        // What follows relies on the structure.
        if topology::check(&mut cx, graph) {
            let nodes = || graph.nodes.ids().filter(|n| graph.nodes[*n].block.is_some());
            schema::check(&mut cx, graph, nodes());
            types::check(&mut cx, graph, stated, nodes());
            types::ends(&mut cx, graph);
        }
    }
    cx.found
}

/// What is wrong with the structure of the main graph; everything else relies on it.
pub fn structure(model: &Model) -> Vec<Diagnostic> {
    let mut cx = Cx { model, origins: &model.origins, symbols: model.symbols.clone(), found: Vec::new() };
    topology::check(&mut cx, &model.graph);
    cx.found
}

/// What is wrong with the signatures and types of some nodes of the main graph.
pub fn nodes(model: &Model, nodes: &[NodeId]) -> Vec<Diagnostic> {
    let mut cx = Cx { model, origins: &model.origins, symbols: model.symbols.clone(), found: Vec::new() };
    schema::check(&mut cx, &model.graph, nodes.iter().copied());
    types::check(&mut cx, &model.graph, &Stated::default(), nodes.iter().copied());
    cx.found
}

/// The two types as text, when no value can have both.
pub fn contradiction(symbols: &mut Symbols, a: &Type, b: &Type) -> Option<(String, String)> {
    types::differs(symbols, a, b)
}

struct Cx<'a> {
    model: &'a Model,
    origins: &'a Origins,
    symbols: Symbols,
    found: Vec<Diagnostic>,
}

impl Cx<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.found.push(Diagnostic::error(Code::VALIDATE, message));
    }

    /// Reports something about a node.
    fn at(&mut self, graph: &Graph, node: NodeId, message: &str) {
        let data = &graph.nodes[node];
        let origin = data.origin.filter(|o| o.index() < self.origins.len());
        let exported = origin.map(|o| self.origins.get(o).node.as_str()).unwrap_or_default();
        let domain = if data.domain.is_empty() { String::new() } else { format!("{}::", data.domain) };
        let what = match exported {
            "" => format!("{domain}{}", data.op),
            exported => format!("{domain}{} of `{exported}`", data.op),
        };
        let diagnostic = Diagnostic::error(Code::VALIDATE, format!("{what}: {message}"));
        self.found.push(match origin {
            Some(origin) => diagnostic.at(origin),
            None => diagnostic,
        });
    }

    fn opsets(&mut self) {
        let opset = self.model.opset();
        if !(MIN_OPSET..=MAX_OPSET).contains(&opset) {
            self.report(format!("opset {opset} is outside of {MIN_OPSET} to {MAX_OPSET}"));
        }
        let opsets = &self.model.opsets;
        if let Some(pair) = opsets.windows(2).find(|pair| pair[0].domain >= pair[1].domain) {
            self.report(format!("the operator sets are not sorted, or `{}` stands twice", pair[1].domain));
        }
    }
}

/// How a value is called in messages.
fn describe(graph: &Graph, value: ValueId) -> String {
    match graph.values.get(value).and_then(|v| v.name.as_deref()) {
        Some(name) => format!("`{name}`"),
        None => format!("value {value:?}"),
    }
}

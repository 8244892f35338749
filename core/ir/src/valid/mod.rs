//! Validates models: structure, names, operator signatures, types.
//!
//! Every finding is an `OP401` diagnostic. The time is linear in the size of the model.

mod names;
mod read;
mod schema;
mod stated;
mod topology;
mod training;
mod types;

#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;
pub use stated::StatedTypes;
pub use types::dims_differ;

use crate::diagnose::{Code, Diagnostic, Origins};
use crate::ir::opset::{MAX_OPSET, OLDEST_OPSET};
use crate::ir::{Graph, Model, NodeId, OpsetImport, Type, ValueId};
use crate::sym::{Dim, Symbols};

/// Returns all problems of `model`; `stated` holds the types that the program states.
pub fn validate(model: &Model, stated: &StatedTypes) -> Vec<Diagnostic> {
    let mut cx = Cx::for_model(model);
    cx.imports(&model.opsets, !model.origin.is_imported());
    for function in &model.functions {
        cx.imports(&function.opsets, false);
    }
    names::check(&mut cx);
    training::check(&mut cx);
    let none = StatedTypes::default();
    let functions = model.functions.iter().enumerate();
    let functions = functions.map(|(index, f)| (&f.graph, &none, f.opsets(model), Some(index)));
    let main = (&model.graph, stated, model.opsets.as_slice(), None);
    for (graph, stated, opsets, function) in std::iter::once(main).chain(functions) {
        (cx.opsets, cx.function) = (opsets, function);
        // The remaining checks rely on a sound structure.
        if topology::check(&mut cx, graph) {
            let nodes = || graph.nodes.ids().filter(|n| graph.nodes[*n].block.is_some());
            schema::check(&mut cx, graph, nodes());
            types::check(&mut cx, graph, stated, nodes());
            types::ends(&mut cx, graph);
        }
    }
    cx.found
}

/// Returns the structural problems of the main graph; all other checks rely on a sound structure.
pub fn structure(model: &Model) -> Vec<Diagnostic> {
    let mut cx = Cx::for_model(model);
    topology::check(&mut cx, &model.graph);
    cx.found
}

/// Corrects the shapes that a model records of values of its main graph and that contradict their nodes, and returns the
/// findings. Records of values inside of the graph are left out; outputs are declared as their nodes make them.
pub fn correct_misrecorded(model: &mut Model) -> Vec<Diagnostic> {
    let mut corrected = Vec::new();
    // A wrong record may hide another one. Each is corrected once.
    for _ in 0..=model.graph.values.len() {
        let mut cx = Cx::for_model(model);
        if !topology::check(&mut cx, &model.graph) {
            break;
        }
        let wrong = types::misrecorded(&mut cx, &model.graph);
        if wrong.is_empty() {
            break;
        }
        for (value, mut ty, found) in wrong {
            // Expressions that were made here are not among the model's.
            if let Type::Tensor { shape, .. } = &mut ty {
                for dim in shape.dims_mut().into_iter().flatten() {
                    *dim = dim.filter(|dim| match dim {
                        Dim::Const(_) => true,
                        Dim::Expr(id) => model.symbols.check(id.raw()).is_some(),
                    });
                }
            }
            model.graph.values[value].ty = ty;
            corrected.push(found);
        }
    }
    corrected
}

/// Returns the problems with the signatures and types of some nodes of the main graph.
pub fn nodes(model: &Model, nodes: &[NodeId]) -> Vec<Diagnostic> {
    let mut cx = Cx::for_model(model);
    schema::check(&mut cx, &model.graph, nodes.iter().copied());
    types::check(&mut cx, &model.graph, &StatedTypes::default(), nodes.iter().copied());
    cx.found
}

/// The nodes that do not follow the signatures of their operators: each operator, and what is wrong.
pub fn signatures(model: &Model) -> Vec<(String, Diagnostic)> {
    let mut cx = Cx::for_model(model);
    let mut found = Vec::new();
    let functions = model.functions.iter().enumerate();
    let functions = functions.map(|(index, f)| (&f.graph, f.opsets(model), Some(index)));
    let main = (&model.graph, model.opsets.as_slice(), None);
    for (graph, opsets, function) in functions.chain([main]) {
        (cx.opsets, cx.function) = (opsets, function);
        for node in graph.nodes.ids().filter(|node| graph.nodes[*node].block.is_some()) {
            schema::check(&mut cx, graph, [node].into_iter());
            let operator = || graph.nodes[node].op.to_string();
            found.extend(cx.found.drain(..).map(|fault| (operator(), fault)));
        }
    }
    found
}

/// The two types as text, when no value can have both.
pub fn contradiction(symbols: &mut Symbols, a: &Type, b: &Type) -> Option<(String, String)> {
    types::differs(symbols, a, b)
}

/// The identity of a callee: domain, name, overload.
type Callee<'a> = (&'a str, &'a str, &'a str);

struct Cx<'a> {
    model: &'a Model,
    origins: &'a Origins,
    symbols: Symbols,
    /// The functions by identity.
    callees: FxHashMap<Callee<'a>, usize>,
    /// The operator sets of the graph that is checked.
    opsets: &'a [OpsetImport],
    /// The function that it is the body of.
    function: Option<usize>,
    found: Vec<Diagnostic>,
}

impl<'a> Cx<'a> {
    fn for_model(model: &'a Model) -> Self {
        let callees = model.functions.iter().enumerate();
        Self {
            model,
            origins: &model.origins,
            symbols: model.symbols.clone(),
            callees: callees.map(|(index, f)| ((&*f.domain, &*f.name, &*f.overload), index)).collect(),
            opsets: &model.opsets,
            function: None,
            found: Vec::new(),
        }
    }

    /// The version of `domain` that the graph uses.
    fn version(&self, domain: &str) -> Option<i64> {
        self.opsets.iter().find(|o| o.domain == domain).map(|o| o.version)
    }

    /// The version of ONNX's own operators that the graph uses; 0 where it uses none.
    fn opset(&self) -> i64 {
        self.version("").unwrap_or(0)
    }

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

    /// The operator sets of the model or a function; `required` says that ONNX's own must be among them.
    fn imports(&mut self, opsets: &[OpsetImport], required: bool) {
        // Converted models have one of the emitted versions; imported ones may be older.
        let least = if self.model.origin.is_imported() { 1 } else { OLDEST_OPSET };
        let opset = opsets.iter().find(|o| o.domain.is_empty()).map(|o| o.version);
        if opset.map_or(required, |opset| !(least..=MAX_OPSET).contains(&opset)) {
            let opset = opset.unwrap_or(0);
            self.report(format!("opset {opset} is outside of {least} to {MAX_OPSET}"));
        }
        if let Some((_, next)) = opsets.iter().zip(opsets.iter().skip(1)).find(|(a, b)| a.domain >= b.domain)
        {
            self.report(format!("the operator sets are not sorted, or `{}` stands twice", next.domain));
        }
    }
}

/// How a value is called in messages.
fn describe(graph: &Graph, value: ValueId) -> String {
    match graph.values.find(value).and_then(|v| v.name.as_deref()) {
        Some(name) => format!("`{name}`"),
        None => format!("value {value:?}"),
    }
}

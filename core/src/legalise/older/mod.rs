//! Models of older opsets.
//!
//! Every other stage knows the operators from [`MIN_OPSET`] on. For an older opset, the finished model is translated, as
//! the last step, node by node:
//! 1. an edit moves the operands of an operator to where the older version has them ([`edits`]);
//! 2. a form in `forms/older.txt`, or else ONNX's own definition, replaces an operator or a type that the opset lacks;
//! 3. attributes that the older version lacks are left out where they have their default, and defaults that changed are
//!    stated.
//!
//! The result is checked against the signatures of the older opset, and a node that violates one is refused.

mod edits;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::definition;
use super::edit::{Casts, apply};
use super::form::{Form, Plan, Site, older_forms, put};
use crate::diagnose::{Code, Diagnostic, Report};
use crate::ir::opset::{self, AttrDefault, MIN_OPSET, OpSchema};
use crate::ir::{Attr, Attribute, Graph, Model, NodeId};
use crate::ops::{self, Axes};
use crate::sym::Symbols;
use crate::tidy;
use crate::valid;

/// The depth to which forms are translated in turn.
const DEEPEST: usize = 16;

/// Translates `model`, of [`MIN_OPSET`], to an older opset, and returns the forms that it took.
///
/// # Errors
/// [`Code::OPSET_LACKS`] for each operator that has no form in the opset.
pub fn translate(model: &mut Model, opset: i64) -> Result<Vec<&'static Form>, Report> {
    let mut used = Vec::new();
    let graphs = model.functions.iter_mut().map(|function| &mut function.graph).chain([&mut model.graph]);
    let mut flattening = Vec::new();
    for graph in graphs {
        let walk =
            Walk { graph, symbols: &mut model.symbols, opset, used: &mut used, flattening: &mut flattening };
        walk.blocks();
    }
    let functions = model.functions.iter_mut().map(|function| &mut function.opsets);
    for import in functions.chain([&mut model.opsets]).flatten().filter(|import| import.domain.is_empty()) {
        import.version = opset;
    }
    tidy::model(model);
    let diagnostics = refusals(model, opset, flattening);
    if diagnostics.is_empty() {
        return Ok(used);
    }
    Err(Report { diagnostics, origins: model.origins.clone() })
}

/// The nodes that violate the signatures of the opset; those with the same fault are reported once.
fn refusals(model: &Model, opset: i64, flattening: Vec<(String, Diagnostic)>) -> Vec<Diagnostic> {
    let mut faults: BTreeMap<(String, String), (usize, Diagnostic)> = BTreeMap::new();
    for (operator, found) in flattening.into_iter().chain(valid::signatures(model)) {
        let fault = found.message.split_once(": ").map_or(&*found.message, |(_, fault)| fault).to_owned();
        faults.entry((operator, fault)).or_insert((0, found)).0 += 1;
    }
    let refusal = |((operator, fault), (nodes, found)): ((String, String), (usize, Diagnostic))| {
        let nodes = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
        let fault =
            if opset::lookup(&operator, opset).is_none() { "there is no such operator" } else { &fault };
        let message = format!("opset {opset} cannot express `{operator}` in {nodes}: {fault}");
        let newer = opset::lookup(&operator, MIN_OPSET).map_or(MIN_OPSET, |schema| i64::from(schema.since));
        let newer = if newer > opset { newer } else { MIN_OPSET };
        let help =
            format!("convert with opset {newer} or newer, or compute it by other operators in this line");
        Diagnostic { code: Code::OPSET_LACKS, message, ..found }.help(help)
    };
    faults.into_iter().map(refusal).collect()
}

/// A walk through one graph.
struct Walk<'a> {
    graph: &'a mut Graph,
    symbols: &'a mut Symbols,
    opset: i64,
    used: &'a mut Vec<&'static Form>,
    /// Nodes whose operators flatten axes in the opset and did not before.
    flattening: &'a mut Vec<(String, Diagnostic)>,
}

impl Walk<'_> {
    fn blocks(mut self) {
        // Definitions of operators bring blocks of their own.
        let mut known = 0;
        loop {
            let blocks: Vec<_> = self.graph.blocks.ids().skip(known).collect();
            if blocks.is_empty() {
                return;
            }
            known += blocks.len();
            for block in blocks {
                for node in self.graph.order(block).collect::<Vec<_>>() {
                    self.visit(node, 0);
                }
            }
        }
    }

    fn visit(&mut self, node: NodeId, depth: usize) {
        let data = &self.graph.nodes[node];
        if depth > DEEPEST || data.block.is_none() || !data.domain.is_empty() {
            return;
        }
        let Some(new) = opset::lookup(&data.op, MIN_OPSET) else { return };
        let old = opset::lookup(&data.op, self.opset);
        if old.is_some_and(|old| old.since == new.since) {
            return;
        }
        for made in edits::apply(self.graph, self.symbols, self.opset, node) {
            self.visit(made, depth + 1);
        }
        let edited = self.graph.nodes[node].op != new.name;
        if edited || self.graph.nodes[node].block.is_none() {
            return self.visit(node, depth + 1);
        }
        match self.plan(node, new) {
            Some(Plan::Types(variables)) => {
                let next = self.graph.next(node);
                let mut casts = Casts::default();
                apply(self.graph, MIN_OPSET, node, next.as_ref(), &variables, &mut casts);
                self.visit(node, depth + 1);
            }
            Some(Plan::Body(body, _)) => {
                for made in put(self.graph, self.symbols, MIN_OPSET, node, &body) {
                    self.visit(made, depth + 1);
                }
            }
            None => match old {
                Some(old) => {
                    restate(self.graph, node, new, old);
                    self.flattens(node);
                }
                None => {
                    for made in definition::put(self.graph, self.symbols, MIN_OPSET, node) {
                        self.visit(made, depth + 1);
                    }
                }
            },
        }
    }

    /// Refuses a node whose operator treats all axes from `axis` on as one in this opset, unless it takes the last axis only.
    fn flattens(&mut self, node: NodeId) {
        let data = &self.graph.nodes[node];
        let mapping = ops::lookup(&data.domain, &data.op).and_then(ops::Op::axis_mapping);
        let flattens = matches!(mapping, Some(Axes::Along(since)) if self.opset < since);
        if flattens && data.int("axis") != Some(-1) {
            let found = Diagnostic::error(Code::OPSET_LACKS, "flattens the axes from `axis` on");
            let found = match data.origin {
                Some(origin) => found.at(origin),
                None => found,
            };
            self.flattening.push((data.op.to_string(), found));
        }
    }

    /// The first form for `node`.
    fn plan(&mut self, node: NodeId, schema: &'static OpSchema) -> Option<Plan> {
        let mut site = Site { graph: self.graph, symbols: self.symbols, opset: MIN_OPSET, node };
        let opset = self.opset;
        let (form, plan) = older_forms()
            .iter()
            .filter(|form| form.below.is_some_and(|below| opset < below))
            .filter(|form| form.fits(site.graph, &site.graph.nodes[node], schema))
            .find_map(|form| Some((form, form.plan(&mut site, schema)?)))?;
        self.used.push(form);
        Some(plan)
    }
}

/// States `node` as version `old` of its operator has it: defaults that changed are stated, and attributes that it lacks are
/// left out where they have their default.
fn restate(graph: &mut Graph, node: NodeId, new: &'static OpSchema, old: &'static OpSchema) {
    let data = &mut graph.nodes[node];
    let has = |schema: &OpSchema, name: &str| schema.attributes.iter().any(|a| a.name == name);
    for attribute in new.attributes {
        let Some(default) = attribute.default else { continue };
        let changed = old.default_of(attribute.name).is_some_and(|before| before != default);
        if changed && data.attr(attribute.name).is_none() {
            data.attributes.push(Attribute { name: attribute.name.into(), value: Attr::from(default) });
        }
    }
    data.attributes.sort_by(|a, b| a.name.cmp(&b.name));
    data.attributes.retain(|attribute| {
        let implied = match (new.default_of(&attribute.name), &attribute.value) {
            (Some(AttrDefault::Int(default)), Attr::Int(own)) => default == *own,
            (Some(AttrDefault::Float(default)), Attr::Float(own)) => default == *own,
            (Some(AttrDefault::Str(default)), Attr::Str(own)) => default == own,
            _ => false,
        };
        has(old, &attribute.name) || !implied || opset::is_breaking(new.name, &attribute.name)
    });
}

//! Verdicts: how a target takes each node of a model, before anything is changed for it.

mod judge;
mod probe;
mod report;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

pub use self::probe::{Answer, Asking};
use super::Target;
use crate::diagnose::{Diagnostic, Frame, OriginId};
use crate::inline::inline;
use crate::ir::{Graph, Model, NodeId, OpsetImport};
use crate::ops::infer::{OLDEST_INFERRED, infer_all};
use crate::sym::Symbols;

/// How a target takes a node.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// By a kernel.
    Native,
    /// By other operators, or in another type.
    Form,
    /// Its fallback runs it.
    Fallback,
    /// Not at all.
    Refused,
    /// Neither the table nor the model decides it.
    Unknown,
}

/// The numbers of nodes by verdict.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Those with a kernel.
    pub native: usize,
    /// Those that other operators or types stand for.
    pub form: usize,
    /// Those that the fallback runs.
    pub fallback: usize,
    /// Those that the target does not run.
    pub refused: usize,
    /// Those that nothing decides.
    pub unknown: usize,
}

/// A node with its verdict.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct JudgedNode {
    /// The name of the node, or of its first output.
    pub node: String,
    /// The operator, behind its domain if that is not ONNX's own.
    pub operator: String,
    /// The version of the operator; that of the domain for operators that ONNX does not define.
    pub version: i64,
    /// The element types of its inputs.
    pub types: Vec<String>,
    /// The path of the module that it comes from; empty for the root, or if the model does not state it.
    pub module: String,
    /// The user's source line, if the model states it.
    pub line: Option<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for it.
    pub reason: String,
    /// The type that a kernel computes in, if it is narrower than that of the node: `i64 in i32`.
    pub within: Option<String>,
    /// A change that lets the target run the node, or run it by a kernel.
    pub change: Option<String>,
    #[serde(skip)]
    origin: Option<OriginId>,
    /// The node, if it is one of the model's own graph.
    #[serde(skip)]
    id: Option<NodeId>,
}

/// A module, with the verdicts on its own nodes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct JudgedModule {
    /// The path; empty for the root.
    pub module: String,
    /// The class; empty if the model does not state it.
    pub class: String,
    /// The verdicts.
    pub counts: Counts,
}

/// The verdicts on a model.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Legality {
    /// The name of the target.
    pub target: String,
    /// The version of the runtime that its table describes.
    pub version: String,
    /// The place that the table is from.
    pub source: String,
    /// The date of the table.
    pub date: String,
    /// The opset of the model.
    pub opset: i64,
    /// The runtime that was asked about nodes which the table does not decide.
    pub asked: Option<String>,
    /// All verdicts.
    pub counts: Counts,
    /// The modules, in the order of their first nodes.
    pub modules: Vec<JudgedModule>,
    /// The nodes, in the order of the model.
    pub nodes: Vec<JudgedNode>,
}

impl Counts {
    fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Native => self.native += 1,
            Verdict::Form => self.form += 1,
            Verdict::Fallback => self.fallback += 1,
            Verdict::Refused => self.refused += 1,
            Verdict::Unknown => self.unknown += 1,
        }
    }

    /// The number of nodes.
    pub fn total(&self) -> usize {
        self.native + self.form + self.fallback + self.refused + self.unknown
    }
}

/// Judges each node of `model`, in which calls of local functions are inlined and missing types inferred. Returns the
/// verdicts, and a diagnostic for each kind of node that the target refuses (an error) or that is unknown (a warning).
pub fn legal(model: &mut Model, target: &Target) -> (Legality, Vec<Diagnostic>) {
    judged(model, target, None)
}

/// Judges each node of `model`, as [`legal`] does, and asks the runtime about those that are unknown.
pub fn legal_asking(
    model: &mut Model,
    target: &Target,
    mut asking: Asking<'_>,
) -> (Legality, Vec<Diagnostic>) {
    judged(model, target, Some(&mut asking))
}

fn judged(
    model: &mut Model,
    target: &Target,
    asking: Option<&mut Asking<'_>>,
) -> (Legality, Vec<Diagnostic>) {
    inline(model, usize::MAX);
    let opset = model.opset();
    if model.origin.is_imported() && opset >= OLDEST_INFERRED {
        infer_all(&mut model.graph, &mut model.symbols, opset);
    }
    let mut nodes = Vec::new();
    let opsets: Vec<Vec<OpsetImport>> = model.functions.iter().map(|f| f.opsets(model).to_vec()).collect();
    let Model { graph, functions, symbols, opsets: own, .. } = &mut *model;
    let mut site = Walk { symbols, target, is_own: false, found: &mut nodes };
    // Functions that remain need other versions of operators than their callers.
    for (function, opsets) in functions.iter().zip(&opsets) {
        site.graph(&function.graph, opsets);
    }
    site.is_own = true;
    site.graph(graph, own);
    let asked = asking.map(|asking| {
        probe::ask(model, &mut nodes, asking);
        asking.runtime.to_owned()
    });
    for node in nodes.iter_mut().filter(|node| node.verdict != Verdict::Native) {
        node.within = None;
    }
    for node in &mut nodes {
        if let Some(origin) = node.origin.map(|id| model.origins.get(id)) {
            node.module = origin.module.to_string();
            node.line = origin.user_frame().map(Frame::place);
            if node.node.is_empty() {
                node.node = origin.node.to_string();
            }
        }
    }
    let mut counts = Counts::default();
    for node in &nodes {
        counts.add(node.verdict);
    }
    let found = Legality {
        target: target.name().to_owned(),
        version: target.version().to_owned(),
        source: target.source().to_owned(),
        date: target.date().to_owned(),
        opset,
        asked,
        counts,
        modules: modules(model, &nodes),
        nodes,
    };
    let diagnostics = report::diagnostics(target, &found);
    (found, diagnostics)
}

struct Walk<'a> {
    symbols: &'a mut Symbols,
    target: &'a Target,
    /// Whether the graph is the model's own.
    is_own: bool,
    found: &'a mut Vec<JudgedNode>,
}

impl Walk<'_> {
    fn graph(&mut self, graph: &Graph, opsets: &[OpsetImport]) {
        let calls: BTreeMap<&str, i64> = opsets.iter().map(|o| (o.domain.as_str(), o.version)).collect();
        for block in graph.blocks.ids() {
            for node in graph.order(block) {
                self.node(graph, &calls, node);
            }
        }
    }

    fn node(&mut self, graph: &Graph, opsets: &BTreeMap<&str, i64>, node: NodeId) {
        let data = &graph.nodes[node];
        let asked = judge::Asked { graph, opsets, target: self.target, node };
        let judge::Finding { verdict, reason, change } = asked.verdict(self.symbols);
        let values = || data.inputs.iter().chain(&data.outputs).flatten();
        let narrowed = values().find_map(|value| {
            let dtype = graph.values[*value].ty.dtype()?;
            Some(format!("{dtype} in {}", self.target.narrowed(dtype)?))
        });
        let name = graph.notes.nodes.get(&node).map_or(String::new(), |note| note.name.clone());
        let output = || {
            let value = data.outputs.iter().flatten().next()?;
            Some(graph.values[*value].name.as_ref()?.to_string())
        };
        let dtypes = data.inputs.iter().flatten().filter_map(|value| graph.values[*value].ty.dtype());
        self.found.push(JudgedNode {
            node: if name.is_empty() { output().unwrap_or_default() } else { name },
            operator: asked.operator(),
            version: asked.version(),
            types: dtypes.map(|dtype| dtype.to_string()).collect(),
            module: String::new(),
            line: None,
            verdict,
            reason,
            within: narrowed,
            change,
            origin: data.origin,
            id: self.is_own.then_some(node),
        });
    }
}

fn modules(model: &Model, nodes: &[JudgedNode]) -> Vec<JudgedModule> {
    let (mut modules, mut at): (Vec<JudgedModule>, FxHashMap<&str, usize>) = Default::default();
    for node in nodes {
        let index = *at.entry(&node.module).or_insert_with(|| {
            let class = node.origin.map_or(String::new(), |id| model.origins.get(id).class.to_string());
            modules.push(JudgedModule { module: node.module.clone(), class, counts: Counts::default() });
            modules.len() - 1
        });
        if let Some(module) = modules.get_mut(index) {
            module.counts.add(node.verdict);
        }
    }
    modules
}

//! Legalization: operators without a kernel in the target are computed in another type.
//!
//! Lowerings, rules and passes use plain ONNX; a target is data ([`Target`]). This stage visits each node that the target
//! has no kernel for. Where another form of the operator is known ([`forms`]), all of which the target has, that
//! takes its place. Else, where the target takes the operator, but not of this element type, `Cast`s around the node let it
//! compute in a type that the target's table names, in order of preference. Else ONNX's own definition of the operator
//! replaces it. Other nodes stay as they are and are reported: the model is right, but the target does not run it.

mod built_in;
mod condition;
mod constant;
mod definition;
mod edit;
mod fit;
mod form;
pub mod legal;
pub mod older;
pub(crate) mod rules;
mod target;
mod windows;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Name;
use crate::diagnose::{Code, Diagnostic, OriginId, Report, Severity};
use crate::ir::opset::{self, MAX_OPSET, MIN_OPSET};
use crate::ir::{Graph, Model, NodeId};
use crate::op;
use crate::sym::Symbols;
use crate::tensor::DType;
use crate::tidy;

pub use built_in::BUILT_IN;
pub use form::{Form, forms, older_forms};
pub use target::Target;

use fit::{Support, Variables, Verdict};
use form::{Plan, Site};

/// The target of a model.
#[derive(Clone, Debug)]
pub struct LegaliseOptions {
    /// The target.
    pub target: Arc<Target>,
    /// Whether the user asked for it: then an unsupported operator is an error.
    pub demanded: bool,
    /// Whether nodes that the target runs keep their results bit by bit. If not, a more exact form may stand for a node
    /// that the target would expand.
    pub keep_bits: bool,
}

impl Default for LegaliseOptions {
    /// ONNX Runtime, because nobody said otherwise.
    fn default() -> Self {
        Self { target: Target::onnxruntime(), demanded: false, keep_bits: false }
    }
}

/// The changes made for the target.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Legalised {
    /// The name of the target.
    pub target: String,
    /// The version that its table was made from.
    pub version: String,
    /// Nodes computed in another type.
    pub computed: Vec<Computed>,
    /// Nodes replaced by other operators.
    pub replaced: Vec<Replaced>,
    /// Nodes that the target does not run.
    pub lacking: Vec<Lacking>,
}

/// Nodes that compute in another type than they were given.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Computed {
    /// The operator.
    pub operator: String,
    /// The element type that the model means.
    pub of: String,
    /// The one that is computed in.
    pub within: String,
    /// How many nodes.
    pub nodes: usize,
    #[serde(skip)]
    origin: Option<OriginId>,
}

/// Nodes that other operators stand for.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Replaced {
    /// The operator.
    pub operator: String,
    /// The operators that stand for it.
    pub by: String,
    /// How many nodes.
    pub nodes: usize,
    #[serde(skip)]
    origin: Option<OriginId>,
}

/// Nodes that the target has no kernel for.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Lacking {
    /// The operator.
    pub operator: String,
    /// The version of the operator.
    pub version: i64,
    /// The element types that it stands on.
    pub of: Vec<String>,
    /// How many nodes.
    pub nodes: usize,
    #[serde(skip)]
    origin: Option<OriginId>,
}

type Count = (usize, Option<OriginId>);

/// The changes and failures: how often, and where first.
#[derive(Default)]
struct Done {
    changes: BTreeMap<(Name, DType, DType), Count>,
    forms: BTreeMap<(Name, String), Count>,
    gaps: BTreeMap<(Name, i64, Vec<DType>), Count>,
}

impl Done {
    /// Counts the `Cast` nodes of the changed graphs that the target does not run: those around a node that computes in
    /// another type may be among them. A target with a table that does not list `Cast` takes the latter.
    fn recount_casts<'g>(&mut self, graphs: impl Iterator<Item = (&'g Graph, i64)>, target: &Target) {
        let lists = |opset: i64| {
            let version = opset::lookup(op::Cast, opset).map_or(0, |schema| i64::from(schema.since));
            target.kernels(op::Cast, version).is_some_and(|kernels| !kernels.is_empty())
        };
        let graphs: Vec<(&Graph, i64)> = graphs.collect();
        if !graphs.iter().all(|(_, opset)| lists(*opset)) {
            return;
        }
        self.gaps.retain(|(name, ..), _| name.as_str() != op::Cast);
        for (graph, opset) in graphs {
            let nodes = graph.reachable_blocks().into_iter().flat_map(|block| graph.order(block));
            for (node, data) in
                nodes.map(|node| (node, &graph.nodes[node])).filter(|(_, data)| data.is(op::Cast))
            {
                let verdict = fit::judge(graph, opset, target, node);
                if let Verdict::Lacks { version, of } = verdict
                    && !falls_back(graph, opset, target, node)
                {
                    count(&mut self.gaps, (data.op.clone(), version, of), data.origin);
                }
            }
        }
    }
}

/// Whether `target` runs `node` as it is: by a kernel, by expanding it, or because nothing is known of the operator.
pub fn runs(graph: &Graph, opset: i64, target: &Target, node: NodeId) -> bool {
    target.takes_everything()
        || (fit::judge(graph, opset, target, node) == Verdict::Fits && !is_foreign(graph, target, node))
}

/// Whether `node` is of an operator of another runtime's own.
fn is_foreign(graph: &Graph, target: &Target, node: NodeId) -> bool {
    let domain = graph.nodes[node].domain.as_str();
    !domain.is_empty() && Target::onnxruntime().lists_domain(domain) && !target.lists_domain(domain)
}

/// Changes the nodes of `model` that its target does not take.
///
/// # Errors
/// [`Code::TARGET_LACKS`] when the user demanded the target and it does not run the model.
pub fn legalise(
    model: &mut Model,
    options: &LegaliseOptions,
) -> Result<(Legalised, Vec<Diagnostic>), Report> {
    let target = &options.target;
    let mut done = Done::default();
    if !target.takes_everything() {
        let opsets: Vec<i64> = model.functions.iter().map(|f| f.opset(model)).collect();
        let opset = model.opset();
        let functions = model.functions.iter_mut().zip(opsets.clone());
        let functions = functions.map(|(f, opset)| (&mut f.graph, opset));
        for (graph, opset) in functions.chain([(&mut model.graph, opset)]) {
            let keep_bits = options.keep_bits;
            Walk { graph, symbols: &mut model.symbols, opset, target, keep_bits, done: &mut done }.blocks();
        }
        if !done.changes.is_empty() || !done.forms.is_empty() {
            tidy::model(model);
            let functions = model.functions.iter().zip(opsets).map(|(f, opset)| (&f.graph, opset));
            done.recount_casts(functions.chain([(&model.graph, opset)]), target);
        }
    }
    let narrowed: Vec<bool> = done.changes.keys().map(|(_, of, within)| within.bits() < of.bits()).collect();
    let done = summary(target, done);
    let diagnostics = report(&done, &narrowed, options, model.opset());
    let report = Report { diagnostics, origins: model.origins.clone() };
    if report.has_errors() { Err(report) } else { Ok((done, report.diagnostics)) }
}

/// The way through one graph.
struct Walk<'a> {
    graph: &'a mut Graph,
    symbols: &'a mut Symbols,
    opset: i64,
    target: &'a Target,
    keep_bits: bool,
    done: &'a mut Done,
}

impl Walk<'_> {
    fn blocks(mut self) {
        for block in self.graph.blocks.ids().collect::<Vec<_>>() {
            let mut casts = edit::Casts::default();
            for node in self.graph.order(block).collect::<Vec<_>>() {
                self.visit(node, &mut casts);
            }
        }
    }

    fn visit(&mut self, node: NodeId, casts: &mut edit::Casts) {
        let taken = fit::takes(self.graph, self.opset, self.target, node, &Variables::new());
        if taken == Support::Kernel || (self.keep_bits && taken != Support::None) {
            return;
        }
        let verdict = fit::judge(self.graph, self.opset, self.target, node);
        let lacks = matches!(verdict, Verdict::Lacks { .. });
        let mut place = Site { graph: self.graph, symbols: self.symbols, opset: self.opset, node };
        let plan = form::choose(&mut place, self.target, taken, lacks);
        let plan = plan.or_else(|| lacks.then(|| definition::plan(&mut place, self.target)).flatten());
        match plan {
            Some(Plan::Types(variables)) => self.cast(node, &variables, casts),
            Some(Plan::Body(body, by)) => {
                let name = self.graph.nodes[node].op.clone();
                count(&mut self.done.forms, (name, by), self.graph.nodes[node].origin);
                for made in form::put(self.graph, self.symbols, self.opset, node, &body) {
                    // A form that is chosen needs casts at most.
                    if let Verdict::Change(variables) = fit::judge(self.graph, self.opset, self.target, made)
                    {
                        self.cast(made, &variables, casts);
                    }
                }
            }
            None => match verdict {
                Verdict::Fits => {}
                Verdict::Change(variables) => self.cast(node, &variables, casts),
                Verdict::Lacks { .. } if falls_back(self.graph, self.opset, self.target, node) => {}
                Verdict::Lacks { version, of } => {
                    let data = &self.graph.nodes[node];
                    count(&mut self.done.gaps, (data.op.clone(), version, of), data.origin);
                }
            },
        }
    }

    fn cast(&mut self, node: NodeId, variables: &Variables, casts: &mut edit::Casts) {
        let (name, origin) = (self.graph.nodes[node].op.clone(), self.graph.nodes[node].origin);
        let next = self.graph.next(node);
        for (of, within) in edit::apply(self.graph, self.opset, node, next.as_ref(), variables, casts) {
            count(&mut self.done.changes, (name.clone(), of, within), origin);
        }
    }
}

/// Whether another runtime takes a node that the target does not.
fn falls_back(graph: &Graph, opset: i64, target: &Target, node: NodeId) -> bool {
    target.fallback().is_some_and(|fallback| runs(graph, opset, fallback, node))
}

fn count<K: Ord>(counts: &mut BTreeMap<K, Count>, key: K, origin: Option<OriginId>) {
    counts.entry(key).or_insert((0, origin)).0 += 1;
}

fn summary(target: &Target, done: Done) -> Legalised {
    let computed = done.changes.into_iter().map(|((operator, of, within), (nodes, origin))| Computed {
        operator: operator.into(),
        of: of.to_string(),
        within: within.to_string(),
        nodes,
        origin,
    });
    let replaced = done.forms.into_iter();
    let replaced = replaced.map(|((operator, by), (nodes, origin))| Replaced {
        operator: operator.into(),
        by,
        nodes,
        origin,
    });
    let lacking = done.gaps.into_iter().map(|((operator, version, of), (nodes, origin))| Lacking {
        operator: operator.into(),
        version,
        of: of.iter().map(ToString::to_string).collect(),
        nodes,
        origin,
    });
    Legalised {
        target: target.name().to_owned(),
        version: target.version().to_owned(),
        computed: computed.collect(),
        replaced: replaced.collect(),
        lacking: lacking.collect(),
    }
}

/// Reports where precision is lost, and the nodes that do not run.
fn report(done: &Legalised, narrowed: &[bool], options: &LegaliseOptions, opset: i64) -> Vec<Diagnostic> {
    let target = options.target.to_string();
    let place = |diagnostic: Diagnostic, origin: Option<OriginId>| match origin {
        Some(origin) => diagnostic.at(origin),
        None => diagnostic,
    };
    let note = |code, message| Diagnostic { severity: Severity::Note, ..Diagnostic::warning(code, message) };
    let count = |nodes: usize| if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
    let mut out = Vec::new();
    for (computed, narrowed) in done.computed.iter().zip(narrowed) {
        if *narrowed {
            let message = format!(
                "`{}` of {} is computed in {} in {}: {target} has no kernel for it",
                computed.operator,
                computed.of,
                computed.within,
                count(computed.nodes)
            );
            let found = note(Code::TARGET_NARROWS, message).help("`--target onnx` keeps the type");
            out.push(place(found, computed.origin));
        }
    }
    for replaced in &done.replaced {
        let message = format!(
            "`{}` is written as {} in {}: {target} has no kernel for it",
            replaced.operator,
            replaced.by,
            count(replaced.nodes)
        );
        out.push(place(note(Code::TARGET_FORM, message), replaced.origin));
    }
    for lacking in &done.lacking {
        let of = if lacking.of.is_empty() { String::new() } else { format!(" of {}", lacking.of.join(", ")) };
        let message = format!(
            "{target} has no kernel for version {} of `{}`{of}, in {}",
            lacking.version,
            lacking.operator,
            count(lacking.nodes),
        );
        let found = if options.demanded {
            Diagnostic::error(Code::TARGET_LACKS, message)
        } else {
            note(Code::TARGET_LACKS, message)
        };
        let help = match other_opset(&options.target, &lacking.operator, opset) {
            Some(opset) => {
                format!("convert with opset {opset}, whose `{}` it has kernels for", lacking.operator)
            }
            None => {
                "compute it by other operators in this line, or run the model elsewhere (`--target onnx`)"
                    .to_owned()
            }
        };
        out.push(place(found.help(help), lacking.origin));
    }
    out
}

/// The opset nearest to `opset` whose version of the operator the target has kernels for; `None` where it has some for the
/// version at hand, which are for other types, or none at all.
fn other_opset(target: &Target, operator: &str, opset: i64) -> Option<i64> {
    let has = |opset: i64| {
        let since = opset::lookup(operator, opset).map(|schema| i64::from(schema.since))?;
        Some(target.kernels(operator, since).is_none_or(|kernels| !kernels.is_empty()))
    };
    if has(opset) == Some(true) {
        return None;
    }
    (MIN_OPSET..=MAX_OPSET)
        .filter(|other| has(*other) == Some(true))
        .min_by_key(|other| (opset - other).abs())
}

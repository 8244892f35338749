//! Legalising: what the target of a conversion has no kernel for is computed in another type.
//!
//! Lowerings, rules and passes speak ONNX; what a runtime lacks is data ([`Target`]). This stage looks at each node: where
//! the target takes the operator, but not of this element type, `Cast`s around the node let it compute in a type that the
//! target's table names, in order of preference. What cannot be helped so stays as it is and is reported: the model is
//! right, but the target does not run it.

mod edit;
mod fit;
mod target;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::Name;
use crate::diagnose::{Code, Diagnostic, OriginId, Report, Severity};
use crate::ir::{Graph, Model, NodeId, tidy};
use crate::tensor::DType;

pub use target::{BUILT_IN, Target};

use fit::Verdict;

/// For what a model is made.
#[derive(Clone, Debug)]
pub struct LegaliseOptions {
    /// The target.
    pub target: Arc<Target>,
    /// Whether the user asked for it: what it does not run is an error then.
    pub demanded: bool,
}

impl Default for LegaliseOptions {
    /// ONNX Runtime, because nobody said otherwise.
    fn default() -> Self {
        Self { target: Target::onnxruntime(), demanded: false }
    }
}

/// What was done for the target.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Legalised {
    /// The name of the target.
    pub target: String,
    /// The version that its table was made from.
    pub version: String,
    /// What is computed in another type.
    pub computed: Vec<Computed>,
    /// What the target does not run.
    pub lacking: Vec<Lacking>,
}

/// Nodes that compute in another type than they were given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

/// Nodes that the target has no kernel for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

type Changes = BTreeMap<(Name, DType, DType), (usize, Option<OriginId>)>;
type Gaps = BTreeMap<(Name, i64, Vec<DType>), (usize, Option<OriginId>)>;

/// Changes the nodes of `model` that its target does not take.
///
/// # Errors
/// [`Code::TARGET_LACKS`] when the user demanded the target and it does not run the model.
pub fn legalise(
    model: &mut Model,
    options: &LegaliseOptions,
) -> Result<(Legalised, Vec<Diagnostic>), Report> {
    let target = &options.target;
    let (mut changes, mut gaps) = (Changes::new(), Gaps::new());
    if !target.takes_everything() {
        let opsets: Vec<i64> = model.functions.iter().map(|f| f.opset(model)).collect();
        let opset = model.opset();
        let functions = model.functions.iter_mut().zip(opsets).map(|(f, opset)| (&mut f.graph, opset));
        for (graph, opset) in functions.chain([(&mut model.graph, opset)]) {
            walk(graph, opset, target, &mut changes, &mut gaps);
        }
        if !changes.is_empty() {
            tidy::model(model);
        }
    }
    let done = summary(target, changes.clone(), gaps);
    let diagnostics = report(&done, &changes, options);
    let report = Report { diagnostics, origins: model.origins.clone() };
    if report.has_errors() { Err(report) } else { Ok((done, report.diagnostics)) }
}

fn walk(graph: &mut Graph, opset: i64, target: &Target, changes: &mut Changes, gaps: &mut Gaps) {
    let blocks: Vec<_> = graph.blocks.ids().collect();
    for block in blocks {
        let mut casts = edit::Casts::default();
        let order: Vec<NodeId> = graph.order(block).collect();
        for (index, node) in order.iter().enumerate() {
            let name = graph.nodes[*node].op.clone();
            let origin = graph.nodes[*node].origin;
            match fit::judge(graph, opset, target, *node) {
                Verdict::Fits => {}
                Verdict::Change(variables) => {
                    for (of, within) in
                        edit::apply(graph, opset, *node, order.get(index + 1), &variables, &mut casts)
                    {
                        let entry = changes.entry((name.clone(), of, within)).or_insert((0, origin));
                        entry.0 += 1;
                    }
                }
                Verdict::Lacks { version, of } => {
                    gaps.entry((name, version, of)).or_insert((0, origin)).0 += 1;
                }
            }
        }
    }
}

fn summary(target: &Target, changes: Changes, gaps: Gaps) -> Legalised {
    let computed = changes.into_iter().map(|((operator, of, within), (nodes, origin))| Computed {
        operator: operator.into(),
        of: of.to_string(),
        within: within.to_string(),
        nodes,
        origin,
    });
    let lacking = gaps.into_iter().map(|((operator, version, of), (nodes, origin))| Lacking {
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
        lacking: lacking.collect(),
    }
}

/// Says where precision is lost, and what does not run.
fn report(done: &Legalised, changes: &Changes, options: &LegaliseOptions) -> Vec<Diagnostic> {
    let target = options.target.to_string();
    let place = |diagnostic: Diagnostic, origin: Option<OriginId>| match origin {
        Some(origin) => diagnostic.at(origin),
        None => diagnostic,
    };
    let note = |code, message| Diagnostic { severity: Severity::Note, ..Diagnostic::warning(code, message) };
    let count = |nodes: usize| if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
    let mut out = Vec::new();
    for (computed, (_, of, within)) in done.computed.iter().zip(changes.keys()) {
        if within.bits() < of.bits() {
            let message = format!(
                "`{}` of {of} is computed in {within} in {}: {target} has no kernel for it",
                computed.operator,
                count(computed.nodes)
            );
            let found = note(Code::TARGET_NARROWS, message).help("`--target onnx` keeps the type");
            out.push(place(found, computed.origin));
        }
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
            Diagnostic::error(Code::TARGET_LACKS, message).help("choose another opset or another target")
        } else {
            note(Code::TARGET_LACKS, message)
        };
        out.push(place(found, lacking.origin));
    }
    out
}

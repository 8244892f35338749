//! The report of a partition: its regions, and why each remaining node is in none.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ir::{Model, NodeId};

/// The outcome of partitioning a model, as data.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Partitioned {
    /// The backends, in the order in which they claimed.
    pub backends: Vec<BackendReport>,
    /// The number of nodes outside regions.
    pub left: usize,
    /// The number of nodes before any region was replaced.
    pub nodes: usize,
}

/// The regions and refusals of one backend.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BackendReport {
    /// Its id.
    pub id: String,
    /// The plugin that provides it.
    pub plugin: String,
    /// The regions, in the order of their first nodes.
    pub regions: Vec<RegionReport>,
    /// The reasons why other candidates are in no region, most frequent first.
    pub refusals: Vec<RefusalReport>,
}

/// A region.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RegionReport {
    /// Its name.
    pub name: String,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of its nodes of each operator.
    pub ops: BTreeMap<String, usize>,
    /// The number of its inputs.
    pub inputs: usize,
    /// The number of its outputs.
    pub outputs: usize,
    /// The number of initializers that it uses.
    pub weights: usize,
    /// Their size in bytes.
    pub weight_bytes: u64,
    /// The number of nodes that replace it; absent if nothing was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<usize>,
    /// Whether the result is one of an earlier run.
    pub cached: bool,
    /// The size of its blobs in bytes.
    pub blob_bytes: u64,
    /// Its files beside the model.
    pub files: Vec<String>,
    /// Its estimated cost, if the backend states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// The cost of a region, as its backend estimates it.
#[derive(Clone, Copy, Debug, JsonSchema, PartialEq, Serialize)]
pub struct Estimate {
    /// The seconds that it takes on the device.
    pub device: f64,
    /// The seconds that its border takes: to enter and leave it, and to transfer its inputs and outputs.
    pub border: f64,
    /// The bytes of its inputs and outputs; a dynamic dimension counts as 1.
    pub border_bytes: u64,
    /// The seconds that its nodes take in the runtime.
    pub runtime: f64,
}

/// Nodes of one operator that are in no region, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RefusalReport {
    /// The operator, with its domain.
    pub op: String,
    /// The number of nodes.
    pub count: usize,
    /// The stage that refused them.
    pub stage: Stage,
    /// The reason.
    pub reason: String,
    /// The exported node from which the first of them derives; may be empty.
    pub example: String,
}

/// The stage that keeps a node out of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The host, by the backend's stated capabilities.
    Capability,
    /// The backend, during its claim.
    Claim,
    /// The host, while it formed regions.
    Partition,
    /// The host, by the backend's estimate of its region.
    Cost,
    /// The backend, while it compiled the region.
    Compile,
}

/// Counts refusals.
#[derive(Default)]
pub(super) struct Refusals {
    /// By operator, stage and reason: the number of nodes, and the first of them.
    found: BTreeMap<(String, Stage, String), (usize, String)>,
    /// By node: the last stage that refused it, and the reason.
    by_node: FxHashMap<NodeId, (Stage, String)>,
}

impl Refusals {
    pub(super) fn add(&mut self, model: &Model, node: NodeId, stage: Stage, reason: &str) {
        let example = || {
            let origin = model.graph.nodes[node].origin.filter(|o| o.index() < model.origins.len());
            origin.map(|o| model.origins.get(o).node.to_string()).unwrap_or_default()
        };
        let key = (op_of(model, node), stage, reason.to_owned());
        self.found.entry(key).or_insert_with(|| (0, example())).0 += 1;
        self.by_node.insert(node, (stage, reason.to_owned()));
    }

    /// The stage that refused `node`, and the reason.
    pub(super) fn of(&self, node: NodeId) -> Option<&(Stage, String)> {
        self.by_node.get(&node)
    }

    pub(super) fn sorted(self) -> Vec<RefusalReport> {
        let found = self.found.into_iter();
        let mut reports: Vec<RefusalReport> = found
            .map(|((op, stage, reason), (count, example))| RefusalReport {
                op,
                count,
                stage,
                reason,
                example,
            })
            .collect();
        reports.sort_by_key(|report| std::cmp::Reverse(report.count));
        reports
    }
}

/// An operator as reports name it.
pub(super) fn op_of(model: &Model, node: NodeId) -> String {
    let data = &model.graph.nodes[node];
    if data.domain.is_empty() { data.op.to_string() } else { format!("{}::{}", data.domain, data.op) }
}

//! What became of the nodes: the regions, and why others are in none.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ir::{Model, NodeId};

/// The outcome of partitioning a model, as data.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Partitioned {
    /// By backend, in the order in which they claimed.
    pub backends: Vec<BackendReport>,
    /// The nodes that are in no region.
    pub left: usize,
    /// The nodes before any region was replaced.
    pub nodes: usize,
}

/// What one backend took, and what it did not.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct BackendReport {
    /// Its id.
    pub id: String,
    /// The plugin that provides it.
    pub plugin: String,
    /// The regions, in the order of their first nodes.
    pub regions: Vec<RegionReport>,
    /// Why nodes that it might have had are in none, the most frequent reason first.
    pub refusals: Vec<RefusalReport>,
}

/// A region.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RegionReport {
    /// Its name.
    pub name: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// How often it has which operator.
    pub ops: BTreeMap<String, usize>,
    /// How many values go in.
    pub inputs: usize,
    /// How many values come out.
    pub outputs: usize,
    /// How many initializers it uses.
    pub weights: usize,
    /// Their bytes.
    pub weight_bytes: u64,
    /// How many nodes replace it; absent when nothing was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<usize>,
    /// The bytes of its blobs.
    pub blob_bytes: u64,
    /// Its files beside the model.
    pub files: Vec<String>,
}

/// Nodes of one operator that are in no region, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct RefusalReport {
    /// The operator, with its domain.
    pub op: String,
    /// How many nodes.
    pub count: usize,
    /// Who refuses them.
    pub stage: Stage,
    /// Why.
    pub reason: String,
    /// The exported node that the first of them comes from; may be empty.
    pub example: String,
}

/// Who keeps a node out of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The host, by what the backend says that it can take.
    Capability,
    /// The backend, when it was asked.
    Claim,
    /// The host, when it formed regions.
    Partition,
    /// The backend, when it was to compile the region.
    Compile,
}

/// Counts refusals.
#[derive(Default)]
pub(super) struct Refusals {
    /// By operator, stage and reason: how many, and the first of them.
    found: BTreeMap<(String, Stage, String), (usize, String)>,
}

impl Refusals {
    pub(super) fn add(&mut self, model: &Model, node: NodeId, stage: Stage, reason: &str) {
        let example = || {
            let origin = model.graph.nodes[node].origin.filter(|o| o.index() < model.origins.len());
            origin.map(|o| model.origins.get(o).node.to_string()).unwrap_or_default()
        };
        let key = (op_of(model, node), stage, reason.to_owned());
        self.found.entry(key).or_insert_with(|| (0, example())).0 += 1;
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

//! Times of nodes, grouped by a common property.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::times::add;
use super::{NodeTimes, Times};

/// The times of nodes with a common property.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The common property: an operator, a module, a line. `None` for unattributed nodes.
    pub key: Option<String>,
    /// The class of a module; empty otherwise.
    pub class: String,
    /// The number of nodes of the runtime, including those of modules inside.
    pub nodes: usize,
    /// Their times, including those of modules inside.
    pub times: Times,
    /// The times of a module's own nodes; for others the same as `times`.
    pub own: Times,
    /// The share of the time of all nodes, between 0 and 1, by medians.
    pub share: f64,
}

#[derive(Default)]
struct Sum {
    class: String,
    nodes: usize,
    all: Vec<f64>,
    own: Vec<f64>,
}

/// The nodes by operator.
pub(super) fn operators(nodes: &[NodeTimes]) -> Vec<Row> {
    rows(nodes, |node| Some(node.operator.clone()).filter(|name| !name.is_empty()))
}

/// The nodes by line.
pub(super) fn lines(nodes: &[NodeTimes]) -> Vec<Row> {
    rows(nodes, |node| Some(node.line.clone()).filter(|line| !line.is_empty()))
}

fn rows(nodes: &[NodeTimes], key: impl Fn(&NodeTimes) -> Option<String>) -> Vec<Row> {
    let mut sums: BTreeMap<Option<String>, Sum> = BTreeMap::new();
    for node in nodes {
        let sum = sums.entry(key(node)).or_default();
        sum.nodes += 1;
        add(&mut sum.all, &node.runs);
        add(&mut sum.own, &node.runs);
    }
    finish(sums, nodes)
}

/// Groups the nodes by module. A node counts for its module and for all enclosing ones; the root is called "".
pub(super) fn modules(nodes: &[NodeTimes]) -> Vec<Row> {
    let mut sums: BTreeMap<Option<String>, Sum> = BTreeMap::new();
    for node in nodes {
        if node.node.is_none() {
            let sum = sums.entry(None).or_default();
            sum.nodes += 1;
            add(&mut sum.all, &node.runs);
            add(&mut sum.own, &node.runs);
            continue;
        }
        let path = node.module.as_str();
        let ends = path.match_indices('.').map(|(at, _)| at).chain([0, path.len()]);
        let mut around: Vec<&str> = ends.filter_map(|end| path.get(..end)).collect();
        around.sort_unstable();
        around.dedup();
        for module in around {
            let sum = sums.entry(Some(module.to_owned())).or_default();
            sum.nodes += 1;
            add(&mut sum.all, &node.runs);
            if module == path {
                add(&mut sum.own, &node.runs);
                if sum.class.is_empty() {
                    sum.class.clone_from(&node.class);
                }
            }
        }
    }
    finish(sums, nodes)
}

fn finish(sums: BTreeMap<Option<String>, Sum>, nodes: &[NodeTimes]) -> Vec<Row> {
    let whole = whole(nodes).median;
    let row = |(key, sum): (Option<String>, Sum)| {
        let (times, own) = (Times::from_runs(&sum.all), Times::from_runs(&sum.own));
        let share = if whole > 0.0 { times.median / whole } else { 0.0 };
        Row { key, class: sum.class, nodes: sum.nodes, times, own, share }
    };
    let mut rows: Vec<Row> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.times.median.total_cmp(&a.times.median));
    rows
}

/// Returns the total time of all nodes.
pub(super) fn whole(nodes: &[NodeTimes]) -> Times {
    let mut sum = Vec::new();
    for node in nodes {
        add(&mut sum, &node.runs);
    }
    Times::from_runs(&sum)
}

//! The place of each node in a partition: the region that takes it, or the reasons why none does.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::report::{Stage, op_of};
use super::stage::Running;
use crate::diagnose::{Frame, OriginId};
use crate::host::Validated;
use crate::ir::{Model, NodeId};

/// The places of all nodes of a model.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Placement {
    /// The share of nodes in regions, from 0 to 1.
    pub share: f64,
    /// The modules, in the order of their first nodes.
    pub modules: Vec<PlacedModule>,
    /// The nodes, by block and in order.
    pub nodes: Vec<PlacedNode>,
}

/// A node and its place.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PlacedNode {
    /// The name of the node, or of its first output.
    pub node: String,
    /// The operator, with its domain.
    pub operator: String,
    /// The path of the module that it comes from; empty for the root, or if the model does not state it.
    pub module: String,
    /// The user's source line, if the model states it.
    pub line: Option<String>,
    /// The backend that takes it; absent if it stays plain ONNX.
    pub backend: Option<String>,
    /// Its region.
    pub region: Option<String>,
    /// The reasons of the backends that do not take it, in their order.
    pub refusals: Vec<NodeRefusal>,
    /// The node.
    #[serde(skip)]
    pub id: NodeId,
    /// Its origin.
    #[serde(skip)]
    pub origin: Option<OriginId>,
}

/// The reason why a backend does not take a node.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct NodeRefusal {
    /// The backend.
    pub backend: String,
    /// The stage that refused the node.
    pub stage: Stage,
    /// The reason.
    pub reason: String,
}

/// A module, with the places of its own nodes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PlacedModule {
    /// The path; empty for the root.
    pub module: String,
    /// The class; empty if the model does not state it.
    pub class: String,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of its nodes in the regions of each backend.
    pub taken: BTreeMap<String, usize>,
    /// The number of its nodes outside regions.
    pub left: usize,
    /// The regions that have nodes of it.
    pub regions: Vec<String>,
}

impl Running<'_> {
    /// Returns the places of all nodes, before any region was replaced.
    pub(super) fn placement(&self) -> Placement {
        let mut regions: FxHashMap<NodeId, (&str, &str)> = FxHashMap::default();
        for region in &self.regions {
            if let Some(backend) = self.backends.get(region.backend) {
                let id = backend.entry.id.validated();
                regions.extend(region.nodes.iter().map(|node| (*node, (id, region.name.as_str()))));
            }
        }
        let all = self.blocks.iter().filter_map(|block| self.areas.get(block));
        let nodes: Vec<PlacedNode> = all
            .flat_map(|area| &area.flow.nodes)
            .map(|node| {
                let place = regions.get(node);
                let taken = |id: &str| place.is_some_and(|(backend, _)| *backend == id);
                let asked = self.backends.iter().zip(&self.refusals);
                let refusals = asked.filter_map(|(backend, refusals)| {
                    let id = backend.entry.id.validated();
                    let (stage, reason) = refusals.of(*node).filter(|_| !taken(id))?;
                    Some(NodeRefusal { backend: id.to_owned(), stage: *stage, reason: reason.clone() })
                });
                let refusals = refusals.collect();
                PlacedNode {
                    backend: place.map(|(backend, _)| (*backend).to_owned()),
                    region: place.map(|(_, region)| (*region).to_owned()),
                    refusals,
                    ..plain(self.model, *node)
                }
            })
            .collect();
        let taken = nodes.iter().filter(|node| node.region.is_some()).count();
        let share = if nodes.is_empty() { 1.0 } else { taken as f64 / nodes.len() as f64 };
        Placement { share, modules: modules(self.model, &nodes), nodes }
    }
}

/// A node outside regions, without reasons.
fn plain(model: &Model, id: NodeId) -> PlacedNode {
    let data = &model.graph.nodes[id];
    let origin = data.origin.filter(|origin| origin.index() < model.origins.len());
    let site = origin.map(|origin| model.origins.get(origin));
    let name = model.graph.notes.nodes.get(&id).map(|note| note.name.clone());
    let output = || {
        let value = data.outputs.iter().flatten().next()?;
        Some(model.graph.values[*value].name.as_ref()?.to_string())
    };
    let exported = || site.map(|site| site.node.to_string());
    PlacedNode {
        node: name.filter(|name| !name.is_empty()).or_else(output).or_else(exported).unwrap_or_default(),
        operator: op_of(model, id),
        module: site.map(|site| site.module.to_string()).unwrap_or_default(),
        line: site.and_then(|site| site.user_frame().map(Frame::place)),
        backend: None,
        region: None,
        refusals: Vec::new(),
        id,
        origin,
    }
}

fn modules(model: &Model, nodes: &[PlacedNode]) -> Vec<PlacedModule> {
    let (mut modules, mut at): (Vec<PlacedModule>, FxHashMap<&str, usize>) = Default::default();
    for node in nodes {
        let index = *at.entry(&node.module).or_insert_with(|| {
            let class = node.origin.map(|id| model.origins.get(id).class.to_string());
            modules.push(PlacedModule {
                module: node.module.clone(),
                class: class.unwrap_or_default(),
                nodes: 0,
                taken: BTreeMap::new(),
                left: 0,
                regions: Vec::new(),
            });
            modules.len() - 1
        });
        let Some(module) = modules.get_mut(index) else { continue };
        module.nodes += 1;
        match (&node.backend, &node.region) {
            (Some(backend), Some(region)) => {
                *module.taken.entry(backend.clone()).or_default() += 1;
                if !module.regions.contains(region) {
                    module.regions.push(region.clone());
                }
            }
            _ => module.left += 1,
        }
    }
    modules
}

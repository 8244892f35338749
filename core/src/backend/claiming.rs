//! Asks a backend which nodes it takes, and forms its regions.

use onnxport_abi::backend::backend_flags;
use onnxport_abi::status;
use rustc_hash::FxHashMap;

use super::call::{self, Call, Claim};
use super::partition::{Group, NotConvex};
use super::profile;
use super::region::Region;
use super::report::{Stage, op_of};
use super::stage::Running;
use crate::diagnose::{Code, Diagnostic};
use crate::host::Validated;
use crate::ir::{BlockId, NodeId};

impl Running<'_> {
    /// Offers the remaining nodes to a backend, and forms its regions.
    pub(super) fn claim(&mut self, position: usize) {
        let backend = self.backends[position];
        let target = profile::target(&backend.entry);
        let mut offered = Vec::new();
        for block in &self.blocks {
            for node in self.areas.get(block).iter().flat_map(|area| &area.flow.nodes) {
                if self.taken.contains(node) {
                    continue;
                }
                match profile::covers(&backend.entry, target.as_deref(), self.model, *node) {
                    Ok(()) => offered.push(*node),
                    Err(why) => self.refusals[position].add(self.model, *node, Stage::Capability, &why),
                }
            }
        }
        if self.host.quarantine.skips(backend.plugin) {
            return;
        }
        let call = Call::Claim(Box::new(Claim::from_offered(offered)));
        let (answer, call) = call::run(self.model, call, &backend, "claiming", |host, graph, cx| {
            (backend.table.claim)(backend.index, host, graph, cx)
        });
        let Call::Claim(mut claim) = call else { return };
        if let Some(problem) = claim.broken.take() {
            let message =
                format!("the backend `{}` breaks the contract: {problem}", backend.entry.id.validated());
            self.report(&backend, Diagnostic::error(Code::BACKEND_CLAIM, message), None);
            return;
        }
        if answer != status::OK {
            let refusal = claim.refusal.take();
            let problem = self.failed(&backend, answer, "it was asked for its supported operators", refusal);
            self.diagnostics.push(problem);
            return;
        }
        for node in claim.offered.iter().filter(|n| claim.claimed.get(*n) == Some(&false)) {
            let why = claim.reasons.get(node).map_or("the backend gives no reason", String::as_str);
            self.refusals[position].add(self.model, *node, Stage::Claim, why);
        }
        self.form(position, claim.groups);
    }

    /// Forms the regions of a backend.
    fn form(&mut self, position: usize, claims: Vec<(Vec<NodeId>, bool)>) {
        let backend = self.backends[position];
        let mut by_block: FxHashMap<BlockId, Vec<Group>> = FxHashMap::default();
        for (nodes, together) in claims {
            let mut parts: FxHashMap<BlockId, Vec<u32>> = FxHashMap::default();
            for node in &nodes {
                let block = self.model.graph.nodes[*node].block;
                let area = block.and_then(|block| Some((block, self.areas.get(&block)?)));
                if let Some((block, area)) = area {
                    parts.entry(block).or_default().extend(area.flow.index.get(node));
                }
            }
            if together && parts.len() > 1 {
                let why = "the backend claims it together with nodes of another block";
                self.leave(position, &nodes, Stage::Partition, why);
                continue;
            }
            if together {
                self.together.push(nodes);
            }
            for (block, mut nodes) in parts {
                nodes.sort_unstable();
                by_block.entry(block).or_default().push(Group { nodes, together });
            }
        }
        let merge = backend.entry.flags & backend_flags::SEPARATE == 0;
        let mut all: Vec<(BlockId, Vec<NodeId>)> = Vec::new();
        for block in self.blocks.clone() {
            let Some(mut groups) = by_block.remove(&block) else { continue };
            groups.sort_by(|a, b| a.nodes.cmp(&b.nodes));
            let Some(area) = self.areas.get_mut(&block) else { continue };
            let (formed, dropped) = area.partition.form(&groups, merge);
            let nodes_of = |members: &[u32]| -> Vec<NodeId> {
                members.iter().filter_map(|n| area.flow.nodes.get(*n as usize).copied()).collect()
            };
            let dropped: Vec<_> = dropped
                .into_iter()
                .map(|NotConvex { group, through }| {
                    let through = through.and_then(|n| area.flow.nodes.get(n).copied());
                    (groups.get(group).map(|g| nodes_of(&g.nodes)).unwrap_or_default(), through)
                })
                .collect();
            let formed: Vec<Vec<NodeId>> = formed.iter().map(|members| nodes_of(members)).collect();
            for (nodes, through) in dropped {
                let why = match through {
                    Some(node) => format!(
                        "the backend claims it together with nodes that a path through {} separates",
                        op_of(self.model, node)
                    ),
                    None => {
                        "the backend claims it together with others, and checking for cycles takes too long"
                            .to_owned()
                    }
                };
                self.leave(position, &nodes, Stage::Partition, &why);
            }
            for nodes in formed {
                if nodes.len() < backend.entry.min_nodes as usize {
                    let why = format!("its region has fewer than {} nodes", backend.entry.min_nodes);
                    self.leave(position, &nodes, Stage::Partition, &why);
                    continue;
                }
                all.push((block, nodes));
            }
        }
        let count = self.take(position, all, 0);
        if count == 0 {
            let message =
                format!("the backend `{}` takes nothing of this model", backend.entry.id.validated());
            let help = "`--explain-partition` lists the reasons";
            self.report(&backend, Diagnostic::warning(Code::BACKEND_NOTHING, message).help(help), None);
        }
    }

    /// Adds regions of a backend: all that are worth it, or the largest of these for a runtime that takes one. Returns how
    /// many there are.
    pub(super) fn take(
        &mut self,
        position: usize,
        formed: Vec<(BlockId, Vec<NodeId>)>,
        splits: u32,
    ) -> usize {
        let entry = self.backends[position].entry;
        let known = self.regions.iter().filter(|known| known.backend == position).count();
        let mut worth: Vec<Region> = Vec::new();
        for (block, nodes) in formed {
            let name = format!("{}_{}", entry.id.validated(), known + worth.len());
            let region = Region { name, backend: position, block, nodes, splits, estimate: None };
            worth.extend(self.estimated(region));
        }
        if entry.flags & backend_flags::SINGLE != 0 {
            self.keep_largest(position, &mut worth);
        }
        let count = worth.len();
        for (number, region) in worth.into_iter().enumerate() {
            self.taken.extend(region.nodes.iter().copied());
            let name = format!("{}_{}", entry.id.validated(), known + number);
            self.regions.push(Region { name, ..region });
        }
        count
    }

    /// Keeps the region with the most nodes, the first of equal ones.
    fn keep_largest(&mut self, position: usize, all: &mut Vec<Region>) {
        let nodes = |index: &usize| all.get(*index).map_or(0, |region| region.nodes.len());
        let Some(largest) = (0..all.len()).rev().max_by_key(nodes) else { return };
        let kept = all.swap_remove(largest);
        let why = "its runtime takes one region of a model, and another one has more nodes";
        for region in std::mem::replace(all, vec![kept]) {
            self.leave(position, &region.nodes, Stage::Partition, why);
        }
    }

    /// Records why `nodes` stay as they are.
    pub(super) fn leave(&mut self, position: usize, nodes: &[NodeId], stage: Stage, why: &str) {
        for node in nodes {
            self.refusals[position].add(self.model, *node, stage, why);
        }
    }
}

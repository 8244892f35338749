//! Splits a region around the nodes that its backend refuses while it compiles.

use std::collections::BTreeSet;

use onnxport_abi::backend::backend_flags;
use rustc_hash::{FxHashMap, FxHashSet};

use super::partition::{Group, Partition};
use super::region::Region;
use super::report::Stage;
use super::stage::Running;
use crate::ir::NodeId;

/// How often a region and its parts are split. Each time costs the backend a compilation.
const MAX_SPLITS: u32 = 16;

impl Running<'_> {
    /// Adds the regions that remain of `region`, which its backend refused for the reason `why`, without the nodes in
    /// `refused`. Returns how many there are. Other nodes of `region` stay as they are.
    pub(super) fn split(
        &mut self,
        region: &Region,
        mut refused: FxHashMap<NodeId, String>,
        why: &str,
    ) -> usize {
        let entry = self.backends[region.backend].entry;
        let merge = entry.flags & backend_flags::SEPARATE == 0;
        let is_final = refused.is_empty() || region.splits >= MAX_SPLITS || !merge;
        let own: FxHashSet<NodeId> = region.nodes.iter().copied().collect();
        let mut together: Vec<Vec<NodeId>> = Vec::new();
        for group in self.together.iter().filter(|group| group.iter().all(|node| own.contains(node))) {
            match group.iter().find_map(|node| refused.get(node)).cloned() {
                Some(reason) => {
                    for node in group {
                        refused.entry(*node).or_insert_with(|| {
                            format!("the backend claims it together with a node that it refuses: {reason}")
                        });
                    }
                }
                None => together.push(group.clone()),
            }
        }
        let mut rest = Vec::new();
        for node in &region.nodes {
            match refused.get(node) {
                Some(reason) => self.refusals[region.backend].add(self.model, *node, Stage::Compile, reason),
                None => rest.push(*node),
            }
        }
        if is_final {
            self.leave(region.backend, &rest, Stage::Compile, why);
            return 0;
        }
        let mut parts = Vec::new();
        for nodes in self.parts(region, &rest, &together) {
            if nodes.len() < entry.min_nodes as usize {
                let why = format!("its region has fewer than {} nodes", entry.min_nodes);
                self.leave(region.backend, &nodes, Stage::Partition, &why);
            } else {
                parts.push((region.block, nodes));
            }
        }
        self.take(region.backend, parts, region.splits + 1)
    }

    /// The regions that the nodes `rest` of `region` form. No path leaves `region` and returns, so that others do not matter.
    fn parts(&mut self, region: &Region, rest: &[NodeId], together: &[Vec<NodeId>]) -> Vec<Vec<NodeId>> {
        let Some(area) = self.areas.get(&region.block) else { return Vec::new() };
        let places = |nodes: &[NodeId]| {
            let places = nodes.iter().filter_map(|node| area.flow.index.get(node).copied());
            places.collect::<BTreeSet<u32>>().into_iter().collect()
        };
        let bound: FxHashSet<NodeId> = together.iter().flatten().copied().collect();
        let alone = rest.iter().filter(|node| !bound.contains(*node));
        let alone = alone.map(|node| Group { nodes: places(&[*node]), together: false });
        let bound = together.iter().map(|nodes| Group { nodes: places(nodes), together: true });
        let mut groups: Vec<Group> = bound.chain(alone).collect();
        groups.sort_by(|a, b| a.nodes.cmp(&b.nodes));
        let (formed, dropped) = Partition::new(area.flow.nodes.len(), &area.flow.edges).form(&groups, true);
        let nodes_of = |members: &[u32]| -> Vec<NodeId> {
            members.iter().filter_map(|place| area.flow.nodes.get(*place as usize).copied()).collect()
        };
        let formed: Vec<Vec<NodeId>> = formed.iter().map(|members| nodes_of(members)).collect();
        let dropped = dropped.iter().filter_map(|found| groups.get(found.group));
        let dropped: Vec<Vec<NodeId>> = dropped.map(|group| nodes_of(&group.nodes)).collect();
        for nodes in dropped {
            let why = "the backend claims it together with nodes that a refused one separates";
            self.leave(region.backend, &nodes, Stage::Partition, why);
        }
        formed
    }
}

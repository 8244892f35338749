//! Splits a region around the nodes that its backend refuses while it compiles.

use onnxport_abi::backend::backend_flags;
use rustc_hash::{FxHashMap, FxHashSet};

use super::partition::{Group, Partition};
use super::region::Region;
use super::report::Stage;
use super::stage::Running;
use crate::host::Validated;
use crate::ir::{BlockId, NodeId};

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
        let (merge, single) =
            (entry.flags & backend_flags::SEPARATE == 0, entry.flags & backend_flags::SINGLE != 0);
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
        if single {
            self.keep_largest(region.backend, &mut parts);
        }
        let known = self.regions.iter().filter(|known| known.backend == region.backend).count();
        let count = parts.len();
        for (number, (block, nodes)) in parts.into_iter().enumerate() {
            let name = format!("{}_{}", entry.id.validated(), known + number);
            let splits = region.splits + 1;
            self.regions.push(Region { name, backend: region.backend, block, nodes, splits });
        }
        count
    }

    /// The regions that the nodes `rest` of `region` form beside the other regions of its block.
    fn parts(&mut self, region: &Region, rest: &[NodeId], together: &[Vec<NodeId>]) -> Vec<Vec<NodeId>> {
        let fixed = self.fixed(region.block, &region.name);
        let Some(area) = self.areas.get(&region.block) else { return Vec::new() };
        let places = |nodes: &[NodeId]| {
            let mut places: Vec<u32> =
                nodes.iter().filter_map(|node| area.flow.index.get(node).copied()).collect();
            places.sort_unstable();
            places
        };
        let bound: FxHashSet<NodeId> = together.iter().flatten().copied().collect();
        let alone = rest.iter().filter(|node| !bound.contains(*node));
        let alone = alone.map(|node| Group { nodes: places(&[*node]), together: false });
        let mut groups: Vec<Group> = together
            .iter()
            .map(|nodes| Group { nodes: places(nodes), together: true })
            .chain(alone)
            .collect();
        groups.sort_by(|a, b| a.nodes.cmp(&b.nodes));
        let fixed: Vec<Vec<usize>> = fixed
            .iter()
            .map(|nodes| places(nodes).into_iter().map(|place| place as usize).collect())
            .collect();
        let mut partition = Partition::beside(area.flow.nodes.len(), &area.flow.edges, &fixed);
        let (formed, dropped) = partition.form(&groups, true);
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

    /// The other regions of `block`, compiled or not yet; no path may leave one and return.
    fn fixed(&self, block: BlockId, except: &str) -> Vec<Vec<NodeId>> {
        let is_left = |index: usize| self.reports.get(index).is_some_and(Option::is_none);
        let regions = self.regions.iter().enumerate();
        let others = regions
            .filter(|(index, region)| region.block == block && region.name != except && !is_left(*index));
        others.map(|(_, region)| region.nodes.clone()).collect()
    }
}

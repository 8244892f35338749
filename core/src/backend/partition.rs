//! Forms regions from claims: convex sets of nodes, as large as possible, that together create no cycle.
//!
//! Regions are formed in three steps, each of them deterministic:
//!
//! 1. Nodes that a backend wants together become one, or its claim is dropped.
//! 2. Every node gets a level: the highest level of its inputs, plus one if it is claimed and such an input
//!    is not. A path that leaves the claimed nodes returns at a higher level, so claimed neighbours of one
//!    level are convex, and all such sets together create no cycle. This takes linear time, and forms nearly
//!    all of most regions.
//! 3. Neighbouring regions of different levels are joined if no path runs around the edge between them,
//!    until there are none left or the step limit of [`convexity`](super::convexity) is reached.

use super::convexity::{Contraction, Quotient};

/// Nodes that a backend claims, by position in their block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    /// The nodes, sorted, each once.
    pub(super) nodes: Vec<u32>,
    /// Whether they must all be in one region.
    pub(super) together: bool,
}

/// A group that cannot be one region: a path leaves it and returns through a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotConvex {
    /// The group, by position among the claims.
    pub(super) group: usize,
    /// A node outside it, by position in the block; `None` if the search was cut short.
    pub(super) through: Option<usize>,
}

/// The regions of one block.
pub(super) struct Partition {
    quotient: Quotient,
    /// Whether the backend claimed each node.
    claimed: Vec<bool>,
}

impl Partition {
    pub(super) fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        Self { quotient: Quotient::new(nodes, edges), claimed: vec![false; nodes] }
    }

    /// Forms the regions of one backend's claims, which name no node twice and none of an earlier
    /// region. Regions and their nodes are sorted. With `merge`, groups grow together.
    pub(super) fn form(&mut self, groups: &[Group], merge: bool) -> (Vec<Vec<u32>>, Vec<NotConvex>) {
        let mut dropped = Vec::new();
        self.claimed.fill(false);
        for (index, group) in groups.iter().enumerate() {
            if group.together {
                let nodes: Vec<usize> = group.nodes.iter().map(|n| *n as usize).collect();
                let through = match self.quotient.contract(&nodes) {
                    Contraction::Done => None,
                    Contraction::Leaves(node) => Some(Some(node)),
                    Contraction::Unknown => Some(None),
                };
                if let Some(through) = through {
                    dropped.push(NotConvex { group: index, through });
                    continue;
                }
            }
            group.nodes.iter().for_each(|n| self.claimed[*n as usize] = true);
        }
        if merge {
            let sets = self.levels();
            self.quotient.contract_unchecked(&sets);
            self.join_levels();
        }
        (self.regions(), dropped)
    }

    /// Returns the claimed nodes, grouped by their representative.
    fn regions(&self) -> Vec<Vec<u32>> {
        let mut regions: std::collections::BTreeMap<usize, Vec<u32>> = std::collections::BTreeMap::new();
        for node in (0..self.claimed.len()).filter(|n| self.claimed[*n]) {
            regions.entry(self.quotient.find(node)).or_default().push(node as u32);
        }
        let mut regions: Vec<Vec<u32>> = regions.into_values().collect();
        regions.sort_unstable();
        regions
    }

    /// The connected sets of claimed nodes of one level.
    fn levels(&mut self) -> Vec<Vec<usize>> {
        let order = self.quotient.order();
        let mut level = vec![0u32; self.claimed.len()];
        // By node: the first one of its set; sets are joined towards the smaller number.
        let mut set: Vec<usize> = (0..self.claimed.len()).collect();
        for node in &order {
            let before = self.quotient.predecessors(*node);
            let step = |p: &usize| u32::from(self.claimed[*node] && !self.claimed[*p]);
            level[*node] = before.iter().map(|p| level[*p] + step(p)).max().unwrap_or(0);
            if self.claimed[*node] {
                for p in before.iter().filter(|p| self.claimed[**p] && level[**p] == level[*node]) {
                    let (a, b) = (first_of(&mut set, *p), first_of(&mut set, *node));
                    set[a.max(b)] = a.min(b);
                }
            }
        }
        let mut sets: std::collections::BTreeMap<usize, Vec<usize>> = std::collections::BTreeMap::new();
        for node in order.into_iter().filter(|n| self.claimed[*n]) {
            sets.entry(first_of(&mut set, node)).or_default().push(node);
        }
        sets.into_values().filter(|set| set.len() > 1).collect()
    }

    /// Joins neighbouring regions if that creates no cycle.
    fn join_levels(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for node in self.quotient.order() {
                if !self.claimed[node] {
                    continue;
                }
                let mut node = self.quotient.find(node);
                let mut before = self.quotient.predecessors(node);
                before.retain(|p| self.claimed[*p]);
                // Nearest first: nodes between two regions may belong to both.
                self.quotient.sort_by_position(&mut before);
                for p in before.into_iter().rev() {
                    match self.quotient.contract(&[p, node]) {
                        Contraction::Done => {
                            changed = true;
                            node = self.quotient.find(node);
                        }
                        Contraction::Leaves(_) => {}
                        Contraction::Unknown => return,
                    }
                }
                if self.quotient.exhausted() {
                    return;
                }
            }
        }
    }
}

fn first_of(set: &mut [usize], node: usize) -> usize {
    let mut at = node;
    while set[at] != at {
        set[at] = set[set[at]];
        at = set[at];
    }
    at
}

#[cfg(test)]
mod tests;

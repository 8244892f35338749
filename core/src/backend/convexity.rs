//! Contracts sets of nodes of an acyclic graph so that it stays acyclic.
//!
//! A set of nodes is *convex* if no path leaves it and returns. Contracting it to one node then creates no
//! cycle. Contractions are applied one after the other, each to the result of the earlier ones, so that all
//! of them together create none either.

/// The number of edges to follow per node and edge of the graph before merging is given up. The searches
/// stay inside a window of the order, so real graphs stay far below it.
const STEPS_PER_ITEM: u64 = 256;

/// The outcome of a request to contract a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contraction {
    /// It is one node now.
    Done,
    /// A path leaves the set through this node and returns.
    Leaves(usize),
    /// Telling would take too long.
    Unknown,
}

/// A graph with some contracted sets. Nodes are numbered in topological order.
pub(super) struct Quotient {
    /// The parent of each node on the path to the representative of its contracted set (union-find).
    parent: Vec<u32>,
    /// For each representative: its position in a topological order.
    position: Vec<u32>,
    /// For each representative: its successors and its predecessors; members of its own set may be among them.
    after: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    steps_left: u64,
}

impl Quotient {
    /// The graph of `nodes` nodes with `edges` from smaller to larger numbers.
    pub(super) fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        let mut quotient = Self {
            parent: (0..nodes as u32).collect(),
            position: (0..nodes as u32).collect(),
            after: vec![Vec::new(); nodes],
            before: vec![Vec::new(); nodes],
            steps_left: (nodes + edges.len() + 1) as u64 * STEPS_PER_ITEM,
        };
        for (from, to) in edges {
            quotient.after[*from as usize].push(*to);
            quotient.before[*to as usize].push(*from);
        }
        quotient
    }

    /// Returns the representative of `node`.
    pub(super) fn find(&self, node: usize) -> usize {
        let mut at = node;
        while self.parent[at] as usize != at {
            at = self.parent[at] as usize;
        }
        at
    }

    /// Returns the representatives in topological order.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut roots: Vec<usize> =
            (0..self.parent.len()).filter(|n| self.parent[*n] as usize == *n).collect();
        roots.sort_unstable_by_key(|n| self.position[*n]);
        roots
    }

    /// Returns the predecessors of `root`, a representative.
    pub(super) fn predecessors(&mut self, root: usize) -> Vec<usize> {
        let list = std::mem::take(&mut self.before[root]);
        let list = self.tidy(list, root);
        let found = list.iter().map(|n| *n as usize).collect();
        self.steps_left = self.steps_left.saturating_sub(list.len() as u64);
        self.before[root] = list;
        found
    }

    /// Sorts representatives by their position.
    pub(super) fn sort_by_position(&self, roots: &mut [usize]) {
        roots.sort_unstable_by_key(|n| self.position[*n]);
    }

    /// Whether no more steps are granted.
    pub(super) fn exhausted(&self) -> bool {
        self.steps_left == 0
    }

    /// Contracts the set to one node, if it is convex.
    pub(super) fn contract(&mut self, set: &[usize]) -> Contraction {
        let mut roots: Vec<usize> = set.iter().map(|n| self.find(*n)).collect();
        roots.sort_unstable();
        roots.dedup();
        let positions = roots.iter().map(|r| self.position[*r]);
        let (Some(first), Some(last)) = (positions.clone().min(), positions.max()) else {
            return Contraction::Done;
        };
        if roots.len() < 2 {
            return Contraction::Done;
        }
        let below = match self.reach(&roots, (first, last), Way::After) {
            Ok(found) => found,
            Err(stop) => return stop,
        };
        let above = match self.reach(&roots, (first, last), Way::Before) {
            Ok(found) => found,
            Err(stop) => return stop,
        };
        // Nodes that lead into the set come before it, nodes that follow from it after; all take the
        // positions that the three groups have now (Pearce and Kelly, 2006).
        let mut places: Vec<u32> =
            roots.iter().chain(&below).chain(&above).map(|n| self.position[*n]).collect();
        places.sort_unstable();
        let root = self.join(&roots);
        let tail = places.len() - below.len();
        for (node, place) in above.iter().chain([&root]).zip(&places) {
            self.position[*node] = *place;
        }
        for (node, place) in below.iter().zip(&places[tail..]) {
            self.position[*node] = *place;
        }
        Contraction::Done
    }

    /// Contracts each set to one node. It must be known that all of them together create no cycle.
    pub(super) fn contract_unchecked(&mut self, sets: &[Vec<usize>]) {
        for set in sets {
            let mut roots: Vec<usize> = set.iter().map(|n| self.find(*n)).collect();
            roots.sort_unstable();
            roots.dedup();
            self.join(&roots);
        }
        self.sort();
    }

    /// Renumbers all nodes, the smallest possible position first.
    fn sort(&mut self) {
        let roots = self.order();
        let mut waiting: Vec<usize> = vec![0; self.parent.len()];
        for root in &roots {
            waiting[*root] = self.predecessors(*root).len();
        }
        let mut ready: std::collections::BinaryHeap<_> = roots
            .iter()
            .filter(|r| waiting[**r] == 0)
            .map(|r| std::cmp::Reverse((self.position[*r], *r)))
            .collect();
        let mut next = 0;
        let mut placed = Vec::with_capacity(roots.len());
        while let Some(std::cmp::Reverse((_, root))) = ready.pop() {
            placed.push((root, next));
            next += 1;
            let list = std::mem::take(&mut self.after[root]);
            let list = self.tidy(list, root);
            for follower in &list {
                let follower = *follower as usize;
                waiting[follower] -= 1;
                if waiting[follower] == 0 {
                    ready.push(std::cmp::Reverse((self.position[follower], follower)));
                }
            }
            self.after[root] = list;
        }
        assert_eq!(placed.len(), roots.len(), "the contracted graph has a cycle");
        for (root, position) in placed {
            self.position[root] = position;
        }
    }

    /// Returns the successors or predecessors of `roots` outside them, with positions inside the window,
    /// sorted by position.
    fn reach(&mut self, roots: &[usize], window: (u32, u32), way: Way) -> Result<Vec<usize>, Contraction> {
        let mut found: Vec<usize> = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut pending: Vec<(usize, bool)> = roots.iter().map(|r| (*r, true)).collect();
        while let Some((node, inside)) = pending.pop() {
            let lists = if way == Way::After { &mut self.after } else { &mut self.before };
            let list = std::mem::take(&mut lists[node]);
            let list = self.tidy(list, node);
            let steps = list.len() as u64 + 1;
            let mut back = false;
            for other in list.iter().map(|n| *n as usize) {
                if roots.binary_search(&other).is_ok() {
                    back |= !inside;
                } else if (window.0..=window.1).contains(&self.position[other]) && seen.insert(other) {
                    found.push(other);
                    pending.push((other, false));
                }
            }
            let lists = if way == Way::After { &mut self.after } else { &mut self.before };
            lists[node] = list;
            if back {
                return Err(Contraction::Leaves(node));
            }
            self.steps_left = self.steps_left.saturating_sub(steps);
            if self.steps_left == 0 {
                return Err(Contraction::Unknown);
            }
        }
        found.sort_unstable_by_key(|n| self.position[*n]);
        Ok(found)
    }

    /// Joins representatives and returns the one that represents the union.
    fn join(&mut self, roots: &[usize]) -> usize {
        let size = |n: &usize| self.after[*n].len() + self.before[*n].len();
        // The longest lists are not moved.
        let root = roots.iter().copied().max_by_key(|n| (size(n), std::cmp::Reverse(*n))).unwrap_or(0);
        let first = roots.iter().map(|r| self.position[*r]).min().unwrap_or(0);
        for other in roots.iter().filter(|r| **r != root) {
            self.parent[*other] = root as u32;
            let (after, before) =
                (std::mem::take(&mut self.after[*other]), std::mem::take(&mut self.before[*other]));
            self.after[root].extend(after);
            self.before[root].extend(before);
        }
        self.position[root] = first;
        root
    }

    /// Deduplicates a list of neighbours of `root`: each becomes its representative, and `root` is left out.
    fn tidy(&mut self, mut list: Vec<u32>, root: usize) -> Vec<u32> {
        for node in &mut list {
            let end = self.find(*node as usize);
            // The next look-up is shorter.
            self.parent[*node as usize] = end as u32;
            *node = end as u32;
        }
        list.retain(|n| *n as usize != root);
        list.sort_unstable();
        list.dedup();
        self.steps_left = self.steps_left.saturating_sub(1);
        list
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    After,
    Before,
}

//! Contracting sets of nodes of an acyclic graph while it stays acyclic.
//!
//! A set of nodes is *convex* when no path leaves it and comes back. Contracting it to one node then
//! makes no cycle. Contractions are made one after the other on the graph that the earlier ones
//! left, so that all of them together make none either.

/// How many edges may be followed per node and edge of the graph before merging is given up. The
/// searches stay inside of a window of the order, so that real graphs do not come near it.
const STEPS_PER_ITEM: u64 = 256;

/// What became of a set that was to be contracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contraction {
    /// It is one node now.
    Done,
    /// A path leaves the set through this node and comes back.
    Leaves(usize),
    /// Telling would take too long.
    Unknown,
}

/// A graph, some of whose nodes were contracted. Nodes are numbered in an order in which no edge
/// goes backwards.
pub(super) struct Quotient {
    /// Towards the node that stands for a contracted set.
    parent: Vec<u32>,
    /// By such a node: where it stands in an order in which no edge goes backwards.
    position: Vec<u32>,
    /// By such a node: where its edges go, and where edges come from; own nodes may be among them.
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

    /// The node that stands for `node`.
    pub(super) fn find(&self, node: usize) -> usize {
        let mut at = node;
        while self.parent[at] as usize != at {
            at = self.parent[at] as usize;
        }
        at
    }

    /// The nodes that stand for themselves, in an order in which no edge goes backwards.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut roots: Vec<usize> =
            (0..self.parent.len()).filter(|n| self.parent[*n] as usize == *n).collect();
        roots.sort_unstable_by_key(|n| self.position[*n]);
        roots
    }

    /// The nodes from which edges lead to `root`, which stands for itself.
    pub(super) fn predecessors(&mut self, root: usize) -> Vec<usize> {
        let list = std::mem::take(&mut self.before[root]);
        let list = self.tidy(list, root);
        let found = list.iter().map(|n| *n as usize).collect();
        self.steps_left = self.steps_left.saturating_sub(list.len() as u64);
        self.before[root] = list;
        found
    }

    /// Sorts nodes that stand for themselves by where they stand.
    pub(super) fn sort_by_position(&self, roots: &mut [usize]) {
        roots.sort_unstable_by_key(|n| self.position[*n]);
    }

    /// Whether no more steps are granted.
    pub(super) fn exhausted(&self) -> bool {
        self.steps_left == 0
    }

    /// Makes the set one node, if it is convex.
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
        // What leads into the set comes before it, what follows from it after; both take the places
        // that the three have now (Pearce and Kelly, 2006).
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

    /// Makes each set one node. All of them together must be known to make no cycle.
    pub(super) fn contract_unchecked(&mut self, sets: &[Vec<usize>]) {
        for set in sets {
            let mut roots: Vec<usize> = set.iter().map(|n| self.find(*n)).collect();
            roots.sort_unstable();
            roots.dedup();
            self.join(&roots);
        }
        self.sort();
    }

    /// Gives every node a position again, the smallest possible one first.
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
        debug_assert_eq!(placed.len(), roots.len(), "the contracted graph has a cycle");
        for (root, position) in placed {
            self.position[root] = position;
        }
    }

    /// The nodes outside of `roots` that edges lead to, or from, with positions inside of the
    /// window, sorted by position.
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

    /// Joins nodes that stand for themselves and returns the one that stands for all.
    fn join(&mut self, roots: &[usize]) -> usize {
        let size = |n: &usize| self.after[*n].len() + self.before[*n].len();
        // The longest lists stay where they are.
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

    /// A list of neighbours of `root`: each once, by the node that stands for it, `root` left out.
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

//! Decides which nodes compute on transposed data, and which values need a transpose.

use rustc_hash::FxHashMap;

use super::kind::{Kind, is_single, rank_of};
use crate::ir::{Def, Graph, NodeId, ValueId};
use crate::op;
use crate::schedule::Sizes;

/// How often each node is asked again at most.
const SWEEPS: usize = 8;

/// Through how many nodes a constant is followed.
const FORMS: usize = 4;

/// The nodes that can compute in both layouts, and the values between them and others.
pub(super) struct Region {
    /// The permutation that takes a transposed value back to the original layout.
    pub(super) perm: Vec<usize>,
    pub(super) nodes: Vec<(NodeId, Kind)>,
    pub(super) values: FxHashMap<ValueId, u32>,
    pub(super) edges: Vec<Edge>,
    /// The edges of each node.
    touched: Vec<Vec<Touch>>,
}

/// An edge at a node, and how often the node reads it.
#[derive(Clone, Copy)]
struct Touch {
    edge: u32,
    reads: u32,
}

/// A value, and who has it and wants it in which layout.
#[derive(Default)]
pub(super) struct Edge {
    /// The node of the region that makes it.
    pub(super) maker: Option<u32>,
    /// The input of the transpose that produced it, which has the other layout already.
    pub(super) source: Option<ValueId>,
    /// Nodes of the region that read it, each as often as it does.
    readers: u32,
    /// Whether others read it as it is.
    pub(super) as_it_is: bool,
    /// The transposes to the other layout that read it.
    pub(super) transposes: Vec<NodeId>,
    bytes: u64,
    /// Whether it is a constant, which is transposed ahead of time.
    constant: bool,
}

/// Bytes that transposes move, and how many of them there are.
type Cost = (i128, i64);

/// The answers of all nodes, and how many of the readers of each value say yes.
#[derive(Clone)]
struct Answers<'r> {
    region: &'r Region,
    transposed: Vec<bool>,
    saying: Vec<u32>,
}

impl Region {
    pub(super) fn from_graph(
        graph: &Graph,
        opset: i64,
        perm: &[usize],
        sizes: &mut Sizes,
        sums: bool,
    ) -> Self {
        let main = graph.main();
        let mut region = Self {
            perm: perm.to_vec(),
            nodes: Vec::new(),
            values: FxHashMap::default(),
            edges: Vec::new(),
            touched: Vec::new(),
        };
        let mut places: FxHashMap<NodeId, u32> = FxHashMap::default();
        for id in graph.order(main) {
            if let Some(kind) = Kind::for_node(graph, opset, id, perm, sums) {
                places.insert(id, region.nodes.len() as u32);
                region.nodes.push((id, kind));
            }
        }
        let back = inverse(perm);
        for at in 0..region.nodes.len() {
            let (id, kind) = region.nodes[at].clone();
            let node = &graph.nodes[id];
            let mut touched: Vec<Touch> = Vec::new();
            let inputs =
                node.inputs.iter().enumerate().filter(|(index, _)| kind.transposes(*index, &node.op));
            for value in inputs.filter_map(|(_, value)| *value).filter(|value| !is_single(graph, *value)) {
                let edge = region.edge(graph, value, &places, (perm, &back), sizes);
                region.edges[edge as usize].readers += 1;
                match touched.iter_mut().find(|touch| touch.edge == edge) {
                    Some(touch) => touch.reads += 1,
                    None => touched.push(Touch { edge, reads: 1 }),
                }
            }
            if !matches!(kind, Kind::Absorbs(..)) {
                for value in node.outputs.iter().flatten() {
                    let edge = region.edge(graph, *value, &places, (perm, &back), sizes);
                    touched.push(Touch { edge, reads: 0 });
                }
            }
            region.touched.push(touched);
        }
        region
    }

    fn edge(
        &mut self,
        graph: &Graph,
        value: ValueId,
        places: &FxHashMap<NodeId, u32>,
        (perm, back): (&[usize], &[usize]),
        sizes: &mut Sizes,
    ) -> u32 {
        if let Some(edge) = self.values.get(&value) {
            return *edge;
        }
        let mut edge = Edge { bytes: sizes.bytes(&graph.values[value])[0], ..Edge::default() };
        if let Def::Node(maker, _) = graph.values[value].def {
            edge.maker = places.get(&maker).copied().filter(|_| rank_of(graph, value) == Some(perm.len()));
            let node = &graph.nodes[maker];
            if is_transpose(graph, maker, perm) && node.block == Some(graph.main()) {
                edge.source = node.inputs.first().copied().flatten();
            }
        }
        // Constants are transposed ahead of time.
        edge.constant = is_constant(graph, value);
        let whole = rank_of(graph, value) == Some(perm.len());
        edge.as_it_is = graph.is_returned(value) || !whole;
        for used in graph.values[value].uses() {
            let reader = &graph.nodes[used.node];
            let inside = places.get(&used.node).is_some_and(|at| {
                let (_, kind) = &self.nodes[*at as usize];
                kind.transposes(used.index as usize, &reader.op)
            });
            if whole && reader.block == Some(graph.main()) && is_transpose(graph, used.node, back) {
                edge.transposes.push(used.node);
            } else if !inside {
                edge.as_it_is = true;
            }
        }
        edge.transposes.sort_unstable();
        let place = self.edges.len() as u32;
        self.edges.push(edge);
        self.values.insert(value, place);
        place
    }

    /// Decides which nodes compute on transposed data.
    pub(super) fn decide(&self) -> Vec<bool> {
        if !self.edges.iter().any(|edge| edge.source.is_some() || !edge.transposes.is_empty()) {
            return vec![false; self.nodes.len()];
        }
        let present = Answers::new(self, false);
        let (few, many) = (present.clone().improved(), Answers::new(self, true).improved());
        // Part by part: none depends on another.
        let parts = self.parts();
        let [now, fewer, more] = [&present, &few, &many].map(|answers| answers.costs(&parts));
        let of = |costs: &FxHashMap<u32, Cost>, part: u32| costs.get(&part).copied().unwrap_or_default();
        let better = |new: Cost, old: Cost| new.0 <= old.0 && new.1 <= old.1 && new != old;
        let answer = |at: usize| {
            let Some(touch) = self.touched[at].first() else { return false };
            let part = parts[touch.edge as usize];
            let (now, fewer, more) = (of(&now, part), of(&fewer, part), of(&more, part));
            let best = if better(more, now) && (more < fewer || !better(fewer, now)) { &many } else { &few };
            best.transposed[at] && (better(more, now) || better(fewer, now))
        };
        (0..self.nodes.len()).map(answer).collect()
    }

    /// The part of each edge: those of a node are in one.
    fn parts(&self) -> Vec<u32> {
        let mut parent: Vec<u32> = (0..self.edges.len() as u32).collect();
        for touched in &self.touched {
            for pair in touched.windows(2) {
                let (a, b) = (root(&mut parent, pair[0].edge), root(&mut parent, pair[1].edge));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
        (0..parent.len() as u32).map(|at| root(&mut parent, at)).collect()
    }
}

impl<'r> Answers<'r> {
    fn new(region: &'r Region, transposed: bool) -> Self {
        let saying = region.edges.iter().map(|edge| if transposed { edge.readers } else { 0 }).collect();
        Self { region, transposed: vec![transposed; region.nodes.len()], saying }
    }

    /// Flips decisions one at a time as long as that lowers the cost.
    fn improved(mut self) -> Self {
        for _ in 0..SWEEPS {
            let mut changed = false;
            for at in 0..self.transposed.len() {
                let before = self.around(at);
                self.change(at);
                if self.around(at) < before {
                    changed = true;
                } else {
                    self.change(at);
                }
            }
            if !changed {
                break;
            }
        }
        self
    }

    fn change(&mut self, at: usize) {
        let transposed = !self.transposed[at];
        self.transposed[at] = transposed;
        for touch in &self.region.touched[at] {
            let saying = &mut self.saying[touch.edge as usize];
            *saying = if transposed { *saying + touch.reads } else { *saying - touch.reads };
        }
    }

    /// Returns the cost of the edges of a node.
    fn around(&self, at: usize) -> Cost {
        let costs = self.region.touched[at].iter().map(|touch| self.cost(touch.edge as usize));
        costs.fold((0, 0), |sum, cost| (sum.0 + cost.0, sum.1 + cost.1))
    }

    /// Returns the cost of an edge: one transpose if a reader needs a layout that does not exist yet.
    fn cost(&self, edge: usize) -> Cost {
        let (saying, edge) = (self.saying[edge], &self.region.edges[edge]);
        let is_turned =
            edge.source.is_some() || edge.maker.is_some_and(|maker| self.transposed[maker as usize]);
        let wanted = if is_turned {
            edge.as_it_is || saying < edge.readers
        } else {
            saying > 0 || !edge.transposes.is_empty()
        };
        if wanted && !edge.constant { (i128::from(edge.bytes), 1) } else { (0, 0) }
    }

    /// Returns the cost of the edges of each part.
    fn costs(&self, parts: &[u32]) -> FxHashMap<u32, Cost> {
        let mut costs: FxHashMap<u32, Cost> = FxHashMap::default();
        for (edge, part) in parts.iter().enumerate() {
            let (cost, sum) = (self.cost(edge), costs.entry(*part).or_default());
            *sum = (sum.0 + cost.0, sum.1 + cost.1);
        }
        costs
    }
}

/// Whether a value is a constant, or one in another form.
fn is_constant(graph: &Graph, mut value: ValueId) -> bool {
    for _ in 0..FORMS {
        match graph.values[value].def {
            Def::Initializer(_) | Def::Literal(_) => return true,
            Def::Node(maker, _) => {
                let node = &graph.nodes[maker];
                match node.inputs.first().copied().flatten() {
                    Some(source) if node.is(op::Transpose) || node.is(op::Unsqueeze) => value = source,
                    _ => return false,
                }
            }
            _ => return false,
        }
    }
    false
}

/// The root of the tree of `at`; paths are halved on the way.
fn root(parent: &mut [u32], mut at: u32) -> u32 {
    while parent[at as usize] != at {
        parent[at as usize] = parent[parent[at as usize] as usize];
        at = parent[at as usize];
    }
    at
}

/// Whether a node is a transpose by `perm`.
fn is_transpose(graph: &Graph, node: NodeId, perm: &[usize]) -> bool {
    let node = &graph.nodes[node];
    let same = |axes: &[i64]| axes.iter().map(|axis| *axis as usize).eq(perm.iter().copied());
    node.is(op::Transpose) && node.ints("perm").is_some_and(same)
}

/// The permutation that undoes `perm`.
pub(super) fn inverse(perm: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; perm.len()];
    for (to, from) in perm.iter().enumerate() {
        inverse[*from] = to;
    }
    inverse
}

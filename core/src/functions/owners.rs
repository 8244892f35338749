//! The calls of modules as a tree, and the call that each node of the main graph belongs to.

use rustc_hash::FxHashMap;

use crate::Name;
use crate::diagnose::{ModuleCall, OriginId, module_path};
use crate::ir::{Def, Graph, Model, NodeId};

/// A call of a module, by its position in [`Owners::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CallId(usize);

/// The model itself, which is called by nothing.
const ROOT: CallId = CallId(0);

#[derive(Debug)]
struct Call {
    /// The call around it; the root has itself.
    parent: CallId,
    /// The number of calls around it, the root included.
    depth: usize,
    module: ModuleCall,
}

/// The calls of modules, and what belongs to them.
#[derive(Debug)]
pub(super) struct Owners {
    calls: Vec<Call>,
    known: FxHashMap<(CallId, ModuleCall), CallId>,
    /// The innermost call of each node of the main graph.
    nodes: FxHashMap<NodeId, CallId>,
}

impl Owners {
    pub(super) fn from_model(model: &Model) -> Self {
        let root = Call { parent: ROOT, depth: 0, module: ModuleCall::default() };
        let mut owners = Self { calls: vec![root], known: FxHashMap::default(), nodes: FxHashMap::default() };
        let graph = &model.graph;
        let order: Vec<NodeId> = graph.order(graph.main()).collect();
        let mut stacks: FxHashMap<OriginId, Option<CallId>> = FxHashMap::default();
        for node in &order {
            let origins = graph.nodes[*node].origin.into_iter();
            let origins = origins.chain(graph.notes.merged.get(node).into_iter().flatten().copied());
            let mut owner: Option<CallId> = None;
            for origin in origins {
                let call =
                    *stacks.entry(origin).or_insert_with(|| owners.stack(&model.origins.get(origin).modules));
                owner = match (owner, call) {
                    (Some(one), Some(other)) => Some(owners.shared(one, other)),
                    (one, other) => one.or(other),
                };
            }
            if let Some(owner) = owner {
                owners.nodes.insert(*node, owner);
            }
        }
        owners.infer(graph, &order);
        // ONNX Runtime 1.31 takes no functions with inputs of four bits.
        for node in order {
            let mut read = graph.nodes[node].inputs.iter().flatten();
            if read.any(|value| graph.initializer(*value).is_some_and(|data| data.dtype.bits() < 8)) {
                owners.nodes.insert(node, ROOT);
            }
        }
        owners
    }

    /// Returns the innermost call of a stack; `None` if the stack is not known.
    fn stack(&mut self, modules: &[ModuleCall]) -> Option<CallId> {
        let is_known = |call: &ModuleCall| !call.path.starts_with("_empty_nn_module_stack");
        if modules.is_empty() || !modules.iter().all(is_known) {
            return None;
        }
        let mut at = ROOT;
        // The first entry is the model.
        let inner = modules.iter().filter(|call| !module_path(&call.path).is_empty());
        for module in inner {
            let key = (at, module.clone());
            at = match self.known.get(&key) {
                Some(known) => *known,
                None => {
                    let new = CallId(self.calls.len());
                    let depth = self.get(at).map_or(0, |call| call.depth) + 1;
                    self.calls.push(Call { parent: at, depth, module: module.clone() });
                    self.known.insert(key, new);
                    new
                }
            };
        }
        Some(at)
    }

    /// Gives nodes without a stack to the innermost call that encloses their readers and the makers of their inputs.
    fn infer(&mut self, graph: &Graph, order: &[NodeId]) {
        let main = Some(graph.main());
        for node in order.iter().rev() {
            let outputs = || graph.nodes[*node].outputs.iter().flatten();
            if self.nodes.contains_key(node) || outputs().any(|output| graph.is_returned(*output)) {
                continue;
            }
            let readers = outputs().flat_map(|output| graph.values[*output].uses());
            let readers = readers.map(|place| {
                let is_here = graph.nodes[place.node].block == main;
                if is_here { self.nodes.get(&place.node).copied() } else { None }
            });
            let makers = graph.nodes[*node].inputs.iter().flatten();
            let makers = makers.filter_map(|value| match graph.values[*value].def {
                Def::Node(maker, _) => self.nodes.get(&maker).copied(),
                Def::Input(..) => Some(ROOT),
                _ => None,
            });
            if let Some(call) = self.shared_by(readers.chain(makers.map(Some))) {
                self.nodes.insert(*node, call);
            }
        }
    }

    /// Returns the innermost call around all of `calls`, if each is known.
    fn shared_by(&self, mut calls: impl Iterator<Item = Option<CallId>>) -> Option<CallId> {
        let first = calls.next()??;
        calls.try_fold(first, |one, other| Some(self.shared(one, other?)))
    }

    /// Returns the innermost call around both.
    fn shared(&self, mut one: CallId, mut other: CallId) -> CallId {
        while one != other {
            if self.depth_of(one) < self.depth_of(other) {
                other = self.parent(other);
            } else {
                one = self.parent(one);
            }
        }
        one
    }

    fn get(&self, call: CallId) -> Option<&Call> {
        self.calls.get(call.0)
    }

    fn parent(&self, call: CallId) -> CallId {
        self.get(call).map_or(ROOT, |call| call.parent)
    }

    fn depth_of(&self, call: CallId) -> usize {
        self.get(call).map_or(0, |call| call.depth)
    }

    /// The largest number of calls around a module.
    pub(super) fn depth(&self) -> usize {
        self.calls.iter().map(|call| call.depth).max().unwrap_or(0)
    }

    /// The module of a call.
    pub(super) fn module(&self, call: CallId) -> &ModuleCall {
        const NOTHING: &ModuleCall = &ModuleCall { path: Name::new(), class: Name::new(), repeat: 0 };
        self.get(call).map_or(NOTHING, |call| &call.module)
    }

    /// The modules from the outermost to that of `call`, without the model.
    pub(super) fn modules(&self, mut call: CallId) -> Vec<ModuleCall> {
        let mut modules = Vec::new();
        while call != ROOT {
            modules.push(self.module(call).clone());
            call = self.parent(call);
        }
        modules.reverse();
        modules
    }

    /// Whether `node` belongs to `call` itself or to one around it, rather than to another module.
    pub(super) fn may_join(&self, node: NodeId, call: CallId) -> bool {
        let owner = self.nodes.get(&node).copied().unwrap_or(ROOT);
        self.shared(owner, call) == owner
    }

    /// The calls with `depth` others around them, in the order of their first nodes, with their nodes in order.
    pub(super) fn members(&self, graph: &Graph, depth: usize) -> Vec<(CallId, Vec<NodeId>)> {
        let mut found: Vec<(CallId, Vec<NodeId>)> = Vec::new();
        let mut places: FxHashMap<CallId, usize> = FxHashMap::default();
        for node in graph.order(graph.main()) {
            let Some(mut call) = self.nodes.get(&node).copied() else { continue };
            while self.depth_of(call) > depth {
                call = self.parent(call);
            }
            if self.depth_of(call) < depth {
                continue;
            }
            let place = *places.entry(call).or_insert(found.len());
            if place == found.len() {
                found.push((call, Vec::new()));
            }
            if let Some((_, nodes)) = found.get_mut(place) {
                nodes.push(node);
            }
        }
        found
    }

    /// Records that `node` stands for `call`, and belongs to the call around it.
    pub(super) fn enter(&mut self, node: NodeId, call: CallId) {
        self.nodes.insert(node, self.parent(call));
    }
}

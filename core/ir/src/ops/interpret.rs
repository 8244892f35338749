//! Runs models, node by node.

use ecow::eco_format;
use rustc_hash::FxHashMap;

use super::budget::{Budget, Limits, NODE};
use super::call::{Call, Scope};
use super::error::{invalid, unsupported};
use super::{Error, Res, Tensor, Value};
use crate::ir::{
    Attr, Block, BlockId, Constant, Def, Function, Graph, Model, Node, NodeId, OpsetImport, Type, ValueId,
};
use crate::name::Name;
use crate::tensor::LazyTensor;

/// Blocks and functions inside of each other, beyond which a model is refused: the stack has an end.
const MAX_DEPTH: usize = 64;

/// The steps that a call of a function takes for each of its nodes: about the time of that many elements.
const CALL: u64 = 1000;

/// Shown each value of the main block when it is computed: the node, the place among its outputs, the value.
type See<'a> = dyn FnMut(NodeId, usize, &Value) + 'a;

/// Runs `model` with one value per input of its main block and returns one per output. An input that has a default need
/// not be given.
///
/// # Errors
/// [`Error`], which names the node that has no result.
pub fn run(model: &Model, inputs: Vec<Option<Value>>, limits: Limits) -> Res<Vec<Value>> {
    run_each(model, inputs, limits, &mut |_, _, _| {})
}

/// [`run`] that shows each value of the main block to `see` when it is computed.
///
/// # Errors
/// As [`run`].
pub fn run_each(
    model: &Model,
    inputs: Vec<Option<Value>>,
    limits: Limits,
    see: &mut See<'_>,
) -> Res<Vec<Value>> {
    let budget = Budget::new(limits);
    let shared = Shared { model, budget: &budget };
    let graph = &model.graph;
    let mut frame = Frame::new(&shared, graph, &model.opsets, FxHashMap::default(), 0);
    frame.see = Some(see);
    frame.block(graph.main(), inputs)
}

/// The state that all frames of a run share.
struct Shared<'m> {
    model: &'m Model,
    budget: &'m Budget,
}

/// The values of one graph: the main one, or one call of a function.
struct Frame<'f, 'm> {
    shared: &'f Shared<'m>,
    graph: &'m Graph,
    /// The operator sets that its nodes are of.
    opsets: &'m [OpsetImport],
    /// The nodes after which values are no longer needed.
    deaths: FxHashMap<NodeId, Vec<ValueId>>,
    values: FxHashMap<ValueId, Value>,
    /// Inputs of the function that the call leaves out: a node that takes one is given nothing there.
    absent: Vec<ValueId>,
    /// The attributes of the function call.
    attributes: FxHashMap<Name, Attr>,
    depth: usize,
    see: Option<&'f mut See<'f>>,
}

impl<'f, 'm> Frame<'f, 'm> {
    fn new(
        shared: &'f Shared<'m>,
        graph: &'m Graph,
        opsets: &'m [OpsetImport],
        attributes: FxHashMap<Name, Attr>,
        depth: usize,
    ) -> Self {
        let deaths = deaths(graph);
        let (values, absent) = (FxHashMap::default(), Vec::new());
        Self { shared, graph, opsets, deaths, values, absent, attributes, depth, see: None }
    }

    /// Runs a block; its outputs are copied, its inputs are dropped after their last use.
    fn block(&mut self, block: BlockId, inputs: Vec<Option<Value>>) -> Res<Vec<Value>> {
        let graph = self.graph;
        let body: &Block = &graph.blocks[block];
        if inputs.len() != body.inputs.len() {
            return invalid!("a block takes {} inputs and is given {}", body.inputs.len(), inputs.len());
        }
        for (id, value) in body.inputs.iter().zip(inputs) {
            if let Some(value) = value {
                self.set(*id, value)?;
            }
        }
        for node in graph.order(block) {
            self.node(node).map_err(|e| e.within(&describe(&graph.nodes[node])))?;
        }
        body.outputs().iter().map(|output| self.get(*output)).collect()
    }

    fn node(&mut self, id: NodeId) -> Res<()> {
        let node = &self.graph.nodes[id];
        let inputs: Vec<Option<Value>> = node
            .inputs
            .iter()
            .map(|input| match input {
                Some(value) if !self.absent.contains(value) => self.get(*value).map(Some),
                _ => Ok(None),
            })
            .collect::<Res<_>>()?;
        let items = inputs.iter().flatten().map(Value::items).fold(NODE, u64::saturating_add);
        self.shared.budget.spend(items)?;
        let outputs = match self.function(node) {
            Some(function) => self.call(function, node, inputs)?,
            None => {
                let (opset, budget) = (self.opset(&node.domain), self.shared.budget);
                if let Some(evaluate) = super::lookup(&node.domain, &node.op).and_then(|op| op.evaluator()) {
                    let mut call = Call { node, opset, inputs, budget, scope: self };
                    evaluate(&mut call)?
                } else {
                    let ty = |v: &Option<Value>| v.as_ref().map_or(Type::Unknown, Value::ty);
                    let types: Vec<Type> = inputs.iter().map(ty).collect();
                    match super::body(self.graph, node, &types, opset) {
                        Some(body) => self.call(&body, node, inputs)?,
                        None => {
                            return match super::without(&node.domain, &node.op) {
                                Some(why) => unsupported!("it is not evaluated: {why}"),
                                None => unsupported!("no evaluator is known for it"),
                            };
                        }
                    }
                }
            }
        };
        for (index, (output, value)) in node.outputs.iter().zip(outputs).enumerate() {
            if let Some(output) = output {
                if let Some(see) = self.see.as_mut().filter(|_| self.depth == 0) {
                    see(id, index, &value);
                }
                self.set(*output, value)?;
            }
        }
        if let Some(missing) = node.outputs.iter().flatten().find(|o| !self.values.contains_key(*o)) {
            return invalid!(
                "it has no output {}",
                self.graph.values[*missing].name.as_deref().unwrap_or("of that place")
            );
        }
        for value in self.deaths.get(&id).into_iter().flatten() {
            if let Some(gone) = self.values.remove(value) {
                self.shared.budget.free(gone.bytes());
            }
        }
        Ok(())
    }

    fn opset(&self, domain: &str) -> i64 {
        let stated = |opsets: &[OpsetImport]| opsets.iter().find(|o| o.domain == domain).map(|o| o.version);
        // Domains that a function does not import have the model's version.
        let version = stated(self.opsets).or_else(|| stated(&self.shared.model.opsets));
        version.unwrap_or(i64::from(!domain.is_empty()))
    }

    fn function(&self, node: &Node) -> Option<&'m Function> {
        self.shared.model.functions.iter().find(|f| f.domain == node.domain && f.name == node.op)
    }

    fn call(&mut self, function: &Function, node: &Node, inputs: Vec<Option<Value>>) -> Res<Vec<Value>> {
        if self.depth >= MAX_DEPTH {
            return unsupported!("functions call each other more than {MAX_DEPTH} deep");
        }
        self.shared.budget.spend((function.graph.nodes.len() as u64).saturating_mul(CALL))?;
        let mut attributes: FxHashMap<Name, Attr> =
            function.defaults.iter().map(|a| (a.name.clone(), a.value.clone())).collect();
        for attribute in &node.attributes {
            let value = match &attribute.value {
                Attr::Ref(outer, ..) => self.attributes.get(outer.as_str()).cloned(),
                Attr::Block(_) => return unsupported!("a graph is given to a function"),
                value => Some(value.clone()),
            };
            attributes.extend(value.map(|value| (attribute.name.clone(), value)));
        }
        let opsets = function.opsets(self.shared.model);
        let mut frame =
            Frame::new(self.shared, &function.graph, opsets, attributes, self.depth.saturating_add(1));
        let body = &function.graph.blocks[function.graph.main()];
        let mut inputs = inputs.into_iter();
        for id in &body.inputs {
            match inputs.next().flatten() {
                Some(value) => frame.set(*id, value)?,
                None => frame.absent.push(*id),
            }
        }
        for node in function.graph.order(function.graph.main()) {
            frame.node(node).map_err(|e| e.within(&describe(&function.graph.nodes[node])))?;
        }
        let outputs = body.outputs().iter().map(|output| frame.get(*output)).collect();
        frame.values.values().for_each(|value| self.shared.budget.free(value.bytes()));
        outputs
    }

    fn get(&mut self, value: ValueId) -> Res<Value> {
        if let Some(found) = self.values.get(&value) {
            return Ok(found.clone());
        }
        let read = Value::Tensor(self.constant(value)?);
        self.set(value, read.clone())?;
        Ok(read)
    }

    /// The contents of `value` if it is a constant, or else its default.
    fn constant(&self, value: ValueId) -> Res<Tensor> {
        let dense = |data: &LazyTensor| {
            let shape: Vec<usize> = data.shape.iter().map(|d| *d as usize).collect();
            self.shared.budget.count(&shape)?;
            Tensor::read(data)
        };
        let graph = self.graph;
        if let Some(data) = graph.initializer(value) {
            return dense(data);
        }
        let default = graph.defaults.iter().find(|d| d.value == value).map(|d| &d.data);
        match (graph.values[value].def, default) {
            (Def::Literal(at), _) if (at as usize) < graph.literals.len() => {
                Tensor::literal(&graph.literals[at as usize].data, self.shared.budget)
            }
            (_, Some(Constant::Dense(data))) => dense(data),
            (_, Some(Constant::Literal(data))) => Tensor::literal(data, self.shared.budget),
            _ => {
                let name = graph.values[value].name.as_deref().unwrap_or("without a name");
                invalid!("the value {name} is not defined before it is used")
            }
        }
    }

    fn set(&mut self, id: ValueId, value: Value) -> Res<()> {
        self.shared.budget.keep(value.bytes())?;
        if let Some(old) = self.values.insert(id, value) {
            self.shared.budget.free(old.bytes());
        }
        Ok(())
    }
}

impl Scope for Frame<'_, '_> {
    fn run(&mut self, block: BlockId, inputs: Vec<Value>) -> Res<Vec<Value>> {
        if self.depth >= MAX_DEPTH {
            return unsupported!("blocks lie more than {MAX_DEPTH} deep inside of each other");
        }
        // A graph without nodes takes time as well.
        self.shared.budget.spend(NODE)?;
        self.depth = self.depth.saturating_add(1);
        let outputs = self.block(block, inputs.into_iter().map(Some).collect());
        self.depth = self.depth.saturating_sub(1);
        outputs
    }

    fn returned(&self, block: BlockId) -> Vec<Type> {
        self.graph.blocks[block].outputs().iter().map(|value| self.graph.values[*value].ty.clone()).collect()
    }

    fn outer(&self, name: &str) -> Option<&Attr> {
        self.attributes.get(name)
    }
}

fn describe(node: &Node) -> String {
    let name = node.outputs.iter().flatten().next().map(|v| v.index());
    let op =
        if node.domain.is_empty() { node.op.clone() } else { eco_format!("{}::{}", node.domain, node.op) };
    name.map_or(op.to_string(), |index| format!("{op} (value {index})"))
}

/// After which node each value is used for the last time: one of the block that defines it. Outputs of a block live
/// on.
pub fn deaths(graph: &Graph) -> FxHashMap<NodeId, Vec<ValueId>> {
    let mut owners: FxHashMap<BlockId, NodeId> = FxHashMap::default();
    let mut orders: FxHashMap<NodeId, usize> = FxHashMap::default();
    for block in graph.blocks.ids() {
        for (position, node) in graph.order(block).enumerate() {
            orders.insert(node, position);
            owners.extend(graph.nodes[node].blocks().map(|inner| (inner, node)));
        }
    }
    let home = |value: ValueId| match graph.values[value].def {
        Def::Input(block, _) => Some(block),
        Def::Initializer(at) => graph.initializers.get(at as usize).map(|i| i.block),
        Def::Literal(at) => graph.literals.get(at as usize).map(|l| l.block),
        Def::Node(node, _) => graph.nodes[node].block,
        Def::Gone => None,
    };
    // The node of the block `home` that holds `node`.
    let holder = |mut node: NodeId, home: BlockId| loop {
        match graph.nodes[node].block {
            Some(block) if block == home => return Some(node),
            Some(block) => node = *owners.get(&block)?,
            None => return None,
        }
    };
    let mut returned: FxHashMap<ValueId, Option<NodeId>> = FxHashMap::default();
    for (block, body) in graph.blocks.iter() {
        for output in body.outputs() {
            // A block may return an outer value: then the node that owns the block uses it.
            let outside = home(*output).filter(|h| *h != block);
            returned.insert(*output, outside.and_then(|h| holder(*owners.get(&block)?, h)));
        }
    }
    let kept: rustc_hash::FxHashSet<ValueId> = graph
        .blocks
        .iter()
        .flat_map(|(b, body)| body.outputs().iter().filter(move |o| home(**o) == Some(b)))
        .copied()
        .collect();
    let mut deaths: FxHashMap<NodeId, Vec<ValueId>> = FxHashMap::default();
    for (value, info) in graph.values.iter() {
        let Some(home) = home(value).filter(|_| !kept.contains(&value)) else { continue };
        let users = info.uses().iter().filter_map(|u| holder(u.node, home));
        let users = users.chain(returned.get(&value).copied().flatten());
        let born = match info.def {
            Def::Node(node, _) => Some(node),
            _ => None,
        };
        if let Some(last) = users.chain(born).max_by_key(|node| orders.get(node).copied()) {
            deaths.entry(last).or_default().push(value);
        }
    }
    deaths
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.message
    }
}

//! Runs a graph, node by node: on the device where it has a kernel.

use std::borrow::Cow;

use onnxport_ir::ir::{
    Attr, Attribute, Block, BlockId, Constant, Def, Function, Graph, Model, Node, NodeId, OpsetImport, Type,
    ValueId,
};
use onnxport_ir::ops::{self, Error, Res, Tensor, Value};
use onnxport_ir::tensor::LazyTensor;
use rustc_hash::{FxHashMap, FxHashSet};

use super::engine::Engine;
use super::ops::{Operand, Request, formula, lookup};
use super::plan::{Plan, SMALL, is_small_arithmetic};
use super::source::width;
use super::value::{Array, Held};

/// Blocks and functions inside of each other, beyond which a model is refused: the stack has an end.
const MAX_DEPTH: usize = 64;

/// Shown each value of the main block that is asked for, when it is computed.
type See<'a> = dyn FnMut(&mut Engine, ValueId, &Held) -> Res<()> + 'a;

/// The values of one graph: the main one, or one call of a function.
pub(crate) struct Frame<'f, 'm> {
    model: &'m Model,
    pub(super) graph: &'m Graph,
    opsets: &'m [OpsetImport],
    plan: Plan,
    values: FxHashMap<ValueId, Held>,
    /// The attributes of the function call.
    attributes: FxHashMap<String, Attr>,
    depth: usize,
    see: Option<(&'f FxHashSet<ValueId>, &'f mut See<'f>)>,
}

/// Runs the main block of a model; `see` is shown the values of `seen`.
pub(crate) fn run(
    engine: &mut Engine,
    model: &Model,
    inputs: Vec<Option<Held>>,
    seen: &FxHashSet<ValueId>,
    see: &mut See<'_>,
) -> Res<Vec<Held>> {
    let graph = &model.graph;
    let functions = names(model);
    let plan = Plan::new(graph, &functions, seen);
    let mut frame = Frame {
        model,
        graph,
        opsets: &model.opsets,
        plan,
        values: FxHashMap::default(),
        attributes: FxHashMap::default(),
        depth: 0,
        see: Some((seen, see)),
    };
    let outputs = frame.block(engine, graph.main(), inputs)?;
    engine.settle()?;
    Ok(outputs)
}

fn names(model: &Model) -> FxHashSet<&str> {
    model.functions.iter().filter(|f| f.domain.is_empty()).map(|f| f.name.as_str()).collect()
}

fn describe(node: &Node) -> String {
    let at =
        node.outputs.iter().flatten().next().map_or_else(String::new, |v| format!(" (value {})", v.index()));
    if node.domain.is_empty() {
        format!("{}{at}", node.op)
    } else {
        format!("{}::{}{at}", node.domain, node.op)
    }
}

impl Frame<'_, '_> {
    /// Runs a block; its outputs are copied.
    pub(super) fn block(
        &mut self,
        engine: &mut Engine,
        block: BlockId,
        inputs: Vec<Option<Held>>,
    ) -> Res<Vec<Held>> {
        let graph = self.graph;
        let body: &Block = &graph.blocks[block];
        if inputs.len() != body.inputs.len() {
            let message = format!("a block takes {} inputs and is given {}", body.inputs.len(), inputs.len());
            return Err(Error::invalid(message));
        }
        for (id, value) in body.inputs.iter().zip(inputs) {
            if let Some(value) = value {
                self.values.insert(*id, value);
            }
        }
        for node in graph.order(block) {
            self.node(engine, node).map_err(|e| e.within(&describe(&graph.nodes[node])))?;
        }
        body.outputs().iter().map(|output| self.get(*output)).collect()
    }

    /// Runs a block inside of a node.
    pub(super) fn inner(&mut self, engine: &mut Engine, block: BlockId, inputs: Vec<Held>) -> Res<Vec<Held>> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(format!(
                "blocks lie more than {MAX_DEPTH} deep inside of each other"
            )));
        }
        self.depth += 1;
        let outputs = self.block(engine, block, inputs.into_iter().map(Some).collect());
        self.depth -= 1;
        outputs
    }

    fn node(&mut self, engine: &mut Engine, id: NodeId) -> Res<()> {
        let node = &self.graph.nodes[id];
        engine.step()?;
        let inputs: Vec<Option<Held>> = node
            .inputs
            .iter()
            .map(|input| input.map(|value| self.get(value)).transpose())
            .collect::<Res<_>>()?;
        let outputs = self.compute(engine, node, &inputs)?;
        for (output, value) in node.outputs.iter().zip(outputs) {
            let Some(output) = output else { continue };
            if let Some((seen, see)) = self.see.as_mut().filter(|_| self.depth == 0)
                && seen.contains(output)
            {
                see(engine, *output, &value)?;
            }
            self.values.insert(*output, value);
        }
        if node.outputs.iter().flatten().any(|output| !self.values.contains_key(output)) {
            return Err(Error::invalid("it has fewer outputs than its node names"));
        }
        for value in self.plan.deaths.get(&id).into_iter().flatten() {
            self.values.remove(value);
        }
        Ok(())
    }

    fn compute(&mut self, engine: &mut Engine, node: &Node, inputs: &[Option<Held>]) -> Res<Vec<Held>> {
        let model = self.model;
        let calls = |f: &&Function| f.domain == node.domain && f.name == node.op;
        if let Some(function) = model.functions.iter().find(calls) {
            if node.blocks().next().is_some() {
                return Err(Error::unsupported("a graph is given to a function"));
            }
            return self.call(engine, function, node, inputs);
        }
        let opset = self.opset(&node.domain);
        let node = &*self.resolved(node);
        if let Some(outputs) = self.control(engine, node, opset, inputs)? {
            engine.counts.host += 1;
            return Ok(outputs);
        }
        if let Some(outputs) = on_host(engine, node, opset, inputs)? {
            engine.counts.host += 1;
            return Ok(outputs);
        }
        if let Some(outputs) = self.on_device(engine, node, opset, inputs)? {
            engine.counts.device += 1;
            return Ok(outputs);
        }
        let types: Vec<Type> = inputs.iter().map(|x| x.as_ref().map_or(Type::Unknown, Held::ty)).collect();
        if let Some(body) = ops::body(self.graph, node, &types, opset) {
            return self.call(engine, &body, node, inputs);
        }
        lacking(engine, node, opset, inputs)
    }

    /// The plan for the device; `None` if it has no kernel.
    fn on_device(
        &self,
        engine: &mut Engine,
        node: &Node,
        opset: i64,
        inputs: &[Option<Held>],
    ) -> Res<Option<Vec<Held>>> {
        if !node.domain.is_empty() {
            return Ok(None);
        }
        let mut operands: Vec<Option<Operand>> = Vec::new();
        for input in inputs {
            match input.as_ref().map(Held::operand) {
                None => operands.push(None),
                Some(Some(operand)) => operands.push(Some(operand)),
                Some(None) => return Ok(None),
            }
        }
        let limits = engine.limits;
        if super::ops::is_elementwise(&node.op) {
            let found = ops::alone(node, opset, Vec::new(), limits, |call| {
                formula(&Request { call, operands: &operands })
            })?;
            if let Some(found) = found {
                let Some(pending) = engine.chain(&found, inputs)? else { return Ok(None) };
                let first = node.outputs.first().copied().flatten();
                let waits = first.is_some_and(|value| self.plan.fused.contains(&value));
                let held =
                    if waits { Held::of_chain(pending) } else { Held::of_array(engine.compute(&pending)?) };
                return Ok(Some(vec![held]));
            }
        }
        let Some(op) = lookup(&node.op) else { return Ok(None) };
        let mut parameters = vec![None; inputs.len()];
        for at in op.parameters {
            if let Some((slot, Some(held))) = parameters.get_mut(*at).zip(inputs.get(*at)) {
                *slot = Some(engine.on_host(held)?);
            }
        }
        let planned = ops::alone(node, opset, parameters, limits, |call| {
            (op.plan)(&Request { call, operands: &operands })
        });
        let Some(work) = planned? else { return Ok(None) };
        if work.made.len() < node.outputs.len() {
            return Ok(None);
        }
        let mut arrays: Vec<Option<Array>> = Vec::with_capacity(inputs.len());
        for (at, input) in inputs.iter().enumerate() {
            let used = work.steps.iter().any(|s| s.places.contains(&super::ops::Pointer::Input(at)))
                || work.made.iter().any(|made| made.same == Some(at));
            arrays.push(match input {
                Some(held) if used => match engine.on_device(held)? {
                    Some(array) => Some(array),
                    None => return Ok(None),
                },
                _ => None,
            });
        }
        let made = engine.work(&work, &arrays)?;
        Ok(Some(made.into_iter().map(Held::of_array).collect()))
    }

    /// The node with references to attributes replaced by those of the call.
    fn resolved<'n>(&self, node: &'n Node) -> Cow<'n, Node> {
        if !node.attributes.iter().any(|a| matches!(a.value, Attr::Ref(..))) {
            return Cow::Borrowed(node);
        }
        let mut own = node.clone();
        own.attributes = self.given(&node.attributes);
        Cow::Owned(own)
    }

    fn given(&self, attributes: &[Attribute]) -> Vec<Attribute> {
        let mut out = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let value = match &attribute.value {
                Attr::Ref(outer, ..) => self.attributes.get(outer.as_str()).cloned(),
                value => Some(value.clone()),
            };
            out.extend(value.map(|value| Attribute { name: attribute.name.clone(), value }));
        }
        out
    }

    fn opset(&self, domain: &str) -> i64 {
        let stated = |opsets: &[OpsetImport]| opsets.iter().find(|o| o.domain == domain).map(|o| o.version);
        stated(self.opsets).or_else(|| stated(&self.model.opsets)).unwrap_or(i64::from(!domain.is_empty()))
    }

    /// Runs the body of a function, as if its nodes stood here.
    fn call(
        &mut self,
        engine: &mut Engine,
        function: &Function,
        node: &Node,
        inputs: &[Option<Held>],
    ) -> Res<Vec<Held>> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(format!("functions call each other more than {MAX_DEPTH} deep")));
        }
        let own = |a: &Attribute| (a.name.to_string(), a.value.clone());
        let mut attributes: FxHashMap<String, Attr> = function.defaults.iter().map(own).collect();
        let given = self.given(&node.attributes);
        // The body that defines an operator contains the graphs of its call.
        attributes.extend(given.iter().filter(|a| a.value.blocks().is_empty()).map(own));
        let functions = names(self.model);
        let mut frame = Frame {
            model: self.model,
            graph: &function.graph,
            opsets: function.opsets(self.model),
            plan: Plan::new(&function.graph, &functions, &FxHashSet::default()),
            values: FxHashMap::default(),
            attributes,
            depth: self.depth + 1,
            see: None,
        };
        let main = function.graph.main();
        let mut inputs = inputs.to_vec();
        inputs.resize(function.graph.blocks[main].inputs.len(), None);
        frame.block(engine, main, inputs)
    }

    fn get(&mut self, value: ValueId) -> Res<Held> {
        if let Some(held) = self.values.get(&value) {
            return Ok(held.clone());
        }
        // A weight that may be a shape is read; others go from their source to the device.
        let large = |data: &&LazyTensor| {
            width(data.dtype).is_some() && data.elements().is_some_and(|count| count > SMALL as u64)
        };
        let held = match self.graph.initializer(value).filter(large) {
            Some(data) => Held::of_weight(data.clone()),
            None => Held::of_host(self.constant(value)?.into(), true),
        };
        self.values.insert(value, held.clone());
        Ok(held)
    }

    /// Returns the constant `value`, or the default of an input.
    fn constant(&self, value: ValueId) -> Res<Tensor> {
        let graph = self.graph;
        let dense = |data: &LazyTensor| Tensor::read(data);
        let budget = ops::Budget::new(ops::Limits::default());
        if let Some(data) = graph.initializer(value) {
            return dense(data);
        }
        let default = graph.defaults.iter().find(|d| d.value == value).map(|d| &d.data);
        match (graph.values[value].def, default) {
            (Def::Literal(at), _) if (at as usize) < graph.literals.len() => {
                Tensor::literal(&graph.literals[at as usize].data, &budget)
            }
            (_, Some(Constant::Dense(data))) => dense(data),
            (_, Some(Constant::Literal(data))) => Tensor::literal(data, &budget),
            _ => {
                let name = graph.values[value].name.as_deref().unwrap_or("without a name");
                Err(Error::invalid(format!("the value {name} is not defined before it is used")))
            }
        }
    }
}

/// Computations that belong on the host: constants, dimensions, and arithmetic on these.
fn on_host(engine: &mut Engine, node: &Node, opset: i64, inputs: &[Option<Held>]) -> Res<Option<Vec<Held>>> {
    if !node.domain.is_empty() {
        return Ok(None);
    }
    let small = |value: Value| vec![Held::of_host(value, true)];
    if let ("Shape" | "Size", [Some(x)]) = (node.op.as_str(), inputs)
        && let Some(x) = x.operand()
    {
        let rank = x.shape.len() as i64;
        let clamp = |n: i64| (if n < 0 { n.saturating_add(rank) } else { n }).clamp(0, rank) as usize;
        let longs: Vec<i64> = x.shape.iter().map(|d| *d as i64).collect();
        let tensor = if node.op == "Size" {
            Tensor::of_longs(Vec::new(), [longs.iter().product()])?
        } else {
            let attributes = node.at(opset);
            let Some(start) = attributes.int("start") else { return Ok(None) };
            let (start, end) = (clamp(start), clamp(attributes.int("end").unwrap_or(rank)));
            let part = longs.get(start..end).unwrap_or_default();
            Tensor::of_longs(vec![part.len()], part.iter().copied())?
        };
        return Ok(Some(small(tensor.into())));
    }
    let constant = node.op == "Constant" && inputs.is_empty();
    if !constant {
        let natural = !inputs.is_empty() && inputs.iter().flatten().all(|x| x.small);
        let values: Vec<Value> = inputs.iter().flatten().filter_map(Held::host).collect();
        let tensors: Vec<&Tensor> = values.iter().filter_map(Value::tensor).collect();
        let all = tensors.len() == inputs.iter().flatten().count();
        if !natural || !all || !is_small_arithmetic(&node.op, &tensors) {
            return Ok(None);
        }
    }
    let values = inputs.iter().map(|x| x.as_ref().and_then(Held::host)).collect();
    let made = ops::evaluate(node, opset, values, engine.limits)?;
    Ok(Some(made.into_iter().map(|value| Held::of_host(value, true)).collect()))
}

/// Operators that the device lacks: evaluated on the processor, and counted.
fn lacking(engine: &mut Engine, node: &Node, opset: i64, inputs: &[Option<Held>]) -> Res<Vec<Held>> {
    let mut values = Vec::with_capacity(inputs.len());
    for input in inputs {
        values.push(input.as_ref().map(|held| engine.on_host(held)).transpose()?);
    }
    let made = ops::evaluate(node, opset, values, engine.limits)?;
    let name =
        if node.domain.is_empty() { node.op.to_string() } else { format!("{}::{}", node.domain, node.op) };
    *engine.counts.lacking.entry(name).or_default() += 1;
    Ok(made.into_iter().map(|value| Held::of_host(value, false)).collect())
}

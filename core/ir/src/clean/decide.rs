//! Branches and loops whose control flow is known.

use crate::ir::{Attr, BlockId, Def, Graph, NodeId, ValueId};
use crate::op;
use crate::tensor::{DType, LazyTensor};

/// Inlines the branches that are taken and the bodies of loops that run once, and hoists loop-invariant carried
/// values; returns how many nodes were removed.
pub(super) fn graph(graph: &mut Graph) -> usize {
    let mut count = 0;
    // Nested nodes come later: nodes that move out of a block are then visited in their new block.
    let nodes: Vec<NodeId> = graph.nodes.ids().collect();
    for node in nodes {
        let data = &graph.nodes[node];
        if data.block.is_none() {
            continue;
        }
        count += usize::from(if data.is(op::If) {
            branch(graph, node).is_some()
        } else if data.is(op::Loop) {
            hand_on(graph, node);
            once(graph, node).or_else(|| never(graph, node)).is_some()
        } else {
            false
        });
    }
    count
}

/// The only element of a small constant, as an integer.
fn number(graph: &Graph, value: ValueId) -> Option<i64> {
    let data = match graph.values[value].def {
        Def::Node(node, 0) => match graph.nodes[node].attr("value") {
            Some(Attr::Tensor(data)) if graph.nodes[node].is(op::Constant) => data,
            _ => return None,
        },
        _ => graph.initializer(value).filter(|_| !graph.is_weight(value))?,
    };
    let bytes = data.read().filter(|_| data.elements() == Some(1))?;
    match data.dtype {
        DType::Bool => bytes.first().map(|byte| i64::from(*byte != 0)),
        DType::I64 => Some(i64::from_le_bytes(bytes.as_ref().try_into().ok()?)),
        _ => None,
    }
}

fn block(graph: &Graph, node: NodeId, name: &str) -> Option<BlockId> {
    match graph.nodes[node].attr(name)? {
        Attr::Block(block) => Some(*block),
        _ => None,
    }
}

/// An `If` whose condition is known.
fn branch(graph: &mut Graph, node: NodeId) -> Option<()> {
    let condition = graph.nodes[node].inputs.first().copied().flatten()?;
    let taken = if number(graph, condition)? != 0 { "then_branch" } else { "else_branch" };
    let body = block(graph, node, taken)?;
    let returned = graph.blocks[body].outputs().to_vec();
    inline(graph, node, body, &returned)
}

/// A `Loop` of one iteration.
fn once(graph: &mut Graph, node: NodeId) -> Option<()> {
    let inputs = graph.nodes[node].inputs.clone();
    if number(graph, inputs.first().copied().flatten()?)? != 1 {
        return None;
    }
    let condition = inputs.get(1).copied().flatten();
    if let Some(condition) = condition
        && number(graph, condition)? == 0
    {
        return None;
    }
    let carried: Vec<ValueId> = inputs.iter().skip(2).copied().collect::<Option<_>>()?;
    let body = block(graph, node, "body")?;
    let formal = graph.blocks[body].inputs.clone();
    let returned: Vec<ValueId> = graph.blocks[body].outputs().iter().skip(1).copied().collect();
    let ([count, flag, ..], true) = (&formal[..], formal.len() == carried.len() + 2) else { return None };
    if returned.len() < carried.len() || returned.len() != graph.nodes[node].outputs.len() {
        return None;
    }
    let zero =
        graph.add_initializer(None, LazyTensor::inline(DType::I64, Vec::new(), 0i64.to_le_bytes().to_vec()));
    let truth = graph.add_initializer(None, LazyTensor::inline(DType::Bool, Vec::new(), vec![1]));
    let actual = [zero, truth].into_iter().chain(carried.iter().copied());
    for (formal, actual) in [*count, *flag].into_iter().chain(formal.iter().skip(2).copied()).zip(actual) {
        graph.replace_uses(formal, actual);
    }
    // Returned inputs were replaced as well.
    let mut returned: Vec<ValueId> = graph.blocks[body].outputs().iter().skip(1).copied().collect();
    let axis = LazyTensor::inline(DType::I64, vec![1], 0i64.to_le_bytes().to_vec());
    let origin = graph.nodes[node].origin;
    for scanned in returned.iter_mut().skip(carried.len()) {
        let axes = graph.add_initializer(None, axis.clone());
        let stacked =
            graph.append(body, "", op::Unsqueeze, [Some(*scanned), Some(axes)], Vec::new(), 1, origin);
        *scanned = graph.nodes[stacked].outputs.first().copied().flatten()?;
    }
    inline(graph, node, body, &returned)
}

/// A `Loop` that does not run, and of whose iterations nothing is read.
fn never(graph: &mut Graph, node: NodeId) -> Option<()> {
    let inputs = graph.nodes[node].inputs.clone();
    let known = |graph: &Graph, at: usize| number(graph, inputs.get(at).copied().flatten()?);
    if known(graph, 0).is_none_or(|count| count > 0) && known(graph, 1) != Some(0) {
        return None;
    }
    let carried: Vec<ValueId> = inputs.iter().skip(2).copied().collect::<Option<_>>()?;
    let outputs = graph.nodes[node].outputs.clone();
    if outputs.iter().skip(carried.len()).flatten().any(|value| graph.is_read(*value)) {
        return None;
    }
    for (output, value) in outputs.iter().zip(carried) {
        if let Some(output) = output {
            graph.replace_uses(*output, value);
        }
    }
    graph.remove_with_blocks(node);
    Some(())
}

/// Replaces values that each iteration passes on unchanged by their initial values.
fn hand_on(graph: &mut Graph, node: NodeId) {
    let Some(body) = block(graph, node, "body") else { return };
    let inputs = graph.nodes[node].inputs.clone();
    let formal = graph.blocks[body].inputs.clone();
    let returned = graph.blocks[body].outputs().to_vec();
    for (at, first) in inputs.iter().enumerate().skip(2) {
        let (Some(first), Some(formal), Some(returned)) = (*first, formal.get(at), returned.get(at - 1))
        else {
            continue;
        };
        if formal != returned {
            continue;
        }
        // The body goes on returning its input.
        for place in graph.values[*formal].uses().to_vec() {
            graph.set_input(place.node, place.index as usize, Some(first));
        }
        if let Some(after) = graph.nodes[node].outputs.get(at - 2).copied().flatten() {
            graph.replace_uses(after, first);
        }
    }
}

/// Moves the nodes of `body` in front of `node`, replaces its outputs by `returned`, and removes `node`.
fn inline(graph: &mut Graph, node: NodeId, body: BlockId, returned: &[ValueId]) -> Option<()> {
    let home = graph.nodes[node].block?;
    let outputs = graph.nodes[node].outputs.clone();
    if returned.len() < outputs.len() {
        return None;
    }
    let moved: Vec<NodeId> = graph.order(body).collect();
    for inner in moved {
        let held: Vec<BlockId> = graph.nodes[inner].blocks().collect();
        for block in held {
            graph.blocks[block].parent = Some(home);
        }
        // Another branch may hold the same name, which would hide this one there.
        let made: Vec<ValueId> = graph.nodes[inner].outputs.iter().copied().flatten().collect();
        for value in made {
            graph.values[value].name = None;
        }
        graph.move_before(inner, node);
    }
    let mut named = Vec::new();
    for initializer in graph.initializers.iter_mut().filter(|initializer| initializer.block == body) {
        initializer.block = home;
        named.extend((!initializer.weight).then_some(initializer.value));
    }
    for literal in graph.literals.iter_mut().filter(|literal| literal.block == body) {
        literal.block = home;
        named.push(literal.value);
    }
    for value in named {
        graph.values[value].name = None;
    }
    graph.set_outputs(body, []);
    for (output, value) in outputs.into_iter().zip(returned) {
        let Some(output) = output else { continue };
        let known = graph.values[output].ty.clone();
        if let Some((dtype, shape)) = known.dtype().zip(known.shape()) {
            graph.values[*value].ty.fill(dtype, shape);
        }
        graph.replace_uses(output, *value);
    }
    graph.remove_with_blocks(node);
    Some(())
}

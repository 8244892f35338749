//! Casts around nodes.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::fit::{Variables, variable};
use crate::ir::opset::{self, Formal, MAX_OPSET, formal};
use crate::ir::{Attr, Attribute, Def, Graph, NodeId, Type, ValueId};
use crate::op;
use crate::ops::{self, Limits, Tensor, Value};
use crate::tensor::{DType, LazyTensor};

/// Constants of up to so many bytes are stored in the other type.
const FOLDED: u64 = 4096;

/// The casts that a block has already.
pub(super) type Casts = FxHashMap<(ValueId, DType), ValueId>;

/// Lets `node` compute in other types, and returns from which to which. `next` is the node behind it.
pub(super) fn apply(
    graph: &mut Graph,
    opset: i64,
    node: NodeId,
    next: Option<&NodeId>,
    variables: &Variables,
    casts: &mut Casts,
) -> Vec<(DType, DType)> {
    let Some(schema) = opset::lookup(&graph.nodes[node].op, opset) else { return Vec::new() };
    let changed = |formals: &'static [Formal], index: usize| {
        let own = formal(formals, index).and_then(variable)?;
        variables.iter().find(|(variable, ..)| *variable == own).map(|(_, of, within)| (*of, *within))
    };
    for index in 0..graph.nodes[node].inputs.len() {
        let Some(value) = graph.nodes[node].inputs.get(index).copied().flatten() else { continue };
        if let Some((_, within)) = changed(schema.inputs, index) {
            let narrow = *casts.entry((value, within)).or_insert_with(|| cast(graph, node, value, within));
            graph.set_input(node, index, Some(narrow));
        }
    }
    for index in 0..graph.nodes[node].outputs.len() {
        let Some(value) = graph.nodes[node].outputs.get(index).copied().flatten() else { continue };
        if let Some((of, within)) = changed(schema.outputs, index) {
            widen(graph, node, index, next.copied(), (of, within));
            if let Some(narrow) =
                graph.nodes[node].outputs.get(index).copied().flatten().filter(|_| within.bits() < of.bits())
            {
                // A reader that casts back to the lower type needs no casts.
                casts.insert((value, within), narrow);
            }
        }
    }
    variables.iter().map(|(_, of, within)| (*of, *within)).collect()
}

/// `value` as `to`, in front of `node`.
pub(super) fn cast(graph: &mut Graph, node: NodeId, value: ValueId, to: DType) -> ValueId {
    // The way back of a cast that lost nothing.
    if let Def::Node(maker, 0) = graph.values[value].def {
        let maker = &graph.nodes[maker];
        let source = maker.inputs.first().copied().flatten();
        let narrower = graph.values[value].ty.dtype().is_some_and(|dtype| to.bits() < dtype.bits());
        if let Some(source) = source.filter(|_| maker.is(op::Cast) && narrower)
            && graph.values[source].ty.dtype() == Some(to)
        {
            return source;
        }
    }
    let made = append(graph, node, value, to);
    if let Some(data) = folded(graph, made, value) {
        graph.remove(made);
        return graph.add_initializer(None, data);
    }
    graph.move_before(made, node);
    graph.nodes[made].outputs.first().copied().flatten().unwrap_or(value)
}

/// The result of the cast `made`, if `value` is a small constant and not a weight.
fn folded(graph: &Graph, made: NodeId, value: ValueId) -> Option<LazyTensor> {
    let data = graph.initializer(value).filter(|_| !graph.is_weight(value))?;
    if data.byte_len()? > FOLDED {
        return None;
    }
    let input = Value::Tensor(Tensor::read(data).ok()?);
    let limits = Limits { bytes: FOLDED * 16, steps: FOLDED * 16, time: Duration::MAX };
    let outputs = ops::evaluate(&graph.nodes[made], MAX_OPSET, vec![Some(input)], limits).ok()?;
    outputs.first()?.tensor()?.to_lazy().ok()
}

/// A `Cast` of `value` at the end of the block of `node`.
fn append(graph: &mut Graph, node: NodeId, value: ValueId, to: DType) -> NodeId {
    let attribute = Attribute { name: "to".into(), value: Attr::Int(i64::from(to.onnx())) };
    let (block, origin) = (graph.nodes[node].block.unwrap_or(graph.main()), graph.nodes[node].origin);
    let made = graph.append(block, "", op::Cast, [Some(value)], vec![attribute], 1, origin);
    let ty = retyped(&graph.values[value].ty, to);
    if let Some(output) = graph.nodes[made].outputs.first().copied().flatten() {
        graph.values[output].ty = ty;
    }
    made
}

fn retyped(ty: &Type, dtype: DType) -> Type {
    match ty {
        Type::Tensor { shape, .. } => Type::tensor(dtype, shape.clone()),
        other => other.clone(),
    }
}

/// Makes output `index` of `node` one of type `within`, and its value what a `Cast` behind the node gives: whoever
/// reads the value, or knows it by its id, sees no difference.
fn widen(graph: &mut Graph, node: NodeId, index: usize, next: Option<NodeId>, (of, within): (DType, DType)) {
    let Some(value) = graph.nodes[node].outputs.get(index).copied().flatten() else { return };
    // The value does not read itself: the cast gets its input at the end.
    let made = append(graph, node, value, of);
    if let Some(next) = next {
        graph.move_before(made, next);
    }
    let Some(inner) = graph.nodes[made].outputs.first().copied().flatten() else { return };
    graph.swap_definitions(value, inner);
    graph.values[inner].ty = retyped(&graph.values[value].ty, within);
    graph.set_input(made, 0, Some(inner));
}

//! Whether a target takes a node as it is.

use smallvec::{SmallVec, smallvec};

use super::target::{Form, Target};
use crate::ir::opset::{self, Formal, FormalKind, FormalType, OpSchema, TypeTag, formal};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::tensor::DType;

/// Operators whose types are part of what they compute: they saturate, scale or show bits.
const TYPED: &[&str] = &[
    "BitCast",
    "Cast",
    "CastLike",
    "ConvInteger",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "QuantizeLinear",
];

/// The variables of a signature that are to stand for another type.
pub(super) type Variables = SmallVec<[(u8, DType, DType); 2]>;

/// What is to be done with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing: the target takes it, or nobody knows.
    Fits,
    /// It computes in other types.
    Change(Variables),
    /// The target does not take it, and no other type helps.
    Lacks {
        /// The version of the operator.
        version: i64,
        /// The types that its variables stand for.
        of: Vec<DType>,
    },
}

fn dtype(graph: &Graph, value: Option<&Option<ValueId>>) -> Option<DType> {
    match &graph.values[(*value?)?].ty {
        crate::ir::Type::Tensor { dtype, .. } => *dtype,
        _ => None,
    }
}

/// The variable of a formal that all its values share.
pub(super) fn variable(formal: &Formal) -> Option<u8> {
    match formal.ty {
        FormalType::Var(variable) if formal.kind != FormalKind::VariadicHeterogeneous => Some(variable),
        _ => None,
    }
}

/// What each variable stands for, and whether an input says so.
fn bind(graph: &Graph, node: &Node, schema: &OpSchema) -> SmallVec<[Option<(DType, bool)>; 4]> {
    let mut bound: SmallVec<[Option<(DType, bool)>; 4]> = smallvec![None; schema.type_vars.len()];
    for (formals, values, input) in
        [(schema.inputs, &node.inputs[..], true), (schema.outputs, &node.outputs[..], false)]
    {
        for (index, _) in values.iter().enumerate() {
            let Some(variable) = formal(formals, index).and_then(variable) else { continue };
            let slot = bound.get_mut(usize::from(variable));
            if let (Some(slot @ None), Some(dtype)) = (slot, dtype(graph, values.get(index))) {
                *slot = Some((dtype, input));
            }
        }
    }
    bound
}

/// What is to be done with `node`.
pub(super) fn judge(graph: &Graph, opset: i64, target: &Target, node: NodeId) -> Verdict {
    let node = &graph.nodes[node];
    if !node.domain.is_empty() {
        return Verdict::Fits;
    }
    let Some(schema) = opset::lookup(&node.op, opset) else { return Verdict::Fits };
    let since = i64::from(schema.since);
    let Some(forms) = target.forms(&node.op, since, opset) else { return Verdict::Fits };
    let bound = bind(graph, node, schema);
    let tries: Vec<Option<Variables>> =
        forms.iter().map(|form| fill(graph, node, schema, target, &bound, form)).collect();
    let best =
        tries.into_iter().flatten().reduce(|best, next| if next.len() < best.len() { next } else { best });
    match best {
        Some(changes) if changes.is_empty() => Verdict::Fits,
        Some(changes) if node.blocks().next().is_none() && !TYPED.contains(&&*node.op) => {
            Verdict::Change(changes)
        }
        _ if bound.iter().flatten().any(|(dtype, _)| target.accepts(*dtype, &[])) => Verdict::Fits,
        _ => Verdict::Lacks { version: since, of: bound.iter().flatten().map(|(dtype, _)| *dtype).collect() },
    }
}

/// The changes that let the node be taken in this form.
fn fill(
    graph: &Graph,
    node: &Node,
    schema: &OpSchema,
    target: &Target,
    bound: &[Option<(DType, bool)>],
    form: &Form,
) -> Option<Variables> {
    let mut changes = Variables::new();
    for (name, allowed) in form {
        let Some(variable) = schema.type_vars.iter().position(|v| v.name == *name) else {
            // Kernels may restrict one input or output by its name.
            let place = |formals: &[Formal]| formals.iter().position(|f| f.name == *name);
            let value = match (place(schema.inputs), place(schema.outputs)) {
                (Some(index), _) => dtype(graph, node.inputs.get(index)),
                (None, Some(index)) => dtype(graph, node.outputs.get(index)),
                (None, None) => None,
            };
            if value.is_some_and(|dtype| !target.accepts(dtype, allowed)) {
                return None;
            }
            continue;
        };
        let Some(Some((dtype, input))) = bound.get(variable) else { continue };
        if target.accepts(*dtype, allowed) {
            continue;
        }
        let known = schema.type_vars.get(variable)?.allowed;
        let fits = |to: &DType| target.accepts(*to, allowed) && known.contains(&TypeTag::Tensor(*to));
        let to = target.substitutes(*dtype).find(fits).filter(|_| *input)?;
        changes.push((variable as u8, *dtype, to));
    }
    Some(changes)
}

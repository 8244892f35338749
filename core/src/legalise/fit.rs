//! Whether a target takes a node as it is.

use smallvec::{SmallVec, smallvec};

use super::target::{Gap, Target, Types};
use crate::ir::opset::{self, Formal, FormalKind, FormalType, OpSchema, TypeTag, formal};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::ops::{Traits, traits};
use crate::tensor::DType;

/// The variables of a signature that are to stand for another type.
pub(super) type Variables = SmallVec<[(u8, DType, DType); 2]>;

/// The treatment of a node.
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

pub(super) fn dtype(graph: &Graph, value: Option<&Option<ValueId>>) -> Option<DType> {
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

/// The type of each variable of a signature, and whether it comes from an input.
type Bound = SmallVec<[Option<(DType, bool)>; 4]>;

/// The type of each variable.
pub(super) fn bind(graph: &Graph, node: &Node, schema: &OpSchema) -> Bound {
    let mut bound: Bound = smallvec![None; schema.type_vars.len()];
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

/// A node with its signature.
struct Candidate<'a> {
    graph: &'a Graph,
    node: &'a Node,
    schema: &'static OpSchema,
    target: &'a Target,
    bound: Bound,
    /// The restrictions of the kernels for such a node.
    gaps: Vec<&'a Gap>,
}

impl<'a> Candidate<'a> {
    /// `None` for an operator that nothing is known of.
    fn new(graph: &'a Graph, opset: i64, target: &'a Target, node: NodeId) -> Option<Self> {
        let node = &graph.nodes[node];
        let schema = opset::lookup(&node.op, opset).filter(|_| node.domain.is_empty())?;
        let here = |gap: &&Gap| !gap.open && gap.conditions.iter().all(|c| c.holds(graph, node, schema));
        let gaps = target.gaps(&node.op, i64::from(schema.since)).filter(here).collect();
        Some(Self { graph, node, schema, target, bound: bind(graph, node, schema), gaps })
    }

    /// The types of the kernels; `None` when one takes every type.
    fn kernels(&self) -> Option<Vec<&'a Types>> {
        if self.gaps.iter().any(|gap| gap.types.is_empty()) {
            return Some(Vec::new());
        }
        self.target.kernels(&self.node.op, i64::from(self.schema.since))
    }

    /// Whether kernels do not take this type of a variable that they list.
    fn lacks(&self, name: &str, dtype: DType) -> bool {
        let mut types = self.gaps.iter().flat_map(|gap| &gap.types);
        types.any(|(of, types)| of == name && types.contains(&dtype))
    }

    /// The type of a formal that a kernel restricts by its name; kernels may so restrict one input or output.
    fn place(&self, name: &str) -> Option<DType> {
        let place = |formals: &[Formal]| formals.iter().position(|f| f.name == name);
        match (place(self.schema.inputs), place(self.schema.outputs)) {
            (Some(index), _) => dtype(self.graph, self.node.inputs.get(index)),
            (None, Some(index)) => dtype(self.graph, self.node.outputs.get(index)),
            (None, None) => None,
        }
    }

    /// Whether a kernel takes the node, some variables of which stand for other types, or the target takes it apart.
    fn taken(&self, opset: i64, changes: &Variables) -> Support {
        let fits = |kernel: bool, (name, allowed): &(String, Vec<DType>)| {
            let variable = self.schema.type_vars.iter().position(|v| v.name == *name);
            let Some(variable) = variable else {
                return self.place(name).is_none_or(|dtype| self.target.has(dtype, allowed));
            };
            let changed = changes.iter().find(|(of, ..)| usize::from(*of) == variable).map(|(.., to)| *to);
            let own = self.bound.get(variable).copied().flatten().map(|(dtype, _)| dtype);
            let lacks = |dtype| kernel && self.lacks(name, dtype);
            changed.or(own).is_none_or(|dtype| self.target.has(dtype, allowed) && !lacks(dtype))
        };
        let among = |kernel: bool, forms: Option<Vec<&Types>>| {
            forms.is_none_or(|forms| forms.into_iter().any(|types| types.iter().all(|t| fits(kernel, t))))
        };
        if among(true, self.kernels()) {
            Support::Kernel
        } else if among(false, self.target.expansions(&self.node.op, opset)) {
            Support::Expanded
        } else {
            Support::None
        }
    }

    /// The changes that let the node be taken where these types are.
    fn fill(&self, types: &Types, kernel: bool) -> Option<Variables> {
        let mut changes = Variables::new();
        let target = self.target;
        for (name, allowed) in types {
            let Some(variable) = self.schema.type_vars.iter().position(|v| v.name == *name) else {
                if self.place(name).is_some_and(|dtype| !target.accepts(dtype, allowed)) {
                    return None;
                }
                continue;
            };
            let Some(Some((dtype, input))) = self.bound.get(variable) else { continue };
            let lacks = |dtype: DType| kernel && self.lacks(name, dtype);
            if target.accepts(*dtype, allowed) && !lacks(*dtype) {
                continue;
            }
            let known = self.schema.type_vars.get(variable)?.allowed;
            let fits = |to: &DType| {
                target.accepts(*to, allowed) && !lacks(*to) && known.contains(&TypeTag::Tensor(*to))
            };
            let to = target.substitutes(*dtype).find(fits).filter(|_| *input)?;
            changes.push((variable as u8, *dtype, to));
        }
        Some(changes)
    }
}

/// How a target takes a node as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Support {
    /// By a kernel, or unknown.
    Kernel,
    /// By the operators of ONNX's definition.
    Expanded,
    /// Not at all, or only by leaving it to others.
    None,
}

/// How `target` takes `node`, some variables of which stand for other types.
pub(super) fn takes(
    graph: &Graph,
    opset: i64,
    target: &Target,
    node: NodeId,
    changes: &Variables,
) -> Support {
    Candidate::new(graph, opset, target, node).map_or(Support::Kernel, |asked| asked.taken(opset, changes))
}

/// The treatment of `node`.
pub(super) fn judge(graph: &Graph, opset: i64, target: &Target, node: NodeId) -> Verdict {
    let Some(asked) = Candidate::new(graph, opset, target, node) else { return Verdict::Fits };
    let (node, since) = (asked.node, i64::from(asked.schema.since));
    let (Some(kernels), Some(expansions)) = (asked.kernels(), target.expansions(&node.op, opset)) else {
        return Verdict::Fits;
    };
    let kernels = kernels.into_iter().map(|types| asked.fill(types, true));
    let tries: Vec<Option<Variables>> =
        kernels.chain(expansions.into_iter().map(|types| asked.fill(types, false))).collect();
    let best =
        tries.into_iter().flatten().reduce(|best, next| if next.len() < best.len() { next } else { best });
    let bound = || asked.bound.iter().flatten().map(|(dtype, _)| *dtype);
    match best {
        Some(changes) if changes.is_empty() => Verdict::Fits,
        Some(changes) if node.blocks().next().is_none() && !traits(node).has(Traits::TYPED) => {
            Verdict::Change(changes)
        }
        _ if bound().any(|dtype| target.accepts(dtype, &[])) => Verdict::Fits,
        _ => Verdict::Lacks { version: since, of: bound().collect() },
    }
}

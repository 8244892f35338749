//! Types, shapes and small integer contents of a node's outputs, from its inputs and attributes.
//!
//! The rules follow the [ONNX operator pages](https://onnx.ai/onnx/operators/). Everything else
//! stays unknown: a size is stated only if every run of the model has it.

pub(super) mod broadcast;
pub(super) mod cx;
mod signature;
pub(super) mod window;

#[cfg(test)]
mod tests;

use smallvec::{SmallVec, smallvec};

use crate::ir::{Attr, BlockId, Graph, MAX_CONTENTS, NodeId, Shape, ShapeValue, Type};
use crate::sym::{Dim, Symbols};
use cx::{Contents, Cx, Dtypes, Shapes, Types};

/// Gives the shapes of a node's outputs, in order; further outputs are unknown.
pub(super) type Rule = fn(&mut Cx<'_>) -> Option<Shapes>;

/// Gives the element types of a node's outputs that its signature leaves open.
pub(super) type DtypeRule = fn(&Cx<'_>) -> Dtypes;

/// Gives the types of a node's outputs; where it says nothing, the other rules do.
pub(super) type TypeRule = fn(&mut Cx<'_>) -> Option<Types>;

/// Gives the elements of a node's small integer outputs.
pub(super) type ContentRule = fn(&mut Cx<'_>) -> Option<Contents>;

/// The rules are those of this version of ONNX's operators and of later ones.
pub const OLDEST_INFERRED: i64 = 13;

/// The inferred facts of one output of a node.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The type.
    pub ty: Type,
    /// The elements, when the output is a small integer value whose elements are known.
    pub contents: Option<ShapeValue>,
}

/// The result of inference for a node.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The facts of each output.
    pub outputs: SmallVec<[Inferred; 2]>,
    /// Why no run of the node succeeds, whatever sizes the symbols stand for; `None` where one may.
    pub refuted: Option<String>,
    /// Sizes that are spelled differently, and equal in every run in which the node succeeds.
    pub equal: Vec<(Dim, Dim)>,
}

impl Answer {
    /// Nothing is known of `count` outputs.
    fn unknown(count: usize) -> Self {
        let unknown = Inferred { ty: Type::Unknown, contents: None };
        Self { outputs: smallvec![unknown; count], refuted: None, equal: Vec::new() }
    }
}

/// Sets the types of `node`'s outputs as inferred from its inputs and attributes. Facts that
/// were known before and cannot be inferred are kept.
pub fn infer(graph: &mut Graph, symbols: &mut Symbols, opset: i64, node: NodeId) {
    set_types(graph, symbols, opset, node, refine);
}

fn set_types(graph: &mut Graph, symbols: &mut Symbols, opset: i64, node: NodeId, merge: Merge) {
    let answer = answer(graph, symbols, opset, node);
    for (index, Inferred { ty, contents }) in answer.outputs.into_iter().enumerate() {
        let Some(value) = graph.nodes[node].outputs.get(index).copied().flatten() else { continue };
        let known = &mut graph.values[value].ty;
        *known = merge(std::mem::replace(known, Type::Unknown), ty);
        if let Some(contents) = contents {
            graph.set_shape_value(value, contents);
        }
    }
}

/// Makes one type of the known type of a value and the inferred one.
type Merge = fn(Type, Type) -> Type;

/// Sets the types of the outputs of every node, in nested graphs as well, in order; see [`infer`].
pub fn infer_all(graph: &mut Graph, symbols: &mut Symbols, opset: i64) {
    infer_block(graph, symbols, opset, graph.main(), refine);
}

/// As [`infer_all`], for types that were inferred or stated before: a known size stays unless it turns out to be a number.
pub fn complete_all(graph: &mut Graph, symbols: &mut Symbols, opset: i64) {
    infer_block(graph, symbols, opset, graph.main(), |known, inferred| refine(inferred, known));
}

fn infer_block(graph: &mut Graph, symbols: &mut Symbols, opset: i64, block: BlockId, merge: Merge) {
    for node in graph.order(block).collect::<Vec<_>>() {
        for inner in graph.nodes[node].blocks().collect::<Vec<_>>() {
            infer_block(graph, symbols, opset, inner, merge);
        }
        set_types(graph, symbols, opset, node, merge);
    }
}

/// The facts about `node` and each of its outputs that follow from its inputs and attributes.
pub fn answer(graph: &Graph, symbols: &mut Symbols, opset: i64, node: NodeId) -> Answer {
    let data = &graph.nodes[node];
    let count = data.outputs.len();
    // The rules are those of the newer versions: older ones took attributes where they take inputs.
    if opset < OLDEST_INFERRED {
        return Answer::unknown(count);
    }
    // The value of an attribute of a function depends on the call.
    if data.attributes.iter().any(|a| matches!(a.value, Attr::Ref(..))) {
        return Answer::unknown(count);
    }
    let op = super::lookup(&data.domain, &data.op);
    let mut cx = Cx { graph, symbols, node: data, opset, refuted: None, equal: Vec::new() };
    if let Some(mut types) = op.and_then(|op| op.types).and_then(|rule| rule(&mut cx)) {
        types.resize(count, Type::Unknown);
        let outputs = types.into_iter().map(|ty| Inferred { ty, contents: None }).collect();
        return Answer { outputs, refuted: cx.refuted, equal: cx.equal };
    }
    let mut types = signature::types(&cx);
    let dtypes = op.and_then(|op| op.dtypes).map(|rule| rule(&cx)).unwrap_or_default();
    let mut shapes = op.and_then(|op| op.infer).and_then(|rule| rule(&mut cx)).unwrap_or_default();
    shapes.resize(count, Shape::Unranked);
    for dim in shapes.iter_mut().filter_map(Shape::dims_mut).flatten() {
        // Nonsense, perhaps in a branch that is never taken; a runtime will say so.
        *dim = dim.filter(|d| d.as_const().is_none_or(|n| n >= 0));
    }
    let mut contents = op.and_then(|op| op.contents).and_then(|rule| rule(&mut cx)).unwrap_or_default();
    contents.resize(count, None);
    for (ty, dtype) in types.iter_mut().zip(dtypes) {
        if let Some(dtype) = dtype {
            *ty = Type::tensor(dtype, Shape::Unranked);
        }
    }
    let outputs = (types.into_iter().zip(shapes).zip(contents))
        .map(|((ty, shape), contents)| Inferred {
            ty: match ty {
                Type::Tensor { dtype, .. } => Type::Tensor { dtype, shape },
                Type::Unknown if shape != Shape::Unranked => Type::Tensor { dtype: None, shape },
                other => other,
            },
            contents: contents.filter(|c| c.len() <= MAX_CONTENTS),
        })
        .collect();
    Answer { outputs, refuted: cx.refuted, equal: cx.equal }
}

/// `new` where it says something, else `old`.
fn refine(old: Type, new: Type) -> Type {
    match (old, new) {
        (
            Type::Tensor { dtype: old_dtype, shape: old_shape },
            Type::Tensor { dtype: new_dtype, shape: new_shape },
        ) => Type::Tensor { dtype: new_dtype.or(old_dtype), shape: refine_shape(old_shape, new_shape) },
        (old, Type::Unknown) => old,
        (Type::Sequence(old), Type::Sequence(new)) => Type::Sequence(Box::new(refine(*old, *new))),
        (Type::Optional(old), Type::Optional(new)) => Type::Optional(Box::new(refine(*old, *new))),
        (_, new) => new,
    }
}

fn refine_shape(old: Shape, new: Shape) -> Shape {
    match (old, new) {
        (Shape::Ranked(old), Shape::Ranked(new)) if old.len() == new.len() => {
            Shape::Ranked(old.into_iter().zip(new).map(|(o, n)| cx::either(n, o.or(n))).collect())
        }
        (old, Shape::Unranked) => old,
        (_, new) => new,
    }
}

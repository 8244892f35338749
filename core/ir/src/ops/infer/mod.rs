//! Types, shapes and small integer contents of a node's outputs, from its inputs and attributes.
//!
//! The rules follow the [ONNX operator pages](https://onnx.ai/onnx/operators/). What they cannot
//! tell stays unknown: an extent is stated only where every run of the model has it.

pub(super) mod broadcast;
mod contents;
pub(super) mod cx;
mod dtype;
pub(super) mod window;

#[cfg(test)]
mod tests;

use smallvec::{SmallVec, smallvec};

use crate::ir::{Attr, Graph, NodeId, Shape, ShapeValue, Type};
use crate::sym::Symbols;
use cx::{Cx, Shapes};

/// Gives the shapes of a node's outputs, in order; further outputs are unknown.
pub(super) type Rule = fn(&mut Cx<'_>) -> Option<Shapes>;

/// The rules are those of this version of ONNX's operators and of later ones.
pub const OLDEST_INFERRED: i64 = 13;

/// What is known about one output of a node.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The type.
    pub ty: Type,
    /// The elements, when the output is a small integer value whose elements are known.
    pub contents: Option<ShapeValue>,
}

/// What inference says of a node.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What is known about each output.
    pub outputs: SmallVec<[Inferred; 2]>,
    /// Why no run of the node succeeds, whatever sizes the symbols stand for; `None` where one may.
    pub refuted: Option<String>,
}

impl Answer {
    /// Nothing is known of `count` outputs.
    fn unknown(count: usize) -> Self {
        let unknown = Inferred { ty: Type::Unknown, contents: None };
        Self { outputs: smallvec![unknown; count], refuted: None }
    }
}

/// Sets the types of `node`'s outputs to what its inputs and attributes tell. What was known
/// before and cannot be inferred stays.
pub fn infer(graph: &mut Graph, symbols: &mut Symbols, opset: i64, node: NodeId) {
    let answer = answer(graph, symbols, opset, node);
    for (index, Inferred { ty, contents }) in answer.outputs.into_iter().enumerate() {
        let Some(value) = graph.nodes[node].outputs.get(index).copied().flatten() else { continue };
        let known = &mut graph.values[value].ty;
        *known = refine(std::mem::replace(known, Type::Unknown), ty);
        if let Some(contents) = contents {
            graph.set_shape_value(value, contents);
        }
    }
}

/// What the inputs and attributes of `node` tell about it and each of its outputs.
pub fn answer(graph: &Graph, symbols: &mut Symbols, opset: i64, node: NodeId) -> Answer {
    let data = &graph.nodes[node];
    let mut cx = Cx { graph, symbols, node: data, opset, refuted: None };
    // The rules are those of the newer versions: older ones took attributes where they take inputs.
    if opset < OLDEST_INFERRED {
        return Answer::unknown(data.outputs.len());
    }
    // What an attribute of a function is, only a call of it says.
    if !data.domain.is_empty() || data.attributes.iter().any(|a| matches!(a.value, Attr::Ref(..))) {
        return Answer::unknown(data.outputs.len());
    }
    if data.domain.is_empty() && matches!(data.op.as_str(), "If" | "Loop" | "Scan") {
        let outputs = super::control::infer::outputs(&mut cx);
        return Answer { outputs, refuted: cx.refuted };
    }
    let dtypes = dtype::dtypes(&cx, opset);
    let mut shapes = super::lookup("", &data.op)
        .and_then(|op| op.infer)
        .and_then(|rule| rule(&mut cx))
        .unwrap_or_default();
    shapes.resize(data.outputs.len(), Shape::Unranked);
    for dim in shapes.iter_mut().filter_map(Shape::dims_mut).flatten() {
        // Nonsense, perhaps in a branch that is never taken; a runtime will say so.
        *dim = dim.filter(|d| d.as_const().is_none_or(|n| n >= 0));
    }
    let mut contents = contents::contents(&mut cx);
    contents.resize(data.outputs.len(), None);
    let outputs = (dtypes.into_iter().zip(shapes).zip(contents))
        .map(|((ty, shape), contents)| Inferred {
            ty: match ty {
                dtype::Found::Tensor(dtype) => Type::tensor(dtype, shape),
                dtype::Found::Sequence(dtype) => Type::sequence(dtype),
                dtype::Found::Unknown if shape == Shape::Unranked => Type::Unknown,
                dtype::Found::Unknown => Type::Tensor { dtype: None, shape },
            },
            contents,
        })
        .collect();
    Answer { outputs, refuted: cx.refuted }
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

//! Types, shapes and small integer contents of a node's outputs, from its inputs and attributes.
//!
//! The rules follow the [ONNX operator pages](https://onnx.ai/onnx/operators/). What they cannot
//! tell stays unknown: an extent is stated only where every run of the model has it.

mod broadcast;
mod contents;
mod control;
mod conv;
mod cx;
mod dtype;
mod fourier;
mod index;
mod matmul;
mod norm;
mod reduce;
mod resize;
mod rules;
mod slice;
mod view;

#[cfg(test)]
mod tests;

pub use dtype::formal;
pub use rules::has_rule;
use smallvec::SmallVec;

use super::{Attr, Graph, NodeId, Shape, Type, ValueId};
use crate::sym::{Dim, Symbols};
use crate::tensor::LazyTensor;
use cx::Cx;

/// The elements of an integer value of rank 0 or 1.
pub type ShapeValue = SmallVec<[Dim; 4]>;

/// The rules are those of this version of ONNX's operators and of later ones.
pub const OLDEST_INFERRED: i64 = 13;

/// Values with more elements than this are not followed.
pub const MAX_CONTENTS: usize = 64;

/// What is known about one output of a node.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The type.
    pub ty: Type,
    /// The elements, when the output is a small integer value whose elements are known.
    pub contents: Option<ShapeValue>,
}

/// Sets the types of `node`'s outputs to what its inputs and attributes tell. What was known
/// before and cannot be inferred stays.
pub fn infer(graph: &mut Graph, symbols: &mut Symbols, opset: i64, node: NodeId) {
    let inferred = outputs(graph, symbols, opset, node);
    for (index, Inferred { ty, contents }) in inferred.into_iter().enumerate() {
        let Some(value) = graph.nodes[node].outputs.get(index).copied().flatten() else { continue };
        let known = &mut graph.values[value].ty;
        *known = refine(std::mem::replace(known, Type::Unknown), ty);
        if let Some(contents) = contents {
            graph.shape_values.insert(value, contents);
        }
    }
}

/// What the inputs and attributes of `node` tell about each of its outputs.
pub fn outputs(graph: &Graph, symbols: &mut Symbols, opset: i64, node: NodeId) -> SmallVec<[Inferred; 2]> {
    let data = &graph.nodes[node];
    let mut cx = Cx { graph, symbols, node: data };
    // The rules are those of the newer versions: older ones took attributes where they take inputs.
    if opset < OLDEST_INFERRED {
        let unknown = Inferred { ty: Type::Unknown, contents: None };
        return data.outputs.iter().map(|_| unknown.clone()).collect();
    }
    // What an attribute of a function is, only a call of it says.
    if !data.domain.is_empty() || data.attributes.iter().any(|a| matches!(a.value, Attr::Ref(..))) {
        let unknown = Inferred { ty: Type::Unknown, contents: None };
        return data.outputs.iter().map(|_| unknown.clone()).collect();
    }
    if data.domain.is_empty() && matches!(data.op.as_str(), "If" | "Loop" | "Scan") {
        return control::outputs(&mut cx);
    }
    let dtypes = dtype::dtypes(&cx, opset);
    let mut shapes = rules::rule(&data.op).and_then(|rule| rule(&mut cx)).unwrap_or_default();
    shapes.resize(data.outputs.len(), Shape::Unranked);
    for dim in shapes.iter_mut().filter_map(Shape::dims_mut).flatten() {
        // Nonsense, perhaps in a branch that is never taken; a runtime will say so.
        *dim = dim.filter(|d| d.as_const().is_none_or(|n| n >= 0));
    }
    let mut contents = contents::contents(&mut cx);
    contents.resize(data.outputs.len(), None);
    (dtypes.into_iter().zip(shapes).zip(contents))
        .map(|((ty, shape), contents)| Inferred {
            ty: match ty {
                dtype::Found::Tensor(dtype) => Type::tensor(dtype, shape),
                dtype::Found::Sequence(dtype) => Type::sequence(dtype),
                dtype::Found::Unknown if shape == Shape::Unranked => Type::Unknown,
                dtype::Found::Unknown => Type::Tensor { dtype: None, shape },
            },
            contents,
        })
        .collect()
}

impl Graph {
    /// The elements of an integer value of rank 0 or 1, when they are known as constants or
    /// expressions over the symbols.
    pub fn shape_value(&self, value: ValueId) -> Option<ShapeValue> {
        if let Some(contents) = self.shape_values.get(&value) {
            return Some(contents.clone());
        }
        small_integers(self.initializer(value).filter(|_| !self.is_weight(value))?)
    }

    /// Records the elements of an integer value, for values that [`infer::infer`](infer) cannot
    /// follow but whose builder knows.
    pub fn set_shape_value(&mut self, value: ValueId, contents: ShapeValue) {
        self.shape_values.insert(value, contents);
    }
}

/// The elements of a small integer tensor of rank 0 or 1.
fn small_integers(data: &LazyTensor) -> Option<ShapeValue> {
    use crate::tensor::DType::{I32, I64};
    if data.shape.len() > 1 || !matches!(data.dtype, I32 | I64) || data.elements()? > MAX_CONTENTS as u64 {
        return None;
    }
    let bytes = data.read()?;
    Some(if data.dtype == I64 {
        let (chunks, _) = bytes.as_chunks::<8>();
        chunks.iter().map(|c| Dim::Const(i64::from_le_bytes(*c))).collect()
    } else {
        let (chunks, _) = bytes.as_chunks::<4>();
        chunks.iter().map(|c| Dim::Const(i64::from(i32::from_le_bytes(*c)))).collect()
    })
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

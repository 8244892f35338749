//! Constants that are not streamed: those of nested graphs and of functions, and those in forms other than dense
//! numbers.

use bytes::Bytes;
use onnxport_proto::{SparseTensorProto, StringStringEntryProto, TensorProto};
use rustc_hash::FxHashMap;

use super::metadata;
use super::value_info::some;
use crate::ir::{About, BlockId, Constant, DenseTensor, Graph, Literal, SparseTensor, TextTensor, ValueId};
use crate::tensor::{DType, LazyTensor, Source};

/// A constant of a graph.
#[derive(Clone, Copy)]
pub(super) enum Held<'a> {
    /// Dense numbers.
    Dense(&'a LazyTensor),
    /// Another form.
    Literal(&'a Literal),
}

/// The constants of a graph by the block that holds them, in order.
pub(super) type Constants<'a> = FxHashMap<BlockId, Vec<(ValueId, Held<'a>)>>;

/// The constants of `graph`, the defaults of inputs included.
pub(super) fn of(graph: &Graph) -> Constants<'_> {
    let mut constants = Constants::default();
    for initializer in &graph.initializers {
        let held = (initializer.value, Held::Dense(&initializer.data));
        constants.entry(initializer.block).or_default().push(held);
    }
    for literal in &graph.literals {
        constants.entry(literal.block).or_default().push((literal.value, Held::Literal(&literal.data)));
    }
    for default in &graph.defaults {
        let crate::ir::Def::Input(block, _) = graph.values[default.value].def else { continue };
        let held = match &default.data {
            Constant::Dense(data) => Held::Dense(data),
            Constant::Literal(literal) => Held::Literal(literal),
        };
        constants.entry(block).or_default().push((default.value, held));
    }
    constants
}

/// The declaration of a dense tensor.
pub(super) fn head(name: &str, data: &LazyTensor) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        dims: data.shape.iter().map(|d| *d as i64).collect(),
        data_type: Some(data.dtype.onnx()),
        ..TensorProto::default()
    }
}

/// A dense tensor with a name.
pub(super) fn called(name: &str, data: &LazyTensor) -> TensorProto {
    TensorProto { raw_data: raw_data(data), ..head(name, data) }
}

/// A dense tensor without a name.
pub(super) fn dense(data: &LazyTensor) -> TensorProto {
    TensorProto { name: None, raw_data: raw_data(data), ..head("", data) }
}

/// The bytes of a small tensor, borrowed where they are dense.
fn raw_data(data: &LazyTensor) -> Option<Bytes> {
    if let (Source::Mapped { file, offset, .. }, Some(range)) = (&data.source, data.dense_range()) {
        let (start, end) = (offset.checked_add(range.start)?, offset.checked_add(range.end)?);
        let bytes = Bytes::from_owner(file.clone());
        return (end <= bytes.len() as u64).then(|| bytes.slice(start as usize..end as usize));
    }
    if let (Source::Lent(memory), Some(range)) = (&data.source, data.dense_range()) {
        let bytes = Bytes::from_owner(memory.clone());
        return (range.end <= bytes.len() as u64)
            .then(|| bytes.slice(range.start as usize..range.end as usize));
    }
    data.read().map(|bytes| Bytes::from(bytes.into_owned()))
}

/// A tensor of texts without a name.
pub(super) fn text(text: &TextTensor) -> TensorProto {
    TensorProto {
        dims: text.shape.iter().map(|d| *d as i64).collect(),
        data_type: Some(DType::String.onnx()),
        string_data: text.items.clone(),
        ..TensorProto::default()
    }
}

/// A dense tensor of any element type, without a name.
pub(super) fn either(tensor: &DenseTensor) -> TensorProto {
    match tensor {
        DenseTensor::Numbers(data) => dense(data),
        DenseTensor::Text(items) => text(items),
    }
}

/// A sparse tensor without a name.
pub(super) fn sparse(sparse: &SparseTensor) -> SparseTensorProto {
    SparseTensorProto {
        values: Some(dense(&sparse.values)),
        indices: Some(dense(&sparse.indices)),
        dims: sparse.shape.iter().map(|d| *d as i64).collect(),
    }
}

/// Adds the metadata of a tensor to `tensor`.
pub(super) fn described(mut tensor: TensorProto, about: Option<&About>) -> TensorProto {
    if let Some(about) = about {
        tensor.doc_string = some(&about.doc);
        tensor.metadata_props = entries(&about.metadata);
    }
    tensor
}

/// Metadata as the format has it.
pub(super) fn entries(pairs: &[(String, String)]) -> Vec<StringStringEntryProto> {
    pairs.iter().map(|(key, value)| metadata::entry(key, value)).collect()
}

//! Tensors computed from several others: the inner nodes of the graph of weights.
//!
//! A node's inputs exist before it, so the graph has no cycles. Its shape is known at construction, and it is as
//! lazy as its inputs.

mod arithmetic;
mod concat;
mod product;
mod views;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

pub use arithmetic::{Binary, Unary};
pub(super) use arithmetic::{Operand, binary, unary};
pub(super) use concat::Span;
pub(super) use product::product;

use super::data::count;
use super::{DType, Error, LazyTensor, MAX_RANK, Source};

/// The transforms on the longest way from a result to a source.
const MAX_DEPTH: u32 = 128;

/// The largest number of tensors in a graph; one that is read twice counts twice.
const MAX_NODES: u64 = 1 << 16;

/// How several tensors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// One behind the other along an axis.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Element by element.
    Binary(Binary),
    /// The product of two matrices.
    Product,
}

/// A tensor computed from several others.
#[derive(Clone, Debug)]
pub struct Joined {
    inputs: Vec<LazyTensor>,
    operation: Operation,
    shape: Vec<u64>,
    dtype: DType,
    extent: Extent,
}

/// The size and the kind of a graph of transforms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    depth: u32,
    nodes: u64,
    /// Equal for graphs of the same transforms: making them takes buffers of alike sizes.
    pub(super) form: u64,
}

impl Joined {
    /// Returns the inputs. The operands of [`Operation::Binary`] have the rank of the result, and its sizes
    /// except for a run of last axes, along which an operand of size 1 is broadcast.
    pub fn inputs(&self) -> &[LazyTensor] {
        &self.inputs
    }

    /// Returns the operation on the inputs.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The sizes of the result.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Describes the operation: `concat along axis 0`.
    pub fn describe(&self) -> String {
        match self.operation {
            Operation::Concat { axis } => format!("concat along axis {axis}"),
            Operation::Binary(binary) => binary.name().to_owned(),
            Operation::Product => "product".to_owned(),
        }
    }

    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.inputs.iter().try_for_each(LazyTensor::check)
    }

    /// Whether both make the same of the same.
    pub(super) fn same(&self, other: &Self) -> bool {
        self.operation == other.operation
            && self.shape == other.shape
            && self.inputs.len() == other.inputs.len()
            && self.inputs.iter().zip(&other.inputs).all(|(a, b)| a.same_bytes(b))
    }

    /// The tensor; `None` when the graph is larger than anybody needs.
    fn from_inputs(operation: Operation, inputs: Vec<LazyTensor>, shape: Vec<u64>) -> Option<LazyTensor> {
        let dtype = inputs.first()?.dtype;
        let bytes = dtype.byte_len(count(&shape)?);
        if shape.len() > MAX_RANK || bytes.is_none() {
            return None;
        }
        let mut form = FxHasher::default();
        std::mem::discriminant(&operation).hash(&mut form);
        let (mut depth, mut nodes, mut last) = (0, 1u64, None);
        for input in &inputs {
            let extent = Extent::from_tensor(input);
            (depth, nodes) = (extent.depth.max(depth), nodes.saturating_add(extent.nodes));
            if last.replace(extent.form) != Some(extent.form) {
                extent.form.hash(&mut form);
            }
        }
        let extent = Extent { depth: depth + 1, nodes, form: form.finish() }.bounded()?;
        let joined = Self { inputs, operation, shape: shape.clone(), dtype, extent };
        Some(LazyTensor { dtype, shape, source: Source::Joined(Arc::new(joined)), offset: 0, strides: None })
    }
}

impl Extent {
    /// How large the graph behind `tensor` is.
    pub(super) fn from_tensor(tensor: &LazyTensor) -> Self {
        match &tensor.source {
            Source::Joined(joined) => joined.extent(),
            Source::Derived(derived) => {
                let Self { depth, nodes, form } = Self::from_tensor(&derived.input);
                let mut hash = FxHasher::default();
                (std::mem::discriminant(&derived.transform), form).hash(&mut hash);
                Self { depth: depth.saturating_add(1), nodes: nodes.saturating_add(1), form: hash.finish() }
            }
            _ => Self { depth: 0, nodes: 1, form: 0 },
        }
    }

    /// `None` when it is larger than anybody needs.
    pub(super) fn bounded(self) -> Option<Self> {
        (self.depth <= MAX_DEPTH && self.nodes <= MAX_NODES).then_some(self)
    }
}

/// Whether a tensor can be joined; the caller, which knows its role, reports the reason if not.
fn is_joinable(tensor: &LazyTensor) -> bool {
    let bits = tensor.dtype.bits();
    bits > 0 && bits.is_multiple_of(8) && tensor.shape.len() <= MAX_RANK
}

/// A tensor without elements.
fn empty(dtype: DType, shape: Vec<u64>) -> LazyTensor {
    LazyTensor::inline(dtype, shape, Vec::new())
}

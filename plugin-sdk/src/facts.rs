//! Facts about values, and the stated types of results.

use crate::abi::lowering::{TypeRecord, arg_kind};
use crate::lent::Lent;
use crate::{DType, Dim, Kind, Lower, Refusal, Res};

/// Facts about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The element type, where known.
    pub dtype: Option<DType>,
    /// The sizes, where the rank is known.
    pub shape: Option<Vec<Dim>>,
}

/// The stated type of a result of the call; always complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFact {
    /// The element type. Symbolic integers, floats and truth values are `I64`, `F64` and `Bool`.
    pub dtype: DType,
    /// The sizes; `[1]` for symbolic numbers.
    pub shape: Vec<Dim>,
    /// Whether the result is a symbolic number rather than a tensor.
    pub symbolic: bool,
}

impl ResultFact {
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether the result is complex: a value of reals with one more axis, of size 2.
    pub fn is_complex(&self) -> bool {
        self.dtype.kind() == Kind::Complex
    }

    /// The sizes of the value that stands for the result: those of a complex one end in 2.
    pub fn real_shape(&self) -> Vec<Dim> {
        let pair = self.is_complex().then_some(Dim::Const(2));
        self.shape.iter().copied().chain(pair).collect()
    }

    pub(crate) fn read(record: &TypeRecord<'_>) -> Option<Self> {
        let dims: Vec<Dim> = record.dims.lent().iter().copied().map(Dim::from_record).collect();
        let symbolic = |dtype| Self { dtype, shape: vec![Dim::Const(1)], symbolic: true };
        match record.kind {
            arg_kind::TENSOR => {
                Some(Self { dtype: DType::from_onnx(record.dtype)?, shape: dims, symbolic: false })
            }
            arg_kind::SYM_INT => Some(symbolic(DType::I64)),
            arg_kind::SYM_FLOAT => Some(symbolic(DType::F64)),
            arg_kind::SYM_BOOL => Some(symbolic(DType::Bool)),
            _ => None,
        }
    }
}

impl Fact {
    pub(crate) fn read(record: &TypeRecord<'_>) -> Self {
        let dims = || record.dims.lent().iter().copied().map(Dim::from_record).collect();
        Self { dtype: DType::from_onnx(record.dtype), shape: (record.rank >= 0).then(dims) }
    }
}

impl Lower<'_> {
    /// The number of results of the call.
    pub fn result_count(&self) -> usize {
        self.call.results.len()
    }

    /// The stated type of result `index`.
    ///
    /// # Errors
    /// When the call has no such result.
    pub fn result(&self, index: usize) -> Res<ResultFact> {
        self.call
            .results
            .lent()
            .get(index)
            .and_then(ResultFact::read)
            .ok_or_else(|| Refusal::new(format!("the call states no result {index}")))
    }

    /// Whether the program states a result `index`; a return that is `None` is not stated.
    pub fn has_result(&self, index: usize) -> bool {
        self.call.results.lent().get(index).and_then(ResultFact::read).is_some()
    }
}

//! What the host knows about values and states about results.

use crate::abi::lowering::{TypeRecord, arg_kind};
use crate::{DType, Dim, Kind, Lower, Refusal, Res, Value};

/// What is known about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The element type, where known.
    pub dtype: Option<DType>,
    /// The extents, where the rank is known.
    pub shape: Option<Vec<Dim>>,
}

/// What the program states about a result of the call: always complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFact {
    /// The element type. Symbolic integers, floats and truth values are `I64`, `F64` and `Bool`.
    pub dtype: DType,
    /// The extents; `[1]` for symbolic numbers.
    pub shape: Vec<Dim>,
    /// Whether the result is a symbolic number rather than a tensor.
    pub symbolic: bool,
}

impl ResultFact {
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether the result is complex: a value of reals with one more axis, of extent 2.
    pub fn is_complex(&self) -> bool {
        self.dtype.kind() == Kind::Complex
    }

    /// The extents of the value that stands for the result: those of a complex one end in 2.
    pub fn real_shape(&self) -> Vec<Dim> {
        let pair = self.is_complex().then_some(Dim::Const(2));
        self.shape.iter().copied().chain(pair).collect()
    }

    pub(crate) fn read(record: &TypeRecord<'_>) -> Option<Self> {
        let dims: Vec<Dim> = record.dims.iter().copied().map(Dim::from_record).collect();
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
        let dims = || record.dims.iter().copied().map(Dim::from_record).collect();
        Self { dtype: DType::from_onnx(record.dtype), shape: (record.rank >= 0).then(dims) }
    }
}

impl Lower<'_> {
    /// The number of results of the call.
    pub fn result_count(&self) -> usize {
        self.call.results.len()
    }

    /// What the program states about result `index`.
    ///
    /// # Errors
    /// When the call has no such result.
    pub fn result(&self, index: usize) -> Res<ResultFact> {
        self.call
            .results
            .get(index)
            .and_then(ResultFact::read)
            .ok_or_else(|| Refusal::new(format!("the call states no result {index}")))
    }

    /// Whether the program states a result `index`; a return that is `None` is not stated.
    pub fn has_result(&self, index: usize) -> bool {
        self.call.results.get(index).and_then(ResultFact::read).is_some()
    }

    /// The element type of `value`.
    ///
    /// # Errors
    /// When the host cannot tell.
    pub fn dtype(&self, value: Value) -> Res<DType> {
        self.fact(value).dtype.ok_or_else(|| Refusal::new("the element type of an operand is not known"))
    }

    /// The extents of `value`.
    ///
    /// # Errors
    /// When the rank is not known.
    pub fn shape(&self, value: Value) -> Res<Vec<Dim>> {
        self.fact(value).shape.ok_or_else(|| Refusal::new("the rank of an operand is not known"))
    }

    /// The number of axes of `value`.
    ///
    /// # Errors
    /// When it is not known.
    pub fn rank(&self, value: Value) -> Res<usize> {
        self.shape(value).map(|s| s.len())
    }

    /// The extent of axis `axis` of `value`; unknown when the rank is.
    pub fn dim(&self, value: Value, axis: usize) -> Dim {
        self.fact(value).shape.and_then(|s| s.get(axis).copied()).unwrap_or(Dim::Unknown)
    }

    /// The axis that `axis` means for `rank` axes: negative ones count from the end, and a scalar
    /// has one axis for this purpose, as in PyTorch.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn axis(&self, axis: i64, rank: usize) -> Res<usize> {
        let extent = rank.max(1) as i64;
        let positive = if axis < 0 { axis + extent } else { axis };
        if (0..extent).contains(&positive) {
            return Ok(positive as usize);
        }
        Err(Refusal::new(format!("dim {axis} is out of range for {rank} axes")))
    }
}

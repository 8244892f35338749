//! Tensors with their elements.

use std::ops::Deref;

use onnxport_core::ops;
use onnxport_sdk::DType;

/// A tensor with its elements, row-major: one of the evaluator's, which it dereferences to.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor(pub(crate) ops::Tensor);

impl Deref for Tensor {
    type Target = ops::Tensor;

    fn deref(&self) -> &ops::Tensor {
        &self.0
    }
}

/// The host's element type.
fn host_type(dtype: DType) -> onnxport_core::tensor::DType {
    dtype.to_string().parse().unwrap_or_else(|()| panic!("the host has no elements of type {dtype}"))
}

impl Tensor {
    /// An f32 tensor.
    ///
    /// # Panics
    /// When the number of elements is not that of the shape; so do the others.
    #[track_caller]
    pub fn f32(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = f32>) -> Self {
        Self::floats(DType::F32, shape, elements.into_iter().map(f64::from))
    }

    /// An f64 tensor.
    #[track_caller]
    pub fn f64(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = f64>) -> Self {
        Self::floats(DType::F64, shape, elements)
    }

    /// An i64 tensor.
    #[track_caller]
    pub fn i64(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = i64>) -> Self {
        Self::ints(DType::I64, shape, elements)
    }

    /// A tensor of truth values.
    #[track_caller]
    pub fn bool(shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = bool>) -> Self {
        Self::from_result(ops::Tensor::of_bools(shape.into(), elements.into_iter().collect()))
    }

    /// A tensor of the floating-point type `dtype`, which the elements are rounded to.
    #[track_caller]
    pub fn floats(
        dtype: DType,
        shape: impl Into<Vec<usize>>,
        elements: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::from_result(ops::Tensor::of_floats(
            host_type(dtype),
            shape.into(),
            elements.into_iter().collect(),
        ))
    }

    /// A tensor of the integer type `dtype`, which the elements wrap around to.
    #[track_caller]
    pub fn ints(dtype: DType, shape: impl Into<Vec<usize>>, elements: impl IntoIterator<Item = i64>) -> Self {
        let elements = elements.into_iter().map(i128::from).collect();
        Self::from_result(ops::Tensor::of_ints(host_type(dtype), shape.into(), elements))
    }

    #[track_caller]
    fn from_result(made: ops::Res<ops::Tensor>) -> Self {
        Self(made.unwrap_or_else(|error| panic!("{error}")))
    }

    /// The type in text form: `f32[2, 3]`.
    pub fn type_text(&self) -> String {
        format!("{}{:?}", self.dtype(), self.shape())
    }

    /// The elements, each as the nearest f64.
    ///
    /// # Panics
    /// When they are complex numbers or texts.
    #[track_caller]
    pub fn to_f64(&self) -> Vec<f64> {
        if let Ok(floats) = self.0.floats() {
            return floats;
        }
        if let Ok(bools) = self.bools() {
            return bools.into_iter().map(|truth| f64::from(u8::from(truth))).collect();
        }
        let ints = self.ints().unwrap_or_else(|error| panic!("{error}"));
        ints.into_iter().map(|n| n as f64).collect()
    }
}

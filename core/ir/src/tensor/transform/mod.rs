//! Transforms of the elements of a view on their way into a file.
//!
//! Transforms are data: each maps an element type and a shape to an element type and a shape, and its granule, the
//! smallest piece that can be computed on its own, is known before anything is read.

pub(super) mod cast;
mod float8;
mod foreign;
pub mod quantise;

use std::sync::Arc;

pub(super) use cast::Cast;
pub use foreign::{Foreign, Kernel};
pub use quantise::{
    Bits, Blocks, Part, Quantise, QuantisedMut, Quantiser, QuantiserGranule, Rectangle, SharedQuantiser,
};

use super::joined::{Extent, Unary};
use super::{DType, Error, LazyTensor, Source};

/// The elements of `input` after `transform`.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The input; its view is applied before the transform.
    pub input: LazyTensor,
    /// The transform of the input.
    pub transform: Transform,
}

/// A transform.
#[derive(Clone, Debug, PartialEq)]
pub enum Transform {
    /// To another type of element, rounded to the nearest value, ties to even, as ONNX's `Cast` with
    /// `saturate = 1` does. A cast between integers, or of integers to floats, must be exact.
    Cast(DType),
    /// By an operator on each element, which keeps the type.
    Unary(Unary),
    /// To a part of a quantised form.
    Quantise(Quantise),
    /// A plugin's transform.
    Foreign(Foreign),
}

/// The smallest piece of a result that can be made on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granule {
    /// An element.
    Element,
    /// A block of this many elements of the input.
    Block(u64),
    /// The elements along the last axis.
    Row,
    /// Everything.
    Whole,
}

impl Transform {
    /// The type and the sizes of the result; `None` when the transform does not take the input.
    pub fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        match self {
            Transform::Cast(to) => Cast::between(dtype, *to).map(|_| (*to, shape.to_vec())),
            Transform::Unary(unary) => unary.takes(dtype).then(|| (dtype, shape.to_vec())),
            Transform::Quantise(quantise) => quantise.output(dtype, shape),
            Transform::Foreign(foreign) => foreign.output(dtype, shape),
        }
    }

    /// The smallest piece that can be made on its own.
    pub fn granule(&self, shape: &[u64]) -> Granule {
        match self {
            Transform::Cast(_) | Transform::Unary(_) => Granule::Element,
            Transform::Quantise(quantise) => quantise.granule(shape),
            Transform::Foreign(foreign) => foreign.granule(),
        }
    }

    /// Whether each element of the result depends only on the element at the same index.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Transform::Cast(_) | Transform::Unary(_))
    }

    /// Describes the transform: `cast f16`.
    pub fn describe(&self) -> String {
        match self {
            Transform::Cast(to) => format!("cast {to}"),
            Transform::Unary(unary) => unary.name().to_owned(),
            Transform::Quantise(quantise) => quantise.describe(),
            Transform::Foreign(foreign) => foreign.describe(),
        }
    }
}

impl Derived {
    /// The type and the sizes of the result.
    pub fn output(&self) -> Option<(DType, Vec<u64>)> {
        self.transform.output(self.input.dtype, &self.input.shape)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if !self.input.dtype.bits().is_multiple_of(8) || self.output().is_none() {
            return Err(Error::View("a transform does not take its type of element"));
        }
        self.input.check()
    }
}

impl LazyTensor {
    /// This tensor after `transform`; `None` when the transform does not take it, or the graph of
    /// transforms becomes too large.
    pub fn then(&self, transform: Transform) -> Option<Self> {
        if !self.dtype.bits().is_multiple_of(8) {
            return None;
        }
        let (dtype, shape) = transform.output(self.dtype, &self.shape)?;
        let source = Source::Derived(Arc::new(Derived { input: self.clone(), transform }));
        let made = Self { dtype, shape, source, offset: 0, strides: None };
        Extent::from_tensor(&made).bounded().map(|_| made)
    }

    /// The tensor that the first transform takes, and the transforms, first to last. A tensor that is made
    /// of several others is the first.
    pub fn transforms(&self) -> (&Self, Vec<&Transform>) {
        let (mut base, mut all) = (self, Vec::new());
        while let Source::Derived(derived) = &base.source {
            all.push(&derived.transform);
            base = &derived.input;
        }
        all.reverse();
        (base, all)
    }
}

//! Initializers that are made of others when the model is written.

use std::ops::{Add, Div, Mul, Neg, Range, Sub};

use onnxport_abi::RSlice;

use super::ValueRef;
use crate::abi::graph::{Derivation, NOTHING, derive};
use crate::abi::status;
use crate::{DType, Refusal, Res};

/// A formula over initializers, which is computed in pieces when the model is written.
///
/// Nothing is read or computed before the model is written, and then piece by piece. Each operation rounds once, as
/// ONNX's operator of its name does; cast to f64 first and back in the end to round a formula once. Errors are
/// deferred: [`Weight::value`] returns them.
///
/// ```ignore
/// let scale = (gamma / (variance + epsilon).sqrt()).reshape(&[channels, 1, 1, 1]);
/// let folded = (weight * scale).value()?;
/// let packed = Weight::concat(&[q, k, v], 0).value()?;
/// ```
#[derive(Clone, Debug)]
pub struct Weight<'h>(Res<ValueRef<'h>>);

impl<'h> ValueRef<'h> {
    /// The initializer as a part of a formula.
    pub fn weight(self) -> Weight<'h> {
        Weight(Ok(self))
    }
}

impl<'h> Weight<'h> {
    /// The initializer that the formula comes to.
    ///
    /// # Errors
    /// If an operand is not an initializer, its type or shape does not fit, or the host has no such formulas.
    pub fn value(self) -> Res<ValueRef<'h>> {
        self.0
    }

    /// `parts` one behind the other along `axis`.
    #[must_use]
    pub fn concat(parts: &[Self], axis: u32) -> Self {
        Self::make(derive::CONCAT, "concatenated", parts, &[axis.into()], 0.0)
    }

    /// The square root.
    #[must_use]
    pub fn sqrt(&self) -> Self {
        self.then(derive::SQRT, "a square root", &[])
    }

    /// One divided by it.
    #[must_use]
    pub fn reciprocal(&self) -> Self {
        self.then(derive::RECIPROCAL, "inverted", &[])
    }

    /// In another type of element, rounded to the nearest value.
    #[must_use]
    pub fn cast(&self, dtype: DType) -> Self {
        self.then(derive::CAST, "cast", &[dtype.onnx().into()])
    }

    /// With its axes in the order `axes`.
    #[must_use]
    pub fn permute(&self, axes: &[u32]) -> Self {
        self.then(
            derive::TRANSPOSE,
            "permuted",
            &axes.iter().map(|axis| i64::from(*axis)).collect::<Vec<_>>(),
        )
    }

    /// The same elements in the same order, in another shape.
    #[must_use]
    pub fn reshape(&self, extents: &[u64]) -> Self {
        self.extents(derive::RESHAPE, "reshaped", extents)
    }

    /// Repeated along axes of size 1 and new leading ones.
    #[must_use]
    pub fn expand(&self, extents: &[u64]) -> Self {
        self.extents(derive::EXPAND, "expanded", extents)
    }

    /// The places `range` along `axis`.
    #[must_use]
    pub fn slice(&self, axis: u32, range: Range<u64>) -> Self {
        self.extents(derive::SLICE, "cut", &[axis.into(), range.start, range.end, 1])
    }

    /// The sums along `axes`, which go: of a row for each channel, say. Each may have 65,536 elements.
    #[must_use]
    pub fn sum(&self, axes: &[u32]) -> Self {
        self.then(derive::SUM, "summed", &axes.iter().map(|axis| i64::from(*axis)).collect::<Vec<_>>())
    }

    fn extents(&self, operation: u32, what: &str, extents: &[u64]) -> Self {
        match extents.iter().map(|extent| i64::try_from(*extent)).collect::<Result<Vec<_>, _>>() {
            Ok(extents) => self.then(operation, what, &extents),
            Err(_) => Self(Err(Refusal::new("a size of a weight is too large"))),
        }
    }

    /// A scalar of its type.
    fn fill(&self, number: f64) -> Self {
        Self::make(derive::FILL, "compared with a number", std::slice::from_ref(self), &[], number)
    }

    fn then(&self, operation: u32, what: &str, parameters: &[i64]) -> Self {
        Self::make(operation, what, std::slice::from_ref(self), parameters, 0.0)
    }

    fn make(operation: u32, what: &str, inputs: &[Self], parameters: &[i64], number: f64) -> Self {
        let values: Res<Vec<ValueRef<'h>>> = inputs.iter().map(|input| input.0.clone()).collect();
        let values = match values {
            Ok(values) => values,
            Err(refusal) => return Self(Err(refusal)),
        };
        let Some(graph) = values.first().map(|value| value.graph) else {
            return Self(Err(Refusal::new("nothing makes no weight")));
        };
        let ids: Vec<u64> = values.iter().map(|value| value.id).collect();
        let derivation = Derivation {
            operation,
            inputs: RSlice::from_slice(&ids),
            parameters: RSlice::from_slice(parameters),
            number,
        };
        let mut out = NOTHING;
        Self(match (graph.host().derive)(graph.cx(), &derivation, &mut out) {
            status::OK => Ok(graph.value(out)),
            status::REFUSED => {
                let known = values.iter().filter_map(|value| value.initializer());
                let types: Vec<String> = known.map(|own| format!("{}{:?}", own.dtype, own.shape)).collect();
                Err(Refusal::new(format!("{} cannot be {what}", types.join(" and "))))
            }
            _ => Err(Refusal::new("only initializers become weights, and not in a read-only graph")),
        })
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident: $operation:ident, $what:literal;)*) => {
        $(
            impl<'h> $trait<&Weight<'h>> for &Weight<'h> {
                type Output = Weight<'h>;

                fn $method(self, other: &Weight<'h>) -> Weight<'h> {
                    Weight::make(derive::$operation, $what, &[self.clone(), other.clone()], &[], 0.0)
                }
            }

            impl<'h> $trait for Weight<'h> {
                type Output = Weight<'h>;

                fn $method(self, other: Weight<'h>) -> Weight<'h> {
                    (&self).$method(&other)
                }
            }

            impl<'h> $trait<&Weight<'h>> for Weight<'h> {
                type Output = Weight<'h>;

                fn $method(self, other: &Weight<'h>) -> Weight<'h> {
                    (&self).$method(other)
                }
            }

            impl<'h> $trait<Weight<'h>> for &Weight<'h> {
                type Output = Weight<'h>;

                fn $method(self, other: Weight<'h>) -> Weight<'h> {
                    self.$method(&other)
                }
            }

            /// The number has the type of the weight.
            impl<'h> $trait<f64> for &Weight<'h> {
                type Output = Weight<'h>;

                fn $method(self, number: f64) -> Weight<'h> {
                    self.$method(self.fill(number))
                }
            }

            /// The number has the type of the weight.
            impl<'h> $trait<f64> for Weight<'h> {
                type Output = Weight<'h>;

                fn $method(self, number: f64) -> Weight<'h> {
                    (&self).$method(number)
                }
            }
        )*
    };
}

operators! {
    Add, add: ADD, "added";
    Sub, sub: SUB, "subtracted";
    Mul, mul: MUL, "multiplied";
    Div, div: DIV, "divided";
}

impl<'h> Neg for &Weight<'h> {
    type Output = Weight<'h>;

    fn neg(self) -> Weight<'h> {
        self.then(derive::NEG, "negated", &[])
    }
}

impl<'h> Neg for Weight<'h> {
    type Output = Weight<'h>;

    fn neg(self) -> Weight<'h> {
        -&self
    }
}

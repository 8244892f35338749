//! Tolerances: bounds on the difference from an expected value.

use schemars::JsonSchema;
use serde::Serialize;

use crate::tensor::DType;

/// The bounds of the factor of the absolute tolerance. The lower one keeps small outputs from being judged by a
/// tolerance as large as they are.
pub(super) const SCALE: (f64, f64) = (1e-2, 1e3);

/// How far a value may be from the expected one: `|got - expected| <= atol + rtol * |expected|`.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Tolerance {
    /// The relative part.
    pub rtol: f64,
    /// The absolute part.
    pub atol: f64,
}

impl Tolerance {
    /// No difference at all.
    pub const EXACT: Self = Self { rtol: 0.0, atol: 0.0 };

    /// Returns the tolerance for an element type.
    ///
    /// `torch.testing.assert_close` allows (1.3e-6, 1e-5) for `f32`, (1e-7, 1e-7) for `f64`, (1e-3, 1e-5)
    /// for `f16` and (1.6e-2, 1e-5) for `bf16`, which suits one operator. A whole model sums in other
    /// orders than PyTorch's kernels in every layer, so these tolerances are about a thousand times larger
    /// for `f32`, and ten times for the others. Integers, truth values and floats of eight bits and less
    /// must be equal.
    pub fn of(dtype: DType) -> Self {
        match dtype {
            DType::F64 | DType::C128 => Self { rtol: 1e-6, atol: 1e-7 },
            DType::F32 | DType::C64 => Self { rtol: 1e-3, atol: 1e-4 },
            DType::F16 => Self { rtol: 1e-2, atol: 1e-2 },
            DType::BF16 => Self { rtol: 4e-2, atol: 4e-2 },
            _ => Self::EXACT,
        }
    }

    /// The tolerance for a tensor whose largest finite expected magnitude is `largest`.
    pub(super) fn scaled(self, largest: f64) -> Self {
        Self { atol: self.atol * Self::factor(largest), ..self }
    }

    /// The wider of two tolerances: the larger of each part.
    pub(crate) fn or_wider(self, other: Self) -> Self {
        Self { rtol: self.rtol.max(other.rtol), atol: self.atol.max(other.atol) }
    }

    /// The factor of the absolute tolerance for a tensor whose largest finite expected magnitude is `largest`.
    pub(crate) fn factor(largest: f64) -> f64 {
        largest.clamp(SCALE.0, SCALE.1)
    }
}

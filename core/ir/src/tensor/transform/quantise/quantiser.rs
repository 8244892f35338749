//! Quantizers, which replace rounding to nearest in the choice of scales, zero points and codes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::super::super::{DType, Error};
use super::nearest::round_scale;
use super::{Bits, Quantise};
use crate::diagnose::{Code, Diagnostic};

/// A quantization scheme. The host cuts the weight into blocks and stores the result, in every layout; the scheme
/// quantizes the blocks.
pub trait Quantiser: Send + Sync {
    /// The name, for display.
    fn name(&self) -> &str;

    /// The plugin that it comes from.
    fn provider(&self) -> Option<&str> {
        None
    }

    /// The part of a weight that it quantizes at once.
    fn granule(&self) -> QuantiserGranule;

    /// Chooses for the rectangle `at` of the weight, whose values are `values` `[rows, columns]`. Called
    /// from several threads, and more than once for the same rectangle, for codes and for scales: the
    /// outcome depends on nothing else.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn quantise(&self, at: &Rectangle, values: &[f32], made: &mut QuantisedMut<'_>) -> Result<(), Error>;
}

/// The part of a weight that a [`Quantiser`] needs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantiserGranule {
    /// A block: its rectangles are whole blocks.
    Block,
    /// All blocks of a row: its rectangles are whole rows.
    Row,
}

/// A part of a weight, seen as a matrix whose rows are cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// The rows.
    pub rows: Range<u64>,
    /// The columns, which start at a block and end at one or at the end of the rows.
    pub columns: Range<u64>,
    /// Columns of a block; the last one of a row may be short.
    pub block: u64,
    /// Bits of a code.
    pub bits: Bits,
    /// Whether all zero points must be 0.
    pub symmetric: bool,
    /// The type of the weight, and of the scales.
    pub dtype: DType,
}

/// The output of a [`Quantiser`].
#[derive(Debug)]
pub struct QuantisedMut<'a> {
    /// Finite numbers above 0 that the type of the weight has: `[rows, blocks]`.
    pub scales: &'a mut [f32],
    /// `[rows, blocks]`.
    pub zeros: &'a mut [i32],
    /// `[rows, columns]`. Symmetric ones are signed, others are not.
    pub codes: &'a mut [i32],
}

/// A [`Quantiser`] that the parts of a quantised form share.
#[derive(Clone)]
pub struct SharedQuantiser(Arc<dyn Quantiser>);

impl SharedQuantiser {
    /// Shares `quantiser`.
    pub fn new(quantiser: impl Quantiser + 'static) -> Self {
        Self(Arc::new(quantiser))
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the part of a weight that it quantizes at once.
    pub fn granule(&self) -> QuantiserGranule {
        self.0.granule()
    }

    /// Quantizes `values`, and checks the result.
    ///
    /// # Errors
    /// The quantizer's reason; `OP801` if its result cannot be stored.
    pub fn quantise(&self, at: &Rectangle, values: &[f32], made: &mut QuantisedMut<'_>) -> Result<(), Error> {
        self.0.quantise(at, values, made)?;
        let wrong = |what: String| {
            let message = format!("`{}` chose {what}", self.name());
            let mut problem = Diagnostic::error(Code::PLUGIN_CONTRACT, message);
            problem.provider = self.0.provider().map(str::to_owned);
            Err(Error::Plugin(Box::new(problem)))
        };
        let stored = |scale: &&f32| {
            let is_signed = at.symmetric && at.bits == Bits::Four && **scale != 0.0;
            let is_rounded = round_scale(at.dtype, **scale).to_bits() == scale.to_bits();
            scale.is_finite() && (is_signed || **scale > 0.0) && is_rounded
        };
        if let Some(scale) = made.scales.iter().find(|scale| !stored(scale)) {
            return wrong(format!("the scale {scale}, which is not a positive number of type {}", at.dtype));
        }
        let codes = at.bits.codes(at.symmetric);
        let zeros = if at.symmetric { 0..=0 } else { codes.clone() };
        if let Some(zero) = made.zeros.iter().find(|zero| !zeros.contains(zero)) {
            return wrong(format!("the zero point {zero}, which is not in {zeros:?}"));
        }
        if let Some(code) = made.codes.iter().find(|code| !codes.contains(code)) {
            return wrong(format!("the code {code}, which is not in {codes:?}"));
        }
        Ok(())
    }
}

impl PartialEq for SharedQuantiser {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for SharedQuantiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedQuantiser({})", self.name())
    }
}

impl Quantise {
    /// The columns of whole blocks, or of the whole row of `extent`, that `columns` lie in.
    pub(super) fn seen(&self, columns: &Range<u64>, size: u64, extent: u64) -> Range<u64> {
        match &self.quantiser {
            Some(quantiser) if quantiser.granule() == QuantiserGranule::Row => 0..extent,
            _ => columns.start / size * size..columns.end.next_multiple_of(size).min(extent),
        }
    }
}

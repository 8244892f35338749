//! Weights as integers with a scale per block: `w ≈ (code - zero point) * scale`.
//!
//! Round to nearest, unless a [`Quantiser`] chooses. Symmetric: `scale = max |w| / (2^(bits-1) - 1)`, codes are signed and the zero
//! point is 0. Asymmetric: the range from the smallest to the largest value, 0 included, is cut into
//! `2^bits - 1` steps; codes and zero points are unsigned. Scales have the type of the weights, and
//! codes are made with the scales as they are stored. A block of zeros has the scale 1.

//!
//! A weight is treated as a matrix: the axis of the blocks is the columns, and each combination of the other
//! indices is a row. Its rectangles are read in the order of the source, quantized row by row, and stored at their
//! positions in the part, so that a piece of the result takes bounded memory in every layout.

mod blocks;
mod geometry;
mod matrix;
mod nearest;
mod pack;
mod quantiser;

use std::ops::{Range, RangeInclusive};

use super::super::{DType, Error, LazyTensor};
use super::Granule;
use blocks::Maker;
pub(in crate::tensor) use blocks::{Carry, tile};
pub(in crate::tensor) use matrix::Read;
pub(in crate::tensor) use pack::pack;
pub use quantiser::{QuantisedMut, Quantiser, QuantiserGranule, Rectangle, SharedQuantiser};

/// The most elements that are looked at together for the sake of longer runs.
const SLAB: u64 = 4 << 20;

/// Bits of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bits {
    /// Two codes a byte.
    Four,
    /// A code a byte.
    Eight,
}

impl Bits {
    /// The number.
    pub fn count(self) -> u32 {
        match self {
            Bits::Four => 4,
            Bits::Eight => 8,
        }
    }

    /// The codes that there are.
    pub fn codes(self, symmetric: bool) -> RangeInclusive<i32> {
        let half = 1 << (self.count() - 1);
        if symmetric { -half..=half - 1 } else { 0..=2 * half - 1 }
    }
}

/// How the elements of a weight share scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// The axis that is cut into blocks.
    pub axis: usize,
    /// Elements of a block along the axis; the last block may be short.
    pub size: u64,
}

/// A part of the quantised form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The codes in the shape of the weight, as `DequantizeLinear` takes them.
    Codes,
    /// The scales in the shape of the weight, with the axis as long as there are blocks.
    Scales,
    /// The zero points in the same shape.
    ZeroPoints,
    /// The bytes of [`Part::Codes`]: u8, the last axis as long as there are bytes, which must be whole.
    CodeBytes,
    /// The bytes of [`Part::ZeroPoints`], in the same way.
    ZeroPointBytes,
    /// The codes of a weight `[N, K]` as `com.microsoft::MatMulNBits` takes them: unsigned, u8
    /// `[N, blocks, bytes of a block]`, low nibble first, short blocks filled up with the zero point.
    MatMulCodes,
    /// The zero points as it takes them: u8 `[N, bytes of the row's codes]`, low nibble first.
    MatMulZeroPoints,
}

/// A part of the quantised form of a weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantise {
    /// Bits of a code.
    pub bits: Bits,
    /// Whether the zero point is always 0.
    pub symmetric: bool,
    /// The elements that share a scale.
    pub blocks: Blocks,
    /// The part.
    pub part: Part,
    /// The quantizer that chooses scales, zero points and codes; round to nearest if there is none.
    pub quantiser: Option<SharedQuantiser>,
}

/// The shape of a weight around the axis of its blocks: `[outer, extent, inner]`.
#[derive(Clone, Copy, Debug)]
struct Layout {
    outer: u64,
    /// Elements along the axis.
    extent: u64,
    /// The number of elements between consecutive positions along the axis.
    inner: u64,
    /// Elements of a block along the axis.
    size: u64,
    /// Blocks along the axis.
    count: u64,
}

impl Layout {
    /// The elements of blocks side by side that are looked at together in a weight that is read in its
    /// own order only, in runs as long as they are.
    fn slab(&self) -> u64 {
        self.size.saturating_mul(self.inner).min(SLAB)
    }

    /// The columns of blocks `blocks`.
    fn columns(&self, blocks: &Range<u64>) -> Range<u64> {
        blocks.start * self.size..self.extent.min(blocks.end * self.size)
    }

    /// The blocks that have some of `columns`.
    fn blocks(&self, columns: &Range<u64>) -> Range<u64> {
        columns.start / self.size..columns.end.div_ceil(self.size)
    }
}

impl Quantise {
    /// The type of the codes of [`Part::Codes`], and of the zero points.
    pub fn code_type(&self) -> DType {
        match (self.bits, self.symmetric) {
            (Bits::Four, true) => DType::I4,
            (Bits::Four, false) => DType::U4,
            (Bits::Eight, true) => DType::I8,
            (Bits::Eight, false) => DType::U8,
        }
    }

    pub(super) fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        if !matches!(dtype, DType::F32 | DType::F16 | DType::BF16) {
            return None;
        }
        let layout = self.layout(shape)?;
        let mut blocks = shape.to_vec();
        *blocks.get_mut(self.blocks.axis)? = layout.count;
        let bits = u64::from(self.bits.count());
        let row_wise = || match shape {
            [rows, _] if self.blocks.axis == 1 => {
                self.blocks.size.checked_mul(bits).filter(|all| all.is_multiple_of(8)).map(|_| *rows)
            }
            _ => None,
        };
        let bytes = |mut shape: Vec<u64>| {
            let last = shape.last_mut()?;
            let all = last.checked_mul(bits).filter(|all| all.is_multiple_of(8))?;
            *last = all / 8;
            Some(shape)
        };
        Some(match self.part {
            Part::Codes => (self.code_type(), shape.to_vec()),
            Part::Scales => (dtype, blocks),
            Part::ZeroPoints => (self.code_type(), blocks),
            Part::CodeBytes => (DType::U8, bytes(shape.to_vec())?),
            Part::ZeroPointBytes => (DType::U8, bytes(blocks)?),
            Part::MatMulCodes => {
                (DType::U8, vec![row_wise()?, layout.count, self.blocks.size.checked_mul(bits)? / 8])
            }
            Part::MatMulZeroPoints => {
                (DType::U8, vec![row_wise()?, layout.count.checked_mul(bits)?.div_ceil(8)])
            }
        })
    }

    pub(super) fn granule(&self, shape: &[u64]) -> Granule {
        match self.part {
            Part::MatMulZeroPoints => Granule::Row,
            _ => Granule::Block(self.layout(shape).map_or(1, |l| l.inner.saturating_mul(l.size))),
        }
    }

    /// About the bytes that making `elements` of the part of `input` takes besides them, when about `tile`
    /// elements of the weight are looked at together.
    pub(in crate::tensor) fn memory(&self, input: &LazyTensor, elements: u64, tile: u64) -> u64 {
        let Some(layout) = self.layout(&input.shape) else { return u64::MAX };
        let Layout { extent, inner, size, .. } = layout;
        let unit = u64::from(input.dtype.bits() / 8);
        let per_byte = u64::from(8 / self.bits.count());
        let needed = elements.saturating_mul(match self.part {
            Part::Codes => 1,
            Part::CodeBytes | Part::MatMulCodes => per_byte,
            Part::Scales | Part::ZeroPoints => size,
            Part::ZeroPointBytes | Part::MatMulZeroPoints => size.saturating_mul(per_byte),
        });
        // Codes are made one by one before they are put together.
        let apart = match self.part {
            Part::CodeBytes | Part::ZeroPointBytes => elements.saturating_mul(per_byte),
            _ => 0,
        };
        let (together, chosen) = match self.quantiser.as_ref().map(SharedQuantiser::granule) {
            Some(QuantiserGranule::Row) => (extent, 4),
            Some(QuantiserGranule::Block) => (size, 4),
            // In the table, every block is as long as the others.
            None if self.part == Part::MatMulCodes => (self.blocks.size, 0),
            None => (1, 0),
        };
        let slab = if input.is_open() { 0 } else { layout.slab() };
        // The steps of blocks side by side are found together, however few of their codes are wanted.
        let looked_at = tile.min(needed.max(size.saturating_mul(inner))).max(together).max(slab);
        // Values as bytes and as f32, and codes; steps; and the steps of a slab.
        looked_at
            .saturating_mul(unit + 4 + 1 + chosen)
            .saturating_add((looked_at / size).saturating_mul(16))
            .saturating_add(inner.saturating_mul(16))
            .saturating_add(apart)
    }

    /// How many elements of the part make whole rectangles of the weight: pieces of as many are made
    /// without looking at anything twice.
    pub(in crate::tensor) fn preferred(&self, shape: &[u64]) -> u64 {
        let Some(Layout { extent, inner, size, count, .. }) = self.layout(shape) else { return 1 };
        let bits = u64::from(self.bits.count());
        let bytes = self.blocks.size.saturating_mul(bits) / 8;
        let of_codes = |codes: u64| (codes.saturating_mul(bits) / 8).max(1);
        match self.part {
            Part::Codes if inner == 1 => extent,
            Part::Codes => size.saturating_mul(inner),
            Part::CodeBytes if inner == 1 => of_codes(extent),
            Part::CodeBytes => of_codes(size.saturating_mul(inner)),
            Part::Scales | Part::ZeroPoints if inner == 1 => count,
            Part::Scales | Part::ZeroPoints => inner,
            Part::ZeroPointBytes if inner == 1 => of_codes(count),
            Part::ZeroPointBytes => of_codes(inner),
            Part::MatMulCodes => count.saturating_mul(bytes),
            Part::MatMulZeroPoints => 1,
        }
    }

    pub(super) fn describe(&self) -> String {
        let kind = if self.symmetric { "symmetric" } else { "asymmetric" };
        let part = match self.part {
            Part::Codes | Part::CodeBytes | Part::MatMulCodes => "codes",
            Part::Scales => "scales",
            Part::ZeroPoints | Part::ZeroPointBytes | Part::MatMulZeroPoints => "zero points",
        };
        let Blocks { axis, size } = self.blocks;
        let bits = self.bits.count();
        let form = format!("{part} of int{bits}, {kind}, blocks of {size} along axis {axis}");
        match &self.quantiser {
            Some(quantiser) => format!("{form}, by {}", quantiser.name()),
            None => form,
        }
    }

    /// Makes bytes `range` of codes, which `make` makes one by one.
    fn bytes(
        &self,
        range: Range<u64>,
        out: &mut [u8],
        make: impl FnOnce(Range<u64>, &mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let per_byte = u64::from(8 / self.bits.count());
        let mut codes = vec![0; out.len() * per_byte as usize];
        make(range.start * per_byte..range.end * per_byte, &mut codes)?;
        pack(self.bits.count(), &mut codes);
        out.copy_from_slice(&codes);
        Ok(())
    }

    fn layout(&self, shape: &[u64]) -> Option<Layout> {
        let Blocks { axis, size } = self.blocks;
        let extent = *shape.get(axis)?;
        let product = |dims: &[u64]| dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let (outer, inner) = (product(shape.get(..axis)?)?, product(shape.get(axis + 1..)?)?);
        (size > 0 && extent > 0).then(|| Layout {
            outer,
            extent,
            inner,
            size: size.min(extent),
            count: extent.div_ceil(size),
        })
    }

    /// Makes elements `range` of the part, one byte each where they are packed later, from the weight
    /// `input`. About `tile` elements are looked at together.
    pub(in crate::tensor) fn evaluate(
        &self,
        input: &LazyTensor,
        range: Range<u64>,
        read: &mut Read<'_>,
        (kept, tile): (&mut Carry, u64),
        out: &mut [u8],
    ) -> Result<(), Error> {
        let layout = self.layout(&input.shape).ok_or(Error::View("it cannot be cut into blocks"))?;
        let mut maker = Maker::new(self, input, layout, read, (tile, std::mem::take(&mut kept.buffers)));
        match self.part {
            Part::Codes => maker.codes(range, kept, out),
            Part::Scales => {
                let size = (input.dtype.bits() / 8) as usize;
                maker.steps(range, &mut |at, step| {
                    if let Some(place) = out.get_mut(at * size..(at + 1) * size) {
                        nearest::put_scale(input.dtype, step.scale, place);
                    }
                })
            }
            Part::ZeroPoints => maker.zero_points(range, out),
            Part::CodeBytes => self.bytes(range, out, |range, codes| maker.codes(range, kept, codes)),
            Part::ZeroPointBytes => self.bytes(range, out, |range, zeros| maker.zero_points(range, zeros)),
            Part::MatMulCodes => maker.matmul_codes(range, out),
            Part::MatMulZeroPoints => maker.matmul_zero_points(range, out),
        }?;
        kept.buffers = maker.into_buffers();
        Ok(())
    }
}

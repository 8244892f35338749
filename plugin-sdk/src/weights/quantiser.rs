//! Schemes of an author for weights as integers with scales: `weight ≈ (code - zero) * scale`.
//!
//! The author chooses scales, zero points and codes. Blocks, layouts, packing and the graph are the host's.
//!
//! ```ignore
//! impl Quantiser for Mine {
//!     fn name(&self) -> &str {
//!         "mine"
//!     }
//!
//!     fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure> {
//!         for mut block in row.blocks(part) {
//!             let step = part.nearest(block.values);
//!             block.put(part, Step { scale: part.round(step.scale * 0.9), ..step });
//!         }
//!         Ok(())
//!     }
//! }
//! ```

use crate::lent::Lent;
use std::ops::{Range, RangeInclusive};

use half::{bf16, f16};
use onnxport_abi::DType;
use onnxport_abi::weights::{QuantiserEntry, RectangleRecord, quantiser_granule};
use onnxport_abi::{RSliceMut, RStr};

use crate::executor::Failure;

/// Added to a small number, it rounds to the nearest integer, ties to even, because the floats around it are
/// integers. The lowest bits are that integer. Unlike a call of `round_ties_even`, compilers make vectors of it.
const ROUNDS: f32 = 12_582_912.0;

/// The values that a quantizer needs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantiserGranule {
    /// The weights of a block, which share a scale.
    Block,
    /// All blocks of a row: the weights of an output.
    Row,
}

/// A scheme that chooses scales, zero points and codes.
pub trait Quantiser: Send + Sync {
    /// The name; unique in the plugin.
    fn name(&self) -> &str;

    /// A description of one line.
    #[expect(clippy::unnecessary_literal_bound, reason = "others may hold theirs")]
    fn doc(&self) -> &str {
        ""
    }

    /// The values that it needs at once. Unless it is a row, a [`Row`] may be a part of one: some of its blocks.
    fn granule(&self) -> QuantiserGranule {
        QuantiserGranule::Block
    }

    /// Quantizes `row` of `part`: fills its scales, zeros and codes, which are initially 0. The host writes these
    /// values, and refuses any that [`Part::codes`] and [`Part::round`] do not allow.
    ///
    /// A granule gets the same answer in every call, on every thread and in every process, whatever else
    /// `part` holds: scales and codes are written from answers to different calls.
    fn quantise(&self, part: &Part<'_>, row: Row<'_>) -> Result<(), Failure>;
}

/// A part of a weight, which is seen as a matrix: a row per output, and along it the weights that a sum runs
/// over, cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The name of the weight, as the program has it.
    pub weight: &'a str,
    /// The type of the weight and of its scales: f32, f16 or bf16.
    pub dtype: DType,
    /// Bits of a code: 4 or 8.
    pub bits: u32,
    /// Whether every zero point is 0.
    pub symmetric: bool,
    /// Weights of a block; the last block of a row may have fewer.
    pub block: u64,
    /// Rows and columns of the whole matrix.
    pub shape: [u64; 2],
    /// The rows of the part.
    pub rows: Range<u64>,
    /// Its columns: whole blocks.
    pub columns: Range<u64>,
}

/// The scale and the zero point of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The factor of a code.
    pub scale: f32,
    /// The zero point, which is subtracted from a code first.
    pub zero: i32,
}

/// A row of a [`Part`]: its values, and the buffers for their quantized form.
#[derive(Debug)]
pub struct Row<'a> {
    /// Its number in the whole matrix.
    pub index: u64,
    /// The weights in [`Part::columns`], all finite.
    pub values: &'a [f32],
    /// A scale per block.
    pub scales: &'a mut [f32],
    /// A zero point per block.
    pub zeros: &'a mut [i32],
    /// A code per weight.
    pub codes: &'a mut [i32],
}

/// A block of a [`Row`].
#[derive(Debug)]
pub struct Block<'a> {
    /// The weights.
    pub values: &'a [f32],
    /// Their scale.
    pub scale: &'a mut f32,
    /// Their zero point.
    pub zero: &'a mut i32,
    /// A code per weight.
    pub codes: &'a mut [i32],
}

impl Part<'_> {
    /// The codes that there are, which are also the zero points where these are not all 0.
    pub fn codes(&self) -> RangeInclusive<i32> {
        if self.symmetric {
            let top = 1 << (self.bits - 1);
            -top..=top - 1
        } else {
            0..=(1 << self.bits) - 1
        }
    }

    /// The nearest number of the type of the weight. Scales must be such numbers, finite and not 0, and positive
    /// but for symmetric codes of 4 bits.
    pub fn round(&self, value: f32) -> f32 {
        match self.dtype {
            DType::F16 => f16::from_f32(value).to_f32(),
            DType::BF16 => bf16::from_f32(value).to_f32(),
            _ => value,
        }
    }

    /// The host's own step for `values`: the one that reaches the largest of them.
    pub fn nearest(&self, values: &[f32]) -> Step {
        let (low, high) = bounds(values);
        self.step(low, high)
    }

    /// The step that reaches from `low`, at most 0, to `high`, at least 0. Symmetric: as far as the larger magnitude in both
    /// directions with 8 bits; with 4 bits the value of the larger magnitude has the code -8, and a negative scale where it
    /// is positive.
    pub fn step(&self, low: f32, high: f32) -> Step {
        let (low, high) = (f64::from(low), f64::from(high));
        let codes = self.codes();
        let levels = f64::from(*codes.end());
        let width = match (self.symmetric, self.bits) {
            (true, 4) => (if high > -low { high } else { low }) * levels / f64::from(*codes.start()),
            (true, _) => high.max(-low),
            (false, _) => high - low,
        };
        let scale = self.round((width / levels) as f32);
        let scale = if scale == 0.0 { 1.0 } else { scale };
        let zero = if self.symmetric { 0.0 } else { (-low / f64::from(scale)).round_ties_even() };
        Step { scale, zero: zero.clamp(0.0, levels) as i32 }
    }

    /// The code that is nearest to `value`.
    pub fn code(&self, value: f32, step: Step) -> i32 {
        let (low, high) = self.codes().into_inner();
        // Values further out get the last code in any case.
        let quotient = (value / step.scale).clamp(-1024.0, 1024.0);
        let code = (quotient + ROUNDS).to_bits() as i32 - ROUNDS.to_bits() as i32;
        (code + step.zero.clamp(low, high)).clamp(low, high)
    }

    /// The weight that `code` stands for.
    pub fn value(&self, code: i32, step: Step) -> f32 {
        self.round((code - step.zero) as f32 * step.scale)
    }

    /// The sum of the squared errors of rounding `values` to the nearest codes.
    pub fn squared_error(&self, values: &[f32], step: Step) -> f64 {
        if self.dtype == DType::F32 {
            self.squares(values, step, |value| value)
        } else {
            self.squares(values, step, |value| self.round(value))
        }
    }

    /// Sums side by side, so that compilers make vectors of them.
    fn squares(&self, values: &[f32], step: Step, round: impl Fn(f32) -> f32) -> f64 {
        let mut sums = [0.0; 8];
        for values in values.chunks(sums.len()) {
            for (sum, value) in sums.iter_mut().zip(values) {
                let code = self.code(*value, step);
                let error = f64::from(round((code - step.zero) as f32 * step.scale) - value);
                *sum += error * error;
            }
        }
        sums.iter().sum()
    }
}

/// The smallest and the largest of `values` and 0.
pub fn bounds(values: &[f32]) -> (f32, f32) {
    values.iter().fold((0.0, 0.0), |(low, high), value| (value.min(low), value.max(high)))
}

impl<'a> Row<'a> {
    /// The blocks of this row of `part`.
    pub fn blocks(self, part: &Part<'_>) -> impl Iterator<Item = Block<'a>> {
        let size = usize::try_from(part.block).unwrap_or(usize::MAX);
        let values = self.values.chunks(size).zip(self.codes.chunks_mut(size));
        let steps = self.scales.iter_mut().zip(self.zeros);
        values.zip(steps).map(|((values, codes), (scale, zero))| Block { values, scale, zero, codes })
    }
}

impl Block<'_> {
    /// Takes `step`, and for each weight the code that is nearest to it.
    pub fn put(&mut self, part: &Part<'_>, step: Step) {
        (*self.scale, *self.zero) = (step.scale, step.zero);
        for (value, code) in self.values.iter().zip(self.codes.iter_mut()) {
            *code = part.code(*value, step);
        }
    }
}

/// A request of the host.
pub(super) struct Question<'a> {
    pub(super) record: &'a RectangleRecord<'a>,
    pub(super) scales: RSliceMut<'a, f32>,
    pub(super) zeros: RSliceMut<'a, i32>,
    pub(super) codes: RSliceMut<'a, i32>,
}

/// The table entry of `quantiser`.
pub(super) fn entry(quantiser: &dyn Quantiser) -> QuantiserEntry {
    let text = |text: &str| RStr::from_str(String::leak(text.to_owned()));
    QuantiserEntry {
        name: text(quantiser.name()),
        doc: text(quantiser.doc()),
        granule: match quantiser.granule() {
            QuantiserGranule::Block => quantiser_granule::BLOCK,
            QuantiserGranule::Row => quantiser_granule::ROW,
        },
    }
}

impl Question<'_> {
    /// Passes every row to `quantiser`, after checking the host's request.
    pub(super) fn answer(self, quantiser: &dyn Quantiser) -> Result<(), Failure> {
        let wrong = || Failure::new("this is not a part of a weight that can be quantized");
        let part = part(self.record).ok_or_else(wrong)?;
        let counts = |length: u64| usize::try_from(length).ok().filter(|count| *count > 0);
        let rows = counts(part.rows.end - part.rows.start).ok_or_else(wrong)?;
        let columns = part.columns.end - part.columns.start;
        let blocks = counts(columns.div_ceil(part.block)).ok_or_else(wrong)?;
        let columns = counts(columns).ok_or_else(wrong)?;
        let lengths = [self.record.values.len(), self.codes.len(), self.scales.len(), self.zeros.len()];
        let needed = [columns, columns, blocks, blocks].map(|length| length.checked_mul(rows));
        if lengths.map(Some) != needed {
            return Err(wrong());
        }
        let values = self.record.values.lent().chunks(columns).zip(self.codes.lent().chunks_mut(columns));
        let zeros = self.zeros.lent().chunks_mut(blocks);
        let steps = self.scales.lent().chunks_mut(blocks).zip(zeros);
        for (index, ((values, codes), (scales, zeros))) in part.rows.clone().zip(values.zip(steps)) {
            quantiser.quantise(&part, Row { index, values, scales, zeros, codes })?;
        }
        Ok(())
    }
}

/// The part that a record describes; `None` if it is not valid.
fn part<'a>(record: &'a RectangleRecord<'a>) -> Option<Part<'a>> {
    let dtype = DType::from_onnx(record.dtype)
        .filter(|dtype| matches!(dtype, DType::F32 | DType::F16 | DType::BF16))?;
    let block = record.block;
    let ends = |column: u64| column == record.columns || column.is_multiple_of(block);
    let fits = matches!(record.bits, 4 | 8)
        && block > 0
        && record.first_row < record.end_row
        && record.end_row <= record.rows
        && record.first_column < record.end_column
        && record.end_column <= record.columns
        && record.first_column.is_multiple_of(block)
        && ends(record.end_column);
    fits.then(|| Part {
        weight: record.name.lent(),
        dtype,
        bits: record.bits,
        symmetric: record.symmetric != 0,
        block,
        shape: [record.rows, record.columns],
        rows: record.first_row..record.end_row,
        columns: record.first_column..record.end_column,
    })
}

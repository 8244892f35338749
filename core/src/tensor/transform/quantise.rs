//! Weights as integers with a scale per block: `w ≈ (code - zero point) * scale`.
//!
//! Round to nearest. Symmetric: `scale = max |w| / (2^(bits-1) - 1)`, codes are signed and the zero
//! point is 0. Asymmetric: the range from the smallest to the largest value, 0 included, is cut into
//! `2^bits - 1` steps; codes and zero points are unsigned. Scales have the type of the weights, and
//! codes are made with the scales as they are stored. A block of zeros has the scale 1.

use std::ops::Range;

use half::{bf16, f16};

use super::super::{DType, Error};
use super::Granule;
use super::cast::load;

/// Elements that are looked at together.
const TILE: usize = 1 << 16;

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
    /// The codes of a weight `[N, K]` as `com.microsoft::MatMulNBits` takes them: unsigned, u8
    /// `[N, blocks, bytes of a block]`, low nibble first, short blocks filled up with the zero point.
    MatMulCodes,
    /// The zero points as it takes them: u8 `[N, bytes of the row's codes]`, low nibble first.
    MatMulZeroPoints,
}

/// A part of the quantised form of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantise {
    /// Bits of a code.
    pub bits: Bits,
    /// Whether the zero point is always 0.
    pub symmetric: bool,
    /// What shares a scale.
    pub blocks: Blocks,
    /// The part.
    pub part: Part,
}

/// The shape of a weight around the axis of its blocks.
#[derive(Clone, Copy)]
struct Layout {
    extent: u64,
    /// Elements from one place along the axis to the next.
    inner: u64,
    size: u64,
    /// Blocks along the axis.
    count: u64,
}

/// The scale and the zero point of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    scale: f32,
    zero: i32,
}

/// The parameters of the block that a piece began in, kept for the next piece.
#[derive(Default)]
pub(in crate::tensor) struct Kept {
    /// The slab of blocks side by side, and theirs.
    slab: Option<(u64, Vec<Step>)>,
}

/// Reads elements of the input.
pub(in crate::tensor) type Read<'a> = dyn FnMut(Range<u64>, &mut Vec<u8>) -> Result<(), Error> + 'a;

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
        Some(match self.part {
            Part::Codes => (self.code_type(), shape.to_vec()),
            Part::Scales => (dtype, blocks),
            Part::ZeroPoints => (self.code_type(), blocks),
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

    /// About the bytes that making `elements` of the part takes besides them, for weights whose elements
    /// have `unit` bytes.
    pub(in crate::tensor) fn memory(&self, shape: &[u64], elements: u64, unit: u64) -> u64 {
        let Some(Layout { inner, size, .. }) = self.layout(shape) else { return u64::MAX };
        let block = match self.part {
            Part::MatMulCodes => size,
            _ => 1,
        };
        let tile = (TILE as u64).min(elements.saturating_mul(size)).max(inner).max(block);
        // Values as bytes and as f32; bounds and steps, 8 bytes each.
        tile.saturating_mul(unit + 4).saturating_add(inner.saturating_mul(16))
    }

    pub(super) fn describe(&self) -> String {
        let kind = if self.symmetric { "symmetric" } else { "asymmetric" };
        let part = match self.part {
            Part::Codes | Part::MatMulCodes => "codes",
            Part::Scales => "scales",
            Part::ZeroPoints | Part::MatMulZeroPoints => "zero points",
        };
        let Blocks { axis, size } = self.blocks;
        format!("{part} of int{}, {kind}, blocks of {size} along axis {axis}", self.bits.count())
    }

    fn layout(&self, shape: &[u64]) -> Option<Layout> {
        let Blocks { axis, size } = self.blocks;
        let extent = *shape.get(axis)?;
        let product = |dims: &[u64]| dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let inner = product(shape.get(axis + 1..)?)?;
        (size > 0 && extent > 0).then(|| Layout {
            extent,
            inner,
            size: size.min(extent),
            count: extent.div_ceil(size),
        })
    }

    /// Makes elements `range` of the part, one byte each where they are packed later.
    pub(in crate::tensor) fn evaluate(
        &self,
        (dtype, shape): (DType, &[u64]),
        range: Range<u64>,
        read: &mut Read<'_>,
        kept: &mut Kept,
        out: &mut [u8],
    ) -> Result<(), Error> {
        let layout = self.layout(shape).ok_or(Error::View("it cannot be cut into blocks"))?;
        let mut blocks =
            Reader { quantise: self, layout, dtype, read, bytes: Vec::new(), values: Vec::new() };
        match self.part {
            Part::Codes => blocks.codes(range, kept, out),
            Part::Scales => blocks.steps(range, &mut |i, step| {
                let size = (dtype.bits() / 8) as usize;
                if let Some(place) = out.get_mut(i * size..(i + 1) * size) {
                    put_scale(dtype, step.scale, place);
                }
            }),
            Part::ZeroPoints => blocks.steps(range, &mut |i, step| {
                if let Some(place) = out.get_mut(i) {
                    *place = step.zero as u8;
                }
            }),
            Part::MatMulCodes => blocks.matmul_codes(range, out),
            Part::MatMulZeroPoints => blocks.matmul_zero_points(range, out),
        }
    }

    /// The step of a block whose values lie between `low` and `high`, 0 among them.
    fn step(&self, low: f32, high: f32, dtype: DType) -> Step {
        let (low, high) = (f64::from(low), f64::from(high));
        let levels = if self.symmetric {
            f64::from((1 << (self.bits.count() - 1)) - 1)
        } else {
            f64::from((1 << self.bits.count()) - 1)
        };
        let width = if self.symmetric { high.max(-low) } else { high - low };
        let scale = round_scale(dtype, (width / levels) as f32);
        let scale = if scale == 0.0 { 1.0 } else { scale };
        let zero = if self.symmetric { 0.0 } else { (-low / f64::from(scale)).round_ties_even() };
        Step { scale, zero: zero.clamp(0.0, levels) as i32 }
    }

    fn code(&self, value: f32, step: Step) -> i32 {
        let (low, high) = if self.symmetric {
            let top = 1 << (self.bits.count() - 1);
            (-top, top - 1)
        } else {
            (0, (1 << self.bits.count()) - 1)
        };
        // The quotient is far inside of an i32: the scale belongs to the block.
        ((value / step.scale).round_ties_even() as i32).saturating_add(step.zero).clamp(low, high)
    }
}

/// The values of blocks, read on demand.
struct Reader<'a, 'r> {
    quantise: &'a Quantise,
    layout: Layout,
    dtype: DType,
    read: &'a mut Read<'r>,
    bytes: Vec<u8>,
    values: Vec<f32>,
}

impl Reader<'_, '_> {
    /// Loads elements `range` of the weight.
    fn load(&mut self, range: Range<u64>) -> Result<(), Error> {
        let count = (range.end - range.start) as usize;
        (self.read)(range, &mut self.bytes)?;
        self.values.clear();
        self.values.resize(count, 0.0);
        load(self.dtype, &self.bytes, &mut self.values);
        Ok(())
    }

    /// The elements of slab `index`: the blocks side by side at one place along the axis.
    fn slab(&self, index: u64) -> Range<u64> {
        let Layout { extent, inner, size, count, .. } = self.layout;
        let (outer, block) = (index / count, index % count);
        let start = (outer * extent + block * size) * inner;
        start..start + size.min(extent - block * size) * inner
    }

    /// The slab that element `index` lies in.
    fn slab_of(&self, index: u64) -> u64 {
        let Layout { extent, inner, size, count, .. } = self.layout;
        let row = index / inner;
        row / extent * count + row % extent / size
    }

    /// The steps of the blocks of a slab.
    fn slab_steps(&mut self, index: u64) -> Result<Vec<Step>, Error> {
        let inner = self.layout.inner as usize;
        let range = self.slab(index);
        let mut bounds = vec![(0f32, 0f32); inner];
        let rows = (TILE / inner.max(1)).max(1) * inner;
        let mut at = range.start;
        while at < range.end {
            let end = range.end.min(at + rows as u64);
            self.load(at..end)?;
            for row in self.values.chunks(inner) {
                for ((low, high), value) in bounds.iter_mut().zip(row) {
                    widen(low, high, *value)?;
                }
            }
            at = end;
        }
        Ok(bounds.iter().map(|(low, high)| self.quantise.step(*low, *high, self.dtype)).collect())
    }

    fn codes(&mut self, range: Range<u64>, kept: &mut Kept, out: &mut [u8]) -> Result<(), Error> {
        let inner = self.layout.inner;
        let mut at = range.start;
        let mut out = out;
        while at < range.end {
            let index = self.slab_of(at);
            let slab = self.slab(index);
            let tile = at..range.end.min(at + TILE as u64);
            // Blocks that lie in a row are read once, steps and codes together.
            let in_a_row = inner == 1 && at == slab.start && slab.end <= tile.end;
            let end = if in_a_row { self.whole_blocks(tile.clone()) } else { tile.end.min(slab.end) };
            let (head, tail) = std::mem::take(&mut out).split_at_mut((end - at) as usize);
            out = tail;
            if in_a_row {
                self.load(at..end)?;
                let (mut values, mut places) = (self.values.as_slice(), head);
                for block in index.. {
                    let elements = self.slab(block);
                    let len = ((elements.end - elements.start) as usize).min(values.len());
                    if len == 0 {
                        break;
                    }
                    let (block, rest) = values.split_at(len);
                    let (place, left) = places.split_at_mut(len);
                    self.put_codes(block, &[self.block_step(block)?], 0, place);
                    (values, places) = (rest, left);
                }
            } else {
                if kept.slab.as_ref().is_none_or(|(known, _)| *known != index) {
                    kept.slab = Some((index, self.slab_steps(index)?));
                }
                let steps = kept.slab.as_ref().map(|(_, steps)| steps.as_slice()).unwrap_or_default();
                self.load(at..end)?;
                self.put_codes(&self.values, steps, (at % inner) as usize, head);
            }
            at = end;
        }
        Ok(())
    }

    /// The codes of `values`; their steps follow each other from `column` on, and start again.
    fn put_codes(&self, values: &[f32], steps: &[Step], column: usize, out: &mut [u8]) {
        let steps = steps.iter().cycle().skip(column);
        for ((value, step), place) in values.iter().zip(steps).zip(out) {
            *place = self.quantise.code(*value, *step) as u8;
        }
    }

    /// Where the last of the whole blocks in `tile` ends; there is one.
    fn whole_blocks(&self, tile: Range<u64>) -> u64 {
        let last = self.slab(self.slab_of(tile.end - 1));
        if last.end <= tile.end { last.end } else { last.start }
    }

    fn block_step(&self, values: &[f32]) -> Result<Step, Error> {
        let (mut low, mut high) = (0f32, 0f32);
        for value in values {
            widen(&mut low, &mut high, *value)?;
        }
        Ok(self.quantise.step(low, high, self.dtype))
    }

    /// Hands out the steps of blocks `range`, in the order of the scales.
    fn steps(&mut self, range: Range<u64>, take: &mut dyn FnMut(usize, Step)) -> Result<(), Error> {
        let inner = self.layout.inner;
        let mut at = range.start;
        while at < range.end {
            let index = at / inner;
            if inner == 1 && self.layout.size <= TILE as u64 {
                let blocks = (TILE as u64 / self.layout.size).max(1);
                let end = range.end.min(index + blocks);
                let start = self.slab(index).start;
                self.load(start..self.slab(end - 1).end)?;
                for block in index..end {
                    let elements = self.slab(block);
                    let elements = (elements.start - start) as usize..(elements.end - start) as usize;
                    let step = self.block_step(self.values.get(elements).unwrap_or_default())?;
                    take((block - range.start) as usize, step);
                }
                at = end;
                continue;
            }
            let steps = self.slab_steps(index)?;
            let end = range.end.min((index + 1) * inner);
            for (i, step) in (at..end).zip(steps.iter().skip((at % inner) as usize)) {
                take((i - range.start) as usize, *step);
            }
            at = end;
        }
        Ok(())
    }

    /// `range` counts bytes, and covers whole blocks.
    fn matmul_codes(&mut self, range: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        let bits = u64::from(self.quantise.bits.count());
        let bytes = self.quantise.blocks.size * bits / 8;
        let middle = if self.quantise.symmetric { 1 << (bits - 1) } else { 0 };
        for (block, place) in (range.start / bytes..).zip(out.chunks_mut(bytes as usize)) {
            self.load(self.slab(block))?;
            let step = self.block_step(&self.values)?;
            let filler = [step.zero + middle];
            let codes = self.values.iter().map(|value| self.quantise.code(*value, step) + middle);
            let codes = codes.chain(filler.iter().copied().cycle());
            pack(bits, codes, place);
        }
        Ok(())
    }

    /// `range` counts bytes, and covers whole rows.
    fn matmul_zero_points(&mut self, range: Range<u64>, out: &mut [u8]) -> Result<(), Error> {
        let bits = u64::from(self.quantise.bits.count());
        let count = self.layout.count;
        let bytes = (count * bits).div_ceil(8);
        let middle = if self.quantise.symmetric { 1 << (bits - 1) } else { 0 };
        for (row, place) in (range.start / bytes..).zip(out.chunks_mut(bytes as usize)) {
            let mut zeros = vec![0i32; count as usize];
            self.steps(row * count..(row + 1) * count, &mut |i, step| {
                if let Some(zero) = zeros.get_mut(i) {
                    *zero = step.zero + middle;
                }
            })?;
            pack(bits, zeros.into_iter().chain(std::iter::repeat(0)), place);
        }
        Ok(())
    }
}

/// Fills `out` with codes, the first one in the low bits.
fn pack(bits: u64, mut codes: impl Iterator<Item = i32>, out: &mut [u8]) {
    for place in out {
        *place = 0;
        for shift in (0..8).step_by(bits as usize) {
            *place |= (codes.next().unwrap_or_default() as u8) << shift;
        }
    }
}

fn widen(low: &mut f32, high: &mut f32, value: f32) -> Result<(), Error> {
    if !value.is_finite() {
        return Err(Error::Value(format!("a weight is {value}, which cannot be quantised")));
    }
    *low = low.min(value);
    *high = high.max(value);
    Ok(())
}

/// The scale as `dtype` stores it.
fn round_scale(dtype: DType, scale: f32) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(scale).to_f32(),
        DType::BF16 => bf16::from_f32(scale).to_f32(),
        _ => scale,
    }
}

fn put_scale(dtype: DType, scale: f32, out: &mut [u8]) {
    match dtype {
        DType::F16 => out.copy_from_slice(&f16::from_f32(scale).to_le_bytes()),
        DType::BF16 => out.copy_from_slice(&bf16::from_f32(scale).to_le_bytes()),
        _ => out.copy_from_slice(&scale.to_le_bytes()),
    }
}

//! The rule of an input that nobody states one for: from its recorded values and its readers.

use super::Rule;
use crate::sym::{Dim, SymId, Symbols};
use crate::tensor::{DType, LazyTensor};
use crate::verify::samples::Sample;
use crate::verify::values;

/// Where additive masks hide: below every score that a network computes.
const HIDDEN: f64 = -1e3;

/// The meaning of the values of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Places in another tensor, in the order 0, 1, 2.
    Positions,
    /// Places in another tensor.
    Places,
    /// Truth values, or ones and zeros, that mask the last axis.
    Mask,
    /// Zeros, and a number far below zero that is added to scores.
    Additive(f64),
    /// How many positions along an axis of another input count.
    Lengths,
    /// Single truth values.
    Flags,
    /// Integers about which nothing is known, with the smallest and the largest.
    Integers(i64, i64),
    /// Measurements with a mean and a deviation.
    Measured(f64, f64),
    /// Nothing that could be drawn.
    Fixed,
}

/// The rule for the input at `place` among `samples` at these sizes; `None` where its recorded values are kept.
pub(super) fn inferred(
    symbols: &Symbols,
    samples: &[Sample],
    place: usize,
    sizes: &[(SymId, i64)],
) -> Option<Rule> {
    let sample = samples.get(place)?;
    let limit = sample.limit(symbols, sizes).filter(|limit| *limit > 0);
    let size = |id: SymId| sizes.iter().find(|(symbol, _)| *symbol == id).map(|(_, size)| *size);
    Some(match Kind::of(samples, place) {
        Kind::Positions => {
            let row = sample.dims.last().and_then(|dim| symbols.eval(*dim, &size));
            match limit.zip(row) {
                // There are not as many positions as the axis is long.
                Some((limit, row)) if row > limit => Rule::Integers { low: 0, high: limit },
                _ => Rule::Arange,
            }
        }
        Kind::Places => Rule::Integers { low: 0, high: limit? },
        Kind::Mask => Rule::Mask { hidden: None },
        Kind::Additive(hidden) => Rule::Mask { hidden: Some(hidden) },
        Kind::Lengths => {
            let extent = counted(samples, place)?;
            Rule::Integers { low: 1, high: symbols.eval(extent, &size)?.max(1).saturating_add(1) }
        }
        Kind::Flags => Rule::Integers { low: 0, high: 2 },
        Kind::Integers(low, high) => Rule::Integers { low, high: high.saturating_add(1) },
        Kind::Measured(mean, deviation) => Rule::Normal { mean, deviation },
        Kind::Fixed => return None,
    })
}

impl Kind {
    /// The meaning of the input at `place`.
    pub(super) fn of(samples: &[Sample], place: usize) -> Self {
        let Some(sample) = samples.get(place).filter(|sample| sample.number.is_none()) else {
            return Self::Fixed;
        };
        let tensor = &sample.tensor;
        match tensor.dtype {
            DType::Bool if tensor.shape.is_empty() => Self::Flags,
            DType::Bool => Self::Mask,
            dtype if dtype.is_int() => integers(samples, place, sample),
            dtype if dtype.is_float() => floats(sample),
            _ => Self::Fixed,
        }
    }
}

fn integers(samples: &[Sample], place: usize, sample: &Sample) -> Kind {
    let Some(all) = whole(&sample.tensor).filter(|all| !all.is_empty()) else {
        return if sample.within.is_empty() { Kind::Fixed } else { Kind::Places };
    };
    let row = sample.tensor.shape.last().and_then(|row| usize::try_from(*row).ok()).unwrap_or(1).max(1);
    let counts = row > 1 && all.iter().enumerate().all(|(at, n)| *n == (at % row) as i64);
    let (low, high) = all.iter().fold((i64::MAX, i64::MIN), |(low, high), n| (low.min(*n), high.max(*n)));
    if counts || sample.made && sample.name.contains("position") {
        return Kind::Positions;
    }
    if !sample.within.is_empty() {
        return Kind::Places;
    }
    if all.len() > 1
        && low >= 0
        && high <= 1
        && (sample.name.contains("mask") || sample.tensor.shape.len() > 1)
    {
        return Kind::Mask;
    }
    let named = sample.name.contains("len");
    if named && low >= 1 && counted(samples, place).is_some() {
        return Kind::Lengths;
    }
    if sample.made { Kind::Fixed } else { Kind::Integers(low, high) }
}

fn floats(sample: &Sample) -> Kind {
    if sample.made {
        return if sample.name.contains("mask") { Kind::Additive(-1e4) } else { Kind::Measured(0.0, 1.0) };
    }
    let Some(all) = values::numbers(&sample.tensor) else { return Kind::Fixed };
    let hidden = all.iter().copied().fold(0.0, f64::min);
    if hidden < HIDDEN && all.iter().all(|x| *x == 0.0 || *x == hidden) {
        return Kind::Additive(hidden);
    }
    let named = sample.name.contains("mask") && all.iter().all(|x| *x == 0.0);
    if named {
        return Kind::Additive(-1e4);
    }
    // Masks of floats, and numbers that are all the same, are not measurements.
    let several = all.first().is_some_and(|first| {
        let mut others = all.iter().filter(|x| *x != first);
        others.next().is_some_and(|second| others.any(|x| x != second))
    });
    if !several || all.iter().any(|x| !x.is_finite()) {
        return Kind::Fixed;
    }
    let count = all.len() as f64;
    let mean = all.iter().sum::<f64>() / count;
    let deviation = (all.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt();
    Kind::Measured(mean, deviation)
}

/// The size that lengths count positions of: the shortest axis behind the first of another input that none of the
/// recorded lengths exceeds, if the lengths are one for each position on the first axis.
fn counted(samples: &[Sample], place: usize) -> Option<Dim> {
    let lengths = samples.get(place)?;
    let longest = whole(&lengths.tensor)?.into_iter().max()?;
    let [batch] = lengths.dims.as_slice() else { return None };
    let others = samples.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, other)| other);
    let axes = others.filter(|other| other.dims.first() == Some(batch)).flat_map(|other| {
        other.dims.iter().zip(&other.tensor.shape).skip(1).map(|(dim, extent)| (*dim, *extent as i64))
    });
    axes.filter(|(_, extent)| *extent >= longest).min_by_key(|(_, extent)| *extent).map(|(dim, _)| dim)
}

fn whole(tensor: &LazyTensor) -> Option<Vec<i64>> {
    let bytes = tensor.read()?;
    Some(match tensor.dtype {
        DType::I64 => {
            bytes.chunks_exact(8).filter_map(|b| Some(i64::from_le_bytes(b.try_into().ok()?))).collect()
        }
        DType::I32 => bytes
            .chunks_exact(4)
            .filter_map(|b| Some(i32::from_le_bytes(b.try_into().ok()?).into()))
            .collect(),
        DType::U8 => bytes.iter().map(|b| i64::from(*b)).collect(),
        DType::I8 => bytes.iter().map(|b| i64::from(*b as i8)).collect(),
        _ => return None,
    })
}

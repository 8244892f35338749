//! Other values for recorded inputs, to test branches, lookups and comparisons that depend on them.
//!
//! Generated values depend on the recorded values alone, so that every run draws the same.

use crate::random::Random;
use crate::sym::{SymId, Symbols};
use crate::tensor::{DType, LazyTensor};

use super::expected::Case;
use super::samples::Sample;

/// An integer of `0..end`; 0 where that is empty.
fn below(random: &mut Random, end: i64) -> i64 {
    let end = u64::try_from(end).unwrap_or(0).max(1);
    (random.bits() % end) as i64
}

/// Which values change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Truth values are inverted, positions are drawn, numbers change their sign where the program `branches` on them.
    Other { branches: bool },
    /// Integers that are not positions move on, and every second truth value is inverted.
    Moved,
    /// Single integers change their sign.
    Negated,
}

/// Calls at the recorded sizes with other values. `branches` tells whether the program has parts that it runs or
/// not by its values.
pub(super) fn cases(
    symbols: &Symbols,
    samples: &[Sample],
    sizes: &[(SymId, i64)],
    branches: bool,
) -> Vec<Case> {
    let changes = [Change::Other { branches }, Change::Moved, Change::Negated];
    let mut cases: Vec<Case> = Vec::new();
    for (change, number) in changes.into_iter().zip(1u64..) {
        let mut changed = false;
        let mut flags = 0usize;
        let inputs = samples.iter().zip(1u64..).map(|(sample, place)| {
            let inverts = sample.tensor.dtype == DType::Bool && {
                flags += 1;
                change != Change::Moved || flags.is_multiple_of(2)
            };
            let limit = sample.limit(symbols, sizes);
            let value = (sample.number.is_none()).then(|| {
                changed_value(sample, change, inverts, limit, &mut Random::new(number * 1000 + place))
            });
            changed |= value.as_ref().is_some_and(Option::is_some);
            (sample.name.clone(), value.flatten().unwrap_or_else(|| sample.tensor.clone()))
        });
        let inputs = inputs.collect();
        if changed {
            let trial = !matches!(change, Change::Other { .. });
            cases.push(Case { drawn: true, trial, ..Case::new(format!("values-{number}"), inputs) });
        }
    }
    cases
}

/// The input with other values; `None` where it stays as it is.
fn changed_value(
    sample: &Sample,
    change: Change,
    inverts: bool,
    limit: Option<i64>,
    random: &mut Random,
) -> Option<LazyTensor> {
    let tensor = &sample.tensor;
    if tensor.dtype == DType::Bool {
        return if inverts && change != Change::Negated { inverted(tensor) } else { None };
    }
    if tensor.dtype.is_float() {
        let negated = matches!(change, Change::Other { branches: true });
        return if negated { floats(tensor, |x| -x) } else { None };
    }
    match (change, limit) {
        (Change::Other { .. }, Some(limit)) => {
            integers(tensor, |all| all.iter_mut().for_each(|n| *n = below(random, limit)))
        }
        (Change::Moved, None) => integers(tensor, moved),
        (Change::Negated, None) => integers(tensor, |all| {
            if let [n] = all {
                *n = if *n == 0 { -1 } else { n.wrapping_neg() };
            }
        }),
        _ => None,
    }
}

/// A truth value inverted; of several, every second one, so that a mask keeps some positions.
fn inverted(tensor: &LazyTensor) -> Option<LazyTensor> {
    let mut bytes = tensor.read()?.into_owned();
    let first = usize::from(bytes.len() > 1);
    bytes.iter_mut().skip(first).step_by(2).for_each(|byte| *byte = u8::from(*byte == 0));
    changed(tensor, bytes)
}

/// Integers moved on by a place. Those that are all the same grow by one, and zeros and ones, which may be a
/// mask, are inverted every second time.
fn moved(all: &mut [i64]) {
    let first = usize::from(all.len() > 1);
    if all.iter().all(|n| (0..=1).contains(n)) {
        all.iter_mut().skip(first).step_by(2).for_each(|n| *n = 1 - *n);
    } else if all.windows(2).any(|pair| pair.first() != pair.last()) {
        all.rotate_left(1);
    } else {
        for n in all {
            *n = n.wrapping_add(1);
        }
    }
}

fn integers(tensor: &LazyTensor, change: impl FnOnce(&mut [i64])) -> Option<LazyTensor> {
    let bytes = tensor.read()?;
    let mut all = match tensor.dtype {
        DType::I64 => read::<8>(&bytes, i64::from_le_bytes),
        DType::I32 => read::<4>(&bytes, |b| i32::from_le_bytes(b).into()),
        _ => return None,
    };
    change(&mut all);
    let bytes = match tensor.dtype {
        DType::I64 => all.into_iter().flat_map(i64::to_le_bytes).collect(),
        _ => all.into_iter().flat_map(|n| (n as i32).to_le_bytes()).collect(),
    };
    changed(tensor, bytes)
}

fn read<const N: usize>(bytes: &[u8], decode: impl Fn([u8; N]) -> i64) -> Vec<i64> {
    bytes.chunks_exact(N).filter_map(|chunk| Some(decode(chunk.try_into().ok()?))).collect()
}

/// Floating-point numbers changed one by one.
fn floats(tensor: &LazyTensor, change: impl FnMut(f64) -> f64) -> Option<LazyTensor> {
    let numbers = numbers(tensor)?;
    changed(tensor, numbers.into_iter().map(change).flat_map(encoder(tensor.dtype)?).collect())
}

/// The elements of a tensor of a common floating-point type.
pub(super) fn numbers(tensor: &LazyTensor) -> Option<Vec<f64>> {
    let bytes = tensor.read()?;
    let two = |decode: fn([u8; 2]) -> f64| {
        bytes.chunks_exact(2).filter_map(|c| c.try_into().ok()).map(decode).collect()
    };
    Some(match tensor.dtype {
        DType::F64 => {
            bytes.chunks_exact(8).filter_map(|c| c.try_into().ok()).map(f64::from_le_bytes).collect()
        }
        DType::F32 => {
            let all = bytes.chunks_exact(4).filter_map(|c| c.try_into().ok());
            all.map(|b| f64::from(f32::from_le_bytes(b))).collect()
        }
        DType::F16 => two(|b| half::f16::from_le_bytes(b).to_f64()),
        DType::BF16 => two(|b| half::bf16::from_le_bytes(b).to_f64()),
        _ => return None,
    })
}

fn encoder(dtype: DType) -> Option<fn(f64) -> Vec<u8>> {
    Some(match dtype {
        DType::F64 => |x| x.to_le_bytes().to_vec(),
        DType::F32 => |x| (x as f32).to_le_bytes().to_vec(),
        DType::F16 => |x| half::f16::from_f64(x).to_le_bytes().to_vec(),
        DType::BF16 => |x| half::bf16::from_f64(x).to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// A tensor of another shape whose numbers have the mean and the variance of the recorded ones; `None` where these
/// are not measurements: integers, masks, infinities. Repeated ones would give ties, which are resolved by chance.
pub(super) fn alike(tensor: &LazyTensor, shape: &[u64], elements: u64, seed: u64) -> Option<LazyTensor> {
    let recorded = numbers(tensor)?;
    let several = recorded.first().is_some_and(|first| {
        let mut others = recorded.iter().filter(|x| *x != first);
        others.next().is_some_and(|second| others.any(|x| x != second))
    });
    if !several || recorded.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let count = recorded.len() as f64;
    let mean = recorded.iter().sum::<f64>() / count;
    let deviation = (recorded.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt();
    let (encode, mut random) = (encoder(tensor.dtype)?, Random::new(seed));
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(tensor.dtype.byte_len(elements)?).ok()?).ok()?;
    (0..elements).for_each(|_| bytes.extend(encode(mean + deviation * random.normal())));
    Some(LazyTensor::inline(tensor.dtype, shape.to_vec(), bytes))
}

/// Places that stay below `limit`, at another size of the indexed axis.
pub(super) fn within(tensor: LazyTensor, limit: Option<i64>) -> LazyTensor {
    let fit = |limit: i64| {
        let inside = |n: &mut i64| {
            if *n >= limit || *n < -limit {
                *n = n.rem_euclid(limit);
            }
        };
        integers(&tensor, |all| all.iter_mut().for_each(inside))
    };
    limit.filter(|limit| *limit > 0).and_then(fit).unwrap_or(tensor)
}

/// The tensor with other bytes; `None` where they are those that it has.
fn changed(tensor: &LazyTensor, bytes: Vec<u8>) -> Option<LazyTensor> {
    let same = *tensor.read()? == *bytes;
    (!same).then(|| LazyTensor::inline(tensor.dtype, tensor.shape.clone(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sym::Dim;

    fn sample(name: &str, dtype: DType, bytes: Vec<u8>, within: Vec<Dim>) -> Sample {
        let elements = bytes.len() as u64 * 8 / u64::from(dtype.bits());
        let tensor = LazyTensor::inline(dtype, vec![elements], bytes);
        Sample {
            name: name.to_owned(),
            dims: vec![Dim::Const(elements as i64)],
            number: None,
            tensor,
            within,
            made: false,
        }
    }

    fn ints(values: &[i64]) -> Vec<u8> {
        values.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    fn drawn(case: &Case, input: usize) -> Vec<i64> {
        read::<8>(&case.inputs[input].1.read().unwrap(), i64::from_le_bytes)
    }

    #[test]
    fn truth_values_turn_and_places_stay_inside() {
        let samples = [
            sample("flag", DType::Bool, vec![1], vec![]),
            sample("mask", DType::Bool, vec![1; 4], vec![]),
            sample("ids", DType::I64, ints(&[0; 64]), vec![Dim::Const(5)]),
            sample("n", DType::I64, ints(&[3]), vec![]),
            sample("x", DType::F32, 1.5f32.to_le_bytes().to_vec(), vec![]),
        ];
        let cases = cases(&Symbols::default(), &samples, &[], true);
        let [other, moved, negated] = &cases[..] else { panic!("{}", cases.len()) };
        let bytes = |case: &Case, at: usize| case.inputs[at].1.read().unwrap().into_owned();
        assert_eq!((bytes(other, 0), bytes(other, 1)), (vec![0], vec![1, 0, 1, 0]));
        let ids = drawn(other, 2);
        assert!((0..5).all(|n| ids.contains(&n)) && ids.iter().all(|n| (0..5).contains(n)), "{ids:?}");
        assert_eq!((drawn(other, 3), bytes(other, 4)), (vec![3], (-1.5f32).to_le_bytes().to_vec()));
        assert_eq!((bytes(moved, 0), bytes(moved, 1)), (vec![1], vec![1, 0, 1, 0]));
        assert_eq!((drawn(moved, 3), drawn(negated, 3)), (vec![4], vec![-3]));
        assert!(!other.trial && moved.trial && negated.trial);
        assert!(cases.iter().all(|case| case.drawn));
        assert!(super::cases(&Symbols::default(), &samples[4..], &[], false).is_empty());
    }

    #[test]
    fn integers_that_may_be_a_mask_stay_zeros_and_ones() {
        let changed = |values: &[i64]| {
            let mut all = values.to_vec();
            moved(&mut all);
            all
        };
        assert_eq!(changed(&[1, 1, 1, 0]), [1, 0, 1, 1]);
        assert_eq!(changed(&[0, 1, 2, 3]), [1, 2, 3, 0]);
        assert_eq!(changed(&[7, 7]), [8, 8]);
        assert_eq!(changed(&[1]), [0]);
    }

    #[test]
    fn drawn_numbers_are_like_the_recorded_ones_and_masks_are_not_drawn() {
        let tensor = |values: &[f32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            LazyTensor::inline(DType::F32, vec![values.len() as u64], bytes)
        };
        let measured = tensor(&[9.0, 10.0, 11.0, 10.0]);
        let drawn = numbers(&alike(&measured, &[1000], 1000, 1).unwrap()).unwrap();
        let mean = drawn.iter().sum::<f64>() / 1000.0;
        assert!((mean - 10.0).abs() < 0.1 && drawn.iter().any(|x| (x - 10.0).abs() > 0.5), "{mean}");
        assert!(alike(&tensor(&[0.0, 1.0, 1.0]), &[4], 4, 1).is_none());
        assert!(alike(&tensor(&[0.0, 1.0, f32::NEG_INFINITY]), &[4], 4, 1).is_none());
    }
}

//! Graphs of transforms against a plain evaluation of every node.

use half::{bf16, f16};

use super::{DType, Error, LazyTensor, MappedFile, Random, Source, Transform, indices, streamed};
use crate::tensor::{Binary, Operation, Unary};

/// A tensor whose elements are all there.
#[derive(Clone)]
struct Dense {
    dtype: DType,
    shape: Vec<u64>,
    values: Vec<f64>,
}

fn round(dtype: DType, value: f64) -> f64 {
    match dtype {
        DType::F32 => f64::from(value as f32),
        DType::F16 => f16::from_f64(value).to_f64(),
        DType::BF16 => bf16::from_f64(value).to_f64(),
        _ => value,
    }
}

impl Dense {
    fn new(dtype: DType, shape: &[u64], random: &mut Random) -> Self {
        let count: u64 = shape.iter().product();
        let value =
            |_| round(dtype, (random.below(4001) as f64 - 1500.0) / 64.0 / (1 + random.below(3)) as f64);
        Self { dtype, shape: shape.to_vec(), values: (0..count).map(value).collect() }
    }

    fn bytes(&self) -> Vec<u8> {
        let one = |value: &f64| match self.dtype {
            DType::F32 => (*value as f32).to_le_bytes().to_vec(),
            DType::F16 => f16::from_f64(*value).to_le_bytes().to_vec(),
            DType::BF16 => bf16::from_f64(*value).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        };
        self.values.iter().flat_map(one).collect()
    }

    /// The element at `index` of the tensor broadcast to a shape with as many axes or more.
    fn at(&self, index: &[u64]) -> f64 {
        let own = &index[index.len() - self.shape.len()..];
        let at = own.iter().zip(&self.shape).fold(0, |at, (i, extent)| at * extent + i.min(&(extent - 1)));
        self.values[at as usize]
    }

    fn map(&self, shape: &[u64], value: impl Fn(&[u64]) -> f64) -> Self {
        let values = indices(shape).iter().map(|index| round(self.dtype, value(index))).collect();
        Self { dtype: self.dtype, shape: shape.to_vec(), values }
    }
}

/// `dense` as somebody may have stored it: in memory or in a file, in any order of its axes.
fn stored(dense: &Dense, random: &mut Random, dir: &std::path::Path) -> LazyTensor {
    let mut axes: Vec<usize> = (0..dense.shape.len()).collect();
    let turns = if axes.is_empty() { 0 } else { random.below(axes.len() as u64) as usize };
    axes.rotate_left(turns);
    let shape: Vec<u64> = axes.iter().map(|axis| dense.shape[*axis]).collect();
    let mut back = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(at, axis)| back[*axis] = at);
    let transposed =
        dense.map(&shape, |index| dense.at(&back.iter().map(|at| index[*at]).collect::<Vec<u64>>()));
    let bytes = transposed.bytes();
    let tensor = if random.below(2) == 0 || bytes.is_empty() {
        LazyTensor::inline(dense.dtype, shape, bytes)
    } else {
        let path = dir.join(random.next().to_string());
        std::fs::write(&path, &bytes).unwrap();
        let source =
            Source::Mapped { file: MappedFile::open(&path).unwrap(), offset: 0, len: bytes.len() as u64 };
        LazyTensor { dtype: dense.dtype, shape, source, offset: 0, strides: None }
    };
    tensor.permute(&back).unwrap()
}

fn binary(random: &mut Random) -> (Binary, fn(f64, f64) -> f64) {
    match random.below(4) {
        0 => (Binary::Add, |a, b| a + b),
        1 => (Binary::Sub, |a, b| a - b),
        2 => (Binary::Mul, |a, b| a * b),
        _ => (Binary::Div, |a, b| a / b),
    }
}

fn unary(random: &mut Random) -> (Unary, fn(f64) -> f64) {
    match random.below(3) {
        0 => (Unary::Neg, |a| -a),
        1 => (Unary::Sqrt, f64::sqrt),
        _ => (Unary::Reciprocal, |a| 1.0 / a),
    }
}

/// One more node on top of both.
fn grow(
    (lazy, dense): &(LazyTensor, Dense),
    random: &mut Random,
    dir: &std::path::Path,
) -> Option<(LazyTensor, Dense)> {
    let (shape, rank) = (dense.shape.clone(), dense.shape.len() as u64);
    let axis = random.below(rank.max(1)) as usize;
    let other = |shape: &[u64], random: &mut Random| {
        let other = Dense::new(dense.dtype, shape, random);
        (stored(&other, random, dir), other)
    };
    let grown = match random.below(9) {
        0 | 1 => {
            let (operator, apply) = binary(random);
            // Some axes are broadcast, leading ones left out.
            let skipped = random.below(rank + 1) as usize;
            let mut its = shape[skipped..].to_vec();
            for extent in &mut its {
                *extent = if random.below(3) == 0 { 1 } else { *extent };
            }
            let (own, other) = other(&its, random);
            let made = dense.map(&shape, |index| apply(dense.at(index), other.at(index)));
            let swapped = dense.map(&shape, |index| apply(other.at(index), dense.at(index)));
            let turn = random.below(2) == 0;
            let joined = if turn { lazy.binary(operator, &own) } else { own.binary(operator, lazy) };
            (joined?, if turn { made } else { swapped })
        }
        2 | 3 if rank > 0 => {
            let mut its = shape.clone();
            its[axis] = random.below(4);
            let (own, other) = other(&its, random);
            let mut whole = shape.clone();
            whole[axis] = shape[axis] + its[axis] + shape[axis];
            let pick = |index: &[u64]| {
                let mut index = index.to_vec();
                let at = index[axis];
                let (from, passed) = if at < shape[axis] {
                    (dense, 0)
                } else if at < shape[axis] + its[axis] {
                    (&other, shape[axis])
                } else {
                    (dense, shape[axis] + its[axis])
                };
                index[axis] -= passed;
                from.at(&index)
            };
            (LazyTensor::concat(&[lazy.clone(), own, lazy.clone()], axis)?, dense.map(&whole, pick))
        }
        4 => {
            let (operator, apply) = unary(random);
            (lazy.then(Transform::Unary(operator))?, dense.map(&shape, |index| apply(dense.at(index))))
        }
        5 if rank > 0 => {
            let mut axes: Vec<usize> = (0..shape.len()).collect();
            axes.rotate_left(axis);
            let transposed: Vec<u64> = axes.iter().map(|axis| shape[*axis]).collect();
            let pick = |index: &[u64]| {
                let mut from = vec![0; index.len()];
                axes.iter().zip(index).for_each(|(axis, i)| from[*axis] = *i);
                dense.at(&from)
            };
            (lazy.permute(&axes)?, dense.map(&transposed, pick))
        }
        6 if rank > 0 => {
            let start = random.below(shape[axis] + 1);
            let end = start + random.below(shape[axis] - start + 1);
            let step = 1 + random.below(3);
            let mut cut = shape.clone();
            cut[axis] = (end - start).div_ceil(step);
            let pick = |index: &[u64]| {
                let mut index = index.to_vec();
                index[axis] = start + index[axis] * step;
                dense.at(&index)
            };
            (lazy.slice(axis, start, end, step)?, dense.map(&cut, pick))
        }
        7 => {
            let mut wide = shape.clone();
            for extent in &mut wide {
                *extent = if *extent == 1 { 3 } else { *extent };
            }
            wide.insert(0, 1 + random.below(2));
            (lazy.expand(&wide)?, dense.map(&wide, |index| dense.at(index)))
        }
        _ => {
            let count: u64 = shape.iter().product();
            let fits = |n: &u64| count.is_multiple_of(*n);
            let first = (1..=count.max(1)).filter(fits).nth(random.below(4) as usize).unwrap_or(1);
            let reshaped = [first, 1, count / first];
            let made = Dense { shape: reshaped.to_vec(), ..dense.clone() };
            (lazy.reshape(&reshaped)?, made)
        }
    };
    Some(grown)
}

fn equal(dtype: DType, made: &[u8], expected: &[u8]) -> bool {
    let size = (dtype.bits() / 8) as usize;
    let is_nan = |bytes: &[u8]| match dtype {
        DType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::F16 => f16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::BF16 => bf16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
    };
    let mut pairs = made.chunks(size).zip(expected.chunks(size));
    made.len() == expected.len() && pairs.all(|(a, b)| a == b || is_nan(a) && is_nan(b))
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn graphs_give_what_their_nodes_give_one_by_one() {
    let mut random = Random(11);
    let dir = tempfile::tempdir().unwrap();
    let (mut nodes, mut refused) = (0, 0);
    for round in 0..240 {
        let dtype = [DType::F32, DType::F16, DType::BF16, DType::F64][round % 4];
        let shape: Vec<u64> = (0..random.below(4)).map(|_| 1 + random.below(5)).collect();
        let dense = Dense::new(dtype, &shape, &mut random);
        let mut both = (stored(&dense, &mut random, dir.path()), dense);
        for _ in 0..6 {
            let Some(next) = grow(&both, &mut random, dir.path()) else {
                refused += 1;
                continue;
            };
            if next.1.values.len() > 3000 {
                break;
            }
            both = next;
            nodes += 1;
            let (lazy, dense) = &both;
            let expected = dense.bytes();
            assert_eq!(lazy.shape, dense.shape);
            assert_eq!(lazy.byte_len(), Some(expected.len() as u64), "the length is known before");
            let whole = lazy.read().unwrap_or_else(|| panic!("{:?}: {lazy:?}", lazy.check()));
            assert!(equal(dtype, &whole, &expected), "round {round}: {lazy:?}");
            let start = random.below(expected.len() as u64 + 1);
            let end = start + random.below(expected.len() as u64 - start + 1);
            for budget in [lazy.least_memory().max(16) as usize, 700, 1 << 20] {
                match streamed(lazy, start..end, budget) {
                    Ok(part) => assert_eq!(part, whole[start as usize..end as usize], "{budget}: {lazy:?}"),
                    Err(Error::Budget { needed, .. }) => assert!(needed > budget as u64),
                    Err(error) => panic!("{error}: {lazy:?}"),
                }
            }
        }
    }
    assert!(nodes > 1000 && refused < 40, "{nodes} nodes, {refused} refused");
}

fn numbers(values: &[f32], shape: &[u64]) -> LazyTensor {
    LazyTensor { shape: shape.to_vec(), ..super::f32s(values) }
}

#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn a_sum_is_large_and_the_same_in_every_budget() {
    let rows = 1000u64;
    let weight: Vec<f32> = (0..rows * 513).map(|i| i as f32 * 0.37).collect();
    let scale: Vec<f32> = (0..rows).map(|i| 1.0 / (i + 1) as f32).collect();
    let weight = numbers(&weight, &[rows, 513]);
    let scaled = weight.binary(Binary::Mul, &numbers(&scale, &[rows, 1])).unwrap();
    let both = LazyTensor::concat(&[scaled.clone(), weight.clone()], 1).unwrap();
    let half = both.then(Transform::Cast(DType::F16)).unwrap();
    let whole = half.read().unwrap().into_owned();
    let len = whole.len() as u64;
    for budget in [2000, 1 << 16, 1 << 20, 48 << 20] {
        assert!(streamed(&half, 0..len, budget).unwrap() == whole, "{budget}");
        assert!(streamed(&half, 12_345..len - 7, budget).unwrap() == whole[12_345..whole.len() - 7]);
    }
    let threads = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    assert!(threads.install(|| streamed(&half, 0..len, 1 << 20).unwrap()) == whole);
}

#[test]
fn views_move_in_front_and_scales_are_made_once() {
    let weight = numbers(&(0..24).map(|i| i as f32).collect::<Vec<_>>(), &[4, 3, 2]);
    let scale = numbers(&[1.0, 2.0, 3.0, 4.0], &[4]).then(Transform::Unary(Unary::Sqrt)).unwrap();
    let scaled = weight.binary(Binary::Mul, &scale.reshape(&[4, 1, 1]).unwrap()).unwrap();
    let Source::Joined(joined) = &scaled.source else { panic!("a product") };
    assert_eq!(joined.inputs()[1].shape, [4, 1, 1], "an element serves six of the result");
    let flat = scaled.reshape(&[4, 6]).unwrap();
    let Source::Joined(joined) = &flat.source else { panic!("a product") };
    assert_eq!(joined.inputs()[1].shape, [4, 1]);
    assert!(flat.permute(&[1, 0]).unwrap().is_open());
    // A view of a part of a concatenation is one of the input.
    let both = LazyTensor::concat(&[weight.clone(), weight.clone()], 0).unwrap();
    let part = both.slice(0, 4, 8, 1).unwrap();
    assert!(part.same_bytes(&weight));
    // Concatenating the parts of a split restores the tensor.
    let parts = [(0, 1), (1, 3), (3, 4)].map(|(from, to)| weight.slice(0, from, to, 1).unwrap());
    assert!(LazyTensor::concat(&parts, 0).unwrap().same_bytes(&weight));
    let columns = [(0, 1), (1, 3)].map(|(from, to)| weight.slice(1, from, to, 1).unwrap());
    assert!(LazyTensor::concat(&columns, 1).unwrap().same_bytes(&weight));
    // Concatenations of concatenations are one.
    let nested = LazyTensor::concat(&[both.clone(), weight.permute(&[0, 1, 2]).unwrap()], 0).unwrap();
    let Source::Joined(joined) = &nested.source else { panic!("a concatenation") };
    assert_eq!((joined.inputs().len(), joined.operation()), (3, Operation::Concat { axis: 0 }));
    assert_eq!(nested.parts().len(), 3);
    assert_eq!(nested.least_memory(), 0, "the kernel copies all of them");
    assert!(LazyTensor::concat(&[both.clone(), both], 2).unwrap().least_memory() > 0);
}

#[test]
fn the_same_graph_twice_is_one_tensor() {
    let dense = numbers(&(0..12).map(|i| i as f32).collect::<Vec<_>>(), &[3, 4]);
    let scale = numbers(&[0.5, 1.0, 2.0, 4.0], &[4]);
    let make = |operator, axis| {
        let scaled = dense.binary(operator, &scale).unwrap();
        LazyTensor::concat(&[scaled, dense.then(Transform::Unary(Unary::Neg)).unwrap()], axis).unwrap()
    };
    let (one, same) = (make(Binary::Mul, 0), make(Binary::Mul, 0));
    assert!(one.same_bytes(&same) && one.same_stored(&same));
    assert_eq!(
        (one.fingerprint(), one.stored_fingerprint()),
        (same.fingerprint(), same.stored_fingerprint())
    );
    for other in [make(Binary::Div, 0), make(Binary::Mul, 1), dense.clone()] {
        assert!(!one.same_bytes(&other) && !one.same_stored(&other));
    }
}

#[test]
fn what_cannot_be_joined_is_refused() {
    let dense = numbers(&[1.0; 6], &[2, 3]);
    let ints = LazyTensor::inline(DType::I32, vec![2, 3], vec![1; 24]);
    let nibbles = LazyTensor::inline(DType::I4, vec![2, 3], vec![1; 3]);
    let flags = LazyTensor::inline(DType::Bool, vec![2, 3], vec![1; 6]);
    assert!(dense.binary(Binary::Add, &ints).is_none() && dense.binary(Binary::Add, &nibbles).is_none());
    assert!(flags.binary(Binary::Add, &flags).is_none());
    assert!(dense.binary(Binary::Add, &numbers(&[1.0; 2], &[2])).is_none());
    assert!(
        LazyTensor::concat(&[], 0).is_none() && LazyTensor::concat(std::slice::from_ref(&dense), 2).is_none()
    );
    assert!(LazyTensor::concat(&[dense.clone(), ints], 0).is_none());
    assert!(LazyTensor::concat(&[nibbles.clone(), nibbles], 0).is_none());
    assert!(LazyTensor::concat(&[dense.clone(), numbers(&[1.0; 8], &[2, 4])], 0).is_none());
    let mut grown = dense.clone();
    let mut depth = 0;
    while let Some(next) = grown.binary(Binary::Add, &dense) {
        (grown, depth) = (next, depth + 1);
    }
    assert_eq!(depth, 128, "what nobody needs is refused before a stack ends");
    assert!(grown.then(Transform::Cast(DType::F16)).is_none());
    let mut doubled = dense;
    let mut times = 0;
    while let Some(next) = doubled.binary(Binary::Add, &doubled) {
        (doubled, times) = (next, times + 1);
    }
    assert_eq!(times, 15, "what is read twice is made twice");
}

#[test]
fn integers_are_exact_or_an_error() {
    let ints = |values: &[i32]| {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        LazyTensor::inline(DType::I32, vec![values.len() as u64], bytes)
    };
    let made = |a: &[i32], operator, b: &[i32]| {
        let made = ints(a).binary(operator, &ints(b)).unwrap();
        made.read()
            .map(|b| b.chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect::<Vec<_>>())
    };
    assert_eq!(made(&[7, -7, i32::MAX], Binary::Div, &[2]), Some(vec![3, -3, i32::MAX / 2]));
    assert_eq!(made(&[1, 2], Binary::Sub, &[3, -3]), Some(vec![-2, 5]));
    assert_eq!(made(&[i32::MAX], Binary::Add, &[1]), None);
    assert_eq!(made(&[i32::MIN], Binary::Div, &[-1]), None);
    assert_eq!(made(&[1], Binary::Div, &[0]), None);
    assert!(ints(&[i32::MIN]).then(Transform::Unary(Unary::Neg)).unwrap().read().is_none());
    let most = LazyTensor::inline(DType::U64, vec![1], u64::MAX.to_le_bytes().to_vec());
    assert!(most.binary(Binary::Mul, &most).unwrap().read().is_none());
}

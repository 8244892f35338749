//! Checks views and transforms against straightforward evaluations.

mod joined;
mod lent;
mod quantise;

use super::{DType, Error, LazyTensor, MappedFile, Source, Transform};

/// Numbers that look random and are always the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// The element of `tensor` at `index`, by the definition of strides.
fn element(tensor: &LazyTensor, bytes: &[u8], index: &[u64]) -> Vec<u8> {
    let size = u64::from(tensor.dtype.bits() / 8);
    let strides = tensor.strides().unwrap();
    let at = tensor.offset + index.iter().zip(&strides).map(|(i, s)| i * s).sum::<u64>();
    bytes[(at * size) as usize..((at + 1) * size) as usize].to_vec()
}

fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |all, extent| {
        all.iter().flat_map(|head| (0..*extent).map(move |i| [head.as_slice(), &[i]].concat())).collect()
    })
}

fn naive(tensor: &LazyTensor, bytes: &[u8]) -> Vec<u8> {
    indices(&tensor.shape).iter().flat_map(|index| element(tensor, bytes, index)).collect()
}

fn streamed(tensor: &LazyTensor, range: std::ops::Range<u64>, budget: usize) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    tensor.stream(range, budget, &mut |bytes: &[u8]| {
        out.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(out)
}

fn f32s(values: &[f32]) -> LazyTensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    LazyTensor::inline(DType::F32, vec![values.len() as u64], bytes)
}

fn as_f32(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn chains_of_views_read_what_their_strides_say() {
    let mut random = Random(7);
    for round in 0..300 {
        let dtype = [DType::U8, DType::F16, DType::F32, DType::F64, DType::C128][round % 5];
        let shape: Vec<u64> = (0..=random.below(4)).map(|_| 1 + random.below(40) / 5).collect();
        let count: u64 = shape.iter().product();
        let bytes: Vec<u8> = (0..count * u64::from(dtype.bits() / 8)).map(|_| random.next() as u8).collect();
        let mut tensor = LazyTensor::inline(dtype, shape, bytes.clone());
        // The contents of the view, as bytes that are moved by hand.
        let mut expected = bytes.clone();
        for _ in 0..random.below(5) {
            let rank = tensor.shape.len();
            let before = LazyTensor::inline(dtype, tensor.shape.clone(), expected.clone());
            let turn = |tensor: &LazyTensor, random: &mut Random| match random.below(4) {
                0 => {
                    let mut axes: Vec<usize> = (0..rank).collect();
                    axes.rotate_left(random.below(rank as u64) as usize);
                    tensor.permute(&axes)
                }
                1 => {
                    let axis = random.below(rank as u64) as usize;
                    let extent = tensor.shape[axis];
                    let start = random.below(extent);
                    tensor.slice(axis, start, extent, 1 + random.below(3))
                }
                2 => {
                    let mut wide = tensor.shape.clone();
                    for extent in &mut wide {
                        if *extent == 1 {
                            *extent = 3;
                        }
                    }
                    tensor.expand(&[&[2], wide.as_slice()].concat())
                }
                _ => {
                    let count: u64 = tensor.shape.iter().product();
                    let first = (1..=count).rev().find(|n| count.is_multiple_of(*n) && *n <= 6).unwrap();
                    tensor.reshape(&[first, 1, count / first])
                }
            };
            let seed = random.0;
            let Some(next) = turn(&tensor, &mut random) else { continue };
            random.0 = seed;
            let moved = turn(&before, &mut random).expect("dense tensors take every view");
            if next.shape.iter().product::<u64>() > 4000 {
                break;
            }
            expected = naive(&moved, &expected);
            tensor = next;
        }
        assert_eq!(naive(&tensor, &bytes), expected);
        assert_eq!(tensor.read().unwrap(), expected, "{tensor:?}");
        let len = expected.len() as u64;
        let start = random.below(len + 1);
        let end = start + random.below(len - start + 1);
        let part = streamed(&tensor, start..end, 1 << 16).unwrap();
        assert_eq!(part, expected[start as usize..end as usize], "{start}..{end} of {tensor:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri does not map files")]
fn large_transposes_are_the_same_in_every_budget() {
    let (rows, columns) = (337u64, 703u64);
    let values: Vec<u8> = (0..rows * columns).flat_map(|i| (i as u32).to_le_bytes()).collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("weights");
    std::fs::write(&path, &values).unwrap();
    let file = MappedFile::open(&path).unwrap();
    let source = Source::Mapped { file, offset: 0, len: values.len() as u64 };
    let dense =
        LazyTensor { dtype: DType::I32, shape: vec![rows, columns], source, offset: 0, strides: None };
    let transposed = dense.permute(&[1, 0]).unwrap();
    for budget in [4096, 1 << 18, usize::MAX] {
        let bytes = streamed(&transposed, 0..values.len() as u64, budget).unwrap();
        let all_right = bytes.chunks_exact(4).enumerate().all(|(i, bytes)| {
            let (column, row) = (i as u64 / rows, i as u64 % rows);
            bytes == ((row * columns + column) as u32).to_le_bytes()
        });
        assert!(all_right && bytes.len() == values.len());
    }
    // A cast behind the transpose, and one in front of it, are one tensor.
    let half = dense.then(Transform::Cast(DType::I64)).unwrap().permute(&[1, 0]).unwrap();
    assert!(half.same_bytes(&transposed.then(Transform::Cast(DType::I64)).unwrap()));
    assert_eq!(half.fingerprint(), transposed.then(Transform::Cast(DType::I64)).unwrap().fingerprint());
    assert!(!half.same_bytes(&dense.then(Transform::Cast(DType::I64)).unwrap()));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1000).unwrap();
    assert!(matches!(streamed(&dense, 0..values.len() as u64, 1 << 20), Err(Error::Truncated)));
    assert!(matches!(streamed(&transposed, 0..values.len() as u64, 1 << 20), Err(Error::Truncated)));
}

#[test]
fn hostile_views_are_errors() {
    let view = |shape: &[u64], strides: Option<&[u64]>, offset| LazyTensor {
        shape: shape.to_vec(),
        strides: strides.map(<[u64]>::to_vec),
        offset,
        ..f32s(&[0.0; 12])
    };
    for bad in [
        view(&[13], None, 0),
        view(&[12], None, 1),
        view(&[12], None, u64::MAX),
        view(&[u64::MAX, 2], None, 0),
        view(&[3, 4], Some(&[5, 1]), 0),
        view(&[3, 4], Some(&[u64::MAX, 1]), 0),
        view(&[3, 4], Some(&[4]), 0),
        view(&[1 << 62], Some(&[0]), 0),
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
        assert!(bad.read().is_none() && streamed(&bad, 0..4, 1 << 20).is_err());
    }
    assert!(view(&[1000, 12], Some(&[0, 1]), 0).check().is_ok());
    assert!(view(&[0, 12], Some(&[u64::MAX, 1]), 0).check().is_ok());
    let twelve = f32s(&[0.0; 12]);
    assert!(twelve.slice(0, 3, 13, 1).is_none() && twelve.slice(0, 3, 2, 1).is_none());
    assert!(twelve.slice(0, 0, 12, 0).is_none() && twelve.permute(&[0, 0]).is_none());
    assert!(twelve.expand(&[13]).is_none() && twelve.reshape(&[u64::MAX, 2]).is_none());
    assert!(streamed(&twelve, 40..50, 1 << 20).is_err());
    assert!(streamed(&twelve, 0..48, 0).is_err(), "nothing fits into no memory");
}

#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn casts_go_in_pieces_and_in_parallel() {
    let values: Vec<f32> = (0..200_000u32).map(|i| (i as f32 - 1e5) * 0.37).collect();
    let half = f32s(&values).then(Transform::Cast(DType::F16)).unwrap();
    let expected: Vec<u8> = values.iter().flat_map(|v| half::f16::from_f32(*v).to_le_bytes()).collect();
    for budget in [2000, 1 << 18, 1 << 26] {
        assert!(streamed(&half, 0..400_000, budget).unwrap() == expected);
        assert!(streamed(&half, 777..399_001, budget).unwrap() == expected[777..399_001]);
    }
    let back = half.then(Transform::Cast(DType::F32)).unwrap();
    assert_eq!(back.transforms().1.len(), 2);
    let rounded = as_f32(&back.read().unwrap());
    assert!(rounded.iter().zip(&values).all(|(a, b)| *a == half::f16::from_f32(*b).to_f32()));
}

#[test]
fn integers_are_cast_exactly_or_not_at_all() {
    let ints = |values: &[i64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        LazyTensor::inline(DType::I64, vec![values.len() as u64], bytes)
    };
    let cast =
        |values: &[i64], to| ints(values).then(Transform::Cast(to)).unwrap().read().map(|b| b.to_vec());
    assert_eq!(cast(&[-128, 127], DType::I8), Some(vec![128, 127]));
    assert_eq!(cast(&[128], DType::I8), None);
    assert_eq!(cast(&[-1], DType::U64), None);
    assert_eq!(cast(&[1, 0], DType::Bool), Some(vec![1, 0]));
    assert_eq!(cast(&[2], DType::Bool), None);
    assert_eq!(cast(&[1 << 24], DType::F32), Some(16_777_216f32.to_le_bytes().to_vec()));
    assert_eq!(cast(&[(1 << 24) + 1], DType::F32), None);
    assert_eq!(cast(&[i64::MIN, 1 << 53], DType::F64).map(|b| b.len()), Some(16));
    assert_eq!(cast(&[i64::MAX], DType::F64), None);
    assert!(f32s(&[1.0]).then(Transform::Cast(DType::I8)).is_none());
}

#[test]
fn a_fill_is_one_element() {
    let sevens = LazyTensor::fill(DType::I16, vec![3, 5], &7i16.to_le_bytes());
    assert_eq!(sevens.read().unwrap(), [7, 0].repeat(15));
    assert_eq!(sevens.permute(&[1, 0]).unwrap().read().unwrap(), [7, 0].repeat(15));
}

/// Every column of the table that `tests/python/data/casts.py` makes.
const NARROW: [DType; 6] =
    [DType::F16, DType::BF16, DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ];

#[test]
#[cfg_attr(miri, ignore = "it takes hours")]
fn casts_give_the_bits_that_pytorch_and_onnx_give() {
    let table = include_str!("../../../../../tests/files/data/casts.txt");
    let rows: Vec<Vec<u32>> = table
        .lines()
        .map(|line| line.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect())
        .collect();
    assert!(rows.len() > 5000);
    let values: Vec<f32> = rows.iter().map(|row| f32::from_bits(row[0])).collect();
    let f64s: Vec<u8> = values.iter().flat_map(|v| f64::from(*v).to_le_bytes()).collect();
    let wide = LazyTensor::inline(DType::F64, vec![values.len() as u64], f64s);
    for (column, dtype) in NARROW.iter().enumerate() {
        let size = (dtype.bits() / 8) as usize;
        for source in [&f32s(&values), &wide] {
            let made = source.then(Transform::Cast(*dtype)).unwrap();
            let bytes = made.read().unwrap();
            for (row, bytes) in rows.iter().zip(bytes.chunks(size)) {
                let expected = &row[column + 1].to_le_bytes()[..size];
                assert_eq!(bytes, expected, "{} as {dtype}", f32::from_bits(row[0]));
            }
            // Rounded values are exact in the wider type and stay unchanged.
            let back = made.then(Transform::Cast(DType::F32)).unwrap();
            let again = back.then(Transform::Cast(*dtype)).unwrap();
            let infinite = |i: usize| as_f32(&back.read().unwrap())[i].is_infinite();
            let again = again.read().unwrap();
            for (i, (a, b)) in bytes.chunks(size).zip(again.chunks(size)).enumerate() {
                assert!(a == b || infinite(i), "{dtype}");
            }
        }
    }
}

#[test]
fn rounding_from_f64_happens_once() {
    // Just above the middle of two neighbours, by less than an f32 can tell.
    let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    let wide = LazyTensor::inline(DType::F64, vec![1], value.to_le_bytes().to_vec());
    let cast = |to| wide.then(Transform::Cast(to)).unwrap().read().unwrap().to_vec();
    assert_eq!(cast(DType::F16), half::f16::from_f32(1.0 + 2f32.powi(-10)).to_le_bytes());
    let value = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    let wide = LazyTensor::inline(DType::F64, vec![1], value.to_le_bytes().to_vec());
    let cast = wide.then(Transform::Cast(DType::BF16)).unwrap().read().unwrap().to_vec();
    assert_eq!(cast, half::bf16::from_f32(1.0 + 2f32.powi(-7)).to_le_bytes());
}

//! Views and transforms of tensors with sizes of all kinds: any that is accepted matches its definition, whichever
//! piece of it is read under whichever budget.

use onnxport_core::tensor::transform::{Bits, Blocks, Part, Quantise};
use onnxport_core::tensor::{DType, Error, LazyTensor, Source, Transform};

use super::measure::measured;
use super::random::{Random, rounds};

/// Tensors of up to this many bytes are read as a whole.
const SMALL: u64 = 1 << 16;

const DTYPES: [DType; 9] = [
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::F64,
    DType::U8,
    DType::I64,
    DType::C128,
    DType::I4,
    DType::F8E5M2,
];

const PARTS: [Part; 5] =
    [Part::Codes, Part::Scales, Part::ZeroPoints, Part::MatMulCodes, Part::MatMulZeroPoints];

/// A tensor over a few bytes, with any shape, strides and offset.
fn claimed(random: &mut Random) -> LazyTensor {
    let shape: Vec<u64> = (0..random.below(5)).map(|_| random.size()).collect();
    let bytes: Vec<u8> = (0..random.below(2000)).map(|_| random.below(256) as u8).collect();
    let mut tensor = LazyTensor::inline(*random.pick(&DTYPES), shape, bytes);
    if random.one_in(3) {
        tensor.offset = random.size();
    }
    if random.one_in(2) {
        let rank = tensor.shape.len() + random.below(8) / 7;
        tensor.strides = Some((0..rank).map(|_| random.size()).collect());
    }
    tensor
}

/// A sound tensor of ordinary numbers.
fn sound(random: &mut Random) -> LazyTensor {
    let shape: Vec<u64> = (0..random.below(5)).map(|_| random.below(9) as u64).collect();
    let dtype = *random.pick(&DTYPES);
    let mut bytes =
        vec![0; LazyTensor::inline(dtype, shape.clone(), Vec::new()).byte_len().unwrap() as usize];
    bytes.fill_with(|| random.below(64) as u8);
    LazyTensor::inline(dtype, shape, bytes)
}

/// Applies random steps to the tensor, skipping refused ones.
fn changed(mut tensor: LazyTensor, random: &mut Random) -> LazyTensor {
    for _ in 0..random.below(6) {
        let rank = tensor.shape.len();
        let next = match random.below(6) {
            0 => {
                let mut axes: Vec<usize> = (0..rank).collect();
                (1..rank).for_each(|at| axes.swap(at, random.below(at + 1)));
                tensor.permute(&axes)
            }
            1 => {
                let axis = random.below(rank + 1);
                let extent = tensor.shape.get(axis).copied().unwrap_or(1);
                let start = random.size() % extent.saturating_add(1).max(1);
                let end = if random.one_in(4) { random.size() } else { extent };
                tensor.slice(axis, start, end, random.size())
            }
            2 => {
                let wide = |extent: &u64| if *extent == 1 { random.size() } else { *extent };
                let shape: Vec<u64> = tensor.shape.iter().map(wide).collect();
                let added: Vec<u64> = (0..random.below(3)).map(|_| random.size()).collect();
                tensor.expand(&[added, shape].concat())
            }
            3 => {
                let count = tensor.elements().unwrap_or(0);
                let cut = random.below(7) as u64 + 1;
                let shape = if count.is_multiple_of(cut) { vec![cut, count / cut] } else { vec![count] };
                tensor.reshape(&shape)
            }
            4 => tensor.then(Transform::Cast(*random.pick(&DTYPES))),
            _ => tensor.then(Transform::Quantise(Quantise {
                bits: *random.pick(&[Bits::Four, Bits::Eight]),
                symmetric: random.one_in(2),
                blocks: Blocks { axis: random.below(rank + 1), size: random.size() },
                part: *random.pick(&PARTS),
                quantiser: None,
            })),
        };
        if let Some(next) = next {
            tensor = next;
        }
    }
    tensor
}

/// Bytes `range` as a list, read under this budget.
fn piece(tensor: &LazyTensor, range: std::ops::Range<u64>, budget: usize) -> Result<Vec<u8>, Error> {
    let mut read = Vec::new();
    tensor.stream(range, budget, &mut |bytes: &[u8]| {
        read.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(read)
}

/// Reads the tensor as a whole and in pieces.
fn survive(tensor: &LazyTensor, random: &mut Random) {
    let (sound, peak) = measured(|| tensor.check());
    assert!(peak < SMALL as usize, "{peak} bytes to look at {tensor:?}");
    if sound.is_err() {
        assert!(tensor.read().is_none(), "{tensor:?}");
        return;
    }
    let len = tensor.byte_len().unwrap();
    let (base, transforms) = tensor.transforms();
    if base.elements().unwrap() > 1 << 20 && transforms.iter().any(|t| !t.is_elementwise()) {
        // A block of elements that are one, repeated: to look at each of them takes its time.
        return;
    }
    if len > SMALL {
        // The last bytes, however far out they are.
        let last = piece(tensor, len - 9..len, 1 << 20);
        assert!(last.is_err() || last.is_ok_and(|last| last.len() == 9), "{tensor:?}");
        return;
    }
    let whole = match piece(tensor, 0..len, usize::MAX) {
        Ok(whole) => whole,
        Err(Error::Value(_)) => return,
        Err(error) => panic!("{error}: {tensor:?}"),
    };
    assert_eq!((whole.len() as u64, tensor.read().as_deref()), (len, Some(whole.as_slice())), "{tensor:?}");
    let (from, to) = (random.below(len as usize + 1), random.below(len as usize + 1));
    let (from, to) = (from.min(to), from.max(to));
    match piece(tensor, from as u64..to as u64, *random.pick(&[16, 256, 4096, 1 << 20])) {
        Ok(part) => assert_eq!(part, whole[from..to], "{from}..{to} of {tensor:?}"),
        Err(Error::Budget { .. }) => {}
        Err(error) => panic!("{error}: {from}..{to} of {tensor:?}"),
    }
    if let (Source::Inline(bytes), Some(strides)) = (&tensor.source, tensor.strides()) {
        assert!(tensor.dtype.bits() < 8 || whole == one_by_one(tensor, &strides, bytes), "{tensor:?}");
    }
}

/// The elements of a view by its definition.
fn one_by_one(tensor: &LazyTensor, strides: &[u64], bytes: &[u8]) -> Vec<u8> {
    let size = tensor.dtype.bits() as usize / 8;
    let element = |index: u64| {
        let (mut rest, mut at) = (index, tensor.offset);
        for (extent, stride) in tensor.shape.iter().zip(strides).rev() {
            at += rest % extent * stride;
            rest /= extent;
        }
        &bytes[at as usize * size..][..size]
    };
    (0..tensor.elements().unwrap()).flat_map(element).copied().collect()
}

#[test]
fn whatever_a_view_claims_it_is_refused_or_read() {
    rounds(3000, 11, |random| {
        let tensor = claimed(random);
        survive(&tensor, random);
        let tensor = changed(tensor, random);
        survive(&tensor, random);
    });
}

#[test]
fn whatever_is_made_of_a_sound_tensor_can_be_read() {
    rounds(3000, 12, |random| {
        let tensor = changed(sound(random), random);
        if tensor.check().is_ok() {
            survive(&tensor, random);
        }
    });
}

#[test]
fn an_extent_of_zero_outweighs_every_other() {
    let tensor = LazyTensor::inline(DType::F32, vec![1 << 63, 4, 0], Vec::new());
    assert_eq!((tensor.byte_len(), tensor.read().as_deref()), (Some(0), Some([].as_slice())));
    let absurd = LazyTensor::fill(DType::F32, vec![1 << 50], &[0; 4]);
    absurd.check().unwrap();
    assert_eq!(absurd.read(), None, "no memory holds it");
}

#[test]
fn packed_elements_that_start_within_a_byte_are_refused() {
    let mut tensor = LazyTensor::inline(DType::I4, vec![2], vec![0x21, 0x43]);
    tensor.offset = 1;
    assert!(tensor.check().is_err() && tensor.dense_range().is_none() && tensor.read().is_none());
    tensor.offset = 2;
    assert_eq!(tensor.read().as_deref(), Some([0x43].as_slice()));
    // Its bits go beyond 64.
    tensor.offset = 1 << 62;
    assert!(tensor.check().is_err());
}

#[test]
fn a_part_of_a_block_is_read_from_the_whole() {
    let weight = LazyTensor::inline(
        DType::F32,
        vec![2, 3],
        [1f32, -2.0, 3.0, 4.0, 5.0, -6.0].map(f32::to_le_bytes).concat(),
    );
    let blocks = Blocks { axis: 1, size: 4 };
    let form =
        Quantise { bits: Bits::Eight, symmetric: true, blocks, part: Part::MatMulCodes, quantiser: None };
    let codes = weight.then(Transform::Quantise(form)).unwrap();
    let whole = codes.read().unwrap();
    for (from, to) in [(0, 5), (1, 3), (3, 7), (5, 8)] {
        assert_eq!(piece(&codes, from..to, 1 << 20).unwrap(), whole[from as usize..to as usize]);
    }
}

#[test]
fn a_pipe_is_no_file_and_nothing_waits_for_it() {
    #[cfg(unix)]
    {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.safetensors");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(onnxport_core::tensor::MappedFile::open(&path).is_err());
    }
}

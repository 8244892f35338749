//! Quantised forms, in every layout and in pieces of every size.

use super::super::transform::{
    Bits, Blocks, Foreign, Granule, Kernel, Part, Quantise, QuantisedMut, Quantiser, QuantiserGranule,
    Rectangle, SharedQuantiser,
};
use super::super::{Produce, Producer};
use super::*;

/// Returns the quantized form and the values that it represents, by the formulas.
fn quantised(values: &[f32], shape: &[u64], q: &Quantise) -> (Vec<i32>, Vec<f32>, Vec<i32>, Vec<f32>) {
    let Blocks { axis, size } = q.blocks;
    let mut blocks = shape.to_vec();
    blocks[axis] = shape[axis].div_ceil(size);
    let flat = |index: &[u64], shape: &[u64]| index.iter().zip(shape).fold(0, |n, (i, d)| n * d + i) as usize;
    let mut bounds = vec![(0f32, 0f32); blocks.iter().product::<u64>() as usize];
    let block_of = |index: &Vec<u64>| {
        let mut index = index.clone();
        index[axis] /= size;
        flat(&index, &blocks)
    };
    for (index, value) in indices(shape).iter().zip(values) {
        let (low, high) = &mut bounds[block_of(index)];
        (*low, *high) = (low.min(*value), high.max(*value));
    }
    let levels = |bits: u32| f64::from((1u32 << bits) - 1);
    let bits = q.bits.count();
    let scales: Vec<f32> = bounds
        .iter()
        .map(|(low, high)| {
            let (low, high) = (f64::from(*low), f64::from(*high));
            let largest = if high > -low { high } else { low };
            let scale = match (q.symmetric, bits) {
                // The value of the largest magnitude has the code -8.
                (true, 4) => largest / -8.0,
                (true, _) => high.max(-low) / levels(bits - 1),
                (false, _) => (high - low) / levels(bits),
            };
            if scale == 0.0 { 1.0 } else { scale as f32 }
        })
        .collect();
    let zeros: Vec<i32> = bounds
        .iter()
        .zip(&scales)
        .map(
            |((low, _), s)| {
                if q.symmetric { 0 } else { (-f64::from(*low) / f64::from(*s)).round_ties_even() as i32 }
            },
        )
        .collect();
    let (low, high) =
        if q.symmetric { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let mut codes = Vec::new();
    let mut meant = Vec::new();
    for (index, value) in indices(shape).iter().zip(values) {
        let block = block_of(index);
        let code = ((value / scales[block]).round_ties_even() as i32 + zeros[block]).clamp(low, high);
        codes.push(code);
        meant.push((code - zeros[block]) as f32 * scales[block]);
    }
    (codes, scales, zeros, meant)
}

fn nibbles(codes: &[i32], bits: u32) -> Vec<u8> {
    if bits == 8 {
        return codes.iter().map(|c| *c as u8).collect();
    }
    codes.chunks(2).map(|c| (c[0] as u8 & 15) | (c.get(1).map_or(0, |c| *c as u8 & 15) << 4)).collect()
}

#[test]
fn quantised_forms_follow_their_formulas() {
    let mut random = Random(3);
    for round in 0..160 {
        let rank = 1 + random.below(3);
        let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(23)).collect();
        let count: u64 = shape.iter().product();
        let values: Vec<f32> = (0..count)
            .map(|_| (random.below(2001) as f32 - 1000.0) * if round % 7 == 0 { 0.0 } else { 0.013 })
            .collect();
        let q = Quantise {
            bits: [Bits::Four, Bits::Eight][round % 2],
            symmetric: round % 4 < 2,
            blocks: Blocks { axis: random.below(rank) as usize, size: 1 + random.below(30) },
            part: Part::Codes,
            quantiser: None,
        };
        let (codes, scales, zeros, _) = quantised(&values, &shape, &q);
        let weight = LazyTensor { shape: shape.clone(), ..f32s(&values) };
        let part = |part| {
            let tensor = weight.then(Transform::Quantise(Quantise { part, ..q.clone() })).unwrap();
            let bytes = streamed(&tensor, 0..tensor.byte_len().unwrap(), 1 << 21).unwrap();
            let start = bytes.len() as u64 / 3;
            assert_eq!(
                streamed(&tensor, start..bytes.len() as u64, 1 << 21).unwrap(),
                bytes[start as usize..]
            );
            bytes
        };
        assert_eq!(part(Part::Codes), nibbles(&codes, q.bits.count()), "{q:?} of {shape:?}");
        assert_eq!(as_f32(&part(Part::Scales)), scales);
        assert_eq!(part(Part::ZeroPoints), nibbles(&zeros, q.bits.count()));
        // The same bytes, where rows end with one.
        let last = shape.len() - 1;
        let fills = |extent: u64| (extent * u64::from(q.bits.count())).is_multiple_of(8);
        let bytes = |part| {
            weight.then(Transform::Quantise(Quantise { part, ..q.clone() })).map(|tensor| tensor.shape)
        };
        assert_eq!(bytes(Part::CodeBytes).is_some(), fills(shape[last]));
        if fills(shape[last]) {
            assert_eq!(part(Part::CodeBytes), part(Part::Codes));
        }
        if bytes(Part::ZeroPointBytes).is_some() {
            assert_eq!(part(Part::ZeroPointBytes), part(Part::ZeroPoints));
        }
    }
}

#[test]
fn long_axes_are_quantised_in_pieces() {
    // Blocks that are larger than a tile, side by side and in a row.
    let (rows, columns) = (264u64, 256u64);
    let values: Vec<f32> = (0..rows * columns).map(|i| ((i * 7919) % 4001) as f32 - 2000.0).collect();
    for (shape, axis) in [(vec![rows, columns], 0), (vec![rows * columns], 0), (vec![rows, columns], 1)] {
        let blocks = Blocks { axis, size: shape[axis] };
        let q = Quantise { bits: Bits::Eight, symmetric: true, blocks, part: Part::Codes, quantiser: None };
        let (codes, scales, ..) = quantised(&values, &shape, &q);
        let weight = LazyTensor { shape, ..f32s(&values) };
        let made = weight.then(Transform::Quantise(q.clone())).unwrap();
        for budget in [1 << 21, 1 << 26] {
            assert!(streamed(&made, 0..rows * columns, budget).unwrap() == nibbles(&codes, 8));
        }
        let made = weight.then(Transform::Quantise(Quantise { part: Part::Scales, ..q.clone() })).unwrap();
        assert_eq!(as_f32(&made.read().unwrap()), scales);
    }
}

#[test]
fn both_forms_of_int4_stand_for_the_same_weights() {
    for (bits, symmetric) in
        [(Bits::Four, true), (Bits::Four, false), (Bits::Eight, true), (Bits::Eight, false)]
    {
        let (n, k, size) = (5u64, 83u64, 32u64);
        let values: Vec<f32> = (0..n * k).map(|i| ((i * 7919) % 401) as f32 * 0.01 - 1.3).collect();
        let weight = LazyTensor { shape: vec![n, k], ..f32s(&values) };
        let q = Quantise {
            bits,
            symmetric,
            blocks: Blocks { axis: 1, size },
            part: Part::Codes,
            quantiser: None,
        };
        let (_, scales, _, meant) = quantised(&values, &[n, k], &q);
        let part = |part| {
            weight
                .then(Transform::Quantise(Quantise { part, ..q.clone() }))
                .unwrap()
                .read()
                .unwrap()
                .into_owned()
        };
        let (codes, zeros) = (part(Part::MatMulCodes), part(Part::MatMulZeroPoints));
        let (blocks, per_code) = (k.div_ceil(size), bits.count() as usize);
        let get = |bytes: &[u8], i: usize| match per_code {
            4 => i32::from(bytes[i / 2] >> (4 * (i % 2)) & 15),
            _ => i32::from(bytes[i]),
        };
        for row in 0..n as usize {
            let zero_row = &zeros[row * zeros.len() / n as usize..];
            for column in 0..k as usize {
                let block = column / size as usize;
                let flat = row * (blocks * size) as usize + column;
                let value =
                    (get(&codes, flat) - get(zero_row, block)) as f32 * scales[row * blocks as usize + block];
                assert_eq!(value.to_bits(), meant[row * k as usize + column].to_bits());
            }
        }
    }
}

#[test]
fn values_that_are_no_numbers_are_not_quantised() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut values = vec![1.0; 64];
        values[40] = bad;
        for (size, part) in [(32, Part::Codes), (64, Part::Scales)] {
            let blocks = Blocks { axis: 0, size };
            let q = Quantise { bits: Bits::Four, symmetric: true, blocks, part, quantiser: None };
            let made = f32s(&values).then(Transform::Quantise(q)).unwrap();
            let error = streamed(&made, 0..made.byte_len().unwrap(), 1 << 24).unwrap_err();
            assert_eq!(error.code(), crate::diagnose::Code::WEIGHT_VALUE, "{error}");
        }
    }
}

/// Turns the sign of every value, in granules of its own.
struct Negated(Granule);

impl Kernel for Negated {
    fn name(&self) -> &'static str {
        "negated"
    }

    fn granule(&self) -> Granule {
        self.0
    }

    fn output(&self, dtype: DType, shape: &[u64]) -> Option<(DType, Vec<u64>)> {
        Some((dtype, shape.to_vec()))
    }

    fn apply(&self, _: DType, _: u64, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        assert_eq!(input.len(), out.len());
        for (from, to) in as_f32(input).iter().zip(out.chunks_exact_mut(4)) {
            to.copy_from_slice(&(-from).to_le_bytes());
        }
        Ok(())
    }
}

/// Bytes that somebody makes.
struct Generated(Vec<u8>);

impl Produce for Generated {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn fill(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        out.copy_from_slice(&self.0[offset as usize..][..out.len()]);
        Ok(())
    }

    fn describe(&self) -> String {
        "made".to_owned()
    }
}

/// The same weight, dense, across its source, after casts and transforms, and made on demand.
fn in_every_way(values: &[f32], rows: u64, columns: u64) -> Vec<(&'static str, LazyTensor)> {
    let shape = vec![rows, columns];
    let dense = LazyTensor { shape: shape.clone(), ..f32s(values) };
    let transposed: Vec<f32> =
        (0..columns).flat_map(|c| (0..rows).map(move |r| values[(r * columns + c) as usize])).collect();
    let transposed = LazyTensor { shape: vec![columns, rows], ..f32s(&transposed) };
    let transposed = transposed.permute(&[1, 0]).unwrap();
    let wide: Vec<u8> = values.iter().flat_map(|v| f64::from(*v).to_le_bytes()).collect();
    let wide = LazyTensor::inline(DType::F64, shape.clone(), wide);
    let negated = |granule| {
        let values: Vec<f32> = values.iter().map(|v| -v).collect();
        let weight = LazyTensor { shape: shape.clone(), ..f32s(&values) };
        weight.then(Transform::Foreign(Foreign::new(Negated(granule)))).unwrap()
    };
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let source = Source::Produced(Producer::new(Generated(bytes)));
    vec![
        ("across", transposed),
        ("cast", wide.then(Transform::Cast(DType::F32)).unwrap()),
        ("by rows", negated(Granule::Row)),
        ("by blocks", negated(Granule::Block(700))),
        ("as a whole", negated(Granule::Whole)),
        ("made", LazyTensor { source, ..dense.clone() }),
        ("dense", dense),
    ]
}

#[test]
fn weights_are_quantised_alike_however_they_are_stored() {
    // More than is looked at together.
    let (rows, columns) = (270u64, 250u64);
    let values: Vec<f32> = (0..rows * columns).map(|i| ((i * 7919) % 4001) as f32 - 1700.0).collect();
    for (axis, size, symmetric) in
        [(0, 32, true), (1, 32, false), (0, 270, false), (1, 250, true), (1, 7, true), (0, 100, false)]
    {
        let blocks = Blocks { axis, size };
        let q = Quantise { bits: Bits::Four, symmetric, blocks, part: Part::Codes, quantiser: None };
        let (codes, scales, zeros, _) = quantised(&values, &[rows, columns], &q);
        let (codes, zeros) = (nibbles(&codes, 4), nibbles(&zeros, 4));
        let scales: Vec<u8> = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        for (way, weight) in in_every_way(&values, rows, columns) {
            for (part, expected) in
                [(Part::Codes, &codes), (Part::Scales, &scales), (Part::ZeroPoints, &zeros)]
            {
                let made = weight.then(Transform::Quantise(Quantise { part, ..q.clone() })).unwrap();
                let len = made.byte_len().unwrap();
                // A source that can only be read in its own order is computed again for every piece.
                let least = if weight.is_open() && size == 32 { made.least_memory() } else { 4 << 20 };
                for budget in [least, 64 << 20] {
                    let bytes = streamed(&made, 0..len, budget as usize).unwrap();
                    assert!(bytes == *expected, "{way}, {q:?}, {part:?}, {budget}");
                }
                let some = len / 3..len - len / 5;
                let bytes = streamed(&made, some.clone(), 3 << 20).unwrap();
                assert!(bytes == expected[some.start as usize..some.end as usize], "{way}, {q:?}, {part:?}");
            }
        }
    }
}

type Change = fn(&mut QuantisedMut<'_>);

/// Power-of-two scales, as small as the values in one granule allow.
struct Powers {
    granule: QuantiserGranule,
    wrong: Option<Change>,
}

impl Quantiser for Powers {
    fn name(&self) -> &'static str {
        "test/powers"
    }

    fn granule(&self) -> QuantiserGranule {
        self.granule
    }

    fn quantise(&self, at: &Rectangle, values: &[f32], made: &mut QuantisedMut<'_>) -> Result<(), Error> {
        let width = (at.columns.end - at.columns.start) as usize;
        let blocks = width.div_ceil(at.block as usize);
        assert!(at.columns.start.is_multiple_of(at.block));
        assert_eq!(values.len(), width * (at.rows.end - at.rows.start) as usize);
        assert_eq!((made.codes.len(), made.scales.len() * width), (values.len(), values.len() * blocks));
        for (row, line) in values.chunks(width).enumerate() {
            for (index, block) in line.chunks(at.block as usize).enumerate() {
                let seen = if self.granule == QuantiserGranule::Row { line } else { block };
                let most = seen.iter().fold(0f32, |most, value| most.max(value.abs()));
                let scale = (most / 7.0).log2().ceil().exp2();
                made.scales[row * blocks + index] = scale;
                for (column, value) in block.iter().enumerate() {
                    let code = (value / scale).round() as i32;
                    made.codes[row * width + index * at.block as usize + column] = code.clamp(-8, 7);
                }
            }
        }
        made.zeros.fill(0);
        if let Some(wrong) = self.wrong {
            wrong(made);
        }
        Ok(())
    }
}

#[test]
fn others_choose_scales_and_codes() {
    let (rows, columns, size) = (270usize, 250usize, 32usize);
    let values: Vec<f32> =
        (0..rows * columns).map(|i| ((i * 7919) % 4001) as f32 * (1.0 + (i % 9) as f32) - 1700.0).collect();
    for (granule, axis) in
        [QuantiserGranule::Block, QuantiserGranule::Row].into_iter().flat_map(|g| [(g, 0), (g, 1)])
    {
        let quantiser = Some(SharedQuantiser::new(Powers { granule, wrong: None }));
        let blocks = Blocks { axis, size: size as u64 };
        let q = Quantise { bits: Bits::Four, symmetric: true, blocks, part: Part::Codes, quantiser };
        let (lines, length) = if axis == 0 { (columns, rows) } else { (rows, columns) };
        let value = |line: usize, at: usize| {
            values[if axis == 0 { at * columns + line } else { line * columns + at }]
        };
        let count = length.div_ceil(size);
        let scale = |line: usize, block: usize| {
            let seen = match granule {
                QuantiserGranule::Row => 0..length,
                QuantiserGranule::Block => block * size..length.min((block + 1) * size),
            };
            let most = seen.map(|at| value(line, at).abs()).fold(0f32, f32::max);
            (most / 7.0).log2().ceil().exp2()
        };
        let code =
            |line: usize, at: usize| ((value(line, at) / scale(line, at / size)).round() as i32).clamp(-8, 7);
        let order = |lines: usize, places: usize| -> Vec<(usize, usize)> {
            if axis == 0 {
                (0..places).flat_map(|p| (0..lines).map(move |l| (l, p))).collect()
            } else {
                (0..lines).flat_map(|l| (0..places).map(move |p| (l, p))).collect()
            }
        };
        let codes: Vec<i32> = order(lines, length).into_iter().map(|(l, at)| code(l, at)).collect();
        let scales: Vec<f32> = order(lines, count).into_iter().map(|(l, block)| scale(l, block)).collect();
        for (way, weight) in in_every_way(&values, rows as u64, columns as u64) {
            let made = weight.then(Transform::Quantise(q.clone())).unwrap();
            let part = Transform::Quantise(Quantise { part: Part::Scales, ..q.clone() });
            let made_scales = weight.then(part).unwrap();
            for budget in [3 << 20, 64 << 20] {
                let len = made.byte_len().unwrap();
                let bytes = streamed(&made, 0..len, budget as usize).unwrap();
                assert!(bytes == nibbles(&codes, 4), "{way}, {axis}, {granule:?}, {budget}");
                let len = made_scales.byte_len().unwrap();
                let bytes = streamed(&made_scales, 0..len, budget as usize).unwrap();
                assert!(as_f32(&bytes) == scales, "{way}, {axis}, {granule:?}, {budget}");
            }
        }
        if axis == 1 {
            let weight = LazyTensor { shape: vec![rows as u64, columns as u64], ..f32s(&values) };
            let part = Transform::Quantise(Quantise { part: Part::MatMulCodes, ..q.clone() });
            let bytes = weight.then(part).unwrap().read().unwrap().into_owned();
            for (line, block) in order(rows, count) {
                for at in 0..size {
                    let flat = (line * count + block) * size + at;
                    let found = i32::from(bytes[flat / 2] >> (4 * (flat % 2)) & 15) - 8;
                    let at = block * size + at;
                    assert_eq!(found, if at < columns { code(line, at) } else { 0 });
                }
            }
        }
    }
}

#[test]
fn what_others_choose_is_checked() {
    let wrong: [(Change, &str); 5] = [
        (|made| made.scales[1] = f32::NAN, "the scale NaN"),
        (|made| made.scales[0] = 0.0, "the scale 0"),
        (|made| made.zeros[0] = 1, "the zero point 1"),
        (|made| made.codes[40] = 8, "the code 8"),
        (|made| made.codes[0] = i32::MIN, "the code -2147483648"),
    ];
    let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
    for (wrong, said) in wrong {
        let powers = Powers { granule: QuantiserGranule::Block, wrong: Some(wrong) };
        let quantiser = Some(SharedQuantiser::new(powers));
        let blocks = Blocks { axis: 0, size: 32 };
        let q = Quantise { bits: Bits::Four, symmetric: true, blocks, part: Part::Codes, quantiser };
        let made = f32s(&values).then(Transform::Quantise(q)).unwrap();
        let error = streamed(&made, 0..32, 1 << 24).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains("test/powers"), "{error}");
    }
}

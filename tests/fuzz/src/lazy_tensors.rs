//! Lazy tensors: views, transforms and joins read the elements that plain arrays have.

use arbitrary::{Result, Unstructured};
use onnxport_ir::ops::{Elements, Tensor};
use onnxport_ir::tensor::{Binary, DType, Error, LazyTensor, Transform, Unary};

const DTYPES: &[DType] = &[
    DType::F32,
    DType::F64,
    DType::F16,
    DType::BF16,
    DType::I8,
    DType::U8,
    DType::I32,
    DType::I64,
    DType::U64,
    DType::Bool,
];

/// Arrays with more elements are not made.
const MAX_LEN: u64 = 600;

/// An element; `Bad` where a transform refuses its operands.
#[derive(Clone, Copy, Debug)]
enum Item {
    Float(f64),
    Int(i128),
    Bad,
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Item::Float(a), Item::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
            (Item::Int(a), Item::Int(b)) => a == b,
            (Item::Bad, Item::Bad) => true,
            _ => false,
        }
    }
}

/// A plain array beside the lazy tensor.
#[derive(Clone, Debug)]
struct Pair {
    lazy: LazyTensor,
    items: Vec<Item>,
}

pub(crate) fn run(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let mut pairs = Vec::new();
    // The bytes end somewhere.
    let _ = build(&mut u, &mut pairs);
    for pair in &pairs {
        check(pair);
    }
    if let [.., a, b] = pairs.as_slice()
        && a.lazy.same_bytes(&b.lazy)
    {
        assert_eq!(a.items, b.items, "{:?} and {:?} claim the same bytes", a.lazy, b.lazy);
        assert_eq!(a.lazy.fingerprint(), b.lazy.fingerprint());
    }
    if let Some(pair) = pairs.last() {
        let _ = part(&mut u, pair);
    }
}

fn build(u: &mut Unstructured<'_>, pairs: &mut Vec<Pair>) -> Result<()> {
    pairs.push(source(u)?);
    while !u.is_empty() && pairs.len() < 12 {
        let pair = u.choose(pairs)?.clone();
        let made = match u.int_in_range(0..=9)? {
            0 => Some(source(u)?),
            1 => permute(u, &pair)?,
            2 | 3 => slice(u, &pair)?,
            4 => expand(u, &pair)?,
            5 => reshape(u, &pair)?,
            6 => concat(u, &pair, pairs)?,
            7 => binary(u, &pair, pairs)?,
            8 => transform(u, &pair)?,
            _ => product(u, &pair, pairs)?,
        };
        pairs.extend(made.filter(|made| made.lazy.elements().is_some_and(|n| n <= MAX_LEN)));
    }
    Ok(())
}

fn source(u: &mut Unstructured<'_>) -> Result<Pair> {
    let dtype = *u.choose(DTYPES)?;
    let rank = u.int_in_range(0..=4)?;
    let shape: Vec<u64> = (0..rank).map(|_| Ok(*u.choose(&[1, 2, 3, 2, 4, 0])?)).collect::<Result<_>>()?;
    let strides: Option<Vec<u64>> = if u.ratio(1, 3)? {
        Some((0..rank).map(|_| u.int_in_range(0..=5)).collect::<Result<_>>()?)
    } else {
        None
    };
    let offset = u.int_in_range(0..=3)?;
    let reach = match &strides {
        None => shape.iter().product::<u64>(),
        Some(strides) => 1 + shape.iter().zip(strides).map(|(d, s)| d.saturating_sub(1) * s).sum::<u64>(),
    };
    let mut random = crate::mutate::Random::new(u.arbitrary::<u16>()?.into());
    let stored: Vec<Item> = (0..offset + reach).map(|_| draw(dtype, &mut random)).collect();
    let bytes = packed(dtype, &stored);
    let lazy = LazyTensor { shape, strides, offset, ..LazyTensor::inline(dtype, Vec::new(), bytes) };
    let steps = lazy.strides().expect("strides of a small tensor");
    let at = |index: &[u64]| offset + index.iter().zip(&steps).map(|(i, s)| i * s).sum::<u64>();
    let items = indices(&lazy.shape).iter().map(|index| stored[at(index) as usize]).collect();
    Ok(Pair { lazy, items })
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::F64 | DType::F16 | DType::BF16)
}

fn draw(dtype: DType, random: &mut crate::mutate::Random) -> Item {
    const FLOATS: &[f64] =
        &[0.0, -0.0, 1.0, -2.0, 0.1, 3.3e38, 1e-45, f64::NAN, f64::INFINITY, 65519.9, 1e300, 6e-8];
    const INTS: &[i128] = &[0, 1, -1, 2, 127, 128, 255, -128, 1 << 24, (1 << 24) + 1, (1 << 53) + 1];
    if is_float(dtype) {
        return round(dtype, FLOATS[random.below(FLOATS.len())]);
    }
    let (least, most) = ends(dtype);
    let drawn = match random.below(6) {
        0 => least,
        1 => most,
        _ => INTS[random.below(INTS.len())],
    };
    Item::Int(drawn.clamp(least, most))
}

fn ends(dtype: DType) -> (i128, i128) {
    match dtype {
        DType::Bool => (0, 1),
        DType::U8 => (0, 255),
        DType::U64 => (0, u64::MAX.into()),
        _ => (-(1 << (dtype.bits() - 1)), (1 << (dtype.bits() - 1)) - 1),
    }
}

/// A float, rounded once to the type.
fn round(dtype: DType, value: f64) -> Item {
    let tensor = Tensor::of_floats(dtype, vec![1], vec![value]).expect("a float");
    Item::Float(tensor.floats().expect("a float")[0])
}

fn elements(items: &[Item]) -> (Vec<f64>, Vec<i128>) {
    let mut all = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Float(x) => all.0.push(*x),
            Item::Int(n) => all.1.push(*n),
            Item::Bad => {}
        }
    }
    all
}

/// The bytes of items without a `Bad` one.
fn packed(dtype: DType, items: &[Item]) -> Vec<u8> {
    let (shape, (floats, ints)) = (vec![items.len()], elements(items));
    let tensor = if is_float(dtype) {
        Tensor::of_floats(dtype, shape, floats)
    } else if dtype == DType::Bool {
        Tensor::of_bools(shape, ints.iter().map(|n| *n != 0).collect())
    } else {
        Tensor::of_ints(dtype, shape, ints)
    };
    tensor.and_then(|tensor| tensor.to_packed()).expect("a tensor").to_vec()
}

fn unpacked(dtype: DType, bytes: &[u8]) -> Vec<Item> {
    let len = bytes.len() * 8 / dtype.bits() as usize;
    let tensor = Tensor::packed(dtype, vec![len], bytes.to_vec().into()).expect("a tensor");
    match tensor.elements() {
        Elements::Bool(items) => items.iter().map(|b| Item::Int((*b).into())).collect(),
        Elements::Int(items) => items.iter().map(|n| Item::Int(*n)).collect(),
        Elements::Float(items) => items.iter().map(|x| Item::Float(*x)).collect(),
        other => panic!("{other:?}"),
    }
}

fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |all, size| {
        all.iter().flat_map(|head| (0..*size).map(move |i| [head.as_slice(), &[i]].concat())).collect()
    })
}

/// The array of this shape whose elements are those of `pair` at the index that `from` gives.
fn gathered(pair: &Pair, lazy: LazyTensor, from: impl Fn(&[u64]) -> Vec<u64>) -> Pair {
    let old = &pair.lazy.shape;
    let place = |index: Vec<u64>| index.iter().zip(old).fold(0, |at, (i, size)| at * size + i);
    let items = indices(&lazy.shape).iter().map(|index| pair.items[place(from(index)) as usize]).collect();
    Pair { lazy, items }
}

fn permute(u: &mut Unstructured<'_>, pair: &Pair) -> Result<Option<Pair>> {
    let mut axes: Vec<usize> = (0..pair.lazy.shape.len()).collect();
    for at in (1..axes.len()).rev() {
        axes.swap(at, u.int_in_range(0..=at)?);
    }
    let Some(lazy) = pair.lazy.permute(&axes) else { return Ok(None) };
    let from = |index: &[u64]| {
        let mut old = vec![0; index.len()];
        axes.iter().zip(index).for_each(|(axis, i)| old[*axis] = *i);
        old
    };
    Ok(Some(gathered(pair, lazy, from)))
}

fn slice(u: &mut Unstructured<'_>, pair: &Pair) -> Result<Option<Pair>> {
    let Some(last) = pair.lazy.shape.len().checked_sub(1) else { return Ok(None) };
    let axis = u.int_in_range(0..=last)?;
    let (start, end, step) = (u.int_in_range(0..=4)?, u.int_in_range(0..=5)?, u.int_in_range(0..=3)?);
    let Some(lazy) = pair.lazy.slice(axis, start, end, step) else { return Ok(None) };
    assert!(start <= end && end <= pair.lazy.shape[axis] && step > 0);
    assert_eq!(lazy.shape[axis], (end - start).div_ceil(step));
    let from = |index: &[u64]| {
        let mut old = index.to_vec();
        old[axis] = start + step * old[axis];
        old
    };
    Ok(Some(gathered(pair, lazy, from)))
}

fn expand(u: &mut Unstructured<'_>, pair: &Pair) -> Result<Option<Pair>> {
    let mut shape = pair.lazy.shape.clone();
    for size in shape.iter_mut().filter(|size| **size == 1) {
        *size = u.int_in_range(0..=3)?;
    }
    if u.arbitrary()? {
        shape.insert(0, u.int_in_range(1..=3)?);
    }
    if shape.iter().product::<u64>() > MAX_LEN {
        return Ok(None);
    }
    let Some(lazy) = pair.lazy.expand(&shape) else { return Ok(None) };
    let old = &pair.lazy.shape;
    let from = |index: &[u64]| {
        let tail = &index[index.len() - old.len()..];
        tail.iter().zip(old).map(|(i, size)| if *size == 1 { 0 } else { *i }).collect()
    };
    Ok(Some(gathered(pair, lazy, from)))
}

fn reshape(u: &mut Unstructured<'_>, pair: &Pair) -> Result<Option<Pair>> {
    let count = pair.lazy.elements().expect("a size");
    let first = u.int_in_range(1..=6)?;
    let shape = match u.int_in_range(0..=3)? {
        0 => vec![count],
        1 if count.is_multiple_of(first) => vec![first, count / first],
        2 if count.is_multiple_of(first) => vec![count / first, 1, first],
        _ => vec![1, count],
    };
    let lazy = pair.lazy.reshape(&shape);
    if pair.lazy.strides.is_none() {
        assert!(lazy.is_some(), "a dense tensor has no shape {shape:?}");
    }
    Ok(lazy.map(|lazy| Pair { lazy, items: pair.items.clone() }))
}

fn concat(u: &mut Unstructured<'_>, pair: &Pair, pairs: &[Pair]) -> Result<Option<Pair>> {
    let Some(last) = pair.lazy.shape.len().checked_sub(1) else { return Ok(None) };
    let axis = u.int_in_range(0..=last)?;
    let mut parts = vec![pair.clone()];
    for _ in 0..u.int_in_range(1..=2)? {
        parts.push(u.choose(pairs)?.clone());
    }
    let tensors: Vec<LazyTensor> = parts.iter().map(|part| part.lazy.clone()).collect();
    let Some(lazy) = LazyTensor::concat(&tensors, axis) else { return Ok(None) };
    let items = indices(&lazy.shape).into_iter().map(|mut index| {
        for part in &parts {
            let shape = &part.lazy.shape;
            if index[axis] < shape[axis] {
                let at = index.iter().zip(shape).fold(0, |at, (i, size)| at * size + i);
                return part.items[at as usize];
            }
            index[axis] -= shape[axis];
        }
        panic!("an index outside of all parts")
    });
    let items = items.collect();
    Ok(Some(Pair { lazy, items }))
}

fn binary(u: &mut Unstructured<'_>, pair: &Pair, pairs: &[Pair]) -> Result<Option<Pair>> {
    let other = u.choose(pairs)?;
    let operator = *u.choose(&[Binary::Add, Binary::Sub, Binary::Mul, Binary::Div])?;
    let shape = |pair: &Pair| pair.lazy.shape.iter().product::<u64>().max(1);
    if shape(pair) * shape(other) > MAX_LEN * 4 {
        return Ok(None);
    }
    let Some(lazy) = pair.lazy.binary(operator, &other.lazy) else { return Ok(None) };
    let of = |pair: &Pair, index: &[u64]| {
        let own = &pair.lazy.shape;
        let tail = &index[index.len() - own.len()..];
        let at = tail.iter().zip(own).fold(0, |at, (i, n)| at * n + if *n == 1 { 0 } else { *i });
        pair.items[at as usize]
    };
    let dtype = lazy.dtype;
    let item = |index: &Vec<u64>| match (of(pair, index), of(other, index)) {
        (Item::Float(a), Item::Float(b)) => round(
            dtype,
            match operator {
                Binary::Add => a + b,
                Binary::Sub => a - b,
                Binary::Mul => a * b,
                Binary::Div => a / b,
            },
        ),
        (Item::Int(a), Item::Int(b)) => {
            let exact = match operator {
                Binary::Add => Some(a + b),
                Binary::Sub => Some(a - b),
                Binary::Mul => a.checked_mul(b),
                Binary::Div => a.checked_div(b),
            };
            let (least, most) = ends(dtype);
            exact.filter(|n| (least..=most).contains(n)).map_or(Item::Bad, Item::Int)
        }
        _ => Item::Bad,
    };
    let items = indices(&lazy.shape).iter().map(item).collect();
    Ok(Some(Pair { lazy, items }))
}

fn transform(u: &mut Unstructured<'_>, pair: &Pair) -> Result<Option<Pair>> {
    let transform = match u.int_in_range(0..=5)? {
        0 => Transform::Unary(Unary::Neg),
        1 => Transform::Unary(Unary::Sqrt),
        2 => Transform::Unary(Unary::Reciprocal),
        _ => Transform::Cast(*u.choose(DTYPES)?),
    };
    let Some(lazy) = pair.lazy.then(transform.clone()) else { return Ok(None) };
    let dtype = lazy.dtype;
    let item = |item: &Item| match (&transform, *item) {
        (Transform::Unary(Unary::Neg), Item::Float(x)) => round(dtype, -x),
        (Transform::Unary(Unary::Sqrt), Item::Float(x)) => round(dtype, x.sqrt()),
        (Transform::Unary(Unary::Reciprocal), Item::Float(x)) => round(dtype, 1.0 / x),
        (Transform::Unary(Unary::Neg), Item::Int(n)) => {
            Some(-n).filter(|n| *n <= ends(dtype).1).map_or(Item::Bad, Item::Int)
        }
        (Transform::Cast(_), Item::Float(x)) => round(dtype, x),
        // A cast of an integer is exact or refused.
        (Transform::Cast(_), Item::Int(n)) if is_float(dtype) => match round(dtype, n as f64) {
            Item::Float(x) if x.is_finite() && x as i128 == n => Item::Float(x),
            _ => Item::Bad,
        },
        (Transform::Cast(_), Item::Int(n)) => {
            let (least, most) = ends(dtype);
            if (least..=most).contains(&n) { Item::Int(n) } else { Item::Bad }
        }
        _ => Item::Bad,
    };
    let items = pair.items.iter().map(item).collect();
    Ok(Some(Pair { lazy, items }))
}

fn product(u: &mut Unstructured<'_>, pair: &Pair, pairs: &[Pair]) -> Result<Option<Pair>> {
    let other = u.choose(pairs)?;
    let Some(lazy) = pair.lazy.product(&other.lazy) else { return Ok(None) };
    let ([_, inner], [_, columns]) = (pair.lazy.shape.as_slice(), other.lazy.shape.as_slice()) else {
        panic!("a product of matrices");
    };
    let item = |index: &Vec<u64>| {
        let mut sum = 0f32;
        for k in 0..*inner {
            let a = pair.items[(index[0] * inner + k) as usize];
            let b = other.items[(k * columns + index[1]) as usize];
            let (Item::Float(a), Item::Float(b)) = (a, b) else { return Item::Bad };
            sum += a as f32 * b as f32;
        }
        Item::Float(sum.into())
    };
    let items = indices(&lazy.shape).iter().map(item).collect();
    Ok(Some(Pair { lazy, items }))
}

/// Reads all of it.
fn check(pair: &Pair) {
    let Pair { lazy, items } = pair;
    lazy.check().expect("a tensor that was made of sound ones");
    assert_eq!(lazy.elements(), Some(items.len() as u64));
    match (lazy.read(), items.contains(&Item::Bad)) {
        (Some(bytes), false) => assert_eq!(unpacked(lazy.dtype, &bytes), *items, "{lazy:?}"),
        (None, true) => {}
        (Some(_), true) => panic!("a value that does not fit is not refused: {lazy:?}"),
        (None, false) => panic!("it is not read: {lazy:?}"),
    }
}

/// Reads some bytes of it within some memory.
fn part(u: &mut Unstructured<'_>, pair: &Pair) -> Result<()> {
    if pair.items.contains(&Item::Bad) {
        return Ok(());
    }
    let all = pair.lazy.read().expect("its bytes").into_owned();
    let start = u.int_in_range(0..=all.len())?;
    let end = u.int_in_range(start..=all.len())?;
    let budget = u.int_in_range(0..=4096)?;
    let mut found = Vec::new();
    let streamed = pair.lazy.stream(start as u64..end as u64, budget, &mut |bytes: &[u8]| {
        found.extend_from_slice(bytes);
        Ok(())
    });
    match streamed {
        Ok(()) => assert_eq!(found, all[start..end], "{start}..{end} of {:?} in {budget}", pair.lazy),
        Err(Error::Budget { needed, .. }) => assert!(needed > budget as u64),
        Err(error) => panic!("{error}"),
    }
    Ok(())
}

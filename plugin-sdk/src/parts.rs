//! Lowerings of linear and multilinear operators for complex tensors, by lowering the call for their parts.

use onnxport_abi::RSlice;

use crate::abi::lowering::{ArgRecord, CallView, TypeRecord, arg_kind};
use crate::lent::Lent;
use crate::{DType, Emit, Kind, Lower, Refusal, Res, Results, Value};

/// A lowering that has read its arguments; its results are not handed over yet.
pub(crate) type Values = fn(&mut Lower<'_>) -> Res<Vec<Option<Value>>>;

/// The number of complex factors up to which a product is expanded.
const FACTORS: u32 = 4;

/// Lowers a call with complex tensors to the real and the imaginary part of its results. `linear` are the arguments
/// whose imaginary part is zero where they are real; the first argument always is one. Registered by
/// `#[lowering(…, parts)]`.
///
/// # Errors
/// When no result is complex, when another argument is a complex number, or when a part cannot be lowered.
pub fn by_parts(cx: &Lower<'_>, linear: &[&str], values: Values) -> Res<()> {
    let all = cx.call.args.lent();
    let is_linear = |i: usize, record: &ArgRecord<'_>| i == 0 || linear.contains(&record.name.lent());
    let mut elements = vec![false; cx.call.elements.len()];
    for (i, list) in all.iter().enumerate().filter(|(_, record)| record.kind == arg_kind::LIST) {
        let (first, len) = (list.first as usize, list.len as usize);
        elements.iter_mut().skip(first).take(len).for_each(|element| *element = is_linear(i, list));
    }
    let lower = |part| {
        let argument = |(i, record): (usize, &_)| part_of(cx, record, part, is_linear(i, record));
        let args = all.iter().enumerate().map(argument).collect::<Res<Vec<_>>>()?;
        let element = |(record, linear): (&_, &bool)| part_of(cx, record, part, *linear);
        let elements = cx.call.elements.lent().iter().zip(&elements).map(element);
        lowered(cx, &args, &elements.collect::<Res<Vec<_>>>()?, values)
    };
    paired(cx, lower(Part::Real)?, lower(Part::Imaginary)?)
}

/// Lowers a product of complex tensors to the sum of the products of their parts. Registered by
/// `#[lowering(…, multilinear)]`.
///
/// # Errors
/// When no result is complex, when there are more than four complex factors, or when a part cannot be lowered.
pub fn by_products(cx: &Lower<'_>, values: Values) -> Res<()> {
    let (args, elements) = (cx.call.args.lent(), cx.call.elements.lent());
    let is_factor =
        |record: &&ArgRecord<'_>| record.kind == arg_kind::TENSOR && complex_type(record).is_some();
    let factors = args.iter().chain(elements).filter(is_factor).count() as u32;
    if factors > FACTORS {
        return Err(Refusal::new(format!(
            "a product of more than {FACTORS} complex factors is not supported"
        )));
    }
    // The product of the imaginary parts of n factors, and of the real parts of the others, has the factor i^n.
    let mut sums: [Option<Vec<Option<Value>>>; 2] = [None, None];
    for choice in 0..1_u32 << factors {
        let mut left = choice;
        let chosen = args.iter().chain(elements).map(|record| {
            let part = if left & 1 == 0 { Part::Real } else { Part::Imaginary };
            left >>= u32::from(is_factor(&record));
            part_of(cx, record, part, false)
        });
        let chosen = chosen.collect::<Res<Vec<_>>>()?;
        let (args, elements) = chosen.split_at(args.len());
        let product = lowered(cx, args, elements, values)?;
        let power = choice.count_ones();
        let [real, imaginary] = &mut sums;
        let sum = if power.is_multiple_of(2) { real } else { imaginary };
        *sum = Some(match sum.take() {
            Some(sum) => sum.into_iter().zip(product).map(|(a, b)| Some(signed(a?, b?, power))).collect(),
            None => product,
        });
    }
    let [real, imaginary] = sums.map(Option::unwrap_or_default);
    paired(cx, real, imaginary)
}

/// `sum + product` or `sum - product`, by the sign of `i^power`.
fn signed(sum: Value, product: Value, power: u32) -> Value {
    if power % 4 < 2 { sum + product } else { sum - product }
}

/// The results of the call with other arguments, and with real results.
fn lowered<'h>(
    cx: &Lower<'h>,
    args: &[ArgRecord<'h>],
    elements: &[ArgRecord<'h>],
    values: Values,
) -> Res<Vec<Option<Value>>> {
    let results: Vec<_> = cx.call.results.lent().iter().map(real_type).collect();
    let call = CallView {
        args: RSlice::from_slice(args),
        elements: RSlice::from_slice(elements),
        results: RSlice::from_slice(&results),
        ..cx.call
    };
    values(&mut cx.with_call(call))
}

/// Hands over the results with these parts.
fn paired(cx: &Lower<'_>, real: Vec<Option<Value>>, imaginary: Vec<Option<Value>>) -> Res<()> {
    let complex = |i: usize| cx.result(i).is_ok_and(|fact| fact.is_complex());
    if !(0..cx.result_count()).any(complex) {
        return Err("the operator takes complex tensors, and its result is real".into());
    }
    let pairs = real.into_iter().zip(imaginary).enumerate().map(|(i, (real, imaginary))| {
        let (real, imaginary) = (real?, imaginary?);
        Some(if complex(i) { cx.complex(real, imaginary) } else { real })
    });
    pairs.collect::<Vec<_>>().finish(cx)
}

/// A part of complex numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Real,
    Imaginary,
}

/// A part of an argument. A real tensor or number has the imaginary part 0 where it is `linear`; elsewhere it is
/// an index, a mask or a factor, and stays as it is.
fn part_of<'h>(cx: &Lower<'_>, record: &ArgRecord<'h>, part: Part, linear: bool) -> Res<ArgRecord<'h>> {
    let imaginary = part == Part::Imaginary;
    let complex = complex_type(record);
    let int = complex.map_or(record.int, |dtype| i64::from(dtype.real().onnx()));
    match record.kind {
        arg_kind::TENSOR if complex.is_some() => {
            let value = cx.gather(Value(record.value), cx.int(i64::from(imaginary)), -1).0;
            Ok(ArgRecord { int, value, ..*record })
        }
        arg_kind::TENSOR if linear && imaginary => {
            let value = Value(record.value);
            let zero = cx.numbers_shaped(&[0.0], &[], cx.dtype(value)?);
            let value = cx.expand(zero, cx.op(crate::op::Shape).input(value).one()).0;
            Ok(ArgRecord { value, ..*record })
        }
        arg_kind::COMPLEX if linear => {
            let float = if imaginary { record.imaginary } else { record.float };
            Ok(ArgRecord { kind: arg_kind::FLOAT, float, ..*record })
        }
        arg_kind::COMPLEX => {
            Err(Refusal::new(format!("argument `{}`: a complex number is not supported", record.name.lent())))
        }
        arg_kind::INT
        | arg_kind::FLOAT
        | arg_kind::BOOL
        | arg_kind::SYM_INT
        | arg_kind::SYM_FLOAT
        | arg_kind::SYM_BOOL
            if linear && imaginary =>
        {
            Ok(ArgRecord { kind: arg_kind::FLOAT, float: 0.0, ..*record })
        }
        _ => Ok(ArgRecord { int, ..*record }),
    }
}

/// The type of a complex tensor, or a complex type.
fn complex_type(record: &ArgRecord<'_>) -> Option<DType> {
    let typed = matches!(record.kind, arg_kind::TENSOR | arg_kind::DTYPE);
    let dtype = i32::try_from(record.int).ok().filter(|_| typed).and_then(DType::from_onnx)?;
    (dtype.kind() == Kind::Complex).then_some(dtype)
}

/// The type of the parts of a result.
fn real_type<'h>(record: &TypeRecord<'h>) -> TypeRecord<'h> {
    let dtype = DType::from_onnx(record.dtype).map_or(record.dtype, |dtype| dtype.real().onnx());
    TypeRecord { dtype, ..*record }
}

impl Lower<'_> {
    /// Complex numbers with these parts, of one shape.
    pub fn complex(&self, real: Value, imaginary: Value) -> Value {
        self.concat(&[self.unsqueeze(real, &[-1]), self.unsqueeze(imaginary, &[-1])], -1)
    }
}

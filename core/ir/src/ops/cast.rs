//! Other element types for the same values, or for the same bits.

use super::call::{Call, one};
use super::error::{invalid, unsupported};
use super::tensor::float;
use super::{Elements, Op, Res, Rounding, Tensor, Value};
use crate::tensor::{DType, Kind};

pub(super) const OPS: &[Op] = &[
    Op::new("BitCast").elementwise().typed().dtypes(infer::to).eval(bit_cast),
    Op::new("Cast").elementwise().typed().discontinuous().dtypes(infer::to).contents(infer::integers).eval(
        |c| {
            let to = c.dtype("to")?;
            cast(c, to)
        },
    ),
    Op::new("CastLike").elementwise().typed().discontinuous().eval(|c| {
        let to = c.tensor(1)?.dtype();
        cast(c, to)
    }),
];

fn cast(c: &Call<'_>, to: DType) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    let rounding = match c.text("round_mode")? {
        "up" => Rounding::Up,
        "down" => Rounding::Down,
        "nearest" => Rounding::Nearest,
        other => return invalid!("unknown rounding `{other}`"),
    };
    one(convert(x, to, c.flag("saturate"), rounding)?)
}

/// `Cast`. Floats become integers, truncated towards zero; numbers out of range wrap, since ONNX leaves it open.
pub(super) fn convert(x: &Tensor, to: DType, saturate: bool, rounding: Rounding) -> Res<Tensor> {
    if x.dtype() == to {
        return Ok(x.clone());
    }
    let shape = x.shape().to_vec();
    let numbers = match x.elements() {
        // One rounding from wide integers, too.
        Elements::Int(items) if to.is_int() => return Tensor::of_ints(to, shape, items),
        Elements::Int(items) => items.into_iter().map(|n| n as f64).collect(),
        Elements::Bool(items) => items.into_iter().map(|b| f64::from(u8::from(b))).collect(),
        Elements::Float(items) => items,
        Elements::Complex(items) if to.is_complex() => return Tensor::of_complexes(to, shape, items),
        Elements::Complex(_) => return unsupported!("{} does not fit in {to}", x.dtype()),
        Elements::Text(items) => items.iter().map(|text| parse(text)).collect::<Res<_>>()?,
    };
    match to.kind() {
        Kind::Float if to == DType::F8E8M0 => {
            let codes = numbers.into_iter().map(|x| float::scale(x, rounding, saturate) as u8);
            Tensor::of_codes(to, shape, codes.collect())
        }
        Kind::Float => Tensor::rounded(to, shape, &numbers, saturate),
        Kind::Text => Tensor::of_texts(shape, texts(x)?),
        // Bits of a narrow integer that do not fit are cut off, as those of a wide one are.
        Kind::Int if to.bits() < 8 && x.dtype().is_float() => {
            Tensor::of_ints(to, shape, numbers.into_iter().map(|x| x.round_ties_even() as i128).collect())
        }
        _ => Tensor::of_numbers(to, shape, numbers),
    }
}

fn parse(text: &str) -> Res<f64> {
    match text.trim().to_ascii_lowercase().as_str() {
        "inf" | "+inf" => Ok(f64::INFINITY),
        "-inf" => Ok(f64::NEG_INFINITY),
        "nan" => Ok(f64::NAN),
        number => number.parse().map_err(|_| super::Error::invalid(format!("`{text}` is not a number"))),
    }
}

/// Numbers in plain form, the shortest that reads back.
fn texts(x: &Tensor) -> Res<Vec<String>> {
    let float = |x: f64| match x {
        x if x.is_nan() => "NaN".to_owned(),
        x if x.is_infinite() => if x > 0.0 { "INF" } else { "-INF" }.to_owned(),
        x => x.to_string(),
    };
    Ok(match x.elements() {
        Elements::Int(items) => items.iter().map(i128::to_string).collect(),
        Elements::Bool(items) => items.iter().map(|b| if *b { "True" } else { "False" }.to_owned()).collect(),
        // The decimal digits of the type itself, not those of `f64`.
        Elements::Float(items) if x.dtype() == DType::F64 => items.into_iter().map(float).collect(),
        Elements::Float(items) => items
            .into_iter()
            .map(|x| {
                let single = x as f32;
                if single.is_finite() { single.to_string() } else { float(x) }
            })
            .collect(),
        _ => return unsupported!("{} has no text", x.dtype()),
    })
}

fn bit_cast(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, to) = (c.tensor(0)?, c.dtype("to")?);
    if to.bits() != x.dtype().bits() || to.bits() == 0 {
        return invalid!("{} and {to} do not have as many bits", x.dtype());
    }
    one(Tensor::packed(to, x.shape().to_vec(), x.to_packed()?)?)
}

mod infer {
    //! Types and elements.

    use smallvec::smallvec;

    use crate::ops::infer::cx::{Contents, Cx, Dtypes, held};
    use crate::tensor::DType;

    /// The attribute `to`.
    pub(super) fn to(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype_attr("to", || None)]
    }

    /// Casts between the integer types of sizes keep the numbers.
    pub(super) fn integers(cx: &mut Cx<'_>) -> Option<Contents> {
        let to = cx.dtype_attr("to", || None)?;
        held(cx.contents(0).filter(|_| matches!(to, DType::I64 | DType::I32))?)
    }
}

//! The element types of results.

use std::fmt;

use super::cx::{Cx, Meta, Stop};
use crate::program::{Arg, ValueType};
use crate::tensor::{DType, Kind};

/// An element type, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// This one.
    Is(DType),
    /// The type in which PyTorch computes with real numbers by default, which a program does not record.
    DefaultFloat,
    /// The complex type with parts of that type.
    DefaultComplex,
}

impl Expected {
    /// Whether a result may have this type.
    pub(super) fn admits(self, dtype: DType) -> bool {
        match self {
            Self::Is(expected) => expected == dtype,
            Self::DefaultFloat => dtype.is_float(),
            Self::DefaultComplex => dtype.is_complex(),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(dtype) => dtype.fmt(f),
            Self::DefaultFloat => f.write_str("of a floating-point type"),
            Self::DefaultComplex => f.write_str("of a complex type"),
        }
    }
}

/// The type of a result by the rule called `name`.
pub(super) fn infer(cx: &Cx<'_>, name: &str) -> Meta<Expected> {
    match name {
        "same" => Ok(Expected::Is(cx.tensor(0)?.dtype)),
        "bool" => Ok(Expected::Is(DType::Bool)),
        "i32" => Ok(Expected::Is(DType::I32)),
        "i64" => Ok(Expected::Is(DType::I64)),
        "f64" => Ok(Expected::Is(DType::F64)),
        "truth" => Ok(Expected::Is(match cx.tensor(0)?.dtype {
            DType::U8 => DType::U8,
            _ => DType::Bool,
        })),
        "promote" => result_type(cx),
        "float" => result_type(cx).map(floating),
        "real" => result_type(cx).map(real),
        "magnitude" if cx.is_none(0) => Ok(real(floating(result_type_of(cx, 1..cx.term.len())?))),
        "magnitude" => Ok(real(given(cx)?.ok_or(Stop::Unknown)?)),
        "double" => match result_type(cx)? {
            Expected::Is(dtype) if dtype.is_complex() => Ok(Expected::Is(DType::C128)),
            _ => Ok(Expected::Is(DType::F64)),
        },
        "quotient" => {
            let (mode, operands) = cx.term.split_first().ok_or(Stop::Unknown)?;
            let rounds = !matches!(cx.arg(0)?.as_ref(), Arg::None) && !mode.is_empty();
            let promoted = result_type_of(cx, 1..operands.len().saturating_add(1))?;
            Ok(if rounds { promoted } else { floating(promoted) })
        }
        "single" => Ok(Expected::Is(if cx.flag(1) { DType::F32 } else { cx.tensor(0)?.dtype })),
        // A second argument chooses between complex numbers and pairs of parts.
        "spectrum" if cx.term.len() > 1 && !cx.flag(1) => Err(Stop::Unknown),
        "signal" if cx.flag(1) => Err(Stop::Unknown),
        "spectrum" => match cx.tensor(0)?.dtype {
            DType::F32 | DType::C64 => Ok(Expected::Is(DType::C64)),
            DType::F64 | DType::C128 => Ok(Expected::Is(DType::C128)),
            _ => Err(Stop::Unknown),
        },
        "signal" => match cx.tensor(0)?.dtype {
            DType::F32 | DType::C64 => Ok(Expected::Is(DType::F32)),
            DType::F64 | DType::C128 => Ok(Expected::Is(DType::F64)),
            _ => Err(Stop::Unknown),
        },
        "places" => Ok(Expected::Is(if cx.flag(0) { DType::I32 } else { DType::I64 })),
        "given" => given(cx)?.ok_or(Stop::Unknown),
        "given_or_f32" => Ok(given(cx)?.unwrap_or(Expected::Is(DType::F32))),
        "sum" => Ok(match given(cx)?.ok_or(Stop::Unknown)? {
            Expected::Is(dtype) if cx.is_none(0) && !dtype.is_float() && !dtype.is_complex() => {
                Expected::Is(DType::I64)
            }
            other => other,
        }),
        _ => Err(Stop::Unknown),
    }
}

/// Returns the type that the first argument names, else that of the tensor in the second.
fn given(cx: &Cx<'_>) -> Meta<Option<Expected>> {
    if cx.is_none(0) {
        return match cx.name(1) {
            "" => Ok(None),
            _ => Ok(Some(Expected::Is(cx.tensor(1)?.dtype))),
        };
    }
    match cx.arg(0)?.as_ref() {
        Arg::DType(dtype) => Ok(Some(Expected::Is(*dtype))),
        _ => Err(Stop::Unknown),
    }
}

/// The type in which a function of real numbers is computed.
fn floating(expected: Expected) -> Expected {
    match expected {
        Expected::Is(dtype) if !dtype.is_float() && !dtype.is_complex() => Expected::DefaultFloat,
        other => other,
    }
}

/// The type of the parts of complex numbers.
fn real(expected: Expected) -> Expected {
    match expected {
        Expected::Is(dtype) => Expected::Is(dtype.real()),
        Expected::DefaultFloat | Expected::DefaultComplex => Expected::DefaultFloat,
    }
}

/// Operands of one rank of PyTorch's promotion: tensors with axes, tensors without, numbers.
#[derive(Clone, Copy)]
struct Ranks([Option<Expected>; 3]);

impl Ranks {
    fn add(&mut self, rank: usize, operand: Expected) -> Meta<()> {
        if let Some(slot) = self.0.get_mut(rank) {
            *slot = Some(match *slot {
                None => operand,
                Some(before) => join(before, operand)?,
            });
        }
        Ok(())
    }
}

/// PyTorch's `result_type` of all arguments of the term (`ATen/native/TypeProperties.cpp`).
fn result_type(cx: &Cx<'_>) -> Meta<Expected> {
    result_type_of(cx, 0..cx.term.len())
}

fn result_type_of(cx: &Cx<'_>, operands: std::ops::Range<usize>) -> Meta<Expected> {
    let mut ranks = Ranks([None; 3]);
    for i in operands {
        let arg = cx.arg(i)?;
        match arg.as_ref() {
            Arg::List(items) => items.iter().try_for_each(|item| operand(cx, item, &mut ranks))?,
            one => operand(cx, one, &mut ranks)?,
        }
    }
    let [dims, scalars, numbers] = ranks.0;
    combine(dims, combine(scalars, numbers)?)?.ok_or(Stop::Unknown)
}

fn operand(cx: &Cx<'_>, arg: &Arg, ranks: &mut Ranks) -> Meta<()> {
    let (rank, expected) = match arg {
        Arg::None => return Ok(()),
        Arg::Int(_) => (2, Expected::Is(DType::I64)),
        Arg::Bool(_) => (2, Expected::Is(DType::Bool)),
        Arg::Float(_) => (2, Expected::DefaultFloat),
        Arg::Complex(..) => (2, Expected::DefaultComplex),
        Arg::Value(_) => match cx.type_of(arg).ok_or(Stop::Unknown)? {
            ValueType::Tensor(ty) => (usize::from(ty.shape.is_empty()), Expected::Is(ty.dtype)),
            ValueType::SymInt(_) => (2, Expected::Is(DType::I64)),
            ValueType::SymFloat => (2, Expected::DefaultFloat),
            ValueType::SymBool => (2, Expected::Is(DType::Bool)),
            _ => return Err(Stop::Unknown),
        },
        _ => return Err(Stop::Unknown),
    };
    ranks.add(rank, expected)
}

/// `combine_categories`: an operand of a higher rank decides, unless the lower one is of a wider category.
fn combine(higher: Option<Expected>, lower: Option<Expected>) -> Meta<Option<Expected>> {
    let (Some(high), Some(low)) = (higher, lower) else { return Ok(higher.or(lower)) };
    let category = |e: Expected| match e {
        Expected::DefaultFloat => 2,
        Expected::DefaultComplex => 3,
        Expected::Is(dtype) => rank(dtype),
    };
    if category(high) >= category(low) { Ok(Some(high)) } else { join(high, low).map(Some) }
}

fn join(a: Expected, b: Expected) -> Meta<Expected> {
    match (a, b) {
        (Expected::DefaultFloat, Expected::DefaultFloat) => Ok(Expected::DefaultFloat),
        (Expected::DefaultFloat, Expected::Is(other)) | (Expected::Is(other), Expected::DefaultFloat) => {
            if rank(other) < 2 {
                Ok(Expected::DefaultFloat)
            } else {
                Err(Stop::Unknown)
            }
        }
        (Expected::DefaultComplex, Expected::Is(other)) | (Expected::Is(other), Expected::DefaultComplex) => {
            match other {
                DType::F32 => Ok(Expected::Is(DType::C64)),
                DType::F64 => Ok(Expected::Is(DType::C128)),
                other if rank(other) < 2 => Ok(Expected::DefaultComplex),
                _ => Err(Stop::Unknown),
            }
        }
        (Expected::DefaultComplex, _) | (_, Expected::DefaultComplex) => Ok(Expected::DefaultComplex),
        (Expected::Is(a), Expected::Is(b)) => promote(a, b).map(Expected::Is).ok_or(Stop::Unknown),
    }
}

fn rank(dtype: DType) -> u32 {
    match dtype.kind() {
        Kind::Text | Kind::Bool => 0,
        Kind::Int => 1,
        Kind::Float => 2,
        Kind::Complex => 3,
    }
}

/// Returns the type that two tensors of the same rank promote to (`c10::promoteTypes`); `None` if PyTorch has none.
pub fn promote(a: DType, b: DType) -> Option<DType> {
    let signed = |d: DType| matches!(d, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    if a == b {
        return Some(a);
    }
    let (wide, narrow) = if rank(a) >= rank(b) { (a, b) } else { (b, a) };
    match (wide.kind(), narrow.kind()) {
        (Kind::Text, _) | (_, Kind::Text) => None,
        (Kind::Complex, Kind::Complex) => Some(DType::C128),
        (Kind::Complex, Kind::Float) if narrow == DType::F64 => Some(DType::C128),
        (Kind::Float, Kind::Float) => match (a.bits(), b.bits()) {
            (0..16, _) | (_, 0..16) => None,
            (x, y) if x == y => Some(DType::F32),
            (x, y) => Some(if x > y { a } else { b }),
        },
        (Kind::Int, Kind::Int) => match (signed(a), signed(b)) {
            (true, true) => Some(if a.bits() > b.bits() { a } else { b }),
            (false, false) => None,
            (is_a, _) => {
                let (signed, unsigned) = if is_a { (a, b) } else { (b, a) };
                match (unsigned, signed) {
                    (DType::U8, DType::I8) => Some(DType::I16),
                    (DType::U8, other) => Some(other),
                    _ => None,
                }
            }
        },
        _ => Some(wide),
    }
}

#[cfg(test)]
mod tests {
    use super::{DType, promote};

    /// From PyTorch's documentation of type promotion.
    #[test]
    fn tensors_promote_as_in_pytorch() {
        for (a, b, expected) in [
            (DType::U8, DType::I8, Some(DType::I16)),
            (DType::U8, DType::I64, Some(DType::I64)),
            (DType::I32, DType::F16, Some(DType::F16)),
            (DType::F16, DType::BF16, Some(DType::F32)),
            (DType::F64, DType::C64, Some(DType::C128)),
            (DType::Bool, DType::I32, Some(DType::I32)),
            (DType::U16, DType::I32, None),
        ] {
            assert_eq!((promote(a, b), promote(b, a)), (expected, expected), "{a} and {b}");
        }
    }
}

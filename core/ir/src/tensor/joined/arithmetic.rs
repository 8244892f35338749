//! Arithmetic on elements, with the semantics of ONNX's operators of the same names.
//!
//! Each result is the exact one, rounded once to the type: sums, differences, products, quotients and square roots
//! of f16 and bf16 that are computed in f32 round to the same value (Figueroa, "When is double rounding
//! innocuous?", 1995), and those of f32 and f64 are computed in their own type. To round a whole formula once, cast
//! its operands to f64 and the result back. A NaN result has the bits of PyTorch's NaN. Integers are exact; an
//! overflow, which ONNX leaves undefined, is an error.

use super::super::transform::cast::{self, LANES};
use super::super::{DType, Error};

/// An operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`; of integers, rounded towards zero.
    Div,
}

/// An operator of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `-a`
    Neg,
    /// The square root.
    Sqrt,
    /// `1 / a`
    Reciprocal,
}

impl Binary {
    /// Returns the name of the operation.
    pub fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
        }
    }

    /// Whether it takes elements of this type.
    pub fn takes(self, dtype: DType) -> bool {
        is_float(dtype) || cast::is_int(dtype) && dtype != DType::Bool
    }
}

impl Unary {
    /// Returns the name of the operation.
    pub fn name(self) -> &'static str {
        match self {
            Unary::Neg => "neg",
            Unary::Sqrt => "sqrt",
            Unary::Reciprocal => "reciprocal",
        }
    }

    /// Whether it takes elements of this type.
    pub fn takes(self, dtype: DType) -> bool {
        let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
        is_float(dtype) || self == Unary::Neg && signed
    }
}

/// The types of floats that ONNX's arithmetic takes.
fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// A float that is computed in.
trait Real: Copy + Default {
    /// Applies an operator.
    fn binary(operator: Binary, a: Self, b: Self) -> Self;

    /// Applies an operator.
    fn unary(operator: Unary, a: Self) -> Self;

    /// Widens elements; at most [`LANES`].
    fn load(from: DType, input: &[u8], out: &mut [Self]);

    /// Rounds to elements; at most [`LANES`].
    fn store(to: DType, lanes: &[Self], out: &mut [u8]);
}

macro_rules! real {
    ($($ty:ident: $load:path, $store:path;)*) => {
        $(impl Real for $ty {
            #[inline]
            fn binary(operator: Binary, a: Self, b: Self) -> Self {
                let value = match operator {
                    Binary::Add => a + b,
                    Binary::Sub => a - b,
                    Binary::Mul => a * b,
                    Binary::Div => a / b,
                };
                // Which NaN an operation gives differs between processors.
                if value.is_nan() { $ty::NAN } else { value }
            }

            #[inline]
            fn unary(operator: Unary, a: Self) -> Self {
                let value = match operator {
                    Unary::Neg => -a,
                    Unary::Sqrt => a.sqrt(),
                    Unary::Reciprocal => 1.0 / a,
                };
                if value.is_nan() { $ty::NAN } else { value }
            }

            fn load(from: DType, input: &[u8], out: &mut [Self]) {
                $load(from, input, out);
            }

            fn store(to: DType, lanes: &[Self], out: &mut [u8]) {
                $store(to, lanes, out);
            }
        })*
    };
}

real! {
    f32: cast::load, cast::store;
    f64: cast::load_wide, cast::store_wide;
}

/// The elements of an operand that a piece of the result takes.
#[derive(Clone, Copy, Debug)]
pub(in crate::tensor) struct Operand<'a> {
    /// The bytes.
    pub(in crate::tensor) bytes: &'a [u8],
    /// How many elements of the result take the same one.
    pub(in crate::tensor) repeat: u64,
    /// How many elements before the piece take the first one.
    pub(in crate::tensor) skip: u64,
}

impl Operand<'_> {
    /// Returns the bytes read by elements `at..at + count` of the piece, all of which are stored.
    fn run(&self, at: usize, count: usize, size: usize) -> &[u8] {
        self.bytes.get(at * size..(at + count) * size).unwrap_or_default()
    }

    /// The element that element `at` of the piece takes, and up to which other one.
    fn one(&self, at: usize, size: usize) -> (&[u8], usize) {
        let index = (self.skip + at as u64) / self.repeat;
        let end = ((index + 1) * self.repeat - self.skip) as usize;
        (self.run(index as usize, 1, size), end)
    }

    fn load<T: Real>(&self, dtype: DType, at: usize, out: &mut [T]) {
        let size = (dtype.bits() / 8) as usize;
        if self.repeat == 1 {
            return T::load(dtype, self.run(at, out.len(), size), out);
        }
        let mut done = 0;
        while done < out.len() {
            let (bytes, end) = self.one(at + done, size);
            let mut value = [T::default()];
            T::load(dtype, bytes, &mut value);
            let end = (end - at).min(out.len());
            out.get_mut(done..end).unwrap_or_default().fill(value[0]);
            done = end;
        }
    }
}

/// Computes `out` from two operands.
///
/// # Errors
/// If an integer overflows or is divided by zero.
pub(in crate::tensor) fn binary(
    operator: Binary,
    dtype: DType,
    operands: [Operand<'_>; 2],
    out: &mut [u8],
) -> Result<(), Error> {
    match dtype {
        DType::F64 => reals::<f64>(operator, dtype, operands, out),
        dtype if is_float(dtype) => reals::<f32>(operator, dtype, operands, out),
        dtype => return integers(operator, dtype, operands, out),
    }
    Ok(())
}

fn reals<T: Real>(operator: Binary, dtype: DType, [a, b]: [Operand<'_>; 2], out: &mut [u8]) {
    let size = (dtype.bits() / 8) as usize;
    let (mut left, mut right) = ([T::default(); LANES], [T::default(); LANES]);
    for (index, out) in out.chunks_mut(LANES * size).enumerate() {
        let count = out.len() / size;
        let (Some(left), Some(right)) = (left.get_mut(..count), right.get_mut(..count)) else { return };
        a.load(dtype, index * LANES, left);
        b.load(dtype, index * LANES, right);
        for (a, b) in left.iter_mut().zip(right) {
            *a = T::binary(operator, *a, *b);
        }
        T::store(dtype, left, out);
    }
}

fn integers(operator: Binary, dtype: DType, [a, b]: [Operand<'_>; 2], out: &mut [u8]) -> Result<(), Error> {
    let size = (dtype.bits() / 8) as usize;
    for (at, out) in out.chunks_exact_mut(size).enumerate() {
        let a = cast::integer(dtype, a.one(at, size).0);
        let b = cast::integer(dtype, b.one(at, size).0);
        // Elements have at most 64 bits; the product of two of `u64` may have more than an `i128`.
        let value = match operator {
            Binary::Add => Some(a + b),
            Binary::Sub => Some(a - b),
            Binary::Mul => a.checked_mul(b),
            Binary::Div if b == 0 => return Err(Error::Value(format!("{a} is divided by 0"))),
            Binary::Div => Some(a / b),
        };
        if !value.is_some_and(|value| cast::put(dtype, value, out)) {
            let name = operator.name();
            return Err(Error::Value(format!("`{name}` of {a} and {b} does not fit in {dtype}")));
        }
    }
    Ok(())
}

/// Computes `out` from one operand.
///
/// # Errors
/// If an integer overflows.
pub(in crate::tensor) fn unary(
    operator: Unary,
    dtype: DType,
    input: &[u8],
    out: &mut [u8],
) -> Result<(), Error> {
    fn each<T: Real>(operator: Unary, dtype: DType, input: &[u8], out: &mut [u8]) {
        let size = (dtype.bits() / 8) as usize;
        let mut lanes = [T::default(); LANES];
        for (input, out) in input.chunks(LANES * size).zip(out.chunks_mut(LANES * size)) {
            let Some(lanes) = lanes.get_mut(..out.len() / size) else { return };
            T::load(dtype, input, lanes);
            for lane in lanes.iter_mut() {
                *lane = T::unary(operator, *lane);
            }
            T::store(dtype, lanes, out);
        }
    }
    match dtype {
        DType::F64 => each::<f64>(operator, dtype, input, out),
        dtype if is_float(dtype) => each::<f32>(operator, dtype, input, out),
        dtype => {
            let size = (dtype.bits() / 8) as usize;
            for (input, out) in input.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
                let value = -cast::integer(dtype, input);
                if !cast::put(dtype, value, out) {
                    return Err(Error::Value(format!("{value} does not fit in {dtype}")));
                }
            }
        }
    }
    Ok(())
}

//! Entries of matrices and vectors, real or complex: one set of formulas for both.

use std::ops::{Add, Mul, Sub};

use onnxport_sdk::prelude::*;

use super::matrix::{as_column, as_row, is_empty, permuted, sum};
use crate::complex::Complex;
use crate::control::rounds::repeat_list;
use crate::matmul::swap_last;

/// Tensors of real or complex numbers, the parts of which are tensors of one shape.
#[derive(Clone, Copy)]
pub(crate) struct Entries {
    pub(crate) re: Value,
    /// The imaginary parts of complex numbers.
    pub(crate) im: Option<Value>,
}

impl From<Value> for Entries {
    fn from(re: Value) -> Self {
        Self { re, im: None }
    }
}

impl From<Complex> for Entries {
    fn from(Complex { re, im }: Complex) -> Self {
        Self { re, im: Some(im) }
    }
}

impl Entries {
    /// The argument called `name`.
    pub(crate) fn argument(cx: &Lower, name: &str) -> Res<Self> {
        let (arg, value): (Arg, Value) = (cx.argument(name)?, cx.argument(name)?);
        Ok(if arg.is_complex() { Self::of_pairs(cx, value) } else { value.into() })
    }

    /// Numbers of which the real and the imaginary part are pairs in a last axis.
    pub(crate) fn of_pairs(cx: &Lower, pairs: Value) -> Self {
        let part = |i| cx.gather(pairs, cx.int(i), -1);
        Self { re: part(0), im: Some(part(1)) }
    }

    /// The tensor that the call returns: complex numbers are pairs.
    pub(crate) fn value(self, cx: &Lower) -> Value {
        self.im.map_or(self.re, |im| cx.complex(self.re, im))
    }

    /// The parts of complex numbers; of real ones the imaginary part is 0.
    pub(crate) fn complex(self) -> Complex {
        Complex { re: self.re, im: self.im.unwrap_or_else(|| self.re * 0.0) }
    }

    /// Complex numbers if `other` has such.
    pub(crate) fn alike(self, other: Self) -> Self {
        if other.im.is_some() { self.complex().into() } else { self }
    }

    /// A linear function of the parts.
    pub(crate) fn map(self, part: impl Fn(Value) -> Value) -> Self {
        Self { re: part(self.re), im: self.im.map(part) }
    }

    /// A linear function of the parts that may fail.
    pub(crate) fn try_map(self, part: impl Fn(Value) -> Res<Value>) -> Res<Self> {
        Ok(Self { re: part(self.re)?, im: self.im.map(part).transpose()? })
    }

    pub(crate) fn conjugate(self) -> Self {
        Self { re: self.re, im: self.im.map(|im| -im) }
    }

    /// The conjugate transposes of matrices.
    pub(crate) fn adjoint(self, cx: &Lower) -> Res<Self> {
        Ok(self.try_map(|part| swap_last(cx, part))?.conjugate())
    }

    /// The squares of the absolute values.
    pub(crate) fn squares(self) -> Value {
        let squares = self.re * self.re;
        self.im.map_or(squares, |im| squares + im * im)
    }

    /// The absolute values.
    pub(crate) fn sizes(self, cx: &Lower) -> Value {
        self.im.map_or_else(|| cx.abs(self.re), |_| self.complex().size(cx))
    }

    /// The sums of the absolute values of the parts, by which LAPACK chooses pivots.
    pub(crate) fn magnitudes(self, cx: &Lower) -> Value {
        let magnitudes = cx.abs(self.re);
        self.im.map_or(magnitudes, |im| magnitudes + cx.abs(im))
    }

    pub(crate) fn are_zero(self, cx: &Lower) -> Value {
        let zero = cx.equal(self.re, 0.0);
        self.im.map_or(zero, |im| zero & cx.equal(im, 0.0))
    }

    /// The quotients.
    pub(crate) fn over(self, cx: &Lower, divisor: Self) -> Self {
        match divisor.im {
            None => self.map(|part| part / divisor.re),
            Some(_) => self.complex().over(cx, divisor.complex()).into(),
        }
    }

    /// The numbers where `condition` holds, and 0 elsewhere.
    pub(crate) fn kept(self, cx: &Lower, condition: Value) -> Self {
        self.map(|part| cx.select(condition, part, 0.0))
    }

    /// The numbers, and `real` where `condition` holds.
    pub(crate) fn with(self, cx: &Lower, condition: Value, real: impl Into<Term<Value>>) -> Self {
        Self { re: cx.select(condition, real, self.re), im: self.im.map(|im| cx.select(condition, 0.0, im)) }
    }

    /// `self` where `condition` holds, else `other`.
    pub(crate) fn or(self, cx: &Lower, condition: Value, other: Self) -> Self {
        let im = match (self.im, other.im) {
            (None, None) => None,
            (Some(a), Some(b)) => Some(cx.select(condition, a, b)),
            (Some(a), None) => Some(cx.select(condition, a, 0.0)),
            (None, Some(b)) => Some(cx.select(condition, 0.0, b)),
        };
        Self { re: cx.select(condition, self.re, other.re), im }
    }

    pub(crate) fn gather(self, cx: &Lower, indices: Value, axis: i64) -> Self {
        self.map(|part| cx.gather(part, indices, axis))
    }

    /// Vectors as the columns of matrices.
    pub(crate) fn column(self, cx: &Lower) -> Self {
        self.map(|part| as_column(cx, part))
    }

    /// Vectors as the rows of matrices.
    pub(crate) fn row(self, cx: &Lower) -> Self {
        self.map(|part| as_row(cx, part))
    }

    pub(crate) fn sum(self, cx: &Lower, axis: i64) -> Res<Self> {
        self.try_map(|part| sum(cx, part, axis))
    }

    /// The rows or columns of matrices at indices of their own.
    pub(crate) fn permuted(self, cx: &Lower, order: Value, axis: i64) -> Res<Self> {
        self.try_map(|part| permuted(cx, part, order, axis))
    }

    /// The products of matrices.
    pub(crate) fn matmul(self, cx: &Lower, other: Self) -> Self {
        let product = |a, b| cx.matmul(a, b);
        match (self.im, other.im) {
            (None, _) => other.map(|part| product(self.re, part)),
            (Some(_), None) => self.map(|part| product(part, other.re)),
            (Some(a), Some(b)) => Self {
                re: product(self.re, other.re) - product(a, b),
                im: Some(product(self.re, b) + product(a, other.re)),
            },
        }
    }

    /// Matrices divided by the largest magnitude in each, and these magnitudes, `[..., 1, 1]`: squares of their entries
    /// neither overflow nor vanish.
    pub(crate) fn normalized(self, cx: &Lower) -> Res<(Self, Value)> {
        if is_empty(cx, self.re)? {
            return Ok((self, cx.float(1.0, cx.dtype(self.re)?)));
        }
        let sizes = cx.abs(self.re);
        let sizes = self.im.map_or(sizes, |im| cx.max(sizes, cx.abs(im)));
        let largest = cx.reduce(op::ReduceMax, sizes, &[-2, -1], true);
        let largest = cx.select(cx.equal(largest, 0.0), 1.0, largest);
        Ok((self.map(|part| part / largest), largest))
    }
}

/// Runs `round` `count` times as [`repeat`](crate::control::rounds::repeat) does, while the 0-d truth value holds that it
/// may return beside the state.
pub(crate) fn repeat_while<const N: usize>(
    cx: &Lower,
    count: Value,
    state: [Entries; N],
    round: impl FnOnce(Value, [Entries; N]) -> Res<(Option<Value>, [Entries; N])>,
) -> Res<[Entries; N]> {
    let joined = |values: Vec<Value>| {
        let mut values = values.into_iter();
        let mut next = || values.next().ok_or_else(|| Refusal::new("the state of a loop has another length"));
        let entries: Res<Vec<Entries>> = (state.iter())
            .map(|of| Ok(Entries { re: next()?, im: if of.im.is_some() { Some(next()?) } else { None } }))
            .collect();
        entries?.try_into().map_err(|_| Refusal::new("the state of a loop has another length"))
    };
    let split = |entries: [Entries; N]| -> Vec<Value> {
        entries.iter().flat_map(|of| std::iter::once(of.re).chain(of.im)).collect()
    };
    let results = repeat_list(cx, count, &split(state), |index, held| {
        let (again, next) = round(index, joined(held)?)?;
        Ok((again, split(next)))
    })?;
    joined(results)
}

/// The same without a condition.
pub(crate) fn repeat<const N: usize>(
    cx: &Lower,
    count: Value,
    state: [Entries; N],
    round: impl FnOnce(Value, [Entries; N]) -> Res<[Entries; N]>,
) -> Res<[Entries; N]> {
    repeat_while(cx, count, state, |index, state| Ok((None, round(index, state)?)))
}

/// The products of columns and rows.
pub(crate) fn outer(cx: &Lower, column: Entries, row: Entries) -> Entries {
    column.column(cx) * row.row(cx)
}

impl Add for Entries {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let im = match (self.im, other.im) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        Self { re: self.re + other.re, im }
    }
}

impl Sub for Entries {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let im = match (self.im, other.im) {
            (Some(a), Some(b)) => Some(a - b),
            (a, b) => a.or_else(|| b.map(|b| -b)),
        };
        Self { re: self.re - other.re, im }
    }
}

impl Mul for Entries {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        match (self.im, other.im) {
            (_, None) => self.map(|part| part * other.re),
            (None, Some(_)) => other.map(|part| self.re * part),
            (Some(a), Some(b)) => {
                Self { re: self.re * other.re - a * b, im: Some(self.re * b + a * other.re) }
            }
        }
    }
}

//! Common parts of elementwise operators.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one};
use super::error::unsupported;
use super::strides::{broadcast, expand};
use super::{Elements, Res, Tensor, Value};
use crate::tensor::Kind;

/// A function of an element.
type Of<'a, A, B> = &'a dyn Fn(A) -> B;
/// A function of two elements.
type OfTwo<'a, A, B, T> = &'a dyn Fn(A, B) -> T;

/// `f` of each float.
pub(super) fn floats(c: &Call<'_>, f: impl Fn(f64) -> f64) -> Res<Vec<Value>> {
    each_float(c, &f)
}

fn each_float(c: &Call<'_>, f: Of<'_, f64, f64>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    if !x.dtype().is_float() {
        return unsupported!("{} is not a float", x.dtype());
    }
    c.count(x.shape())?;
    one(Tensor::of_floats(x.dtype(), x.shape().to_vec(), x.floats()?.into_iter().map(f).collect())?)
}

/// `f` of each float, or `i` of each integer.
pub(super) fn numbers(c: &Call<'_>, f: impl Fn(f64) -> f64, i: impl Fn(i128) -> i128) -> Res<Vec<Value>> {
    each_number(c, &f, &i)
}

fn each_number(c: &Call<'_>, f: Of<'_, f64, f64>, i: Of<'_, i128, i128>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    match x.elements() {
        Elements::Int(items) => {
            c.count(x.shape())?;
            one(Tensor::of_ints(x.dtype(), x.shape().to_vec(), items.into_iter().map(i).collect())?)
        }
        _ => each_float(c, f),
    }
}

/// Whether `test` holds, for each float.
pub(super) fn test(c: &Call<'_>, test: Of<'_, f64, bool>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    c.count(x.shape())?;
    one(Tensor::of_bools(x.shape().to_vec(), x.floats()?.into_iter().map(test).collect())?)
}

/// Pairs of elements of two lists, broadcast to `shape`.
pub(super) fn pairs<A: Clone, B: Clone, T>(
    shape: &[usize],
    (a, a_shape): (&[A], &[usize]),
    (b, b_shape): (&[B], &[usize]),
    f: OfTwo<'_, A, B, Res<T>>,
) -> Res<Vec<T>> {
    let walk = expand(a_shape, shape).zip(expand(b_shape, shape));
    let mut out = Vec::new();
    for (i, j) in walk {
        let (Some(a), Some(b)) = (a.get(i), b.get(j)) else {
            return super::error::invalid!("the shapes do not broadcast");
        };
        out.push(f(a.clone(), b.clone())?);
    }
    Ok(out)
}

/// A function of two floats, and the one of two integers.
pub(super) struct Arithmetic<'a> {
    pub(super) float: OfTwo<'a, f64, f64, f64>,
    pub(super) int: OfTwo<'a, i128, i128, Res<i128>>,
}

impl Arithmetic<'_> {
    /// Of `a` and `b`, broadcast, in the type of `a`.
    pub(super) fn of(&self, c: &Call<'_>, a: &Tensor, b: &Tensor) -> Res<Tensor> {
        let shape = broadcast([a.shape(), b.shape()])?;
        c.count(&shape)?;
        let dtype = a.dtype();
        match dtype.kind() {
            Kind::Int => {
                let (x, y) = (a.ints()?, b.ints()?);
                let out = pairs(&shape, (&x, a.shape()), (&y, b.shape()), self.int)?;
                Tensor::of_ints(dtype, shape, out)
            }
            Kind::Float => {
                let (x, y) = (a.floats()?, b.floats()?);
                let out = pairs(&shape, (&x, a.shape()), (&y, b.shape()), &|x, y| Ok((self.float)(x, y)))?;
                Tensor::of_floats(dtype, shape, out)
            }
            _ => unsupported!("{dtype} is not a number"),
        }
    }
}

/// A function of two numbers of one type, broadcast.
pub(super) fn arithmetic(
    c: &Call<'_>,
    float: impl Fn(f64, f64) -> f64,
    int: impl Fn(i128, i128) -> Res<i128>,
) -> Res<Vec<Value>> {
    two(c, &Arithmetic { float: &float, int: &int })
}

fn two(c: &Call<'_>, both: &Arithmetic<'_>) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let b = &legacy(c, a, b)?;
    one(both.of(c, a, b)?)
}

/// Before opset 7 the second input was aligned by the attributes `broadcast` and `axis`: it gets the axes that
/// NumPy's rules ask for.
pub(super) fn legacy(c: &Call<'_>, a: &Tensor, b: &Tensor) -> Res<Tensor> {
    if c.opset >= 7 || c.attr("axis").is_none() {
        return Ok(b.clone());
    }
    let axis = c.axis(a.rank())?;
    let behind = a.rank().saturating_sub(axis + b.rank());
    let shape = b.shape().iter().copied().chain(std::iter::repeat_n(1, behind)).collect();
    b.reshaped(shape)
}

/// A comparison of two tensors of one type, broadcast.
pub(super) fn compare(
    c: &Call<'_>,
    float: OfTwo<'_, f64, f64, bool>,
    int: OfTwo<'_, i128, i128, bool>,
) -> Res<Vec<Value>> {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let b = &legacy(c, a, b)?;
    let shape = broadcast([a.shape(), b.shape()])?;
    c.count(&shape)?;
    let out = if matches!(a.dtype().kind(), Kind::Int | Kind::Bool) {
        pairs(&shape, (&a.ints()?, a.shape()), (&b.ints()?, b.shape()), &|x, y| Ok(int(x, y)))?
    } else {
        pairs(&shape, (&a.floats()?, a.shape()), (&b.floats()?, b.shape()), &|x, y| Ok(float(x, y)))?
    };
    one(Tensor::of_bools(shape, out)?)
}

//! Tensors out of nothing, or of a shape.

use super::call::{Call, one, sizes};
use super::error::{invalid, unsupported};
use super::{Elements, Op, Res, Tensor, Value};
use crate::ir::Attr;
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("Constant").eval(constant),
    Op::new("ConstantOfShape").eval(constant_of_shape),
    Op::new("EyeLike").eval(eye_like),
    Op::new("Range").eval(range),
];

fn constant(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let names = [
        "sparse_value", "value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings"];
    let Some(value) = names.iter().find_map(|name| c.attr(name)) else {
        return unsupported!("a constant of this form");
    };
    let floats = |items: &[f32]| items.iter().map(|x| f64::from(*x)).collect();
    one(match value {
        Attr::Tensor(data) => Tensor::read(data)?,
        Attr::Int(n) => Tensor::of_longs(Vec::new(), [*n])?,
        Attr::Ints(items) => Tensor::of_longs(vec![items.len()], items.iter().copied())?,
        Attr::Float(x) => Tensor::of_floats(DType::F32, Vec::new(), floats(&[*x]))?,
        Attr::Floats(items) => Tensor::of_floats(DType::F32, vec![items.len()], floats(items))?,
        Attr::Str(text) => Tensor::of_texts(Vec::new(), vec![text.clone()])?,
        Attr::Strs(items) => Tensor::of_texts(vec![items.len()], items.clone())?,
        Attr::Text(text) => Tensor::text(text)?,
        Attr::Sparse(sparse) => Tensor::sparse(sparse, c.budget)?,
        _ => return unsupported!("a constant of this form"),
    })
}

fn constant_of_shape(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let shape = sizes(&c.longs(0)?.unwrap_or_default())?;
    let fill = match c.tensor_attr("value") {
        Some(data) => {
            let fill = Tensor::read(data)?;
            fill.scalar()?
        }
        None => Tensor::of_floats(DType::F32, Vec::new(), vec![0.0])?,
    };
    let count = c.count(&shape)?;
    one(fill.pick(shape, std::iter::repeat_n(0, count))?)
}

fn eye_like(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let [rows, columns] = *x.shape() else { return invalid!("the input has {} axes, not 2", x.rank()) };
    let (dtype, k) = (c.dtype("dtype", x.dtype())?, c.int("k", 0));
    c.count(&[rows, columns])?;
    let on = |row: usize, column: usize| (column as i64).checked_sub(row as i64) == Some(k);
    let items = (0..rows).flat_map(|r| (0..columns).map(move |q| f64::from(u8::from(on(r, q)))));
    one(Tensor::of_numbers(dtype, vec![rows, columns], items.collect())?)
}

/// `start + i · delta`, for each `i` below `ceil((limit - start) / delta)`.
fn range(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let [start, limit, delta] = [c.tensor(0)?.scalar()?, c.tensor(1)?.scalar()?, c.tensor(2)?.scalar()?];
    let dtype = start.dtype();
    if let (Elements::Int(from), Elements::Int(to), Elements::Int(by)) =
        (start.elements(), limit.elements(), delta.elements())
    {
        let ([from], [to], [by]) = (&from[..], &to[..], &by[..]) else { return invalid!("a bound is missing") };
        if *by == 0 {
            return invalid!("the step is 0");
        }
        let span = to - from;
        let count = if (span > 0) == (*by > 0) && span != 0 { span.unsigned_abs().div_ceil(by.unsigned_abs()) } else { 0 };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        c.count(&[count])?;
        let items = (0..count).map(|i| from + i as i128 * by).collect();
        return one(Tensor::of_ints(dtype, vec![count], items)?);
    }
    let number = |t: &Tensor| Ok(t.floats()?.first().copied().unwrap_or(f64::NAN));
    let (from, to, by) = (number(&start)?, number(&limit)?, number(&delta)?);
    let count = ((to - from) / by).ceil().max(0.0);
    if !count.is_finite() {
        return invalid!("the range from {from} to {to} by {by} has no end");
    }
    let count = count as usize;
    c.count(&[count])?;
    one(Tensor::of_floats(dtype, vec![count], (0..count).map(|i| from + i as f64 * by).collect())?)
}

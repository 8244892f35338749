//! Tensors out of nothing, or of a shape.

use super::call::{Call, one, sizes};
use super::error::{invalid, unsupported};
use super::infer::broadcast;
use super::{Elements, Op, Res, Tensor, Value};
use crate::ir::Attr;
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("Constant")
        .dtypes(infer::constant_type)
        .infer(infer::constant)
        .contents(infer::elements)
        .eval(constant),
    Op::new("ConstantOfShape")
        .dtypes(infer::fill_type)
        .infer(infer::constant_of_shape)
        .contents(infer::filled)
        .eval(constant_of_shape),
    Op::new("EyeLike").dtypes(infer::like).infer(broadcast::same).eval(eye_like),
    Op::new("Range").infer(infer::range).contents(infer::numbers).eval(range),
];

fn constant(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let names = [
        "sparse_value",
        "value",
        "value_int",
        "value_ints",
        "value_float",
        "value_floats",
        "value_string",
        "value_strings",
    ];
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
    let (dtype, k) = (c.dtype_or("dtype", x.dtype())?, c.int("k")?);
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
        let ([from], [to], [by]) = (&from[..], &to[..], &by[..]) else {
            return invalid!("a bound is missing");
        };
        if *by == 0 {
            return invalid!("the step is 0");
        }
        // Elements have 64 bits at most.
        let span = to.saturating_sub(*from);
        let count = if (span > 0) == (*by > 0) && span != 0 {
            span.unsigned_abs().div_ceil(by.unsigned_abs())
        } else {
            0
        };
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        c.count(&[count])?;
        let items = (0..count).map(|i| by.saturating_mul(i as i128).saturating_add(*from)).collect();
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

pub(super) mod infer {
    //! Types, shapes and elements.

    use smallvec::smallvec;

    use crate::ir::{Attr, MAX_CONTENTS, ShapeValue, small_integers};
    use crate::ops::infer::cx::{Contents, Cx, Dtypes, Shapes, held, one};
    use crate::sym::Dim;
    use crate::tensor::DType;

    /// The attribute `dtype`, else the type of the input.
    pub(in crate::ops) fn like(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype_attr("dtype", || cx.dtype(0))]
    }

    /// `Constant`.
    pub(super) fn constant_type(cx: &Cx<'_>) -> Dtypes {
        let [attribute] = cx.node.attributes.as_slice() else { return smallvec![] };
        smallvec![Some(match &attribute.value {
            Attr::Tensor(data) => data.dtype,
            Attr::Int(_) | Attr::Ints(_) => DType::I64,
            Attr::Float(_) | Attr::Floats(_) => DType::F32,
            Attr::Str(_) | Attr::Strs(_) | Attr::Bytes(_) | Attr::BytesList(_) | Attr::Text(_) => {
                DType::String
            }
            Attr::Sparse(sparse) => sparse.values.dtype,
            _ => return smallvec![],
        })]
    }

    /// `Constant`.
    pub(super) fn elements(cx: &mut Cx<'_>) -> Option<Contents> {
        let [attribute] = cx.node.attributes.as_slice() else { return None };
        held(match &attribute.value {
            Attr::Int(n) => smallvec![Dim::Const(*n)],
            Attr::Ints(items) => items.iter().map(|n| Dim::Const(*n)).collect(),
            Attr::Tensor(data) => small_integers(data)?,
            _ => return None,
        })
    }

    /// `ConstantOfShape`.
    pub(super) fn fill_type(cx: &Cx<'_>) -> Dtypes {
        smallvec![Some(match cx.node.attr("value") {
            Some(Attr::Tensor(data)) => data.dtype,
            _ => DType::F32,
        })]
    }

    /// `ConstantOfShape` of one axis.
    pub(super) fn filled(cx: &mut Cx<'_>) -> Option<Contents> {
        let [n @ 0..=64] = cx.ints(0)?[..] else { return None };
        let fill = *cx.tensor_attr("value")?.first()?;
        held(smallvec![fill; n as usize])
    }

    /// `Range` of numbers that are known.
    pub(super) fn numbers(cx: &mut Cx<'_>) -> Option<Contents> {
        let [start, limit, delta] = [*cx.ints(0)?.first()?, *cx.ints(1)?.first()?, *cx.ints(2)?.first()?];
        let mut out = ShapeValue::new();
        let mut at = start;
        while (delta > 0 && at < limit) || (delta < 0 && at > limit) {
            out.push(Dim::Const(at));
            (out.len() <= MAX_CONTENTS).then_some(())?;
            at = at.checked_add(delta)?;
        }
        held((delta != 0).then_some(out)?)
    }

    /// `ConstantOfShape`.
    pub(super) fn constant_of_shape(cx: &mut Cx<'_>) -> Option<Shapes> {
        one(cx.shape_from(0)?)
    }

    /// `Constant`.
    pub(super) fn constant(cx: &mut Cx<'_>) -> Option<Shapes> {
        let [attribute] = cx.node.attributes.as_slice() else { return None };
        let length = |n: usize| one([Some(Dim::Const(n as i64))]);
        match &attribute.value {
            Attr::Tensor(data) => one(data.shape.iter().map(|d| i64::try_from(*d).ok().map(Dim::Const))),
            Attr::Int(_) | Attr::Float(_) | Attr::Str(_) => one([]),
            Attr::Ints(items) => length(items.len()),
            Attr::Floats(items) => length(items.len()),
            Attr::Strs(items) => length(items.len()),
            Attr::BytesList(items) => length(items.len()),
            Attr::Bytes(_) => one([]),
            Attr::Text(text) => one(text.shape.iter().map(|d| i64::try_from(*d).ok().map(Dim::Const))),
            Attr::Sparse(sparse) => one(sparse.shape.iter().map(|d| i64::try_from(*d).ok().map(Dim::Const))),
            _ => None,
        }
    }

    /// `Range`: `max(ceil((limit - start) / delta), 0)` elements.
    pub(super) fn range(cx: &mut Cx<'_>) -> Option<Shapes> {
        let single = |cx: &Cx<'_>, i: usize| cx.contents(i).filter(|c| c.len() == 1).map(|c| c[0]);
        let (Some(start), Some(limit), Some(Dim::Const(delta))) =
            (single(cx, 0), single(cx, 1), single(cx, 2))
        else {
            return one([None]);
        };
        cx.demand(delta != 0, || "the step is 0".to_owned())?;
        if delta == i64::MIN {
            return None;
        }
        let (from, to) = if delta > 0 { (start, limit) } else { (limit, start) };
        let step = delta.abs();
        let span = cx.symbols.sub(to, from);
        let rounded = cx.plus(span, step.checked_sub(1)?);
        let count = cx.symbols.floor_div(rounded, Dim::Const(step));
        one([Some(cx.symbols.max(count, Dim::Const(0)))])
    }
}

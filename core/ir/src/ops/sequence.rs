//! Sequences and optional values.

mod infer;

use super::call::{Call, one};
use super::error::{Error, invalid};
use super::infer::broadcast;
use super::slice::{concat, range};
use super::{Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("ConcatFromSequence").dtypes(infer::element).infer(infer::concat).eval(concat_from_sequence),
    Op::new("Optional")
        .types(infer::optional)
        .eval(|c| Ok(vec![Value::Optional(c.value(0).cloned().map(Box::new))])),
    Op::new("OptionalGetElement").types(infer::optional_element).eval(|c| match c.value(0).cloned() {
        Some(Value::Optional(Some(inner))) => Ok(vec![*inner]),
        Some(Value::Optional(None)) | None => invalid!("the optional value is empty"),
        Some(plain) => Ok(vec![plain]),
    }),
    Op::new("OptionalHasElement").infer(broadcast::scalar).eval(|c| {
        let has = !matches!(c.value(0), None | Some(Value::Optional(None)));
        one(Tensor::of_bools(Vec::new(), vec![has])?)
    }),
    Op::new("SequenceAt").types(infer::item).eval(|c| {
        let (_, items) = sequence(c, 0)?;
        let at = place(c, 1, items.len(), items.len())?;
        Ok(items.get(at).cloned().into_iter().collect())
    }),
    Op::new("SequenceConstruct").types(infer::construct).eval(|c| {
        let items: Vec<Value> = c.tensors(0)?.into_iter().cloned().map(Value::Tensor).collect();
        let dtype = items.first().and_then(Value::tensor).map_or(DType::F32, Tensor::dtype);
        Ok(vec![Value::Sequence(dtype, items)])
    }),
    Op::new("SequenceEmpty")
        .types(infer::empty)
        .eval(|c| Ok(vec![Value::Sequence(c.dtype_or("dtype", DType::F32)?, Vec::new())])),
    Op::new("SequenceErase").types(infer::erase).eval(|c| {
        let (dtype, items) = sequence(c, 0)?;
        let mut items = items.to_vec();
        if items.is_empty() {
            return invalid!("there is nothing to erase");
        }
        items.remove(place(c, 1, items.len(), items.len())?);
        Ok(vec![Value::Sequence(dtype, items)])
    }),
    Op::new("SequenceInsert").types(infer::insert).eval(|c| {
        let (dtype, items) = sequence(c, 0)?;
        let mut items = items.to_vec();
        let Some(new) = c.value(1).cloned() else { return invalid!("there is nothing to insert") };
        let dtype = if items.is_empty() { new.tensor().map_or(dtype, Tensor::dtype) } else { dtype };
        items.insert(place(c, 2, items.len(), items.len().saturating_add(1))?, new);
        Ok(vec![Value::Sequence(dtype, items)])
    }),
    Op::new("SequenceLength")
        .infer(broadcast::scalar)
        .eval(|c| one(Tensor::of_longs(Vec::new(), [sequence(c, 0)?.1.len() as i64])?)),
    Op::new("SplitToSequence").types(infer::split).eval(split_to_sequence),
];

/// Input `index`, which is a sequence.
pub(super) fn sequence<'a>(c: &'a Call<'_>, index: usize) -> Res<(DType, &'a [Value])> {
    match c.value(index) {
        Some(Value::Sequence(dtype, items)) => Ok((*dtype, items)),
        Some(other) => invalid!("input {index} is {}, not a sequence", other.describe()),
        None => invalid!("input {index} is missing"),
    }
}

/// The position that input `index` names, counted from the front; the end where it is absent.
fn place(c: &Call<'_>, index: usize, length: usize, places: usize) -> Res<usize> {
    let Some(at) = c.long(index)? else { return Ok(places.saturating_sub(1)) };
    let front = if at < 0 { at.saturating_add(length as i64) } else { at };
    match usize::try_from(front).ok().filter(|at| *at < places) {
        Some(at) => Ok(at),
        None => invalid!("position {at} is out of range for a sequence of length {length}"),
    }
}

fn tensors<'a>(items: &'a [Value]) -> Res<Vec<&'a Tensor>> {
    let tensor = |v: &'a Value| {
        v.tensor().ok_or_else(|| Error::invalid("the sequence contains elements that are not tensors"))
    };
    items.iter().map(tensor).collect()
}

/// `items` one behind the other along a new axis.
pub(super) fn stack(c: &Call<'_>, items: &[&Tensor], at: usize) -> Res<Tensor> {
    let raised: Vec<Tensor> = items
        .iter()
        .map(|t| {
            let mut shape = t.shape().to_vec();
            shape.insert(at.min(shape.len()), 1);
            t.reshaped(shape)
        })
        .collect::<Res<_>>()?;
    concat(c, &raised.iter().collect::<Vec<_>>(), at)
}

fn concat_from_sequence(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (_, items) = sequence(c, 0)?;
    let items = tensors(items)?;
    let rank = items.first().map_or(0, |t| t.rank());
    if c.flag("new_axis") {
        return one(stack(c, &items, c.axis(rank.saturating_add(1))?)?);
    }
    one(concat(c, &items, c.axis(rank)?)?)
}

/// Without extents: parts of size 1, whose axis may be dropped. One size is that of every part but the last.
fn split_to_sequence(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let at = c.axis(x.rank())?;
    let extent = x.dim(at);
    let (parts, drop) = match c.optional(1)? {
        None => (vec![1; extent], !c.flag("keepdims")),
        Some(split) if split.rank() == 0 => {
            let Some(size) = c.long(1)?.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0) else {
                return invalid!("the size of a part is not positive");
            };
            ((0..extent).step_by(size).map(|from| size.min(extent.saturating_sub(from))).collect(), false)
        }
        Some(_) => (super::slice::extents(c, extent, 1, 1)?, false),
    };
    let mut from = 0;
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        let mut item = range(c, x, at, from, part)?;
        if drop {
            let mut shape = item.shape().to_vec();
            shape.remove(at);
            item = item.reshaped(shape)?;
        }
        items.push(Value::Tensor(item));
        from = from.saturating_add(part);
    }
    Ok(vec![Value::Sequence(x.dtype(), items)])
}

//! Operators with bodies.

mod infer;

use super::call::{Call, axis, sizes};
use super::error::{Error, invalid};
use super::sequence::{sequence, stack};
use super::slice::range;
use super::{Op, Res, Tensor, Value};
use crate::ir::{BlockId, Shape, Type};
use crate::sym::Dim;
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("If").types(infer::branches).eval(|c| {
        let name = if truth(c, 0)? { "then_branch" } else { "else_branch" };
        let block = c.block(name)?;
        c.run(block, Vec::new())
    }),
    Op::new("Loop").types(infer::repeated).eval(repeat),
    Op::new("Scan").types(infer::scanned).eval(scan),
    Op::new("SequenceMap").types(infer::mapped).eval(sequence_map),
];

/// The single truth value of input `index`.
fn truth(c: &Call<'_>, index: usize) -> Res<bool> {
    match c.tensor(index)?.bools()?.as_slice() {
        [only] => Ok(*only),
        other => invalid!("input {index} has {} booleans instead of one", other.len()),
    }
}

/// A tensor that a body returned.
fn tensor(value: Value) -> Res<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => Err(Error::invalid(format!("a body returns {} instead of a tensor", other.describe()))),
    }
}

/// The bytes of a tensor in a list.
fn held(tensor: &Tensor) -> u64 {
    tensor.bytes().saturating_add(size_of::<Tensor>() as u64)
}

/// Adds a returned value to a list; its bytes count as those of a kept value.
fn collect(c: &Call<'_>, list: &mut Vec<Tensor>, value: Value) -> Res<()> {
    let tensor = tensor(value)?;
    c.keep(held(&tensor))?;
    list.push(tensor);
    Ok(())
}

/// The results of all runs as one tensor; of none, an empty one of the type that the body states.
fn stacked(c: &Call<'_>, items: &[Tensor], at: usize, ty: &Type) -> Res<Value> {
    if !items.is_empty() {
        let stacked = stack(c, &items.iter().collect::<Vec<_>>(), at)?;
        c.free(items.iter().map(held).fold(0, u64::saturating_add));
        return Ok(stacked.into());
    }
    let dtype = ty.dtype().unwrap_or(DType::F32);
    let extents = ty.shape().and_then(Shape::dims).unwrap_or_default().iter();
    let extent =
        |d: &Option<Dim>| d.and_then(Dim::as_const).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let mut shape: Vec<usize> = extents.map(extent).collect();
    shape.insert(at.min(shape.len()), 0);
    Ok(Tensor::packed(dtype, shape, bytes::Bytes::new())?.into())
}

/// `M` runs at most, while the condition holds.
fn repeat(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let body = c.block("body")?;
    let most = c.long(0)?.unwrap_or(i64::MAX);
    let mut go = if c.value(1).is_some() { truth(c, 1)? } else { true };
    let mut carried: Vec<Value> = c.inputs.iter().skip(2).cloned().collect::<Option<_>>().unwrap_or_default();
    let types = c.returned(body);
    let scans = types.len().saturating_sub(1).saturating_sub(carried.len());
    let mut collected: Vec<Vec<Tensor>> = vec![Vec::new(); scans];
    let mut round = 0i64;
    while go && round < most {
        let mut inputs = vec![
            Tensor::of_longs(Vec::new(), [round])?.into(),
            Tensor::of_bools(Vec::new(), vec![true])?.into(),
        ];
        let count = carried.len();
        inputs.append(&mut carried);
        let mut outputs = c.run(body, inputs)?.into_iter();
        let Some(condition) = outputs.next() else { return invalid!("the body returns no condition") };
        go = tensor(condition)?.bools()?.first() == Some(&true);
        carried.extend(outputs.by_ref().take(count));
        for (list, value) in collected.iter_mut().zip(outputs) {
            collect(c, list, value)?;
        }
        round = round.saturating_add(1);
    }
    for (list, ty) in collected.iter().zip(types.iter().skip(1).skip(carried.len())) {
        let stacked = stacked(c, list, 0, ty)?;
        carried.push(stacked);
    }
    Ok(carried)
}

/// One run for each slice of the scanned inputs.
fn scan(c: &mut Call<'_>) -> Res<Vec<Value>> {
    if c.opset < 9 {
        return batched_scan(c);
    }
    let inputs: Vec<Value> = c.inputs.iter().cloned().collect::<Option<_>>().unwrap_or_default();
    let count = usize::try_from(c.int("num_scan_inputs")?).unwrap_or(0);
    let Some(states) = inputs.len().checked_sub(count) else {
        return invalid!("there are fewer than {count} inputs");
    };
    scan_once(c, inputs, states)
}

/// In opset 8 a first axis, the batch, was around everything, and the first input was the length of each sequence. Results
/// of shorter sequences are padded with zeros.
fn batched_scan(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let inputs: Vec<Tensor> = c.tensors(1)?.into_iter().cloned().collect();
    let count = usize::try_from(c.int("num_scan_inputs")?).unwrap_or(0);
    let Some(states) = inputs.len().checked_sub(count) else {
        return invalid!("there are fewer than {count} inputs");
    };
    let batches = inputs.first().map_or(0, |t| t.dim(0));
    let longest = inputs.get(states).map_or(0, |t| t.dim(1));
    let lengths = match c.longs(0)? {
        Some(lengths) => sizes(&lengths)?,
        None => vec![longest; batches],
    };
    if lengths.len() != batches || lengths.iter().any(|n| *n > longest) {
        return invalid!("the lengths {lengths:?} do not fit {batches} sequences of {longest}");
    }
    let mut runs: Vec<Vec<Tensor>> = Vec::new();
    for (batch, length) in lengths.into_iter().enumerate() {
        let mut own: Vec<Value> = Vec::with_capacity(inputs.len());
        for (index, input) in inputs.iter().enumerate() {
            let slice = range(c, input, 0, batch, 1)?;
            let slice = slice.reshaped(input.shape().get(1..).unwrap_or_default().to_vec())?;
            own.push(if index < states { slice } else { range(c, &slice, 0, 0, length)? }.into());
        }
        let returned = scan_once(c, own, states)?.into_iter().map(tensor).enumerate();
        let ends = returned.map(|(index, out)| {
            let out = out?;
            if index < states { Ok(out) } else { filled(c, &out, longest) }
        });
        runs.push(ends.collect::<Res<_>>()?);
    }
    let outputs = runs.first().map_or(0, Vec::len);
    (0..outputs)
        .map(|index| {
            let all: Vec<&Tensor> = runs.iter().filter_map(|run| run.get(index)).collect();
            Ok(stack(c, &all, 0)?.into())
        })
        .collect()
}

/// `x` with zeros behind it, up to `length` along the first axis.
fn filled(c: &Call<'_>, x: &Tensor, length: usize) -> Res<Tensor> {
    let mut shape = x.shape().to_vec();
    let Some(first) = shape.first_mut() else { return invalid!("a result has no axis of steps") };
    *first = length;
    let (count, own) = (c.count(&shape)?, x.len());
    let zero = Tensor::of_numbers(x.dtype(), Vec::new(), vec![0.0])?;
    Tensor::mix(shape, &[x, &zero], (0..count).map(|at| if at < own { (0, at) } else { (1, 0) }))
}

fn scan_once(c: &mut Call<'_>, inputs: Vec<Value>, states: usize) -> Res<Vec<Value>> {
    let body: BlockId = c.block("body")?;
    let pick = |list: Option<&[i64]>, index: usize| list.and_then(|l| l.get(index).copied()).unwrap_or(0);
    let mut carried = inputs;
    let scanned: Vec<Tensor> = carried.split_off(states).into_iter().map(tensor).collect::<Res<_>>()?;
    let mut axes = Vec::new();
    for (index, input) in scanned.iter().enumerate() {
        let old = pick(c.ints("directions"), index);
        let reverse = pick(c.ints("scan_input_directions"), index) != 0 || old != 0;
        axes.push((axis(pick(c.ints("scan_input_axes"), index), input.rank())?, reverse));
    }
    let lengths: Vec<usize> = scanned.iter().zip(&axes).map(|(t, (at, _))| t.dim(*at)).collect();
    let length = lengths.first().copied().unwrap_or(0);
    if lengths.iter().any(|n| *n != length) {
        return invalid!("the scanned inputs have the lengths {lengths:?}");
    }
    let types = c.returned(body);
    let mut collected: Vec<Vec<Tensor>> = vec![Vec::new(); types.len().saturating_sub(states)];
    for step in 0..length {
        let mut inputs = std::mem::take(&mut carried);
        for (input, (at, reverse)) in scanned.iter().zip(&axes) {
            let from = if *reverse { length.saturating_sub(1).saturating_sub(step) } else { step };
            let slice = range(c, input, *at, from, 1)?;
            let mut shape = slice.shape().to_vec();
            shape.remove(*at);
            inputs.push(slice.reshaped(shape)?.into());
        }
        let mut outputs = c.run(body, inputs)?.into_iter();
        carried.extend(outputs.by_ref().take(states));
        for (list, value) in collected.iter_mut().zip(outputs) {
            collect(c, list, value)?;
        }
    }
    for (index, list) in collected.iter_mut().enumerate() {
        if pick(c.ints("scan_output_directions"), index) != 0 {
            list.reverse();
        }
        let Some(ty) = types.get(states.saturating_add(index)) else { continue };
        let rank = list.first().map_or_else(|| ty.shape().and_then(Shape::rank).unwrap_or(0), Tensor::rank);
        let at = axis(pick(c.ints("scan_output_axes"), index), rank.saturating_add(1))?;
        carried.push(stacked(c, list, at, ty)?);
    }
    Ok(carried)
}

/// The body for each item of the first sequence, with the items of the others beside it; tensors are given to each run.
fn sequence_map(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let body = c.block("body")?;
    let length = sequence(c, 0)?.1.len();
    let types = c.returned(body);
    let mut lists: Vec<Vec<Value>> = vec![Vec::new(); types.len()];
    for index in 0..length {
        let mut inputs = Vec::new();
        for (place, input) in c.inputs.iter().enumerate() {
            match input {
                Some(Value::Sequence(_, items)) => match items.get(index) {
                    Some(item) => inputs.push(item.clone()),
                    None => {
                        return invalid!("input {place} is a sequence of {}, not of {length}", items.len());
                    }
                },
                Some(other) => inputs.push(other.clone()),
                None => return invalid!("input {place} is missing"),
            }
        }
        for (list, value) in lists.iter_mut().zip(c.run(body, inputs)?) {
            list.push(value);
        }
    }
    let dtype = |list: &[Value], ty: &Type| {
        list.first().and_then(Value::tensor).map(Tensor::dtype).or(ty.dtype()).unwrap_or(DType::F32)
    };
    Ok(lists.into_iter().zip(&types).map(|(list, ty)| Value::Sequence(dtype(&list, ty), list)).collect())
}

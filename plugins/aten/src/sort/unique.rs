//! Distinct elements.

use onnxport_sdk::prelude::*;

use crate::support::compress;

/// `Unique`: distinct elements or slices in order, where each input is among them, how often each is.
fn distinct(cx: &Lower, x: Value, axis: Option<usize>) -> Res<[Value; 3]> {
    let x = if cx.rank(x)? == 0 { cx.unsqueeze(x, &[0]) } else { x };
    let node = cx.op(op::Unique).input(x).sorted(1);
    let [values, _, inverse, counts] = match axis {
        Some(axis) => node.axis(axis as i64).outs(),
        None => node.outs(),
    };
    Ok([values, inverse, counts])
}

/// The distinct elements in order; on demand the place of every element among them, and counts.
#[lowering("aten._unique.default", "aten._unique2.default")]
fn unique(cx: &Lower, x: Value, return_inverse: bool, return_counts: bool) -> Res<Vec<Value>> {
    let [values, inverse, counts] = distinct(cx, x, None)?;
    let inverse = if return_inverse { like_input(cx, inverse, x)? } else { cx.ints(&[]) };
    // Results that were not requested are empty, and the old overload counts nothing.
    Ok(vec![values, inverse, if return_counts { counts } else { cx.ints(&[]) }])
}

/// One element per element of `x`, in the shape of `x`.
fn like_input(cx: &Lower, flat: Value, x: Value) -> Res<Value> {
    match cx.rank(x)? {
        0 => Ok(cx.squeeze(flat, &[0])),
        1 => Ok(flat),
        _ => {
            let shape = cx.shape(x)?;
            Ok(cx.reshape_to(flat, &shape))
        }
    }
}

/// The distinct slices along `dim` in order.
#[lowering("aten.unique_dim.default")]
fn unique_dim(cx: &Lower, x: Value, dim: Axis) -> Res<[Value; 3]> {
    distinct(cx, x, Some(dim.0))
}

/// The elements, or slices along `dim`, that differ from the one before them.
#[lowering("aten.unique_consecutive.default", "aten.unique_dim_consecutive.default")]
fn unique_consecutive(
    cx: &Lower,
    x: Value,
    return_inverse: bool,
    return_counts: bool,
    dim: Option<Axis>,
) -> Res<Vec<Value>> {
    let shape = cx.shape(x)?;
    let (data, axis) = match dim {
        Some(Axis(axis)) if !shape.is_empty() => (x, axis),
        _ => (cx.reshape(x, &[-1]), 0),
    };
    if cx.result(0)?.rank() != cx.rank(data)? {
        return Err(Refusal::new("the axes that PyTorch states do not match those of `unique_consecutive`")
            .help("pass `dim` as a number that is not negative"));
    }
    if cx.dim(data, axis).is(0) {
        return Ok(vec![data, cx.ints(&[]), cx.ints(&[])]);
    }
    // Along an axis PyTorch gives the positions and counts whether they were asked for or not; of a vector only
    // `unique_dim_consecutive` does.
    let always = dim.is_some() && (shape.len() != 1 || cx.target().contains("dim_consecutive"));
    let (return_inverse, return_counts) = (return_inverse || always, return_counts || always);
    let along = axis as i64;
    let later = cx.slice(data, along, 1, i64::MAX, 1);
    let others: Vec<i64> = (0..cx.rank(data)? as i64).filter(|a| *a != along).collect();
    let mut steps = cx.cast(!cx.equal(later, cx.slice(data, along, 0, -1, 1)), DType::I64);
    if !others.is_empty() {
        steps = cx.reduce(op::ReduceMax, steps, &others, false);
    }
    let one = cx.ints(&[1]);
    let starts = cx.concat(&[one, steps], 0);
    let values = compress(cx, data, cx.cast(starts, DType::Bool), Some(along))?;
    // The run of an element is the number of runs that began up to it, less one.
    let run = cx.op(op::CumSum).input(starts).input(cx.int(0)).one() - one;
    let inverse = match (return_inverse, dim) {
        (false, _) => cx.ints(&[]),
        (true, None) => like_input(cx, run, x)?,
        (true, Some(_)) => run,
    };
    if !return_counts {
        return Ok(vec![values, inverse, cx.ints(&[])]);
    }
    // The lengths of runs are the distances between their starts.
    let found = cx.op(op::NonZero).input(starts).one();
    let bounds = cx.concat(&[cx.squeeze(found, &[0]), cx.op(op::Shape).input(starts).one()], 0);
    let counts = cx.slice(bounds, 0, 1, i64::MAX, 1) - cx.slice(bounds, 0, 0, -1, 1);
    Ok(vec![values, inverse, counts])
}

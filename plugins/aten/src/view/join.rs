//! Several tensors as one.

use onnxport_sdk::prelude::*;

/// The values next to each other along `axis`, cast to the type of the result. Tensors of shape `[0]`
/// are skipped whatever the rank of the others, as in PyTorch.
fn joined(cx: &Lower, tensors: &[Value], axis: usize) -> Res<Value> {
    let result = cx.result(0)?;
    let dtype = result.dtype.real();
    let ranks: Res<Vec<usize>> = tensors.iter().map(|x| cx.rank(*x)).collect();
    let rank = ranks?.into_iter().max().unwrap_or_default();
    let mut operands = Vec::new();
    for x in tensors {
        let shape = cx.shape(*x)?;
        let legacy = shape.len() == 1 && shape.first().is_some_and(|d| d.is(0));
        if !legacy && shape.len() != rank {
            return Err("argument `tensors` mixes real and complex tensors".into());
        }
        if !legacy {
            operands.push(cx.cast(*x, dtype));
        }
    }
    match (operands.first(), tensors.first()) {
        (None, Some(empty)) => Ok(cx.cast(*empty, dtype)),
        _ => Ok(cx.concat(&operands, axis as i64)),
    }
}

/// The tensors along the existing axis `dim`.
#[lowering(
    "aten.cat.default",
    "aten.concat.default",
    "aten.concatenate.default",
    "prims.cat.default",
    complex
)]
fn cat(cx: &Lower, tensors: Vec<Value>, dim: i64) -> Res<Value> {
    let axis = cx.axis(dim, cx.result(0)?.rank())?;
    joined(cx, &tensors, axis)
}

/// The tensors along a new axis `dim`.
#[lowering("aten.stack.default", "aten._stack.default", complex)]
fn stack(cx: &Lower, tensors: Vec<Value>, dim: i64) -> Res<Value> {
    let result = cx.result(0)?;
    let axis = cx.axis(dim, result.rank())?;
    // Joined along the axis that follows and reshaped: two nodes, if the target needs no arithmetic.
    let open = result.shape.iter().skip(axis).filter(|d| d.as_const().is_none()).count();
    if axis + 1 < result.rank() && open <= 1 && tensors.len() > 1 {
        return cx.reshape_to_result(joined(cx, &tensors, axis)?, 0);
    }
    let apart: Vec<Value> = tensors.into_iter().map(|x| cx.unsqueeze(x, &[axis as i64])).collect();
    joined(cx, &apart, axis)
}

/// Each tensor in `num_chunks` equal parts along `dim`, filled up with zeros, and the parts of the same number in a row.
#[lowering("aten._chunk_cat.default", parts)]
fn chunk_cat(cx: &Lower, tensors: Vec<Value>, dim: i64, num_chunks: i64) -> Res<Value> {
    let first = tensors.first().ok_or("argument `tensors` is empty")?;
    let axis = cx.axis(dim, cx.rank(*first)?)?;
    if num_chunks < 1 {
        return Err("argument `num_chunks` is not positive".into());
    }
    let mut rows = Vec::new();
    for mut x in tensors {
        let extent = cx.dim(x, axis);
        let part = cx.dim_div(cx.dim_add(extent, num_chunks - 1), num_chunks);
        let missing = cx.dim_sub(cx.dim_mul(part, num_chunks), extent);
        if !missing.is(0) {
            let (counts, axes) = (cx.dims_value(&[Dim::Const(0), missing]), cx.ints(&[axis as i64]));
            x = cx.op(op::Pad).input(x).input(counts).maybe(None).input(axes).one();
        }
        let mut shape = cx.shape(x)?;
        shape.truncate(axis);
        shape.extend([Dim::Const(num_chunks), Dim::Unknown]);
        rows.push(cx.reshape_to(x, &shape));
    }
    joined(cx, &rows, axis + 1)
}

/// `x` with axes of size 1 at `places` of the result.
fn widened(cx: &Lower, tensors: Vec<Value>, places: impl Fn(usize) -> Vec<i64>) -> Res<Vec<Value>> {
    let widen = |x| Ok(cx.unsqueeze(x, &places(cx.rank(x)?)));
    tensors.into_iter().map(widen).collect()
}

/// Along axis 0 for vectors, else axis 1.
#[lowering("aten.hstack.default", parts)]
fn hstack(cx: &Lower, tensors: Vec<Value>) -> Res<Value> {
    let axis = usize::from(cx.result(0)?.rank() > 1);
    let tensors = widened(cx, tensors, |rank| if rank == 0 { vec![0] } else { vec![] })?;
    joined(cx, &tensors, axis)
}

/// Along axis 0 after `atleast_2d`.
#[lowering("aten.vstack.default", "aten.row_stack.default", parts)]
fn vstack(cx: &Lower, tensors: Vec<Value>) -> Res<Value> {
    let tensors = widened(cx, tensors, |rank| (0..2usize.saturating_sub(rank) as i64).collect())?;
    joined(cx, &tensors, 0)
}

/// Along axis 2 after `atleast_3d`.
#[lowering("aten.dstack.default", parts)]
fn dstack(cx: &Lower, tensors: Vec<Value>) -> Res<Value> {
    let tensors = widened(cx, tensors, |rank| match rank {
        0 => vec![0, 1, 2],
        1 => vec![0, 2],
        2 => vec![2],
        _ => vec![],
    })?;
    joined(cx, &tensors, 2)
}

/// Along axis 1; vectors are columns.
#[lowering("aten.column_stack.default", parts)]
fn column_stack(cx: &Lower, tensors: Vec<Value>) -> Res<Value> {
    let tensors = widened(cx, tensors, |rank| match rank {
        0 => vec![0, 1],
        1 => vec![1],
        _ => vec![],
    })?;
    joined(cx, &tensors, 1)
}

/// The matrices along the diagonal of a matrix of zeros.
#[lowering("aten.block_diag.default", parts)]
fn block_diag(cx: &Lower, tensors: Vec<Value>) -> Res<Value> {
    let result = cx.result(0)?;
    let total = result.shape.get(1).copied().unwrap_or(Dim::Unknown);
    let tensors = widened(cx, tensors, |rank| (0..2usize.saturating_sub(rank) as i64).collect())?;
    let zero = cx.number(&Scalar::Int(0), result.dtype);
    let mut before = Dim::Const(0);
    let mut rows = Vec::new();
    for x in tensors {
        let x = cx.cast(x, result.dtype);
        let upto = cx.dim_add(before, cx.dim(x, 1));
        let pads = cx.dims_value(&[Dim::Const(0), before, Dim::Const(0), cx.dim_sub(total, upto)]);
        rows.push(cx.op(op::Pad).input(x).input(pads).input(zero).one());
        before = upto;
    }
    joined(cx, &rows, 0)
}

/// Every choice of `r` elements of a vector in order, a row each.
#[lowering("aten.combinations.default", parts)]
fn combinations(cx: &Lower, x: Value, r: i64, with_replacement: bool) -> Res<Value> {
    let Some(n) = cx.dim(x, 0).as_const() else {
        return Err("argument `self`: combinations of a symbolic number of elements are not supported".into());
    };
    let mut rows: Vec<Vec<i64>> = vec![Vec::new()];
    for _ in 0..r {
        let next = |row: &Vec<i64>| row.last().map_or(0, |l| l + i64::from(!with_replacement));
        let longer = |row: Vec<i64>| (next(&row)..n).map(move |i| [row.as_slice(), &[i]].concat());
        rows = rows.into_iter().flat_map(longer).collect();
        if rows.len() > 1 << 20 {
            return Err("argument `r` leads to too many combinations".into());
        }
    }
    if r == 0 {
        rows.clear();
    }
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|i| i.to_le_bytes()).collect();
    let picks = cx.constant(DType::I64, &[rows.len() as u64, r.max(0) as u64], &bytes);
    cx.reshape_to_result(cx.gather(x, picks, 0), 0)
}

/// Every combination of one element of each vector, a row each.
#[lowering("aten.cartesian_prod.default", parts)]
fn cartesian_prod(cx: &Lower, tensors: Vec<Value>) -> Res<Value> {
    let [first, rest @ ..] = tensors.as_slice() else { return Err("argument `tensors` is empty".into()) };
    if rest.is_empty() {
        return Ok(*first);
    }
    let extents: Vec<Dim> = tensors.iter().map(|x| cx.dim(*x, 0)).collect();
    let last = tensors.len() as i64 - 1;
    let mut columns = Vec::new();
    for (index, x) in tensors.iter().enumerate() {
        let after: Vec<i64> = (1..=last - index as i64).collect();
        columns.push(cx.reshape(super::expand_to(cx, cx.unsqueeze(*x, &after), &extents)?, &[-1, 1]));
    }
    joined(cx, &columns, 1)
}

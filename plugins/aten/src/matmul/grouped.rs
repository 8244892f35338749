//! Products of the rows of one matrix with one of several, as mixtures of experts have them.

use onnxport_sdk::prelude::*;

use super::matmul;

/// The product of `self` with a stack of matrices, of which each takes the rows up to its entry in
/// `offs`; without `offs` the product of two stacks.
#[lowering("aten._grouped_mm.default")]
fn grouped_mm(cx: &Lower, x: Value, mat2: Value, offs: Option<Value>, bias: Option<Value>) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    if bias.is_some() {
        return Err("the argument `bias` is not supported".into());
    }
    match (cx.rank(x)?, cx.rank(mat2)?, offs) {
        (3, 3, None) => Ok(matmul(cx, x, mat2, dtype)),
        (2, 3, Some(offs)) => by_group(cx, x, mat2, offs, dtype),
        _ => Err("groups of columns are not supported, only groups of rows".into()),
    }
}

/// What transformers calls where `torch._grouped_mm` has no kernel: rows after the last group are 0.
#[lowering("transformers.grouped_mm_fallback.default")]
fn fallback(cx: &Lower) -> Res<Value> {
    let (x, weight, offs) = (cx.positional(0)?, cx.positional(1)?, cx.positional(2)?);
    let dtype = cx.result(0)?.dtype;
    by_group(cx, x, weight, offs, dtype)
}

/// A `Loop` over the groups that have rows, which appends the product of each to those before. A single token of a mixture of
/// experts has rows for a few; looking at the others would read all of their weights.
fn by_group(cx: &Lower, x: Value, matrices: Value, ends: Value, dtype: DType) -> Res<Value> {
    let ends = cx.cast(ends, DType::I64);
    let width = cx.dim(matrices, 2);
    let (Dim::Const(groups), Dim::Const(columns)) = (cx.dim(matrices, 0), width) else {
        return Err("the number of groups or of columns is not constant".into());
    };
    let starts = cx.concat(&[cx.ints(&[0]), cx.slice(ends, 0, 0, groups - 1, 1)], 0);
    let filled = cx.reshape(cx.op("NonZero").input(cx.greater(ends, starts)).one(), &[-1]);
    let none = cx.filled(&Scalar::Int(0), dtype, &[0, columns as u64]);
    let round = cx.block(|cx| {
        let turn = cx.block_input(DType::I64, Some(&[]));
        let go = cx.block_input(DType::Bool, Some(&[]));
        let done = cx.block_input(dtype, Some(&[Dim::Unknown, width]));
        let group = cx.gather(filled, turn, 0);
        let at = cx.unsqueeze(group, &[0]);
        let (from, to) = (cx.extent(done, 0), cx.gather(ends, at, 0));
        let product = matmul(cx, cx.slice_dynamic(x, 0, from, to, 1), cx.gather(matrices, group, 0), dtype);
        Ok(vec![cx.identity(go), cx.concat(&[done, product], 0)])
    })?;
    let count = cx.op("Size").input(filled).one();
    let product = cx.op("Loop").input(count).maybe(None).input(none).block("body", round).one();
    let (all, have) = (cx.extent(x, 0), cx.extent(product, 0));
    Ok(cx.op("Pad").input(product).input(cx.concat(&[cx.ints(&[0, 0]), all - have, cx.ints(&[0])], 0)).one())
}

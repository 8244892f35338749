//! Distances and similarities of vectors.

use onnxport_sdk::prelude::*;

use crate::reduce::{reduce, vector_norm};
use crate::support::compress;

/// The p-norm of the difference of every vector of `x1` with every vector of `x2`.
#[lowering("aten.cdist.default", "aten._cdist_forward.default")]
fn cdist(cx: &Lower, x1: Value, x2: Value, p: f64) -> Res<Value> {
    vector_norm(cx, cx.unsqueeze(x1, &[-2]) - cx.unsqueeze(x2, &[-3]), p, &[-1], false)
}

/// The p-norms of the differences of the rows of a matrix, pair by pair.
#[lowering("aten.pdist.default", "aten._pdist_forward.default")]
fn pdist(cx: &Lower, x: Value, p: f64) -> Res<Value> {
    let Dim::Const(rows) = cx.dim(x, 0) else {
        // The pairs of all rows, of which those above the diagonal are kept.
        let n = cx.squeeze(cx.extent(x, 0), &[0]);
        let pairs = cx.range(cx.int(0), n * n, cx.int(1));
        let (first, second) = (pairs / n, cx.modulo(pairs, n, false));
        let above = cx.less(first, second);
        let of = |rows| Ok::<_, Refusal>(cx.gather(x, compress(cx, rows, above, Some(0))?, 0));
        let distances = vector_norm(cx, of(first)? - of(second)?, p, &[-1], false)?;
        return cx.reshape_to_result(distances, 0);
    };
    if rows < 2 {
        return Ok(cx.constant(cx.dtype(x)?, &[0], &[]));
    }
    let pairs = || (0..rows).flat_map(move |i| (i + 1..rows).map(move |j| (i, j)));
    let first = cx.ints(&pairs().map(|p| p.0).collect::<Vec<_>>());
    let second = cx.ints(&pairs().map(|p| p.1).collect::<Vec<_>>());
    vector_norm(cx, cx.gather(x, first, 0) - cx.gather(x, second, 0), p, &[-1], false)
}

/// `a - b` in `dtype`. PyTorch subtracts before it casts, so that bytes wrap around.
pub(crate) fn difference(cx: &Lower, a: Value, b: Value, dtype: DType) -> Res<Value> {
    let own = cx.promoted(&[Operand::Tensor(a), Operand::Tensor(b)])?;
    let own = if own.is_float() { dtype } else { own };
    Ok(cx.cast(cx.cast(a, own) - cx.cast(b, own), dtype))
}

/// `norm(x1 - x2 + eps, p)` over the last axis.
#[lowering("aten.pairwise_distance.default")]
fn pairwise_distance(cx: &Lower, x1: Value, x2: Value, p: f64, eps: f64, keepdim: bool) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let mut difference = difference(cx, x1, x2, dtype)?;
    if eps != 0.0 {
        difference = difference + eps;
    }
    vector_norm(cx, difference, p, &[-1], keepdim)
}

/// `sum(x1 / max(|x1|, eps) * x2 / max(|x2|, eps))` along `dim` of the broadcast operands.
#[lowering("aten.cosine_similarity.default")]
fn cosine_similarity(cx: &Lower, x1: Value, x2: Value, dim: i64, eps: f64) -> Res<Value> {
    let dtype = cx.result(0)?.dtype;
    let (left, right) = (cx.rank(x1)?, cx.rank(x2)?);
    let axis = cx.axis(dim, left.max(right))? as i64 - left.max(right) as i64;
    let extent = |x, rank: usize| (rank as i64 + axis >= 0).then(|| cx.dim(x, (rank as i64 + axis) as usize));
    if extent(x1, left) != extent(x2, right) {
        return Err("`cosine_similarity` along an axis that is broadcast is not supported".into());
    }
    let eps = cx.float(eps, dtype);
    let unit = |x: Value| -> Res<Value> {
        let x = cx.cast(x, dtype);
        Ok(x / cx.max(vector_norm(cx, x, 2.0, &[axis], true)?, eps))
    };
    reduce(cx, op::ReduceSum, unit(x1)? * unit(x2)?, &[axis], false)
}

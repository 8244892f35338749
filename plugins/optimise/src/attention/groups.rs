//! Heads of a query that share keys and values: these are not repeated for each head. The heads of a group become rows
//! of one product instead.

use onnxport_sdk::prelude::*;

rules! {
    /// Computes the scores of heads that share keys without repeating the keys: the heads of a group become rows of one
    /// product. Runtimes may add up each sum in another order.
    grouped_scores (class = bounded(relative = 1e-6, ulps = 4), opset = 15..):
        let repeated = Reshape(grown @ Expand(Unsqueeze(k: [B, N, S, D], const axes), _), _, ..);
        MatMul(q: [B, H, L, D], Transpose(repeated, perm = [0, 1, 3, 2])) if is_repeated(grown, axes, [B, N, H, S, D])
        => scores(cx, q, k, N, H);

    /// Computes the weighted sums of heads that share values without repeating the values.
    grouped_values (class = bounded(relative = 1e-6, ulps = 4), opset = 15..):
        let repeated = Reshape(grown @ Expand(Unsqueeze(v: [B, N, S, D], const axes), _), _, ..);
        MatMul(weights: [B, H, L, S], repeated) if is_repeated(grown, axes, [B, N, H, S, D])
        => product(cx, weights, v, N, H);
}

/// Whether `grown`, with a new axis at `axes`, is each of `N` heads repeated to make `H` of them.
fn is_repeated(grown: NodeRef<'_>, axes: ValueRef<'_>, extents: [Dim; 5]) -> Res<()> {
    let [batch, kept, heads, places, size] = extents;
    if !matches!(axes.constant().and_then(|axes| axes.ints()).as_deref(), Some([2 | -3])) {
        return Err("the new axis is not after the heads".into());
    }
    let (Some(kept_count), Some(head_count)) = (kept.as_const(), heads.as_const()) else {
        return Err("a number of heads is not known".into());
    };
    if kept_count < 1 || head_count % kept_count != 0 {
        return Err("the heads are not groups of equal size".into());
    }
    let share = Dim::Const(head_count / kept_count);
    match grown.output(0).and_then(ValueRef::shape) {
        Some(shape) if shape == [batch, kept, share, places, size] && !shape.contains(&Dim::Unknown) => {
            Ok(())
        }
        _ => Err("it is not every head that is repeated".into()),
    }
}

/// `q` times the transposed `k`; the heads of a group are rows of one matrix meanwhile.
fn scores<'h>(
    cx: &Rewrite<'h>,
    q: ValueRef<'h>,
    k: ValueRef<'h>,
    kept: Dim,
    heads: Dim,
) -> Res<ValueRef<'h>> {
    let shape = split(cx, q, heads);
    let rows = grouped(cx, q, kept)?;
    let product = cx.matmul(rows, cx.transpose(k, &[0, 1, 3, 2]));
    Ok(cx.reshape_dynamic(product, shape))
}

/// `weights` times `v`, likewise.
fn product<'h>(
    cx: &Rewrite<'h>,
    weights: ValueRef<'h>,
    v: ValueRef<'h>,
    kept: Dim,
    heads: Dim,
) -> Res<ValueRef<'h>> {
    let shape = split(cx, weights, heads);
    let rows = grouped(cx, weights, kept)?;
    Ok(cx.reshape_dynamic(cx.matmul(rows, v), shape))
}

/// `x: [B, N * G, L, D]` as `[B, N, G * L, D]`.
fn grouped<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, kept: Dim) -> Res<ValueRef<'h>> {
    let kept = kept.as_const().ok_or("a number of heads is not known")?;
    let shape = cx.shape(x)?;
    let [batch, heads, rows, size] = shape[..] else { return Err("it has not four axes".into()) };
    let share = heads.as_const().ok_or("a number of heads is not known")? / kept;
    // A size of 0 leaves an open one undetermined.
    if let Some(rows) = rows.as_const() {
        return Ok(cx.reshape(x, &[0, kept, share * rows, size.as_const().unwrap_or(0)]));
    }
    let (false, false) = (may_be_zero(x, batch), may_be_zero(x, size)) else {
        let counts = cx.op(op::Shape).input(x).start(2).end(3).one();
        let rows = cx.mul(counts, cx.ints(&[share]));
        let shape = cx.concat(&[cx.ints(&[0, kept]), rows, cx.ints(&[size.as_const().unwrap_or(0)])], 0);
        return Ok(cx.reshape_dynamic(x, shape));
    };
    Ok(cx.reshape(x, &[0, kept, -1, size.as_const().unwrap_or(0)]))
}

/// The shape that takes `[B, N, G * L, _]` back to `[B, H, L, _]`, with the rows of `x: [B, H, L, _]`.
fn split<'h>(cx: &Rewrite<'h>, x: ValueRef<'h>, heads: Dim) -> ValueRef<'h> {
    let rows = cx.extent(x, 2);
    let heads = heads.as_const().unwrap_or(0);
    if let Some(rows) = cx.dim(x, 2).as_const() {
        return cx.ints(&[0, heads, rows, 0]);
    }
    cx.concat(&[cx.ints(&[0, heads]), rows, cx.ints(&[0])], 0)
}

fn may_be_zero(x: ValueRef<'_>, extent: Dim) -> bool {
    x.graph().dim_range(extent).min < 1
}

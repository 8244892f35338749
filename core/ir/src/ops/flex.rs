//! Attention whose scores and probabilities graphs of the model change.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::activation::softmax_line;
use super::call::{Call, one};
use super::error::invalid;
use super::strides::Cut;
use super::{Op, Res, Tensor, Value};
use crate::ir::Attr;
use crate::tensor::DType;

pub(super) const OPS: &[Op] =
    &[Op::new("FlexAttention").of("ai.onnx.preview").dtypes(infer::types).infer(infer::flex).eval(flex)];

/// Applies the graph of the attribute called `name` to `x`; the result has the type and shape of `x`.
fn changed(c: &mut Call<'_>, name: &str, x: Tensor) -> Res<Tensor> {
    let Some(Attr::Block(block)) = c.attr(name) else { return Ok(x) };
    let (block, dtype, shape) = (*block, x.dtype(), x.shape().to_vec());
    match c.run(block, vec![x.into()])?.into_iter().next() {
        Some(Value::Tensor(out)) if out.dtype() == dtype && out.shape() == shape => Ok(out),
        Some(out) => invalid!("`{name}` returns {} for {dtype}{shape:?}", out.describe()),
        None => invalid!("`{name}` returns nothing"),
    }
}

/// Products of rows of `a` with rows of `b`, for each head; `shared` heads of `a` belong to one of `b`.
fn products(a: &[f64], b: &[f64], [heads, rows, columns, depth]: [usize; 4], shared: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(heads * rows * columns);
    for row in 0..heads * rows {
        let other = &b[row / rows / shared * columns * depth..][..columns * depth];
        let own = &a[row * depth..(row + 1) * depth];
        out.extend((0..columns).map(|column| {
            let with = &other[column * depth..(column + 1) * depth];
            own.iter().zip(with).map(|(a, b)| a * b).sum::<f64>()
        }));
    }
    out
}

fn flex(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (q, k, v) = (c.tensor(0)?.clone(), c.tensor(1)?.clone(), c.tensor(2)?.clone());
    let (&[batch, q_heads, queries, size], &[_, heads, keys, _], &[_, _, _, width]) =
        (q.shape(), k.shape(), v.shape())
    else {
        return invalid!("an input has not 4 axes");
    };
    let fits = k.shape() == [batch, heads, keys, size] && v.shape() == [batch, heads, keys, width];
    if !fits || heads == 0 || !q_heads.is_multiple_of(heads) {
        return invalid!("{}, {} and {} do not fit each other", q.describe(), k.describe(), v.describe());
    }
    let usual = if q.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let precision = c.dtype_or("softmax_precision", usual)?;
    let scale = match c.attr("scale") {
        Some(_) => c.float("scale")?,
        None => (size as f64).sqrt().recip(),
    };
    let shape = vec![batch, q_heads, queries, keys];
    let count = c.count(&shape)?;
    let rows = [batch, q_heads, queries].iter().fold(1u64, |n, d| n.saturating_mul(*d as u64));
    c.spend((count as u64).saturating_mul((size + width) as u64).saturating_add(rows))?;
    let shared = q_heads / heads;
    let scores = products(&q.floats()?, &k.floats()?, [batch * q_heads, queries, keys, size], shared);
    let scores = scores.into_iter().map(|x| x * scale).collect();
    let scores = changed(c, "score_mod", Tensor::of_floats(precision, shape.clone(), scores)?)?;
    let mut shares = scores.floats()?;
    let cut = Cut::at(&shape, 3);
    for first in cut.lines() {
        softmax_line(&mut shares, cut.line(first), false);
    }
    let shares = changed(c, "prob_mod", Tensor::of_floats(precision, shape, shares)?)?.floats()?;
    let shape = vec![batch, q_heads, queries, width];
    c.count(&shape)?;
    let values = super::view::permuted(c, &v, &[0, 1, 3, 2])?.floats()?;
    let out = products(&shares, &values, [batch * q_heads, queries, width, keys], shared);
    one(Tensor::of_floats(q.dtype(), shape, out)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use crate::ops::infer::cx::{Cx, Dtypes, Shapes, one};

    /// The element type of the query.
    pub(super) fn types(cx: &Cx<'_>) -> Dtypes {
        smallvec![cx.dtype(0)]
    }

    /// The shape of the query, with the last axis of the values.
    pub(super) fn flex(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 4)?;
        let &[batch, heads, queries, _] = cx.dims(0)? else { return None };
        one([batch, heads, queries, cx.dim(2, 3)])
    }
}

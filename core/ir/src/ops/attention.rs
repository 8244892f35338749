//! Attention and rotary embeddings.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::activation::{sigmoid, softmax_line};
use super::call::{Call, one};
use super::error::{invalid, unsupported};
use super::infer::broadcast;
use super::map::Arithmetic;
use super::slice::concat;
use super::strides::{broadcast, expand, volume};
use super::view::permuted;
use super::{Elements, Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("Attention").infer(infer::attention).eval(attention),
    Op::new("RotaryEmbedding").infer(broadcast::same).eval(rotary),
    Op::new("SwiGLU").eval(|c| {
        let alpha = c.float("alpha")?;
        let gate = Arithmetic { float: &|a, b| a * sigmoid(alpha * a) * b, int: &|_, _| Ok(0) };
        one(gate.of(c, c.tensor(0)?, c.tensor(1)?)?)
    }),
];

/// Input `index` as `[batch, heads, sequence, size]`; a flat one has the heads in its last axis.
fn heads(c: &Call<'_>, x: &Tensor, name: &str) -> Res<Tensor> {
    match *x.shape() {
        [_, _, _, _] => Ok(x.clone()),
        [batch, sequence, hidden] => {
            let heads = usize::try_from(c.int(name)?).unwrap_or(0);
            if heads == 0 || !hidden.is_multiple_of(heads) {
                return invalid!("{hidden} elements do not make {heads} heads");
            }
            permuted(c, &x.reshaped(vec![batch, sequence, heads, hidden / heads])?, &[0, 2, 1, 3])
        }
        _ => invalid!("an input has {} axes, neither 3 nor 4", x.rank()),
    }
}

/// The keys that a query sees, apart from the mask.
struct Sight {
    causal: bool,
    left: i64,
    right: i64,
    /// How many keys lie before the first query, for each batch.
    offsets: Vec<i64>,
    /// How many keys are not padding, for each batch.
    lengths: Option<Vec<i64>>,
}

impl Sight {
    fn sees(&self, batch: usize, query: usize, key: usize) -> bool {
        let offset = self.offsets.get(batch).copied().unwrap_or(0);
        let ahead = key as i64 - (query as i64).saturating_add(offset);
        let padded = self.lengths.as_ref().and_then(|l| l.get(batch)).is_some_and(|n| key as i64 >= *n);
        !padded
            && (!self.causal || ahead <= 0)
            && (self.left < 0 || -ahead <= self.left)
            && (self.right < 0 || ahead <= self.right)
    }
}

/// The addend of the mask for each score; the last axis has the length of the keys.
fn bias(c: &Call<'_>, shape: &[usize], keys: usize) -> Res<Option<Vec<f64>>> {
    let Some(mask) = c.optional(3)? else { return Ok(None) };
    let Some((own, outer)) = mask.shape().split_last() else { return invalid!("the mask has no axes") };
    let items: Vec<f64> = match mask.elements() {
        Elements::Bool(items) => items.into_iter().map(|b| if b { 0.0 } else { f64::NEG_INFINITY }).collect(),
        _ => mask.floats()?,
    };
    let stretched = |at: usize| {
        let (row, column) = (at / keys.max(1), at % keys.max(1));
        if column < *own { items.get(row * own + column).copied() } else { None }.unwrap_or(f64::NEG_INFINITY)
    };
    let extended: Vec<usize> = outer.iter().copied().chain([keys]).collect();
    c.count(&extended)?;
    let items: Vec<f64> = if *own == keys { items } else { (0..volume(&extended)).map(stretched).collect() };
    if broadcast([shape, &extended])? != shape {
        return invalid!("a mask of shape {:?} does not fit scores of {shape:?}", mask.shape());
    }
    Ok(Some(expand(&extended, shape).map(|at| items.get(at).copied().unwrap_or(0.0)).collect()))
}

/// `softmax(Q · Kᵀ · scale + mask) · V`; a query that sees nothing gives zeros.
fn attention(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let flat = c.tensor(0)?.rank() == 3;
    let q = heads(c, c.tensor(0)?, "q_num_heads")?;
    let mut k = heads(c, c.tensor(1)?, "kv_num_heads")?;
    let mut v = heads(c, c.tensor(2)?, "kv_num_heads")?;
    let past = c.optional(4)?.map_or(0, |past| past.dim(2));
    if let (Some(key), Some(value)) = (c.optional(4)?, c.optional(5)?) {
        k = concat(c, &[key, &k], 2)?;
        v = concat(c, &[value, &v], 2)?;
    }
    let ([batches, q_heads, queries, size], [_, kv_heads, keys, _], [_, _, _, width]) =
        (q.shape(), k.shape(), v.shape())
    else {
        return invalid!("an input has not 4 axes");
    };
    let (batches, q_heads, queries, size, kv_heads, keys, width) =
        (*batches, *q_heads, *queries, *size, *kv_heads, *keys, *width);
    let fits = k.shape() == [batches, kv_heads, keys, size] && v.shape() == [batches, kv_heads, keys, width];
    if !fits || kv_heads == 0 || !q_heads.is_multiple_of(kv_heads) {
        return invalid!("{}, {} and {} do not fit each other", q.describe(), k.describe(), v.describe());
    }
    let shape = vec![batches, q_heads, queries, keys];
    c.count(&shape)?;
    c.spend((volume(&shape) as u64).saturating_mul((size + width) as u64))?;
    let lengths = c.longs(6)?;
    let offsets = match &lengths {
        Some(lengths) if past == 0 => lengths.iter().map(|n| n.saturating_sub(queries as i64)).collect(),
        _ => vec![past as i64; batches],
    };
    let (left, right) = (c.int("left_window_size")?, c.int("right_window_size")?);
    let sight = Sight { causal: c.flag("is_causal"), left, right, offsets, lengths };
    let scale = match c.attr("scale") {
        Some(_) => c.float("scale")?,
        None => (size as f64).sqrt().recip(),
    };
    let softcap = c.float("softcap")?;
    let mode = c.int("qk_matmul_output_mode")?;
    let bias = bias(c, &shape, keys)?;
    let (q_items, k_items, v_items) = (q.floats()?, k.floats()?, v.floats()?);
    let (mut shown, mut out) = (Vec::new(), Vec::new());
    for row in 0..batches * q_heads * queries {
        let (batch, head, query) = (row / (q_heads * queries), row / queries % q_heads, row % queries);
        let own = (batch * kv_heads + head / (q_heads / kv_heads)) * keys;
        let q = q_items.get(row * size..(row + 1) * size).unwrap_or_default();
        let mut scores: Vec<f64> = (0..keys)
            .map(|key| {
                let k = k_items.get((own + key) * size..(own + key + 1) * size).unwrap_or_default();
                q.iter().zip(k).map(|(a, b)| a * b).sum::<f64>() * scale
            })
            .collect();
        if mode == 0 {
            shown.extend_from_slice(&scores);
        }
        let cap = |scores: &mut [f64]| {
            if softcap > 0.0 {
                for s in scores {
                    *s = softcap * (*s / softcap).tanh();
                }
            }
        };
        let mask = |scores: &mut [f64]| {
            for (key, score) in scores.iter_mut().enumerate() {
                *score += bias.as_ref().and_then(|b| b.get(row * keys + key).copied()).unwrap_or(0.0);
                if !sight.sees(batch, query, key) {
                    *score = f64::NEG_INFINITY;
                }
            }
        };
        cap(&mut scores);
        if mode == 1 {
            shown.extend_from_slice(&scores);
        }
        mask(&mut scores);
        if mode == 2 {
            shown.extend_from_slice(&scores);
        }
        if scores.iter().all(|s| *s == f64::NEG_INFINITY) {
            scores.fill(0.0);
        } else {
            softmax_line(&mut scores, 0..keys, false);
        }
        if mode == 3 {
            shown.extend_from_slice(&scores);
        }
        let mut sums = vec![0.0; width];
        for (key, score) in scores.iter().enumerate().filter(|(_, score)| **score != 0.0) {
            let v = v_items.get((own + key) * width..(own + key + 1) * width).unwrap_or_default();
            sums.iter_mut().zip(v).for_each(|(sum, v)| *sum += score * v);
        }
        out.extend(sums);
    }
    if !(0..=3).contains(&mode) {
        return unsupported!("unknown output mode {mode} of the scores");
    }
    let mut y = Tensor::of_floats(q.dtype(), vec![batches, q_heads, queries, width], out)?;
    if flat {
        y = permuted(c, &y, &[0, 2, 1, 3])?.reshaped(vec![batches, queries, q_heads * width])?;
    }
    Ok(vec![y.into(), k.into(), v.into(), Tensor::of_floats(q.dtype(), shape, shown)?.into()])
}

/// Rotates pairs of elements by the angles with the given cosines and sines.
fn rotary(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = heads(c, c.tensor(0)?, "num_heads")?;
    let (cos, sin) = (c.tensor(1)?.floats()?, c.tensor(2)?.floats()?);
    rotated(c, x, &cos, &sin, c.longs(3)?)
}

/// [`rotary`] of ONNX Runtime's own domain: a single position is that of the first step, and the heads may follow from the angles.
pub(super) fn rotary_by_position(c: &mut Call<'_>) -> Res<Vec<Value>> {
    if c.flag("is_packed_batching") || c.float_if_any("scale").is_some_and(|x| x != 1.0) {
        return unsupported!("`is_packed_batching` and `scale`");
    }
    let (input, cosines) = (c.tensor(0)?, c.tensor(2)?);
    let x = match *input.shape() {
        [batch, steps, hidden] if !c.flag("num_heads") => {
            let size = 2 * cosines.dim(1);
            if size == 0 || !hidden.is_multiple_of(size) {
                return invalid!("{hidden} elements do not make heads of {size}");
            }
            permuted(c, &input.reshaped(vec![batch, steps, hidden / size, size])?, &[0, 2, 1, 3])?
        }
        _ => heads(c, input, "num_heads")?,
    };
    let [batches, _, steps, _] = *x.shape() else { return invalid!("the input has not 4 axes") };
    let ids = match c.longs(1)?.as_deref() {
        Some([first]) => {
            let line = (0..steps as i64).map(|step| first.saturating_add(step));
            std::iter::repeat_n(line, batches).flatten().collect()
        }
        Some(ids) => ids.to_vec(),
        None => return invalid!("input 1 is missing"),
    };
    let (cos, sin) = (cosines.floats()?, c.tensor(3)?.floats()?);
    rotated(c, x, &cos, &sin, Some(ids))
}

/// `x`, `[batch, heads, steps, size]`, rotated by rows of the tables: those that `ids` names for each step of a batch, or one after
/// the other. The result has the shape of input 0.
fn rotated(c: &Call<'_>, x: Tensor, cos: &[f64], sin: &[f64], ids: Option<Vec<i64>>) -> Res<Vec<Value>> {
    let input = c.tensor(0)?;
    let [batches, count, sequence, size] = *x.shape() else { return invalid!("the input has not 4 axes") };
    let rotated = match c.int_if_any("rotary_embedding_dim").map(usize::try_from) {
        None | Some(Ok(0)) => size,
        Some(Ok(n)) if n <= size => n,
        _ => return invalid!("more elements are rotated than there are"),
    };
    let half = rotated / 2;
    let mut items = x.floats()?;
    c.count(x.shape())?;
    let interleaved = c.flag("interleaved");
    for row in 0..batches * count * sequence {
        let (batch, step) = (row / (count * sequence), row % sequence);
        let at = match &ids {
            Some(ids) => ids.get(batch * sequence + step).and_then(|id| usize::try_from(*id).ok()),
            None => Some(batch * sequence + step),
        };
        let line = at.and_then(|at| Some(at.checked_mul(half)?..at.checked_add(1)?.checked_mul(half)?));
        let Some(angles) = line.and_then(|line| cos.get(line.clone()).zip(sin.get(line))) else {
            return invalid!("there is no angle for position {step}");
        };
        for (index, (cos, sin)) in angles.0.iter().zip(angles.1).enumerate() {
            let (a, b) = if interleaved { (2 * index, 2 * index + 1) } else { (index, index + half) };
            let (a, b) = (row * size + a, row * size + b);
            let (x, y) = (items[a], items[b]);
            (items[a], items[b]) = (cos * x - sin * y, sin * x + cos * y);
        }
    }
    let out = Tensor::of_floats(x.dtype(), x.shape().to_vec(), items)?;
    one(if input.rank() == 3 {
        permuted(c, &out, &[0, 2, 1, 3])?.reshaped(input.shape().to_vec())?
    } else {
        out
    })
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::cx::{Cx, Shapes};
    use crate::sym::Dim;

    /// `Attention`.
    pub(super) fn attention(cx: &mut Cx<'_>) -> Option<Shapes> {
        let (q, k, v) = (cx.dims(0)?, cx.dims(1)?, cx.dims(2)?);
        let total = |cx: &mut Cx<'_>, sequence: Option<Dim>| match cx.dims(4) {
            Some(past) => Some(cx.symbols.add(past.get(2).copied().flatten()?, sequence?)),
            None if cx.input(4).is_none() => sequence,
            None => None,
        };
        for (index, dims) in [(1, k), (2, v)] {
            cx.demand(q.len() == dims.len(), || {
                format!("input {index} has {} axes and input 0 has {}", dims.len(), q.len())
            })?;
            cx.equal(q.first().copied().flatten(), dims.first().copied().flatten(), "the batches differ")?;
        }
        match (q, k, v) {
            ([b, heads, length, head], [_, k_heads, k_length, _], [_, v_heads, v_length, v_head]) => {
                let (k_length, v_length) = (total(cx, *k_length), total(cx, *v_length));
                Some(smallvec![
                    Shape::Ranked(smallvec![*b, *heads, *length, *v_head]),
                    Shape::Ranked(smallvec![*b, *k_heads, k_length, *head]),
                    Shape::Ranked(smallvec![*b, *v_heads, v_length, *v_head]),
                    Shape::Ranked(smallvec![*b, *heads, *length, k_length]),
                ])
            }
            ([b, length, _], [_, k_length, k_hidden], [_, v_length, v_hidden]) => {
                let (heads, kv_heads) = (cx.node.int("q_num_heads")?, cx.node.int("kv_num_heads")?);
                let (heads_dim, kv) = (Some(Dim::Const(heads)), Dim::Const(kv_heads));
                let mut per_head = |hidden: Option<Dim>| Some(cx.symbols.floor_div(hidden?, kv));
                let (k_head, v_head) = (per_head(*k_hidden), per_head(*v_hidden));
                let (k_length, v_length) = (total(cx, *k_length), total(cx, *v_length));
                let hidden = v_head.map(|h| cx.symbols.mul(h, Dim::Const(heads)));
                Some(smallvec![
                    Shape::Ranked(smallvec![*b, *length, hidden]),
                    Shape::Ranked(smallvec![*b, Some(kv), k_length, k_head]),
                    Shape::Ranked(smallvec![*b, Some(kv), v_length, v_head]),
                    Shape::Ranked(smallvec![*b, heads_dim, *length, k_length]),
                ])
            }
            _ => None,
        }
    }
}

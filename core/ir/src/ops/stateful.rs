//! Layers of language models that hand a state on from one part of a sequence to the next.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::activation::sigmoid;
use super::call::Call;
use super::error::invalid;
use super::{Op, Res, Tensor, Value};
use crate::tensor::DType;

pub(super) const OPS: &[Op] = &[
    Op::new("CausalConvWithState").infer(infer::causal_conv).eval(causal_conv),
    Op::new("LinearAttention").dtypes(infer::attention_types).infer(infer::attention).eval(attention),
];

/// A convolution of each channel over the positions before it; those before the first are the state, or zeros.
fn causal_conv(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, weight) = (c.tensor(0)?, c.tensor(1)?);
    let (&[batch, channels, length], &[filters, 1, taps]) = (x.shape(), weight.shape()) else {
        return invalid!("{} and {} are not an input and a weight", x.describe(), weight.describe());
    };
    if filters != channels || taps == 0 {
        return invalid!("{} does not fit {channels} channels", weight.describe());
    }
    let before = taps - 1;
    let past = match c.optional(3)? {
        Some(past) if past.shape() == [batch, channels, before] => past.floats()?,
        Some(past) => return invalid!("{} is not a state of {before} positions", past.describe()),
        None => vec![0.0; c.count(&[batch, channels, before])?],
    };
    let bias = c.optional(2)?.map(Tensor::floats).transpose()?.unwrap_or_else(|| vec![0.0; channels]);
    if bias.len() != channels {
        return invalid!("{} biases do not fit {channels} channels", bias.len());
    }
    let act: fn(f64) -> f64 = match c.text("activation")? {
        "none" => |x| x,
        "silu" | "swish" => |x| x * sigmoid(x),
        other => return invalid!("unknown activation `{other}`"),
    };
    let count = c.count(x.shape())?;
    let lines = batch.saturating_mul(channels);
    c.spend((count as u64).saturating_mul(taps as u64).saturating_add(lines as u64))?;
    let (items, weights) = (x.floats()?, weight.floats()?);
    let (mut out, mut state) = (Vec::with_capacity(count), Vec::with_capacity(past.len()));
    for line in 0..lines {
        let channel = line % channels;
        let kernel = &weights[channel * taps..(channel + 1) * taps];
        let mut places = past[line * before..(line + 1) * before].to_vec();
        places.extend(&items[line * length..(line + 1) * length]);
        out.extend(places.windows(taps).map(|window| {
            let sum: f64 = window.iter().zip(kernel).map(|(x, w)| x * w).sum();
            act(sum + bias[channel])
        }));
        state.extend(&places[length..]);
    }
    Ok(vec![
        Tensor::of_floats(x.dtype(), x.shape().to_vec(), out)?.into(),
        Tensor::of_floats(x.dtype(), vec![batch, channels, before], state)?.into(),
    ])
}

/// The number that the attribute called `name` gives, which is positive.
fn heads(c: &Call<'_>, name: &str) -> Res<usize> {
    match usize::try_from(c.int(name)?) {
        Ok(n) if n > 0 => Ok(n),
        _ => invalid!("`{name}` is not positive"),
    }
}

/// A recurrence over a matrix for each head: it decays, forgets the value of the key, and learns the new one. Queries
/// read it.
fn attention(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (query, key, value) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (q_heads, heads) = (heads(c, "q_num_heads")?, heads(c, "kv_num_heads")?);
    let &[batch, length, wide] = query.shape() else {
        return invalid!("{} is not a query", query.describe());
    };
    let (size, width) = (wide / q_heads, value.dim(2) / heads);
    let fits = q_heads.is_multiple_of(heads)
        && wide == q_heads * size
        && key.shape() == [batch, length, heads * size]
        && value.shape() == [batch, length, heads * width];
    if !fits {
        return invalid!(
            "{}, {} and {} do not fit each other",
            query.describe(),
            key.describe(),
            value.describe()
        );
    }
    let (fades, corrects) = match c.text("update_rule")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return invalid!("unknown rule `{other}`"),
    };
    let gate = |index: usize, wanted: bool, widths: [usize; 2]| -> Res<(Vec<f64>, usize)> {
        match c.optional(index)?.filter(|_| wanted) {
            Some(t)
                if t.rank() == 3 && t.dim(0) == batch && t.dim(1) == length && widths.contains(&t.dim(2)) =>
            {
                Ok((t.floats()?, t.dim(2)))
            }
            Some(t) => invalid!("input {index} is {}, which does not fit", t.describe()),
            None if wanted => invalid!("input {index} is missing"),
            None => Ok((Vec::new(), 0)),
        }
    };
    let (decay, decays) = gate(4, fades, [heads * size, heads])?;
    let (beta, betas) = gate(5, corrects, [heads, 1])?;
    let shape = vec![batch, heads, size, width];
    let mut state = match c.optional(3)? {
        Some(past) if past.shape() == shape => past.floats()?,
        Some(past) => return invalid!("the state is {}, not of shape {shape:?}", past.describe()),
        None => vec![0.0; c.count(&shape)?],
    };
    let kept = c.optional(3)?.map_or(query.dtype(), Tensor::dtype);
    let scale = match c.float("scale")? {
        0.0 => (size as f64).sqrt().recip(),
        scale => scale,
    };
    let out_shape = vec![batch, length, q_heads * width];
    let mut out = Vec::with_capacity(c.count(&out_shape)?);
    let parts = [batch, length, heads.saturating_mul(3).saturating_add(q_heads), size.max(1), width.max(1)];
    c.spend(parts.iter().fold(1, |work, n| work.saturating_mul(*n as u64)))?;
    let (q, k, v) = (query.floats()?, key.floats()?, value.floats()?);
    let area = size * width;
    for step in 0..batch * length {
        let memory = &mut state[step / length * heads * area..][..heads * area];
        for head in 0..heads {
            let own = &mut memory[head * area..(head + 1) * area];
            let (k, v) =
                (&k[(step * heads + head) * size..][..size], &v[(step * heads + head) * width..][..width]);
            for (at, x) in own.iter_mut().enumerate().filter(|_| fades) {
                let place = if decays == heads { head } else { head * size + at / width };
                *x *= decay[step * decays + place].exp();
            }
            for column in 0..width {
                let mut new = v[column];
                if corrects {
                    let known: f64 = (0..size).map(|row| own[row * width + column] * k[row]).sum();
                    new = beta[step * betas + head % betas] * (new - known);
                }
                for row in 0..size {
                    own[row * width + column] += k[row] * new;
                }
            }
        }
        for head in 0..q_heads {
            let own = &memory[head / (q_heads / heads) * area..][..area];
            let q = &q[(step * q_heads + head) * size..][..size];
            out.extend((0..width).map(|column| {
                let sum: f64 = (0..size).map(|row| q[row] * own[row * width + column]).sum();
                scale * sum
            }));
        }
    }
    Ok(vec![
        Tensor::of_floats(query.dtype(), out_shape, out)?.into(),
        Tensor::of_floats(kept, shape, state)?.into(),
    ])
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Types and shapes.

    use smallvec::smallvec;

    use super::DType;
    use crate::ir::Shape;
    use crate::ops::infer::cx::{Cx, Dtypes, Shapes};
    use crate::sym::Dim;

    /// `CausalConvWithState`.
    pub(super) fn causal_conv(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 3)?;
        cx.rank(1, 3)?;
        let &[batch, channels, length] = cx.dims(0)? else { return None };
        let before = cx.dim(1, 2).map(|taps| cx.plus(taps, -1));
        Some(smallvec![
            Shape::Ranked(smallvec![batch, channels, length]),
            Shape::Ranked(smallvec![batch, channels, before]),
        ])
    }

    /// `LinearAttention`: a state that is not given has the type of the query.
    pub(super) fn attention_types(cx: &Cx<'_>) -> Dtypes {
        let state: Option<DType> = if cx.input(3).is_some() { cx.dtype(3) } else { cx.dtype(0) };
        smallvec![cx.dtype(0), state]
    }

    /// `LinearAttention`.
    pub(super) fn attention(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 3)?;
        let &[batch, length, wide] = cx.dims(0)? else { return None };
        let (q_heads, heads) = (cx.node.int("q_num_heads")?, cx.node.int("kv_num_heads")?);
        cx.demand(q_heads > 0 && heads > 0, || "a number of heads is not positive".to_owned())?;
        let size = wide.map(|d| cx.symbols.floor_div(d, Dim::Const(q_heads)));
        let width = cx.dim(2, 2).map(|d| cx.symbols.floor_div(d, Dim::Const(heads)));
        let out = width.map(|d| cx.symbols.mul(d, Dim::Const(q_heads)));
        Some(smallvec![
            Shape::Ranked(smallvec![batch, length, out]),
            Shape::Ranked(smallvec![batch, Some(Dim::Const(heads)), size, width]),
        ])
    }
}

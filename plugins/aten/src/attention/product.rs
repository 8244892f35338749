//! Scaled dot products.

use onnxport_sdk::prelude::*;

use crate::matmul::swap_last;

/// `softmax(query @ key^T * scale + mask) @ value`, and zeros in rows that the mask closes entirely.
#[lowering("aten.scaled_dot_product_attention.default")]
fn scaled_dot_product_attention(
    cx: &Lower,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Option<Value>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
) -> Res<Value> {
    no_dropout(dropout_p)?;
    Heads { query, key, value, scale, grouped: enable_gqa }.attend(cx, attn_mask, is_causal)
}

/// The same as PyTorch's kernels take it, with the logarithms of the sums of the exponentials of the rows where a
/// program uses them; results that serve the gradient or the seed are not computed.
#[lowering(
    "aten._scaled_dot_product_flash_attention.default",
    "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_efficient_attention.default",
    "aten._scaled_dot_product_attention_math.default"
)]
fn kernel(
    cx: &Lower,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Option<Value>,
    attn_bias: Option<Value>,
    dropout_p: f64,
    is_causal: bool,
    scale: Option<f64>,
    enable_gqa: bool,
) -> Res<Vec<Option<Value>>> {
    no_dropout(dropout_p)?;
    let heads = || Heads { query, key, value, scale, grouped: enable_gqa };
    let mask = attn_mask.or(attn_bias);
    let mut results = vec![None; cx.result_count()];
    if let Some(first) = results.first_mut() {
        *first = Some(heads().attend(cx, mask, is_causal)?);
    }
    if cx.target().contains("for_cpu") && cx.has_result(1) {
        results[1] = Some(heads().log_sums(cx, mask, is_causal)?);
    }
    Ok(results)
}

fn no_dropout(p: f64) -> Res<()> {
    if p == 0.0 {
        return Ok(());
    }
    Err(Refusal::new(format!("the argument `dropout_p` is {p}: the result is random"))
        .help("export the model in evaluation mode, `model.eval()`"))
}

/// The operands: `[..., heads, length, size]`.
pub(super) struct Heads {
    pub(super) query: Value,
    pub(super) key: Value,
    pub(super) value: Value,
    pub(super) scale: Option<f64>,
    /// Whether several heads of the query share one of the key.
    pub(super) grouped: bool,
}

impl Heads {
    /// From opset 23 on a node `Attention` says what has no mask; with a mask its rows without any
    /// place are not PyTorch's zeros.
    pub(super) fn attend(mut self, cx: &Lower, mask: Option<Value>, causal: bool) -> Res<Value> {
        let rank = cx.rank(self.query)?;
        if rank < 2 {
            return Err("the argument `query` has fewer than two axes".into());
        }
        if cx.opset() >= 23 && mask.is_none() && rank == 4 && cx.dtype(self.query)? == DType::F32 {
            let node = cx.op(op::Attention).input(self.query).input(self.key).input(self.value);
            let node = node.is_causal(causal);
            return Ok(match self.scale {
                Some(scale) => node.scale(scale).one(),
                None => node.one(),
            });
        }
        let (length, places) = (cx.dim(self.query, rank - 2), cx.dim(self.key, cx.rank(self.key)? - 2));
        self.query = self.scaled_query(cx, rank)?;
        let mut mask = mask;
        let shared = self.grouped && rank > 2 && cx.dim(self.query, rank - 3) != cx.dim(self.key, rank - 3);
        if shared {
            mask = self.group(cx, rank, mask)?;
        }
        let dtype = cx.dtype(self.query)?;
        let scores = self.scores(cx, causal.then_some((length, places)))?;
        let weights = match mask {
            None => cx.softmax(scores, -1),
            Some(mask) => masked_softmax(cx, scores, mask, dtype)?,
        };
        let output = cx.matmul(weights, self.value);
        if shared { cx.reshape_to_result(output, 0) } else { Ok(output) }
    }

    /// The products of the scaled query and the keys; later positions are closed where the sizes of a triangle are given.
    fn scores(&self, cx: &Lower, causal: Option<(Dim, Dim)>) -> Res<Value> {
        let scores = cx.matmul(self.query, swap_last(cx, self.key)?);
        Ok(match causal {
            Some((length, places)) => scores + triangle(cx, length, places, cx.dtype(self.query)?),
            None => scores,
        })
    }

    /// `log(sum(exp(scores)))` of each row, minus infinity where the mask closes the row: `[..., heads, length]`.
    fn log_sums(mut self, cx: &Lower, mask: Option<Value>, causal: bool) -> Res<Value> {
        let rank = cx.rank(self.query)?;
        let (length, places) = (cx.dim(self.query, rank - 2), cx.dim(self.key, rank - 2));
        self.query = self.scaled_query(cx, rank)?;
        let dtype = cx.dtype(self.query)?;
        let scores = self.scores(cx, causal.then_some((length, places)))?;
        let scores = match mask {
            None => scores,
            Some(mask) if cx.dtype(mask)? == DType::Bool => cx.select(mask, scores, f64::NEG_INFINITY),
            Some(mask) => scores + cx.cast(mask, dtype),
        };
        let largest = cx.reduce(op::ReduceMax, scores, &[-1], true);
        let base = cx.select(cx.equal(largest, f64::NEG_INFINITY), 0.0, largest);
        let sums = cx.reduce(op::ReduceSum, cx.exp(scores - base), &[-1], true);
        let sums = cx.squeeze(largest + cx.op(op::Log).input(sums).one(), &[-1]);
        Ok(cx.cast(sums, cx.result(1)?.dtype))
    }

    /// The query times `scale`, by default `1 / sqrt(size)`.
    fn scaled_query(&self, cx: &Lower, rank: usize) -> Res<Value> {
        let dtype = cx.dtype(self.query)?;
        let scale = match (self.scale, cx.dim(self.query, rank - 1)) {
            (Some(scale), _) => scale,
            (None, Dim::Const(size)) => 1.0 / (size as f64).sqrt(),
            (None, _) => {
                return Ok(self.query / cx.sqrt(cx.cast(cx.extent(self.query, rank - 1), dtype)));
            }
        };
        Ok(crate::matmul::scaled(cx, self.query, &Scalar::Float(scale), dtype))
    }

    /// Splits the heads of the query by the head of the key that they share, on an axis of its own
    /// over which key and value broadcast. Returns the mask in this form.
    fn group(&mut self, cx: &Lower, rank: usize, mask: Option<Value>) -> Res<Option<Value>> {
        let axis = rank - 3;
        let (heads, kept) = (cx.dim(self.query, axis), cx.dim(self.key, axis));
        let share = cx.dim_div(heads, kept);
        let split = |cx: &Lower, x: Value, axis: usize| -> Res<Value> {
            let mut shape = cx.shape(x)?;
            shape.splice(axis..=axis, [kept, share]);
            Ok(cx.reshape_to(x, &shape))
        };
        self.query = split(cx, self.query, axis)?;
        self.key = cx.unsqueeze(self.key, &[axis as i64 + 1]);
        self.value = cx.unsqueeze(self.value, &[axis as i64 + 1]);
        let Some(mask) = mask else { return Ok(None) };
        let own = cx.rank(mask)?;
        if own < 3 {
            return Ok(Some(mask));
        }
        if cx.dim(mask, own - 3).is(1) {
            return Ok(Some(cx.unsqueeze(mask, &[own as i64 - 3])));
        }
        split(cx, mask, own - 3).map(Some)
    }
}

/// Softmax along the last axis over unmasked scores. A row without any is zero, as in PyTorch,
/// where a plain softmax would give NaN.
fn masked_softmax(cx: &Lower, scores: Value, mask: Value, dtype: DType) -> Res<Value> {
    if cx.dtype(mask)? == DType::Bool {
        let lowest = match dtype {
            DType::F16 => -65504.0,
            DType::F64 => f64::MIN,
            // For bf16 too: it rounds no further than to its own lowest.
            _ => -3.389_531_389_251_535_5e38,
        };
        return Ok(cx.select(mask, cx.softmax(cx.select(mask, scores, lowest), -1), 0.0));
    }
    let weights = cx.softmax(scores + cx.cast(mask, dtype), -1);
    Ok(cx.select(cx.is_nan(weights), 0.0, weights))
}

/// Zero where the place is not after the row, else minus infinity.
fn triangle(cx: &Lower, length: Dim, places: Dim, dtype: DType) -> Value {
    const LARGEST_CONSTANT: i64 = 4096;
    if let (Dim::Const(rows), Dim::Const(columns)) = (length, places)
        && rows.saturating_mul(columns) <= LARGEST_CONSTANT
    {
        let element = |row, column| if column <= row { 0.0 } else { f64::NEG_INFINITY };
        let elements: Vec<f64> =
            (0..rows).flat_map(|row| (0..columns).map(move |column| element(row, column))).collect();
        return cx.numbers_shaped(&elements, &[rows as u64, columns as u64], dtype);
    }
    let shape = cx.dims_value(&[length, places]);
    let closed = cx.filled(&Scalar::Float(f64::NEG_INFINITY), dtype, &[1]);
    cx.op(op::Trilu).input(cx.constant_of_shape(shape, closed)).input(cx.int(1)).upper(1).one()
}

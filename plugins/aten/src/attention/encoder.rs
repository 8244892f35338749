//! PyTorch's fused layers of a transformer.

use onnxport_sdk::prelude::*;

use super::product::Heads;

/// The projections of a multi-head self-attention.
struct Projections {
    heads: i64,
    size: i64,
    qkv: (Value, Value),
    out: (Value, Value),
}

impl Projections {
    /// `softmax(q @ k^T / sqrt(size)) @ v` of every head, projected.
    fn attend(&self, cx: &Lower, x: Value) -> Res<Value> {
        let joint = projected(cx, x, self.qkv)?;
        let parts = cx.op(op::Split).input(joint).axis(-1).num_outputs(3).many(3);
        let heads: Vec<Value> = parts
            .into_iter()
            .map(|part| {
                cx.transpose(cx.reshape(part, &[0, 0, self.heads, self.size / self.heads]), &[0, 2, 1, 3])
            })
            .collect();
        let [query, key, value] = heads[..] else { return Err("a split in three has three parts".into()) };
        let mixed = Heads { query, key, value, scale: None, grouped: false }.attend(cx, None, false)?;
        projected(cx, cx.reshape(cx.transpose(mixed, &[0, 2, 1, 3]), &[0, 0, self.size]), self.out)
    }
}

fn projected(cx: &Lower, x: Value, (weight, bias): (Value, Value)) -> Res<Value> {
    Ok(cx.matmul(x, crate::matmul::swap_last(cx, weight)?) + bias)
}

/// Multi-head self-attention; the weights are not computed.
#[lowering("aten._native_multi_head_attention.default")]
fn native_multi_head_attention(
    cx: &Lower,
    query: Value,
    key: Value,
    value: Value,
    embed_dim: i64,
    num_head: i64,
    qkv_weight: Value,
    qkv_bias: Value,
    proj_weight: Value,
    proj_bias: Value,
    mask: Option<Value>,
) -> Res<Vec<Option<Value>>> {
    if mask.is_some() || query != key || key != value || num_head <= 0 {
        return Err("only self-attention without `mask` is supported".into());
    }
    let (qkv, out) = ((qkv_weight, qkv_bias), (proj_weight, proj_bias));
    let output = Projections { heads: num_head, size: embed_dim, qkv, out }.attend(cx, query)?;
    Ok(vec![Some(output), None])
}

/// A layer of an encoder: self-attention and a feed-forward network, each with a residual and a
/// normalisation before or after it.
#[lowering("aten._transformer_encoder_layer_fwd.default")]
fn transformer_encoder_layer(
    cx: &Lower,
    src: Value,
    embed_dim: i64,
    num_heads: i64,
    qkv_weight: Value,
    qkv_bias: Value,
    proj_weight: Value,
    proj_bias: Value,
    use_gelu: bool,
    norm_first: bool,
    eps: f64,
    norm_weight_1: Value,
    norm_bias_1: Value,
    norm_weight_2: Value,
    norm_bias_2: Value,
    ffn_weight_1: Value,
    ffn_bias_1: Value,
    ffn_weight_2: Value,
    ffn_bias_2: Value,
    mask: Option<Value>,
) -> Res<Value> {
    if mask.is_some() || num_heads <= 0 {
        return Err("the argument `mask` of a fused encoder layer is not supported".into());
    }
    let (qkv, out) = ((qkv_weight, qkv_bias), (proj_weight, proj_bias));
    let attention = Projections { heads: num_heads, size: embed_dim, qkv, out };
    let norm = |cx: &Lower, x: Value, weight: Value, bias: Value| {
        let node = cx.op(op::LayerNormalization).input(x).input(weight).input(bias);
        node.axis(-1).epsilon(eps).one()
    };
    let feed = |cx: &Lower, x: Value| -> Res<Value> {
        let hidden = projected(cx, x, (ffn_weight_1, ffn_bias_1))?;
        let hidden = if use_gelu { gelu(cx, hidden) } else { cx.relu(hidden) };
        projected(cx, hidden, (ffn_weight_2, ffn_bias_2))
    };
    if norm_first {
        let residual = src + attention.attend(cx, norm(cx, src, norm_weight_1, norm_bias_1))?;
        return Ok(residual + feed(cx, norm(cx, residual, norm_weight_2, norm_bias_2))?);
    }
    let residual = norm(cx, src + attention.attend(cx, src)?, norm_weight_1, norm_bias_1);
    Ok(norm(cx, residual + feed(cx, residual)?, norm_weight_2, norm_bias_2))
}

/// `x / 2 * (1 + erf(x / sqrt(2)))`.
fn gelu(cx: &Lower, x: Value) -> Value {
    if cx.opset() >= 20 {
        return cx.op(op::Gelu).input(x).one();
    }
    let sum = cx.erf(x / std::f64::consts::SQRT_2) + 1.0;
    x * 0.5 * sum
}

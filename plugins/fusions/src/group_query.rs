//! Attention over caches in buffers, as ONNX Runtime's `GroupQueryAttention` computes it.
//!
//! `onnxport llm --provider cuda` captures the attention of a decoder as this operator.

use onnxport_sdk::prelude::*;

/// The operator's attention is causal. `lengths` has the index of the last token of each text, and `total` the number of
/// tokens of the longest one. Keys and values are appended to the caches, or written to them in place where these are
/// longer than the text. A sink is a score of no key, one for each head, which takes a part of the attention.
/// With tables `cos` and `sin`, `[positions, width / 2]`, the operator rotates queries and keys.
///
/// <https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md#com.microsoft.GroupQueryAttention>
#[lowering("onnxport.group_query_attention.default")]
fn group_query_attention(
    cx: &Lower,
    query: Value,
    key: Value,
    value: Value,
    past_key: Value,
    past_value: Value,
    lengths: Value,
    total: Value,
    num_heads: i64,
    kv_num_heads: i64,
    scale: f64,
    window: i64,
    softcap: f64,
    sinks: Option<Value>,
    cos: Option<Value>,
    sin: Option<Value>,
    interleaved: bool,
) -> Res<(Value, Value, Value)> {
    let mut node = cx.op(op::microsoft::GroupQueryAttention);
    for input in [query, key, value, past_key, past_value, lengths, total] {
        node = node.input(input);
    }
    if cos.is_some() || sinks.is_some() {
        node = node.maybe(cos).maybe(sin);
    }
    if let Some(sinks) = sinks {
        // Behind positions, which the operator counts itself, and a bias.
        node = node.maybe(None).maybe(None).input(sinks);
    }
    if cos.is_some() {
        node = node.do_rotary(1).rotary_interleaved(i64::from(interleaved));
    }
    node = node.num_heads(num_heads).kv_num_heads(kv_num_heads).scale(scale);
    if window > 0 {
        node = node.local_window_size(window);
    }
    if softcap > 0.0 {
        node = node.softcap(softcap);
    }
    let [out, present_key, present_value] = node.outs();
    Ok((out, present_key, present_value))
}

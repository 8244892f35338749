//! `torch.onnx.ops.rotary_embedding` and `attention`: operators of opset 23 by their own names.

use onnxport_sdk::prelude::*;

/// ONNX's `RotaryEmbedding`. Source: its page for opset 23.
#[lowering("onnx.RotaryEmbedding.opset23", opset = 23..)]
fn rotary_embedding(
    cx: &Lower,
    x: Value,
    cos_cache: Value,
    sin_cache: Value,
    position_ids: Option<Value>,
    interleaved: Option<bool>,
    num_heads: Option<i64>,
    rotary_embedding_dim: Option<i64>,
) -> Res<Value> {
    let node = cx.op(op::RotaryEmbedding).input(x).input(cos_cache).input(sin_cache).maybe(position_ids);
    let node = node.interleaved(i64::from(interleaved.unwrap_or_default()));
    let node = node.num_heads(num_heads.unwrap_or_default());
    Ok(node.rotary_embedding_dim(rotary_embedding_dim.unwrap_or_default()).one())
}

/// The same before opset 23. With the halves (or, interleaved, the even and odd elements) `a` and `b`
/// of the rotated part: `(a cos - b sin, a sin + b cos)`.
#[lowering("onnx.RotaryEmbedding.opset23", opset = ..=22)]
fn rotary_embedding_by_hand(
    cx: &Lower,
    x: Value,
    cos_cache: Value,
    sin_cache: Value,
    position_ids: Option<Value>,
    interleaved: Option<bool>,
    num_heads: Option<i64>,
    rotary_embedding_dim: Option<i64>,
) -> Res<Value> {
    let shape = cx.shape(x)?;
    let heads_first = shape.len() == 4;
    let interleaved = interleaved.unwrap_or_default();
    let apart = match (shape.as_slice(), num_heads.unwrap_or_default()) {
        (&[batch, length, hidden], heads @ 1..) => {
            let size = cx.dim_div(hidden, heads);
            cx.reshape_to(x, &[batch, length, Dim::Const(heads), size])
        }
        ([_, _, _], _) => return Err("argument `num_heads` is needed for an input of three axes".into()),
        _ => x,
    };
    let rotated = rotary_embedding_dim.unwrap_or_default();
    let pick = |cx: &Lower, table| match position_ids {
        Some(ids) => cx.gather(table, ids, 0),
        None => table,
    };
    let (cos, sin) = (pick(cx, cos_cache), pick(cx, sin_cache));
    let heads = if heads_first { 1 } else { 2 };
    let (cos, sin) = (cx.unsqueeze(cos, &[heads]), cx.unsqueeze(sin, &[heads]));
    let part = if rotated == 0 { apart } else { cx.slice(apart, 3, 0, rotated, 1) };
    let [a, b] = if interleaved {
        [0, 1].map(|start| cx.slice(part, 3, start, i64::MAX, 2))
    } else {
        cx.op(op::Split).input(part).axis(3).num_outputs(2).outs()
    };
    let (a_cos, b_sin, a_sin, b_cos) = (a * cos, b * sin, a * sin, b * cos);
    let (real, imaginary) = (a_cos - b_sin, a_sin + b_cos);
    let mut parts = vec![real, imaginary];
    if interleaved {
        let pairs = [real, imaginary].map(|v| cx.unsqueeze(v, &[4]));
        let pairs = cx.concat(&pairs, 4);
        let shape = cx.shape(part)?;
        parts = vec![cx.reshape_to(pairs, &shape)];
    }
    if rotated != 0 {
        parts.push(cx.slice(apart, 3, rotated, i64::MAX, 1));
    }
    cx.reshape_to_result(cx.concat(&parts, 3), 0)
}

/// ONNX's `Attention`. Source: its page for opset 23.
#[lowering("onnx.Attention.opset23", opset = 23..)]
fn attention(cx: &Lower, x: Value, y: Value) -> Res<Vec<Value>> {
    let v = cx.argument::<Value>("V")?;
    let mask = cx.argument::<Option<Value>>("attn_mask")?;
    let past_key = cx.argument::<Option<Value>>("past_key")?;
    let past_value = cx.argument::<Option<Value>>("past_value")?;
    let causal = cx.argument::<Option<bool>>("is_causal")?.unwrap_or_default();
    let mode = cx.argument::<Option<i64>>("qk_matmul_output_mode")?.unwrap_or_default();
    let heads = [cx.argument::<Option<i64>>("q_num_heads")?, cx.argument::<Option<i64>>("kv_num_heads")?];
    let scale = cx.argument::<Option<f64>>("scale")?;
    let softcap = cx.argument::<Option<f64>>("softcap")?.unwrap_or_default();
    let precision = cx.argument::<Option<i64>>("softmax_precision")?;
    let node = cx.op(op::Attention).inputs([x, y, v]).maybe(mask).maybe(past_key).maybe(past_value);
    let mut node = node.is_causal(causal).qk_matmul_output_mode(mode);
    let [query_heads, heads] = heads.map(|count| count.filter(|n| *n > 0));
    if let Some(count) = query_heads {
        node = node.q_num_heads(count);
    }
    if let Some(count) = heads {
        node = node.kv_num_heads(count);
    }
    if let Some(scale) = scale {
        node = node.scale(scale);
    }
    if let Some(precision) = precision {
        node = node.softmax_precision(precision);
    }
    Ok(node.softcap(softcap).many(4))
}

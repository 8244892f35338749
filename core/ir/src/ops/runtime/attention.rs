//! Attention with caches, rotary embeddings and mixtures of experts.

use smallvec::smallvec;

use super::op;
use crate::ir::Shape;
use crate::op::microsoft;
use crate::ops::Op;
use crate::ops::attention::rotary_by_position;
use crate::ops::infer::broadcast;
use crate::ops::infer::cx::{Cx, Shapes};
use crate::sym::Dim;

pub(in crate::ops) const OPS: &[Op] = &[
    op(microsoft::Attention).infer(|cx| packed(cx, 4)),
    op(microsoft::GroupQueryAttention).infer(grouped),
    op(microsoft::MoE).infer(broadcast::same),
    op(microsoft::MultiHeadAttention).infer(multi_head),
    op(microsoft::QAttention).infer(|cx| packed(cx, 8)),
    op(microsoft::QMoE).infer(broadcast::same),
    op(microsoft::RotaryEmbedding).infer(broadcast::same).eval(rotary_by_position),
];

/// The length of the keys together with those of the cache at input `past`, which is the size of its axis `axis`.
fn total(cx: &mut Cx<'_>, past: usize, axis: usize, length: Option<Dim>) -> Option<Dim> {
    match cx.input(past) {
        None => length,
        Some(_) => Some(cx.symbols.add(cx.dim(past, axis)?, length?)),
    }
}

/// The size of a head: an even part of `hidden`.
fn head(cx: &mut Cx<'_>, hidden: Option<Dim>, heads: i64) -> Option<Dim> {
    (heads > 0).then_some(())?;
    Some(cx.symbols.floor_div(hidden?, Dim::Const(heads)))
}

/// Attention of `[batch, length, input]` by weights `[input, queries + keys + values]`; the cache is the input `past`.
fn packed(cx: &mut Cx<'_>, past: usize) -> Option<Shapes> {
    cx.rank(0, 3)?;
    let [batch, length, _] = cx.dims(0)? else { return None };
    let heads = cx.int("num_heads")?;
    let hidden = match cx.node.ints("qkv_hidden_sizes") {
        Some([_, _, values]) => Some(Dim::Const(*values)),
        Some(_) => return None,
        None => cx.dim(1, 1).map(|all| cx.symbols.floor_div(all, Dim::Const(3))),
    };
    let out = Shape::Ranked(smallvec![*batch, *length, hidden]);
    // Where the buffer is shared, the cache keeps its length.
    if cx.flag("past_present_share_buffer") != Some(false) {
        return Some(smallvec![out]);
    }
    let keys = total(cx, past, 3, *length);
    let size = head(cx, hidden, heads);
    let present = smallvec![Some(Dim::Const(2)), *batch, Some(Dim::Const(heads)), keys, size];
    Some(smallvec![out, Shape::Ranked(present)])
}

/// Separate queries, keys and values `[batch, length, hidden]`; results of other layouts are not inferred.
fn multi_head(cx: &mut Cx<'_>) -> Option<Shapes> {
    let heads = cx.int("num_heads")?;
    let ([batch, length, hidden], [_, key_length, _], [_, _, value_hidden]) =
        (cx.dims(0)?, cx.dims(1)?, cx.dims(2)?)
    else {
        return None;
    };
    let out = Shape::Ranked(smallvec![*batch, *length, *value_hidden]);
    // A shared buffer has a length of its own.
    if cx.input(8).is_some() {
        return Some(smallvec![out]);
    }
    let keys = total(cx, 6, 2, *key_length);
    let (size, value_size) = (head(cx, *hidden, heads), head(cx, *value_hidden, heads));
    let heads = Some(Dim::Const(heads));
    Some(smallvec![
        out,
        Shape::Ranked(smallvec![*batch, heads, keys, size]),
        Shape::Ranked(smallvec![*batch, heads, keys, value_size]),
        Shape::Ranked(smallvec![*batch, heads, *length, keys]),
    ])
}

/// Fewer heads of keys than of queries. The length of the caches depends on how they are shared.
fn grouped(cx: &mut Cx<'_>) -> Option<Shapes> {
    cx.rank(0, 3)?;
    let [batch, length, hidden] = cx.dims(0)? else { return None };
    let (heads, kv_heads) = (cx.int("num_heads")?, cx.int("kv_num_heads")?);
    let separate = cx.input(1).is_some();
    let size = if separate { head(cx, *hidden, heads) } else { None };
    let out = if separate { *hidden } else { cx.dim(3, 3).map(|n| cx.symbols.mul(n, Dim::Const(heads))) };
    let cache_size = if cx.flag("kv_cache_bit_width") == Some(true) { None } else { cx.dim(3, 3).or(size) };
    let cache = Shape::Ranked(smallvec![*batch, Some(Dim::Const(kv_heads)), None, cache_size]);
    Some(smallvec![Shape::Ranked(smallvec![*batch, *length, out]), cache.clone(), cache])
}

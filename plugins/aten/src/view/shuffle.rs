//! Rearrangements between channels and space.

use onnxport_sdk::prelude::*;

use super::permuted;
use crate::support::empty;

/// `[…, C r², H, W]` as `[…, C, H r, W r]`: channel `c r² + i r + j` is pixel `(i, j)` of a block.
#[lowering("aten.pixel_shuffle.default", parts)]
fn pixel_shuffle(cx: &Lower, x: Value, upscale_factor: i64) -> Res<Value> {
    if let Some(empty) = empty(cx)? {
        return Ok(empty);
    }
    let (shape, r) = (cx.shape(x)?, upscale_factor);
    if shape.len() == 4 {
        return Ok(cx.op(op::DepthToSpace).input(x).blocksize(r).mode("CRD").one());
    }
    let [outer @ .., channels, height, width] = shape.as_slice() else {
        return Err("argument `self` has fewer than three axes".into());
    };
    let split = [cx.dim_div(*channels, r * r), Dim::Const(r), Dim::Const(r), *height, *width];
    rearranged(cx, x, outer, &split, [0, 3, 1, 4, 2])
}

/// `[…, C, H r, W r]` as `[…, C r², H, W]`: pixel `(i, j)` of a block is channel `c r² + i r + j`.
#[lowering("aten.pixel_unshuffle.default", parts)]
fn pixel_unshuffle(cx: &Lower, x: Value, downscale_factor: i64) -> Res<Value> {
    let (shape, r) = (cx.shape(x)?, downscale_factor);
    let [outer @ .., channels, height, width] = shape.as_slice() else {
        return Err("argument `self` has fewer than three axes".into());
    };
    let (height, width) = (cx.dim_div(*height, r), cx.dim_div(*width, r));
    let split = [*channels, height, Dim::Const(r), width, Dim::Const(r)];
    rearranged(cx, x, outer, &split, [0, 2, 4, 1, 3])
}

/// The axes after `outer` split into `inner`, permuted, and merged into the shape that the program states.
fn rearranged<const N: usize>(
    cx: &Lower,
    x: Value,
    outer: &[Dim],
    inner: &[Dim],
    order: [usize; N],
) -> Res<Value> {
    if let Some(nothing) = empty(cx)? {
        return Ok(nothing);
    }
    let apart = cx.reshape_to(x, &[outer, inner].concat());
    let first = outer.len();
    let moved = permuted(cx, apart, (0..first).chain(order.map(|a| first + a)).collect())?;
    cx.reshape_to_result(moved, 0)
}

/// Channel `k` of group `g` becomes channel `k groups + g`.
#[lowering("aten.channel_shuffle.default", "aten.native_channel_shuffle.default", parts)]
fn channel_shuffle(cx: &Lower, x: Value, groups: i64) -> Res<Value> {
    let shape = cx.shape(x)?;
    let [batch, channels, ..] = shape.as_slice() else {
        return Err("argument `self` has no channels".into());
    };
    let split = [Dim::Const(groups), cx.dim_div(*channels, groups)];
    let inner = [&split, shape.get(2..).unwrap_or_default()].concat();
    let rank = inner.len();
    let apart = cx.reshape_to(x, &[&[*batch], inner.as_slice()].concat());
    cx.reshape_to_result(permuted(cx, apart, [0, 2, 1].into_iter().chain(3..=rank).collect())?, 0)
}

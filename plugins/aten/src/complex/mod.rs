//! Complex numbers: pairs of reals in a last axis of extent 2.

mod parts;
mod sums;

use onnxport_sdk::prelude::*;

/// The real parts (0) or the imaginary parts (1) of pairs.
pub(crate) fn part(cx: &Lower, x: Value, index: i64) -> Value {
    cx.gather(x, cx.int(index), -1)
}

/// Pairs of a real and an imaginary part of one shape.
pub(crate) fn paired(cx: &Lower, re: Value, im: Value) -> Value {
    cx.concat(&[cx.unsqueeze(re, &[-1]), cx.unsqueeze(im, &[-1])], -1)
}

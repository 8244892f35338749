//! Complex numbers: pairs of reals in a last axis of extent 2.

mod parts;
mod sums;

use onnxport_sdk::prelude::*;

/// The real parts (0) or the imaginary parts (1) of pairs.
pub(crate) fn part(cx: &mut Lower, x: Value, index: i64) -> Value {
    let index = cx.int(index);
    cx.gather(x, index, -1)
}

/// Pairs of a real and an imaginary part of one shape.
pub(crate) fn paired(cx: &mut Lower, re: Value, im: Value) -> Value {
    let (re, im) = (cx.unsqueeze(re, &[-1]), cx.unsqueeze(im, &[-1]));
    cx.concat(&[re, im], -1)
}

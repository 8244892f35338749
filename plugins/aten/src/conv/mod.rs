//! Convolutions.

mod columns;
mod forward;
pub(crate) mod integers;
mod transposed;

use onnxport_sdk::prelude::*;

/// One number for each of `n` spatial axes: PyTorch accepts a single one for all.
pub(crate) fn per_axis(values: &[i64], n: usize) -> Res<Vec<i64>> {
    match values {
        [single] => Ok(vec![*single; n]),
        _ if values.len() == n => Ok(values.to_vec()),
        _ => Err(format!("expected a number for each of {n} axes, found {}", values.len()).into()),
    }
}

/// Runs `body` on `x` with a batch axis of one in front where it has only `spatial + 1` axes.
pub(crate) fn batched<T>(
    cx: &Lower,
    x: Value,
    spatial: usize,
    body: impl FnOnce(&Lower, Value) -> Res<T>,
    back: impl FnOnce(&Lower, T) -> T,
) -> Res<T> {
    if cx.rank(x)? == spatial + 2 {
        return body(cx, x);
    }
    Ok(back(cx, body(cx, cx.unsqueeze(x, &[0]))?))
}

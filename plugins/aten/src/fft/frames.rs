//! Short-time transforms.

use onnxport_sdk::prelude::*;

use super::{Scaling, from_half, scaled};

/// The transforms of windows that move along a signal: `STFT`, with frequencies before frames.
#[lowering("aten.stft.default", "aten.stft.center", complex)]
fn stft(
    cx: &Lower,
    x: Value,
    n_fft: i64,
    hop_length: Option<i64>,
    win_length: Option<i64>,
    window: Option<Value>,
    center: bool,
    pad_mode: Option<Str>,
    normalized: bool,
    onesided: Option<bool>,
) -> Res<Value> {
    let arg: Arg = cx.argument("x")?;
    if arg.is_complex() {
        return Err("a short-time transform of complex numbers is not supported".into());
    }
    let (dtype, batched) = (cx.dtype(x)?, cx.rank(x)? == 2);
    let mut signal = if batched { x } else { cx.unsqueeze(x, &[0]) };
    if center {
        let mode = match pad_mode.map_or("reflect", |m| m.0) {
            "constant" => "constant",
            "reflect" => "reflect",
            "replicate" => "edge",
            other => {
                return Err(format!("the argument `pad_mode` is `{other}`, which is not supported").into());
            }
        };
        let pads = cx.ints(&[0, n_fft / 2, 0, n_fft / 2]);
        signal = cx.op(op::Pad).input(signal).input(pads).mode(mode).one();
    }
    let window = whole_window(cx, window, win_length.unwrap_or(n_fft), n_fft, dtype);
    let (step, frame) = (cx.int(hop_length.unwrap_or(n_fft / 4)), cx.int(n_fft));
    let onesided = i64::from(onesided.unwrap_or(true));
    let node = cx.op(op::STFT).input(cx.unsqueeze(signal, &[-1])).input(step).input(window).input(frame);
    let mut y = cx.transpose(node.onesided(onesided).one(), &[0, 2, 1, 3]);
    if !batched {
        y = cx.squeeze(y, &[0]);
    }
    let scaling = if normalized { Scaling::Root } else { Scaling::None };
    scaled(cx, y, &[Dim::Const(n_fft)], false, scaling)
}

/// The window of `length` positions, ones by default, in the middle of `n_fft` positions.
fn whole_window(cx: &Lower, window: Option<Value>, length: i64, n_fft: i64, dtype: DType) -> Value {
    let window = match window {
        Some(window) => cx.cast(window, dtype),
        None => cx.filled(&Scalar::Int(1), dtype, &[length.max(0) as u64]),
    };
    if length >= n_fft {
        return window;
    }
    let before = (n_fft - length) / 2;
    cx.op(op::Pad).input(window).input(cx.ints(&[before, n_fft - length - before])).one()
}

/// The signal whose short-time transform this is: the inverse transform of every frame times the
/// window, added where frames overlap (`Col2Im`), over the same sum of the squares of the window.
#[lowering("aten.istft.default", complex)]
fn istft(
    cx: &Lower,
    x: Value,
    n_fft: i64,
    hop_length: Option<i64>,
    win_length: Option<i64>,
    window: Option<Value>,
    center: bool,
    normalized: bool,
    length: Option<SymInt>,
    return_complex: bool,
) -> Res<Value> {
    if return_complex {
        return Err("the argument `return_complex` is true, which is not supported".into());
    }
    let (dtype, batched) = (cx.dtype(x)?, cx.rank(x)? == 4);
    let hop = hop_length.unwrap_or(n_fft / 4);
    let x = if batched { x } else { cx.unsqueeze(x, &[0]) };
    let frames = cx.dim(x, 2);
    // Of a spectrum that is whole, PyTorch reads half as well.
    let mut y = from_half(cx, cx.transpose(x, &[0, 2, 1, 3]), 2, Dim::Const(n_fft))?;
    let scaling = if normalized { Scaling::Root } else { Scaling::Whole };
    y = scaled(cx, y, &[Dim::Const(n_fft)], true, scaling)?;
    let window = whole_window(cx, window, win_length.unwrap_or(n_fft), n_fft, dtype);
    let y = cx.transpose(y * window, &[0, 2, 1]);

    let steps = cx.dim_sub(frames, 1);
    let covered = cx.dim_mul(steps, hop);
    let covered = cx.dim_add(covered, n_fft);
    let (image, block) = (cx.dims_value(&[Dim::Const(1), covered]), cx.ints(&[1, n_fft]));
    let strides = [1, hop];
    let overlapped = |cx: &Lower, columns: Value| {
        let node = cx.op(op::Col2Im).input(columns).input(image).input(block).strides(&strides);
        cx.squeeze(node.one(), &[1, 2])
    };
    let y = overlapped(cx, y);
    let squares = cx.unsqueeze(window * window, &[0, 2]);
    let shape = cx.dims_value(&[Dim::Const(1), Dim::Const(n_fft), frames]);
    let weight = overlapped(cx, cx.expand(squares, shape));

    let start = if center { n_fft / 2 } else { 0 };
    let wanted = length.map(|length| cx.as_dim(&length));
    let end = match wanted {
        Some(length) => cx.dim_add(length, start),
        None => cx.dim_sub(covered, start),
    };
    let (from, to) = (cx.ints(&[start]), cx.dims_value(&[end]));
    let mut y = cx.slice_dynamic(y, 1, from, to, 1) / cx.slice_dynamic(weight, 1, from, to, 1);
    if let Some(length) = wanted {
        let have = cx.dim_sub(covered, start);
        let missing = cx.dim_sub(length, have);
        let missing = cx.dim_max(missing, 0);
        if !missing.is(0) {
            y = cx.op(op::Pad).input(y).input(cx.dims_value(&[0.into(), 0.into(), 0.into(), missing])).one();
        }
    }
    Ok(if batched { y } else { cx.squeeze(y, &[0]) })
}

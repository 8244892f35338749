//! Short-time transforms.

use onnxport_sdk::prelude::*;

use super::{Scaling, scaled};

/// The transforms of windows that move along a signal: `STFT`, with frequencies before frames.
#[lowering("aten.stft.default", "aten.stft.center", complex)]
fn stft(
    cx: &mut Lower,
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
        signal = cx.op("Pad").input(signal).input(pads).str("mode", mode).one();
    }
    let length = win_length.unwrap_or(n_fft);
    let mut window = match window {
        Some(window) => cx.cast(window, dtype),
        None => cx.filled(&Scalar::Int(1), dtype, &[length.max(0) as u64]),
    };
    if length < n_fft {
        let before = (n_fft - length) / 2;
        let pads = cx.ints(&[before, n_fft - length - before]);
        window = cx.op("Pad").input(window).input(pads).one();
    }
    let (step, frame) = (cx.int(hop_length.unwrap_or(n_fft / 4)), cx.int(n_fft));
    let signal = cx.unsqueeze(signal, &[-1]);
    let onesided = i64::from(onesided.unwrap_or(true));
    let node = cx.op("STFT").input(signal).input(step).input(window).input(frame);
    let frames = node.int("onesided", onesided).one();
    let mut y = cx.transpose(frames, &[0, 2, 1, 3]);
    if !batched {
        y = cx.squeeze(y, &[0]);
    }
    let scaling = if normalized { Scaling::Root } else { Scaling::None };
    scaled(cx, y, &[Dim::Const(n_fft)], false, scaling)
}

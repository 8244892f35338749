//! Recursive filters.

use onnxport_sdk::prelude::*;

/// `y[i] = x[i] - sum(a[k] y[i - n + 1 + k])` over `n` coefficients, by a `Scan` over time: the new value of
/// `padded_output_waveform`, whose first `n - 1` samples precede the output.
#[lowering("torchaudio._lfilter_core_loop.default")]
fn lfilter(
    cx: &Lower,
    input_signal_windows: Value,
    a_coeff_flipped: Value,
    padded_output_waveform: Value,
) -> Res<Value> {
    let (x, a, padded) = (input_signal_windows, a_coeff_flipped, padded_output_waveform);
    let dtype = cx.dtype(x)?;
    let count = cx.dim(a, 1).as_const().filter(|n| *n > 0);
    let order = count.ok_or("the number of coefficients is not a positive constant")? - 1;
    let before = cx.slice(padded, 2, 0, order, 1);
    // The buffer's own values count where the output is not known yet; torchaudio has zeros there.
    let rest = cx.slice(padded, 2, order, i64::MAX, 1) * cx.slice(a, 1, order, i64::MAX, 1);
    let x = x - rest;
    if order == 0 {
        return Ok(x);
    }
    let a = cx.slice(a, 1, 0, order, 1);
    let samples = cx.transpose(x, &[2, 0, 1]);
    let (state, sample) = (cx.shape(before)?, cx.shape(samples)?);
    let body = cx.block(|cx| {
        let state = cx.block_input(dtype, Some(&state));
        let sample = cx.block_input(dtype, sample.get(1..));
        let y = sample - cx.reduce(op::ReduceSum, state * a, &[-1], false);
        let later = cx.slice(state, 2, 1, i64::MAX, 1);
        Ok(vec![cx.concat(&[later, cx.unsqueeze(y, &[2])], 2), y])
    })?;
    let [_, y] = cx.op(op::Scan).input(before).input(samples).num_scan_inputs(1).body(body).outs();
    Ok(cx.concat(&[before, cx.transpose(y, &[1, 2, 0])], 2))
}

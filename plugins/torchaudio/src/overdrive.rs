//! The distortion of an overdriven amplifier.

use onnxport_sdk::prelude::*;

/// `v[i] = t[i] - t[i - 1] + 0.995 v[i - 1]` and `y[i] = x[i] / 2 + 0.75 v[i]` over `[channels, time]`, by a `Scan`
/// over time: the new values of `last_in`, which is `t[-1]` at first, of `last_out`, `v[-1]`, and of the output.
#[lowering("torchaudio._overdrive_core_loop.default")]
fn overdrive(
    cx: &Lower,
    waveform: Value,
    temp: Value,
    last_in: Value,
    last_out: Value,
) -> Res<(Value, Value, Value)> {
    let inputs = cx.concat(&[cx.unsqueeze(last_in, &[1]), temp], 1);
    let before = cx.slice(inputs, 1, 0, -1, 1);
    let differences = cx.transpose(temp - before, &[1, 0]);
    let (dtype, state) = (cx.dtype(temp)?, cx.shape(last_out)?);
    let body = cx.block(|cx| {
        let value = cx.block_input(dtype, Some(&state));
        let difference = cx.block_input(dtype, Some(&state));
        let value = difference + value * 0.995;
        Ok(vec![value, cx.identity(value)])
    })?;
    let node = cx.op(op::Scan).input(last_out).input(differences).num_scan_inputs(1).body(body);
    let [last_out, values] = node.outs();
    let last_in = cx.squeeze(cx.slice(inputs, 1, -1, i64::MAX, 1), &[1]);
    Ok((last_in, last_out, waveform * 0.5 + cx.transpose(values, &[1, 0]) * 0.75))
}

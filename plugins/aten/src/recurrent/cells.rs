//! Single steps.

use onnxport_sdk::prelude::*;

/// `c' = f * c + i * g`, `h' = o * tanh(c')`.
#[lowering("aten.lstm_cell.default")]
fn lstm_cell(
    cx: &mut Lower,
    input: Value,
    hx: Vec<Value>,
    w_ih: Value,
    w_hh: Value,
    b_ih: Option<Value>,
    b_hh: Option<Value>,
) -> Res<(Value, Value)> {
    let [h, c] = hx[..] else { return Err("the argument `hx` is not a pair".into()) };
    let (from_input, from_state) = (gates(cx, input, w_ih, b_ih), gates(cx, h, w_hh, b_hh));
    let sum = cx.add(from_input, from_state);
    Ok(lstm_step(cx, sum, c))
}

/// The next `h` and `c` from the sums that the gates are functions of.
pub(super) fn lstm_step(cx: &mut Lower, sum: Value, c: Value) -> (Value, Value) {
    let [i, f, g, o] = split::<4>(cx, sum);
    let (i, f, g, o) = (cx.sigmoid(i), cx.sigmoid(f), cx.tanh(g), cx.sigmoid(o));
    let (kept, new) = (cx.mul(f, c), cx.mul(i, g));
    let c = cx.add(kept, new);
    let shown = cx.tanh(c);
    (cx.mul(o, shown), c)
}

/// `n = tanh(i_n + r * h_n)`, `h' = n + z * (h - n)`.
#[lowering("aten.gru_cell.default")]
fn gru_cell(
    cx: &mut Lower,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Option<Value>,
    b_hh: Option<Value>,
) -> Res<Value> {
    let (from_input, from_state) = (gates(cx, input, w_ih, b_ih), gates(cx, hx, w_hh, b_hh));
    let ([i_r, i_z, i_n], [h_r, h_z, h_n]) = (split::<3>(cx, from_input), split::<3>(cx, from_state));
    let (r, z) = (cx.add(i_r, h_r), cx.add(i_z, h_z));
    let (r, z) = (cx.sigmoid(r), cx.sigmoid(z));
    let reset = cx.mul(r, h_n);
    let n = cx.add(i_n, reset);
    let n = cx.tanh(n);
    let change = cx.sub(hx, n);
    let kept = cx.mul(z, change);
    Ok(cx.add(n, kept))
}

/// `h' = f(W x + b + R h + c)`.
#[lowering("aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default")]
fn rnn_cell(
    cx: &mut Lower,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Option<Value>,
    b_hh: Option<Value>,
) -> Res<Value> {
    let (from_input, from_state) = (gates(cx, input, w_ih, b_ih), gates(cx, hx, w_hh, b_hh));
    let sum = cx.add(from_input, from_state);
    Ok(if cx.target().contains("tanh") { cx.tanh(sum) } else { cx.relu(sum) })
}

fn gates(cx: &mut Lower, x: Value, weight: Value, bias: Option<Value>) -> Value {
    cx.op("Gemm").input(x).input(weight).maybe(bias).int("transB", 1).one()
}

fn split<const N: usize>(cx: &mut Lower, x: Value) -> [Value; N] {
    cx.op("Split").input(x).int("axis", 1).int("num_outputs", N as i64).outs::<N>()
}

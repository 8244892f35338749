//! Single steps.

use onnxport_sdk::prelude::*;

/// `c' = f * c + i * g`, `h' = o * tanh(c')`.
#[lowering("aten.lstm_cell.default")]
fn lstm_cell(
    cx: &Lower,
    input: Value,
    hx: Vec<Value>,
    w_ih: Value,
    w_hh: Value,
    b_ih: Option<Value>,
    b_hh: Option<Value>,
) -> Res<(Value, Value)> {
    let [h, c] = hx[..] else { return Err("the argument `hx` is not a pair".into()) };
    Ok(lstm_step(cx, gates(cx, input, w_ih, b_ih) + gates(cx, h, w_hh, b_hh), c))
}

/// The next `h` and `c` from the sums that the gates are functions of.
pub(super) fn lstm_step(cx: &Lower, sum: Value, c: Value) -> (Value, Value) {
    let [i, f, g, o] = split::<4>(cx, sum);
    let (i, f, g, o) = (cx.sigmoid(i), cx.sigmoid(f), cx.tanh(g), cx.sigmoid(o));
    let c = f * c + i * g;
    (o * cx.tanh(c), c)
}

/// `n = tanh(i_n + r * h_n)`, `h' = n + z * (h - n)`.
#[lowering("aten.gru_cell.default")]
fn gru_cell(
    cx: &Lower,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Option<Value>,
    b_hh: Option<Value>,
) -> Res<Value> {
    let (from_input, from_state) = (gates(cx, input, w_ih, b_ih), gates(cx, hx, w_hh, b_hh));
    let ([i_r, i_z, i_n], [h_r, h_z, h_n]) = (split::<3>(cx, from_input), split::<3>(cx, from_state));
    let (r, z) = (i_r + h_r, i_z + h_z);
    let (r, z) = (cx.sigmoid(r), cx.sigmoid(z));
    let n = cx.tanh(i_n + r * h_n);
    Ok(n + z * (hx - n))
}

/// `h' = f(W x + b + R h + c)`.
#[lowering("aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default")]
fn rnn_cell(
    cx: &Lower,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Option<Value>,
    b_hh: Option<Value>,
) -> Res<Value> {
    let sum = gates(cx, input, w_ih, b_ih) + gates(cx, hx, w_hh, b_hh);
    Ok(if cx.target().contains("tanh") { cx.tanh(sum) } else { cx.relu(sum) })
}

fn gates(cx: &Lower, x: Value, weight: Value, bias: Option<Value>) -> Value {
    cx.op(op::Gemm).input(x).input(weight).maybe(bias).trans_b(1).one()
}

fn split<const N: usize>(cx: &Lower, x: Value) -> [Value; N] {
    cx.op(op::Split).input(x).axis(1).num_outputs(N as i64).outs::<N>()
}

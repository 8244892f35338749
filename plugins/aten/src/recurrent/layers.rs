//! Whole sequences: `LSTM`, `GRU` and `RNN`, one node for each layer.

use onnxport_sdk::prelude::*;

use super::cells::lstm_step;

/// A stack of LSTM layers over a padded batch.
#[lowering("aten.lstm.input")]
fn lstm(
    cx: &Lower,
    input: Value,
    hx: Vec<Value>,
    params: Vec<Value>,
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Res<Vec<Value>> {
    // PyTorch orders the gates i, f, g, o; ONNX i, o, f, c.
    let mut stack =
        Stack::new(op::LSTM.named(), &[0, 3, 1, 2], bidirectional, has_biases, num_layers, dropout, train)?;
    stack.projected = params.len() == stack.layers * stack.directions as usize * (stack.each() + 1);
    stack.run(cx, input, &hx, &params, batch_first)
}

/// A stack of GRU layers over a padded batch; the reset gate acts after the product with the state.
#[lowering("aten.gru.input")]
fn gru(
    cx: &Lower,
    input: Value,
    hx: Value,
    params: Vec<Value>,
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Res<Vec<Value>> {
    // PyTorch orders the gates r, z, n; ONNX z, r, h.
    let stack =
        Stack::new(op::GRU.named(), &[1, 0, 2], bidirectional, has_biases, num_layers, dropout, train)?;
    stack.run(cx, input, &[hx], &params, batch_first)
}

/// A stack of layers `h = f(W x + b + R h + c)` over a padded batch.
#[lowering("aten.rnn_tanh.input", "aten.rnn_relu.input")]
fn rnn(
    cx: &Lower,
    input: Value,
    hx: Value,
    params: Vec<Value>,
    has_biases: bool,
    num_layers: i64,
    dropout: f64,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Res<Vec<Value>> {
    let stack = Stack::new(op::RNN.named(), &[0], bidirectional, has_biases, num_layers, dropout, train)?;
    stack.run(cx, input, &[hx], &params, batch_first)
}

/// A packed sequence has no counterpart in ONNX.
#[lowering("aten.lstm.data", "aten.gru.data", "aten.rnn_tanh.data", "aten.rnn_relu.data")]
fn packed(_cx: &Lower) -> Res<Value> {
    Err(Refusal::new("the argument `data` is a packed sequence, which ONNX cannot express")
        .help("run the network on the padded batch and mask its result"))
}

struct Stack {
    op: op::Named<'static>,
    /// For each gate of ONNX its place among PyTorch's.
    gates: &'static [i64],
    directions: i64,
    biases: bool,
    layers: usize,
    /// Whether the output, and with it the state, is a product with one more matrix.
    projected: bool,
}

impl Stack {
    fn new(
        op: op::Named<'static>,
        gates: &'static [i64],
        bidirectional: bool,
        biases: bool,
        layers: i64,
        dropout: f64,
        train: bool,
    ) -> Res<Self> {
        if train && dropout != 0.0 && layers > 1 {
            return Err(Refusal::new(format!("the argument `dropout` is {dropout}: the result is random"))
                .help("export the model in evaluation mode, `model.eval()`"));
        }
        let layers = usize::try_from(layers).unwrap_or_default();
        let directions = 1 + i64::from(bidirectional);
        Ok(Self { op, gates, directions, biases, layers, projected: false })
    }

    /// How many parameters a layer has for each direction.
    fn each(&self) -> usize {
        2 + 2 * usize::from(self.biases) + usize::from(self.projected)
    }

    /// The output of the last layer, then the last state of every layer and direction.
    fn run(
        &self,
        cx: &Lower,
        x: Value,
        hx: &[Value],
        params: &[Value],
        batch_first: bool,
    ) -> Res<Vec<Value>> {
        let each = self.each();
        if params.len() != self.layers * self.directions as usize * each {
            return Err("the argument `params` is not of the length that the layers need".into());
        }
        let starts: Vec<Vec<Value>> = hx.iter().map(|h| self.per_layer(cx, *h)).collect();
        let mut sequence = if batch_first { cx.transpose(x, &[1, 0, 2]) } else { x };
        let mut ends: Vec<Vec<Value>> = vec![Vec::new(); hx.len()];
        for (layer, weights) in params.chunks(each * self.directions as usize).enumerate() {
            let states: Vec<Value> = starts.iter().filter_map(|s| s.get(layer).copied()).collect();
            let batch_first = batch_first && layer + 1 == self.layers;
            if self.projected {
                let (y, last) = self.scanned(cx, sequence, &states, weights)?;
                ends.iter_mut().zip(last).for_each(|(ends, states)| ends.extend(states));
                sequence = if batch_first { cx.transpose(y, &[1, 0, 2]) } else { y };
                continue;
            }
            let outputs = self.layer(cx, sequence, &states, weights)?;
            let (y, last) = outputs.split_first().ok_or("a recurrent node has outputs")?;
            ends.iter_mut().zip(last).for_each(|(ends, state)| ends.push(*state));
            sequence = self.flattened(cx, *y, batch_first)?;
        }
        let ends = ends.iter().map(|states| cx.concat(states, 0)).collect::<Vec<_>>();
        Ok([vec![sequence], ends].concat())
    }

    /// The part of the initial state that belongs to each layer.
    fn per_layer(&self, cx: &Lower, state: Value) -> Vec<Value> {
        if self.layers <= 1 {
            return vec![state];
        }
        let node = cx.op(op::Split).input(state).axis(0).num_outputs(self.layers as i64);
        node.many(self.layers)
    }

    fn layer(&self, cx: &Lower, x: Value, states: &[Value], weights: &[Value]) -> Res<Vec<Value>> {
        let each = self.each();
        let own = |i: usize| weights.chunks(each).filter_map(|w| w.get(i).copied()).collect::<Vec<Value>>();
        let recurrent = own(1);
        let hidden = recurrent.first().and_then(|r| cx.dim(*r, 1).as_const());
        let hidden = hidden.ok_or("the size of the hidden state is not constant")?;
        let (w, r) = (self.gathered(cx, &own(0), hidden, 1), self.gathered(cx, &recurrent, hidden, 1));
        let b = self.biases.then(|| {
            let pairs: Vec<Value> = weights.chunks(each).flat_map(|w| w.iter().skip(2).copied()).collect();
            self.gathered(cx, &pairs, hidden, 2)
        });
        let activations = ["Relu", "Relu"];
        let relu = cx.target().starts_with("aten.rnn_relu");
        let mut node = cx.op(self.op).input(x).input(w).input(r).maybe(b).maybe(None);
        node = node.inputs(states.iter().copied()).int("hidden_size", hidden);
        if self.directions == 2 {
            node = node.str("direction", "bidirectional");
        }
        if relu {
            node = node.strs("activations", &activations[..self.directions as usize]);
        }
        if self.op.is(op::GRU) {
            node = node.int("linear_before_reset", 1);
        }
        Ok(node.many(1 + states.len()))
    }

    /// A layer whose output is projected, which ONNX's `LSTM` cannot do: a `Scan` for each direction.
    /// The output, then the last states by direction.
    fn scanned(
        &self,
        cx: &Lower,
        x: Value,
        states: &[Value],
        weights: &[Value],
    ) -> Res<(Value, [Vec<Value>; 2])> {
        let (mut outputs, mut hidden, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for (direction, weights) in weights.chunks(self.each()).enumerate() {
            let place = cx.int(direction as i64);
            let starts: Vec<Value> = states.iter().map(|s| cx.gather(*s, place, 0)).collect();
            let (&[w, r, ref biases @ ..], Some(projection)) = (weights, weights.last()) else {
                return Err("the argument `params` is not of the length that the layers need".into());
            };
            let mut from_input = cx.matmul(x, cx.transpose(w, &[1, 0]));
            if self.biases {
                for bias in biases.iter().take(2) {
                    from_input = from_input + *bias;
                }
            }
            let (r, projection) = (cx.transpose(r, &[1, 0]), cx.transpose(*projection, &[1, 0]));
            let (dtype, step) = (cx.dtype(x)?, cx.shape(from_input)?);
            let shapes = starts.iter().map(|s| cx.shape(*s)).collect::<Res<Vec<_>>>()?;
            let round = cx.block(|cx| {
                let state: Vec<Value> = shapes.iter().map(|s| cx.block_input(dtype, Some(s))).collect();
                let from_input = cx.block_input(dtype, step.get(1..));
                let [h, c] = state[..] else { return Err("the argument `hx` is not a pair".into()) };
                let (shown, c) = lstm_step(cx, from_input + cx.matmul(h, r), c);
                let h = cx.matmul(shown, projection);
                Ok(vec![h, c, h])
            })?;
            let way = [direction as i64];
            let node = cx.op(op::Scan).inputs(starts).input(from_input).num_scan_inputs(1);
            let node = node.scan_input_directions(&way).scan_output_directions(&way);
            let [h, c, y] = node.body(round).outs();
            outputs.push(y);
            hidden.push(cx.unsqueeze(h, &[0]));
            cells.push(cx.unsqueeze(c, &[0]));
        }
        Ok((cx.concat(&outputs, -1), [hidden, cells]))
    }

    /// One row of weights for each direction, the gates in ONNX's order; `blocks` are side by side.
    fn gathered(&self, cx: &Lower, parts: &[Value], hidden: i64, blocks: i64) -> Value {
        let joint = cx.concat(parts, 0);
        let gates = self.gates.len() as i64;
        let rows = (0..self.directions * blocks).flat_map(|block| {
            self.gates.iter().flat_map(move |g| (0..hidden).map(move |i| (block * gates + g) * hidden + i))
        });
        let rows: Vec<i64> = rows.collect();
        if gates == 1 {
            let tail: &[i64] = if blocks == 2 { &[] } else { &[-1] };
            return cx.reshape(joint, &[&[self.directions, blocks * hidden], tail].concat());
        }
        let rows = cx.ints_shaped(&rows, &[self.directions as u64, (blocks * gates * hidden) as u64]);
        cx.gather(joint, rows, 0)
    }

    /// `[time, direction, batch, hidden]` to `[time, batch, direction * hidden]`, or with the batch
    /// first.
    fn flattened(&self, cx: &Lower, y: Value, batch_first: bool) -> Res<Value> {
        if self.directions == 1 {
            let y = cx.squeeze(y, &[1]);
            return Ok(if batch_first { cx.transpose(y, &[1, 0, 2]) } else { y });
        }
        let size = cx.dim(y, 3).as_const().ok_or("the size of the hidden state is not constant")?;
        let y = cx.transpose(y, if batch_first { &[2, 0, 1, 3] } else { &[0, 2, 1, 3] });
        Ok(cx.reshape(y, &[0, 0, 2 * size]))
    }
}

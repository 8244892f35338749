//! Recurrent layers: `RNN`, `GRU` and `LSTM`.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::activation::{relu, sigmoid, softplus};
use super::call::Call;
use super::error::{invalid, unsupported};
use super::view::permuted;
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("GRU").infer(infer::recurrent).eval(|c| layer(c, Kind::Gru)),
    Op::new("LSTM").infer(infer::recurrent).eval(|c| layer(c, Kind::Lstm)),
    Op::new("RNN").infer(infer::recurrent).eval(|c| layer(c, Kind::Rnn)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    const fn gates(self) -> usize {
        match self {
            Kind::Rnn => 1,
            Kind::Gru => 3,
            Kind::Lstm => 4,
        }
    }

    /// The activations of one direction, unless the node names others.
    const fn activations(self) -> &'static [&'static str] {
        match self {
            Kind::Rnn => &["Tanh"],
            Kind::Gru => &["Sigmoid", "Tanh"],
            Kind::Lstm => &["Sigmoid", "Tanh", "Tanh"],
        }
    }
}

/// An activation with its parameters.
type Activation = Box<dyn Fn(f64) -> f64>;

fn activation(name: &str, alpha: Option<f64>, beta: Option<f64>) -> Res<Activation> {
    let (a, b) = (move |default: f64| alpha.unwrap_or(default), move |default: f64| beta.unwrap_or(default));
    Ok(match name.to_ascii_lowercase().as_str() {
        "relu" => Box::new(relu),
        "tanh" => Box::new(f64::tanh),
        "sigmoid" => Box::new(sigmoid),
        "softsign" => Box::new(|x: f64| x / (1.0 + x.abs())),
        "softplus" => Box::new(softplus),
        "affine" => Box::new(move |x| a(1.0) * x + b(0.0)),
        "leakyrelu" => Box::new(move |x| if x < 0.0 { a(f64::from(0.01f32)) * x } else { x }),
        "thresholdedrelu" => Box::new(move |x| if x >= a(1.0) { x } else { 0.0 }),
        "scaledtanh" => Box::new(move |x| a(1.0) * (b(1.0) * x).tanh()),
        "hardsigmoid" => Box::new(move |x| (a(f64::from(0.2f32)) * x + b(0.5)).clamp(0.0, 1.0)),
        "elu" => Box::new(move |x| if x < 0.0 { a(1.0) * x.exp_m1() } else { x }),
        _ => return unsupported!("unknown activation `{name}`"),
    })
}

/// The weights and the activations of one direction.
struct Direction {
    kind: Kind,
    hidden: usize,
    inputs: usize,
    w: Vec<f64>,
    r: Vec<f64>,
    /// Of the input, then of the state.
    bias: Vec<f64>,
    peepholes: Vec<f64>,
    activations: Vec<Activation>,
    clip: f64,
    /// Whether the reset gate of a `GRU` comes after the product.
    late_reset: bool,
}

impl Direction {
    /// Row `row` of the product of a matrix and a vector.
    fn dot(matrix: &[f64], row: usize, vector: &[f64]) -> f64 {
        let row = matrix.get(row * vector.len()..(row + 1) * vector.len()).unwrap_or_default();
        row.iter().zip(vector).map(|(a, b)| a * b).sum()
    }

    fn act(&self, which: usize, x: f64) -> f64 {
        self.activations.get(which).map_or(f64::NAN, |f| f(x.clamp(-self.clip, self.clip)))
    }

    fn bias(&self, state: bool, row: usize) -> f64 {
        let rows = self.kind.gates() * self.hidden;
        self.bias.get(usize::from(state) * rows + row).copied().unwrap_or(0.0)
    }

    /// The sum of gate `gate` for unit `unit`.
    fn gate(&self, gate: usize, unit: usize, x: &[f64], state: &[f64]) -> f64 {
        let row = gate * self.hidden + unit;
        Self::dot(&self.w, row, x)
            + Self::dot(&self.r, row, state)
            + self.bias(false, row)
            + self.bias(true, row)
    }

    /// The next state and cell.
    fn step(&self, x: &[f64], state: &[f64], cell: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let units = 0..self.hidden;
        match self.kind {
            Kind::Rnn => (units.map(|u| self.act(0, self.gate(0, u, x, state))).collect(), Vec::new()),
            Kind::Gru => {
                let update: Vec<f64> =
                    units.clone().map(|u| self.act(0, self.gate(0, u, x, state))).collect();
                let reset: Vec<f64> = units.clone().map(|u| self.act(0, self.gate(1, u, x, state))).collect();
                let kept: Vec<f64> = reset.iter().zip(state).map(|(r, h)| r * h).collect();
                let next = units.map(|u| {
                    let row = 2 * self.hidden + u;
                    let own = Self::dot(&self.w, row, x) + self.bias(false, row);
                    let past = if self.late_reset {
                        reset[u] * (Self::dot(&self.r, row, state) + self.bias(true, row))
                    } else {
                        Self::dot(&self.r, row, &kept) + self.bias(true, row)
                    };
                    let new = self.act(1, own + past);
                    (1.0 - update[u]) * new + update[u] * state[u]
                });
                (next.collect(), Vec::new())
            }
            Kind::Lstm => {
                let peep = |gate: usize, u: usize| {
                    self.peepholes.get(gate * self.hidden + u).copied().unwrap_or(0.0)
                };
                let next = units.map(|u| {
                    let input = self.act(0, self.gate(0, u, x, state) + peep(0, u) * cell[u]);
                    let forget = self.act(0, self.gate(2, u, x, state) + peep(2, u) * cell[u]);
                    let new = self.act(1, self.gate(3, u, x, state));
                    let next = forget * cell[u] + input * new;
                    let output = self.act(0, self.gate(1, u, x, state) + peep(1, u) * next);
                    (output * self.act(2, next), next)
                });
                next.unzip()
            }
        }
    }
}

/// The `index`th of `parts` equal parts of a list.
fn share(items: &[f64], index: usize, parts: usize) -> Vec<f64> {
    let size = items.len() / parts.max(1);
    items.get(index * size..(index + 1) * size).unwrap_or_default().to_vec()
}

fn layer(c: &mut Call<'_>, kind: Kind) -> Res<Vec<Value>> {
    let batch_first = c.flag("layout");
    let transposed =
        |t: &Tensor, perm: &[usize]| if batch_first { permuted(c, t, perm) } else { Ok(t.clone()) };
    let x = transposed(c.tensor(0)?, &[1, 0, 2])?;
    let ([steps, batches, inputs], &[directions, rows, _]) = (x.shape(), c.tensor(1)?.shape()) else {
        return invalid!("the input and the weights have not 3 axes");
    };
    let (steps, batches, inputs) = (*steps, *batches, *inputs);
    let hidden = rows / kind.gates();
    if c.tensor(2)?.shape() != [directions, rows, hidden] || c.tensor(1)?.dim(2) != inputs {
        return invalid!("weights {} and {} do not fit", c.tensor(1)?.describe(), c.tensor(2)?.describe());
    }
    let out_shape = [steps, directions, batches, hidden];
    let mut out = vec![0.0; c.count(&out_shape)?];
    c.spend((out.len() as u64).saturating_mul((kind.gates() * (inputs + hidden)) as u64))?;
    let optional = |index: usize| c.optional(index)?.map(Tensor::floats).transpose();
    let state = |index: usize| match c.optional(index)? {
        Some(t) => transposed(t, &[1, 0, 2])?.floats(),
        None => Ok(vec![0.0; directions * batches * hidden]),
    };
    let (w, r, bias) = (c.tensor(1)?.floats()?, c.tensor(2)?.floats()?, optional(3)?.unwrap_or_default());
    let lengths = c.longs(4)?.unwrap_or_else(|| vec![steps as i64; batches]);
    let mut hiddens = state(5)?;
    let lstm = kind == Kind::Lstm;
    let mut cells = if lstm { state(6)? } else { vec![0.0; hiddens.len()] };
    let peepholes = if lstm { optional(7)?.unwrap_or_default() } else { Vec::new() };
    if hiddens.len() != directions * batches * hidden || cells.len() != hiddens.len() {
        return invalid!("an initial state does not fit");
    }
    let per = kind.activations().len();
    let names: Vec<String> = match c.texts("activations") {
        Some(names) => names.to_vec(),
        None => (0..directions).flat_map(|_| kind.activations().iter().map(|n| (*n).to_owned())).collect(),
    };
    let clip = c.float_if_any("clip").unwrap_or(f64::INFINITY);
    if clip.is_nan() || clip < 0.0 {
        return invalid!("values cannot be clipped to {clip}");
    }
    let (alphas, betas) = (c.floats("activation_alpha"), c.floats("activation_beta"));
    let items = x.floats()?;
    for direction in 0..directions {
        let named = names.iter().enumerate().skip(direction * per).take(per);
        let parameter = |list: &Option<Vec<f64>>, at: usize| list.as_ref().and_then(|l| l.get(at).copied());
        let cell = Direction {
            kind,
            hidden,
            inputs,
            w: share(&w, direction, directions),
            r: share(&r, direction, directions),
            bias: share(&bias, direction, directions),
            peepholes: share(&peepholes, direction, directions),
            activations: named
                .map(|(at, name)| activation(name, parameter(&alphas, at), parameter(&betas, at)))
                .collect::<Res<_>>()?,
            clip,
            late_reset: c.flag("linear_before_reset"),
        };
        let reverse = direction == 1 || c.text("direction")? == "reverse";
        for batch in 0..batches {
            let length = lengths.get(batch).copied().unwrap_or(0).clamp(0, steps as i64) as usize;
            let own = (direction * batches + batch) * hidden..(direction * batches + batch + 1) * hidden;
            let (mut h, mut s) = (hiddens[own.clone()].to_vec(), cells[own.clone()].to_vec());
            for step in 0..length {
                let at = if reverse { length - 1 - step } else { step };
                let first = (at * batches + batch) * cell.inputs;
                let (next, kept) =
                    cell.step(items.get(first..first + cell.inputs).unwrap_or_default(), &h, &s);
                h = next;
                if lstm {
                    s = kept;
                }
                let first = ((at * directions + direction) * batches + batch) * hidden;
                out[first..first + hidden].copy_from_slice(&h);
            }
            hiddens[own.clone()].copy_from_slice(&h);
            cells[own].copy_from_slice(&s);
        }
    }
    let make = |shape: &[usize], items, perm: &[usize]| {
        transposed(&Tensor::of_floats(x.dtype(), shape.to_vec(), items)?, perm).map(Value::Tensor)
    };
    let last = [directions, batches, hidden];
    let mut outputs = vec![make(&out_shape, out, &[2, 0, 1, 3])?, make(&last, hiddens, &[1, 0, 2])?];
    if lstm {
        outputs.push(make(&last, cells, &[1, 0, 2])?);
    }
    Ok(outputs)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use smallvec::smallvec;

    use crate::ir::Shape;
    use crate::ops::infer::cx::{Cx, Dims, Shapes};
    use crate::sym::Dim;

    /// `LSTM`, `GRU` and `RNN`.
    pub(super) fn recurrent(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 3)?;
        cx.rank(1, 3)?;
        cx.rank(2, 3)?;
        let gates = match cx.node.op.as_str() {
            "LSTM" => 4,
            "GRU" => 3,
            _ => 1,
        };
        cx.equal(cx.dim(0, 2), cx.dim(1, 2), "the weight takes another number of features")?;
        cx.equal(
            cx.dim(2, 2),
            cx.node.int("hidden_size").map(Dim::Const),
            "the recurrent weight takes another size",
        )?;
        let rows = cx.node.int("hidden_size").and_then(|n| n.checked_mul(gates)).map(Dim::Const);
        for index in [1, 2] {
            cx.equal(cx.dim(index, 1), rows, &format!("input {index} is of another hidden size"))?;
        }
        let directions = Some(Dim::Const(if cx.text("direction") == Some("bidirectional") { 2 } else { 1 }));
        let hidden = cx.node.int("hidden_size").map(Dim::Const).or_else(|| cx.dim(2, 2));
        let batch_first = cx.flag("layout")?;
        let (sequence, batch) =
            if batch_first { (cx.dim(0, 1), cx.dim(0, 0)) } else { (cx.dim(0, 0), cx.dim(0, 1)) };
        let (all, last): (Dims, Dims) = if batch_first {
            (smallvec![batch, sequence, directions, hidden], smallvec![batch, directions, hidden])
        } else {
            (smallvec![sequence, directions, batch, hidden], smallvec![directions, batch, hidden])
        };
        Some(smallvec![Shape::Ranked(all), Shape::Ranked(last.clone()), Shape::Ranked(last)])
    }
}

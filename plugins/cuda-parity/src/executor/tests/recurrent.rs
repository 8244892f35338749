//! Recurrent layers, in every form, against the evaluator.

use std::fmt::Write;

use onnxport_ir::ir::Model;
use onnxport_ir::ops::{Limits, Tensor, Value};
use onnxport_ir::tensor::DType;

use super::kernels::{drawn, nvrtc_compiles};
use super::{engine, outputs};

/// A layer: its operator, how many gates that has, and its attributes.
struct Layer<'a> {
    op: &'a str,
    gates: usize,
    attributes: &'a str,
    directions: usize,
    batch_first: bool,
    dtype: DType,
    /// The inputs that are given beside the weights: biases, lengths, states, cells, peepholes.
    given: [bool; 5],
}

const STEPS: usize = 5;
const BATCH: usize = 3;
const FEATURES: usize = 4;
const HIDDEN: usize = 6;

impl Layer<'_> {
    /// The model and its inputs.
    fn case(&self, steps: usize) -> (Model, Vec<Option<Value>>) {
        let &Self { op, gates, directions, dtype, batch_first, .. } = self;
        let first = |a: usize, b: usize, c: usize| if batch_first { [b, a, c] } else { [a, b, c] };
        let (rows, state) = (gates * HIDDEN, first(directions, BATCH, HIDDEN));
        let shapes: [Vec<usize>; 7] = [
            first(steps, BATCH, FEATURES).into(),
            vec![directions, rows, FEATURES],
            vec![directions, rows, HIDDEN],
            vec![directions, 2 * rows],
            state.into(),
            state.into(),
            vec![directions, 3 * HIDDEN],
        ];
        let names = ["x", "w", "r", "b", "h", "c", "p"];
        let is_given = [true, true, true, self.given[0], self.given[2], self.given[3], self.given[4]];
        let (mut text, mut inputs) = ("opset 22\ngraph {\n".to_owned(), Vec::new());
        for (at, (name, shape)) in names.iter().zip(&shapes).enumerate() {
            if is_given[at] {
                let _ = writeln!(text, "  input %{name}: {dtype}{shape:?}");
                inputs.push(Some(drawn(dtype, shape, at as u64 + 1).into()));
            }
        }
        let argument = |name: &str, given: bool| if given { format!(", %{name}") } else { ", _".to_owned() };
        let mut arguments = format!("%x, %w, %r{}", argument("b", self.given[0]));
        if self.given[1] {
            let _ = writeln!(text, "  input %n: i32[{BATCH}]");
            // Of no step, of some, and of more than there are.
            let lengths = vec![0, 3, steps as i128 + 1];
            inputs.push(Some(Tensor::of_ints(DType::I32, vec![BATCH], lengths).unwrap().into()));
        }
        arguments += &argument("n", self.given[1]);
        arguments += &argument("h", self.given[2]);
        let lstm = op == "LSTM";
        if lstm {
            arguments += &argument("c", self.given[3]);
            arguments += &argument("p", self.given[4]);
        }
        let (results, more) = if lstm { ("%0, %1, %2", "  output %2 as c\n") } else { ("%0, %1", "") };
        let _ = write!(
            text,
            "  {results} = {op}({arguments}) {{hidden_size = {HIDDEN}, layout = {}{}}}\n  output %0 as y\n  \
             output %1 as h\n{more}}}\n",
            u8::from(batch_first),
            self.attributes
        );
        (Model::parse(&text).unwrap_or_else(|why| panic!("{text}\n{why:?}")), inputs)
    }

    /// Runs the layer in blocks of `threads`, and holds it against the evaluator.
    fn agrees(&self, threads: i32, steps: usize) {
        let Some(mut engine) = engine(threads, 1 << 20) else { return };
        let (model, inputs) = self.case(steps);
        let (found, counts) = outputs(&mut engine, &model, inputs.clone()).unwrap();
        assert!(counts.lacking.is_empty(), "{:?}", counts.lacking);
        assert!(engine.peak() <= engine.planned);
        let expected = onnxport_ir::ops::run(&model, inputs, Limits::default()).unwrap();
        let bound = match self.dtype {
            DType::F64 => 1e-13,
            DType::F32 => 2e-6,
            _ => 2e-3,
        };
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (found, expected) = (found.tensor().unwrap(), expected.tensor().unwrap());
            assert_eq!(found.shape(), expected.shape(), "{} {}", self.op, self.attributes);
            let (a, b) = (found.floats().unwrap(), expected.floats().unwrap());
            let off = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off <= bound, "output {index} of {} {} is off by {off}", self.op, self.attributes);
            assert!(steps == 0 || b.iter().any(|x| *x != 0.0));
        }
    }
}

const PLAIN: Layer<'_> = Layer {
    op: "LSTM",
    gates: 4,
    attributes: "",
    directions: 1,
    batch_first: false,
    dtype: DType::F32,
    given: [true; 5],
};

#[test]
fn every_layer_and_direction_gives_what_the_evaluator_gives() {
    for (op, gates) in [("RNN", 1), ("GRU", 3), ("LSTM", 4)] {
        let forms = [("", 1), (", direction = \"reverse\"", 1), (", direction = \"bidirectional\"", 2)];
        for (attributes, directions) in forms {
            for (threads, batch_first) in [(1, false), (4, true)] {
                Layer { op, gates, attributes, directions, batch_first, ..PLAIN }.agrees(threads, STEPS);
            }
        }
    }
}

#[test]
fn what_is_not_given_is_zero() {
    for at in 0..5 {
        let mut given = [true; 5];
        given[at] = false;
        Layer { given, ..PLAIN }.agrees(4, STEPS);
    }
    for (op, gates) in [("RNN", 1), ("GRU", 3), ("LSTM", 4)] {
        Layer { op, gates, given: [false; 5], ..PLAIN }.agrees(4, STEPS);
        // Without steps, states do not change.
        Layer { op, gates, ..PLAIN }.agrees(4, 0);
        Layer { op, gates, ..PLAIN }.agrees(4, 1);
    }
}

#[test]
fn gates_activations_and_types_are_those_that_are_named() {
    let late = ", linear_before_reset = 1, clip = 0.3";
    let two = ", direction = \"bidirectional\", activations = [\"HardSigmoid\", \"Relu\", \"sigmoid\", \"LeakyRelu\"], \
               activation_alpha = [0.25, 0.0, 0.0, 0.5], activation_beta = [0.4]";
    for attributes in [late, two] {
        let directions = if attributes == two { 2 } else { 1 };
        Layer { op: "GRU", gates: 3, attributes, directions, ..PLAIN }.agrees(4, STEPS);
    }
    let names = [
        "Affine",
        "Elu",
        "HardSigmoid",
        "LeakyRelu",
        "Relu",
        "ScaledTanh",
        "Sigmoid",
        "Softplus",
        "Softsign",
        "Tanh",
        "ThresholdedRelu",
    ];
    for name in names {
        for more in ["", ", activation_alpha = [0.7], activation_beta = [0.6]"] {
            let attributes = &format!(", activations = [\"{name}\"]{more}");
            Layer { op: "RNN", gates: 1, attributes, dtype: DType::F64, ..PLAIN }.agrees(1, 2);
        }
    }
    for dtype in [DType::F64, DType::F16] {
        for (op, gates) in [("GRU", 3), ("LSTM", 4)] {
            Layer { op, gates, dtype, ..PLAIN }.agrees(4, STEPS);
        }
    }
    nvrtc_compiles(20, |name| name == "begin");
}

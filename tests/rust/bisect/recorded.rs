//! Models against recorded values of the program, which are paired by the results of exported calls.

use onnxport_core::bisect::{Options, Reference, bisect};
use onnxport_core::diff::{Alignment, diff};
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::ir::import::import;
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::verify::Runtime;
use onnxport_core::write::{self, WriteOptions};

/// A root mean square norm: a rule makes a quotient by the root of its product with the inverse root.
const PROGRAM: &str = "graph {
  input %x: f32[2, 4] = user
  %pow_1: f32[2, 4] = aten.pow.Tensor_Scalar(self=%x, exponent=2)
  %mean: f32[2, 1] = aten.mean.dim(self=%pow_1, dim=[-1], keepdim=true)
  %add: f32[2, 1] = aten.add.Tensor(self=%mean, other=12.0)
  %rsqrt: f32[2, 1] = aten.rsqrt.default(self=%add)
  %mul: f32[2, 4] = aten.mul.Tensor(self=%x, other=%rsqrt)
  %mul_1: f32[2, 4] = aten.mul.Tensor(self=%mul, other=%mul)
  output %mul_1 = user
}
";

/// The values of the program for an input of twos, and their shapes.
const RECORDED: [(&str, &[u64], f32); 7] = [
    ("input/x", &[2, 4], 2.0),
    ("pow_1", &[2, 4], 4.0),
    ("mean", &[2, 1], 4.0),
    ("add", &[2, 1], 16.0),
    ("rsqrt", &[2, 1], 0.25),
    ("mul", &[2, 4], 0.5),
    ("mul_1", &[2, 4], 0.25),
];

fn recording() -> Vec<u8> {
    let metadata = serde_json::json!({ "format": "onnxport-intermediates/1", "inputs": "[\"x\"]" });
    let (mut header, mut data) = (serde_json::json!({ "__metadata__": metadata }), Vec::new());
    for (name, shape, value) in RECORDED {
        let begin = data.len();
        (0..shape.iter().product()).for_each(|_: u64| data.extend(value.to_le_bytes()));
        let offsets = [begin, data.len()];
        header[name] = serde_json::json!({ "dtype": "F32", "shape": shape, "data_offsets": offsets });
    }
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}

fn converted(level: Level) -> Model {
    let host = Host::new(&[&onnxport_aten::ROOT, &onnxport_optimise::ROOT]).expect("the plugins attach");
    let program = Program::parse(PROGRAM).expect("a program");
    let optimise = OptimiseOptions { level, ..OptimiseOptions::default() };
    let options = ConvertOptions { optimise, ..ConvertOptions::default() };
    pipeline::convert(&host, program, &options).unwrap_or_else(|report| panic!("{report:?}")).model
}

#[test]
fn a_call_whose_result_is_gone_is_not_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, plain, values] =
        ["m.onnx", "plain.onnx", "m.safetensors"].map(|name| folder.path().join(name));
    write::write(&converted(Level::default()), &path, &WriteOptions::default()).expect("it is written");
    write::write(&converted(Level::Nothing), &plain, &WriteOptions::default()).expect("it is written");
    std::fs::write(&values, recording()).expect("it is written");
    let evaluator = super::evaluator();
    let runtime = Runtime::find(&evaluator).expect("the evaluator opens");
    let recording = Reference::Recording { values: &values, program: None };
    for (path, compared) in [(&path, 5), (&plain, 6)] {
        let found = bisect(path, &runtime, &recording, &Options::default())
            .unwrap_or_else(|report| panic!("{report:?}"));
        assert!(found.fault.is_none() && found.cleared.is_empty(), "{found:?}");
        // Those that are intermediate in the one model have no counterpart.
        assert_eq!(found.values.rows.len(), compared, "{found:?}");
    }
    let found = bisect(&path, &runtime, &Reference::Model(&plain, &runtime), &Options::default());
    assert!(found.unwrap_or_else(|report| panic!("{report:?}")).fault.is_none());
    let (ours, theirs) = (import(&path).expect("a model"), import(&plain).expect("a model"));
    let found = diff(&ours, &theirs, &Alignment::between(&ours, &theirs));
    assert!(found.added.iter().any(|place| place.node == "node_rsqrt"), "{found:?}");
}

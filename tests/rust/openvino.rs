//! OpenVINO as an executor and as a backend. Skipped where its library is not installed.

mod backend;

use std::fs;
use std::path::Path;

use onnxport_core::diagnose::Diagnostic;
use onnxport_core::host::Host;
use onnxport_core::ir::Model;
use onnxport_core::tensor::DType;
use onnxport_core::verify::{Executor, Feed, Output, Runtime};
use onnxport_core::write::{WriteOptions, write};
use onnxport_harness::skip;

/// An output: its name, its type, its sizes and its bytes.
type Got = (String, DType, Vec<i64>, Vec<u8>);

fn open(options: &[(&str, &str)]) -> Result<Runtime, Diagnostic> {
    let host = Host::new(&[&onnxport_openvino::ROOT]).expect("the plugin attaches");
    let executor = host.plugins.iter().find_map(Executor::of).expect("it runs models");
    executor.open(options)
}

/// The runtime with these options.
fn runtime(options: &[(&str, &str)]) -> Runtime {
    if onnxport_openvino::discover::find().is_none() {
        skip("there is no OpenVINO library");
    }
    open(options).unwrap_or_else(|problem| panic!("{problem}"))
}

/// A model in a folder.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let file = Self { folder };
        let model = Model::parse(text).unwrap_or_else(|error| panic!("{error}"));
        write(&model, &file.path(), &WriteOptions::default()).expect("it is written");
        file
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("m.onnx")
    }
}

fn run(runtime: &Runtime, path: &Path, values: &[&str], feeds: &[Feed<'_>]) -> Result<Vec<Got>, Diagnostic> {
    let mut got = Vec::new();
    let mut take = |output: Output<'_>| {
        let dtype = output.dtype.expect("a known type");
        got.push((output.name.to_owned(), dtype, output.dims.to_vec(), output.bytes.to_vec()));
    };
    runtime.load_with(path, values)?.run(feeds, &mut take)?;
    Ok(got)
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn feed<'a>(dtype: DType, dims: &[i64], bytes: &'a [u8]) -> Feed<'a> {
    Feed { name: "x", dtype, dims: dims.to_vec(), bytes }
}

#[test]
fn outputs_and_intermediate_values_come_in_order() {
    let runtime = runtime(&[]);
    let file = File::new(
        "opset 20
graph {
  input %x: f32[n, 3]
  %a: f32[n, 3] = Relu(%x)
  %b: f32[n, 3] = Neg(%a)
  %c: i64[2] = Shape(%b)
  output %b as b
  output %x as same
  output %c as c
}
",
    );
    let x = bytes(&[1.0, -2.0, 3.0]);
    let got = run(&runtime, &file.path(), &["a"], &[feed(DType::F32, &[1, 3], &x)]).expect("it runs");
    let extents: Vec<u8> = [1_i64, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
    let expected = [
        ("b".to_owned(), DType::F32, vec![1, 3], bytes(&[-1.0, 0.0, -3.0])),
        ("same".to_owned(), DType::F32, vec![1, 3], x.clone()),
        ("c".to_owned(), DType::I64, vec![2], extents),
        ("a".to_owned(), DType::F32, vec![1, 3], bytes(&[1.0, 0.0, 3.0])),
    ];
    // Zero may have either sign.
    let plain = |got: Vec<Got>| -> Vec<Got> {
        let cleared = |(name, dtype, dims, data): Got| {
            let data = if dtype == DType::F32 { bytes(&floats(&data)) } else { data };
            (name, dtype, dims, data)
        };
        got.into_iter().map(cleared).collect()
    };
    assert_eq!(plain(got), expected);
    let left = fs::read_dir(file.folder.path()).expect("a folder").count();
    assert_eq!(left, 1, "no copy of the model is left");
    assert!(runtime.load_with(&file.path(), &["nothing"]).is_err(), "there is no such value");
}

/// The floats in `bytes`, with zeros that have no sign.
fn floats(bytes: &[u8]) -> Vec<f32> {
    let all = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
    all.map(|x| if x == 0.0 { 0.0 } else { x }).collect()
}

#[test]
fn types_scalars_and_empty_tensors_are_taken() {
    let runtime = runtime(&[]);
    let one: [(DType, &[u8]); 10] = [
        (DType::F16, &[0x00, 0x3c]),
        (DType::BF16, &[0x80, 0x3f]),
        (DType::F32, &[0, 0, 0x80, 0x3f]),
        (DType::F64, &[0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        (DType::I8, &[1]),
        (DType::I16, &[1, 0]),
        (DType::I32, &[1, 0, 0, 0]),
        (DType::I64, &[1, 0, 0, 0, 0, 0, 0, 0]),
        (DType::U8, &[1]),
        (DType::Bool, &[1]),
    ];
    for (dtype, bytes) in one {
        for (extents, dims, data) in [("", vec![], bytes), ("n", vec![1], bytes), ("n", vec![0], &[][..])] {
            let ty = format!("{dtype}[{extents}]");
            let text = format!(
                "opset 22\ngraph {{\n  input %x: {ty}\n  %y: {ty} = Identity(%x)\n  output %y as y\n}}\n"
            );
            let file = File::new(&text);
            let got = run(&runtime, &file.path(), &[], &[feed(dtype, &dims, data)]);
            let got = got.unwrap_or_else(|problem| panic!("{ty} {dims:?}: {problem}"));
            assert_eq!(got, [("y".to_owned(), dtype, dims, data.to_vec())], "{ty}");
        }
    }
}

#[test]
fn integers_that_openvino_would_cut_off_are_refused() {
    let runtime = runtime(&[]);
    let text = "opset 20\ngraph {\n  input %x: i64[2]\n  %y: i64[2] = Add(%x, %x)\n  output %y as y\n}\n";
    let file = File::new(text);
    let large: Vec<u8> = [1_i64, 1 << 40].iter().flat_map(|n| n.to_le_bytes()).collect();
    let problem =
        run(&runtime, &file.path(), &[], &[feed(DType::I64, &[2], &large)]).expect_err("it is refused");
    assert!(problem.message.contains("input x holds 1099511627776"), "{problem}");
    let missing = run(&runtime, &file.path(), &[], &[]).expect_err("it is refused");
    assert!(missing.message.contains("the input `x` is missing"), "{missing}");
}

#[test]
fn what_openvino_lacks_is_said_with_the_next_step() {
    let runtime = runtime(&[]);
    let text = "opset 20
opset com.example 1
graph {
  input %x: f32[2]
  %y: f32[2] = com.example::Unknown(%x)
  output %y as y
}
";
    let problem = runtime.load(File::new(text).path().as_path()).err().expect("it is refused");
    let help = problem.help.as_deref().unwrap_or_default();
    assert!(problem.message.contains("com.example.Unknown"), "{problem}");
    assert!(help.contains("onnxport legal MODEL --target openvino"), "{help}");
    for (options, said) in [
        ([("device", "QPU")], "has no device QPU here"),
        ([("devise", "CPU")], "OpenVINO takes no option `devise` here"),
        ([("precision", "f8")], "the option `precision` cannot be \"f8\""),
        ([("properties", "NUM_STREAMS")], "not NAME=VALUE"),
        ([("properties", "NO_SUCH=1")], "OpenVINO cannot set NO_SUCH to 1 for CPU"),
    ] {
        let problem = open(&options).err().expect("it is refused");
        assert!(problem.message.contains(said), "{problem}");
    }
}

#[test]
fn a_library_that_is_none_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = file.path().to_str().expect("UTF-8");
    for (path, said) in
        [("missing.so", "no library at missing.so"), (text, "is not a usable OpenVINO library")]
    {
        let problem = open(&[("library", path)]).err().expect("it is refused");
        let is_said = problem.message.contains(said) || problem.message.contains("this process already uses");
        assert!(is_said, "{problem}");
    }
}

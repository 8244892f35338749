//! OpenVINO as a backend: regions become `EPContext` nodes, which ONNX Runtime's OpenVINO provider runs.

use std::fs;
use std::path::{Path, PathBuf};

use onnxport_core::backend::{self, BackendOptions, Blobs, Partitioned};
use onnxport_core::diagnose::Diagnostic;
use onnxport_core::host::Host;
use onnxport_core::ir::{Attr, Model, Node};
use onnxport_core::ops::infer;
use onnxport_core::tensor::DType;
use onnxport_core::verify::{Executor, Feed, Runtime};
use onnxport_core::write::{WriteOptions, write};
use onnxport_harness::skip;

use super::{bytes, floats, run};

/// Two products with weights, at any number of rows.
const MLP: &str = "opset 20
symbol n 1..
graph {
  constant %a: f32[2, 3] = [1.0, -2.0, 0.5, 3.0, 0.25, -1.0]
  constant %b: f32[3, 2] = [2.0, 1.0, -1.0, 0.5, 1.5, -0.75]
  input %x: f32[n, 2]
  %c = MatMul(%x, %a)
  %d = Relu(%c)
  %e = MatMul(%d, %b)
  output %e as y
}
";

/// The result of `MLP` for a row.
fn expected(x: [f32; 2]) -> [f32; 2] {
    let hidden = [x[0] + 3.0 * x[1], -2.0 * x[0] + 0.25 * x[1], 0.5 * x[0] - x[1]].map(|v| v.max(0.0));
    let row = |w: [f32; 3]| hidden.iter().zip(w).map(|(h, w)| h * w).sum();
    [row([2.0, -1.0, 1.5]), row([1.0, 0.5, -0.75])]
}

fn parse(text: &str) -> Model {
    let mut model = Model::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let opset = model.opset();
    infer::infer_all(&mut model.graph, &mut model.symbols, opset);
    model
}

/// The model with its regions compiled.
fn compiled(text: &str, blobs: Blobs) -> (Model, Partitioned) {
    if onnxport_openvino::discover::find().is_none() {
        skip("there is no OpenVINO library");
    }
    let host = Host::new(&[&onnxport_openvino::ROOT]).expect("the plugin attaches");
    let mut model = parse(text);
    let backends = vec!["openvino".to_owned()];
    let options = BackendOptions { backends, blobs, stem: "m.onnx".to_owned(), ..BackendOptions::default() };
    let backed = backend::run(&host, &mut model, &options).unwrap_or_else(|report| panic!("{report:?}"));
    (model, backed.partitioned)
}

fn contexts(model: &Model) -> Vec<&Node> {
    let order = model.graph.order(model.graph.main());
    order.map(|node| &model.graph.nodes[node]).filter(|node| node.op == "EPContext").collect()
}

fn attribute<'a>(node: &'a Node, name: &str) -> Option<&'a Attr> {
    node.attributes.iter().find(|a| a.name == name).map(|a| &a.value)
}

fn text<'a>(node: &'a Node, name: &str) -> &'a str {
    match attribute(node, name) {
        Some(Attr::Str(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

fn reasons(partitioned: &Partitioned) -> Vec<(String, String)> {
    let refusals = &partitioned.backends[0].refusals;
    refusals.iter().map(|refusal| (refusal.op.clone(), refusal.reason.clone())).collect()
}

/// The model in a folder.
fn written(model: &Model) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.onnx");
    write(model, &path, &WriteOptions::default()).unwrap_or_else(|report| panic!("{report:?}"));
    (folder, path)
}

/// ONNX Runtime with its OpenVINO provider.
fn provider() -> Runtime {
    let host = Host::new(&[&onnxport_ort::ROOT]).expect("the plugin attaches");
    let executor = host.plugins.iter().find_map(Executor::of).expect("it runs models");
    match executor.open(&[("provider", "openvino")]) {
        Ok(runtime) => runtime,
        Err(problem) if problem.message.contains("no library of the OpenVINO provider was found") => {
            skip("there is no OpenVINO provider: pip install onnxruntime-ep-openvino")
        }
        Err(problem) => panic!("{problem}"),
    }
}

fn rows(runtime: &Runtime, path: &Path, rows: &[[f32; 2]]) -> Result<Vec<f32>, Diagnostic> {
    let data = bytes(rows.as_flattened());
    let feed = Feed { name: "x", dtype: DType::F32, dims: vec![rows.len() as i64, 2], bytes: &data };
    Ok(floats(&run(runtime, path, &[], &[feed])?[0].3))
}

#[test]
fn a_region_becomes_a_node_as_onnx_runtime_defines_it() {
    let (model, partitioned) = compiled(MLP, Blobs::Embed);
    assert_eq!((partitioned.left, reasons(&partitioned)), (0, vec![]));
    let [node] = contexts(&model)[..] else { panic!("{}", model.to_text()) };
    assert_eq!(node.domain, "com.microsoft");
    assert_eq!(text(node, "source"), "OpenVINOExecutionProvider");
    assert_eq!(text(node, "partition_name"), "openvino_0");
    assert!(text(node, "ep_sdk_version").starts_with("20"), "{}", text(node, "ep_sdk_version"));
    assert!(text(node, "notes").starts_with("device CPU, onnxport "));
    assert!(matches!(attribute(node, "main_context"), Some(Attr::Int(1))));
    assert!(matches!(attribute(node, "embed_mode"), Some(Attr::Int(1))));
    let Some(Attr::Bytes(blob)) = attribute(node, "ep_cache_context") else { panic!("no bytes") };
    assert!(blob.starts_with(b"OVEP_BIN"));
    assert!(blob.windows(11).any(|w| w == b"openvino_0\0"), "the blob is found by its name");
    assert!(model.graph.initializers.is_empty(), "weights are in the blob");
    assert_eq!(model.opset_of("com.microsoft"), Some(1));
}

#[test]
fn a_large_blob_is_a_file_beside_the_model() {
    let (model, partitioned) = compiled(MLP, Blobs::File);
    let [node] = contexts(&model)[..] else { panic!("{}", model.to_text()) };
    assert!(matches!(attribute(node, "embed_mode"), Some(Attr::Int(0))));
    let file = text(node, "ep_cache_context");
    assert_eq!(partitioned.backends[0].regions[0].files, [file]);
    assert_eq!(Path::new(file).file_name().and_then(|name| name.to_str()), Some(file), "it is in no folder");
    let (folder, _) = written(&model);
    let blob = fs::read(folder.path().join(file)).expect("the file of the blob");
    assert!(blob.starts_with(b"OVEP_BIN"));
}

#[test]
fn the_provider_runs_regions_at_other_sizes() {
    for blobs in [Blobs::Embed, Blobs::File] {
        let (model, _) = compiled(MLP, blobs);
        let (_folder, path) = written(&model);
        let runtime = provider();
        for count in [1, 3, 7] {
            let input: Vec<[f32; 2]> = (0..count).map(|n| [n as f32 - 1.5, 0.5 * n as f32]).collect();
            let got = rows(&runtime, &path, &input).unwrap_or_else(|problem| panic!("{blobs:?}: {problem}"));
            let want: Vec<f32> = input.iter().flat_map(|row| expected(*row)).collect();
            assert_eq!(got.len(), want.len());
            let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst < 1e-5, "{blobs:?} {count}: {got:?} {want:?}");
        }
    }
}

#[test]
fn integers_that_may_be_large_stay_outside_of_regions() {
    let text = "opset 20
symbol n 1..
graph {
  input %x: f32[n, 2]
  input %k: i64[2]
  %a = Relu(%x)
  %b = Add(%k, %k)
  %c = Cast(%b) {to = 1}
  %d = Mul(%a, %c)
  %e = Neg(%d)
  output %e as y
}
";
    let (model, partitioned) = compiled(text, Blobs::Embed);
    let said = reasons(&partitioned);
    assert!(
        said.iter().any(|(op, why)| op == "Add" && why.contains("64-bit integers in 32 bits")),
        "{said:?}"
    );
    assert!(said.iter().any(|(op, _)| op == "Cast"), "{said:?}");
    let (_folder, path) = written(&model);
    let runtime = provider();
    let x = bytes(&[1.0, -2.0]);
    let k: Vec<u8> = [1_i64 << 33, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
    let feeds = [
        Feed { name: "x", dtype: DType::F32, dims: vec![1, 2], bytes: &x },
        Feed { name: "k", dtype: DType::I64, dims: vec![2], bytes: &k },
    ];
    let got = run(&runtime, &path, &[], &feeds).unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(floats(&got[0].3), [-(2.0_f32.powi(34)), 0.0]);
}

#[test]
fn a_blob_of_another_version_is_refused() {
    let (model, _) = compiled(MLP, Blobs::File);
    let [node] = contexts(&model)[..] else { panic!("{}", model.to_text()) };
    let (folder, path) = written(&model);
    let runtime = provider();
    let file = folder.path().join(text(node, "ep_cache_context"));
    let blob = fs::read(&file).expect("a blob");
    let stated = b"ov=20";
    let at = blob.windows(stated.len()).position(|w| w == stated).expect("it states its version");
    let mut other = blob.clone();
    other[at + 3..at + 7].copy_from_slice(b"2019");
    let cut = blob[..blob.len() / 2].to_vec();
    for (damaged, said) in [(other, "it was built for a different runtime configuration"), (cut, "")] {
        fs::write(&file, damaged).expect("it is written");
        let problem = rows(&runtime, &path, &[[1.0, 2.0]]).expect_err("it is refused");
        assert!(problem.message.contains(said), "{problem}");
    }
    fs::remove_file(&file).expect("it is removed");
    assert!(rows(&runtime, &path, &[[1.0, 2.0]]).is_err(), "the blob is missing");
    fs::write(&file, blob).expect("it is written");
    assert!(rows(&runtime, &path, &[[1.0, 2.0]]).is_ok());
}

#[test]
fn nodes_that_would_lose_digits_stay_with_a_reason() {
    let text = "opset 20
graph {
  input %x: f32[2, 3]
  input %d: f64[2]
  %a = Relu(%x)
  %b = Tanh(%a)
  %c = Neg(%d)
  output %b as b
  output %c as c
}
";
    let (model, partitioned) = compiled(text, Blobs::Embed);
    assert_eq!(contexts(&model).len(), 1);
    assert_eq!(reasons(&partitioned), [("Neg".to_owned(), "an input is f64".to_owned())]);
}

#[test]
fn the_executor_refuses_compiled_regions() {
    let (model, _) = compiled(MLP, Blobs::Embed);
    let (_folder, path) = written(&model);
    let runtime = super::runtime(&[]);
    let problem = runtime.load(&path).err().expect("it is refused");
    let help = problem.help.as_deref().unwrap_or_default();
    assert!(problem.message.contains("compiled for ONNX Runtime"), "{problem}");
    assert!(help.contains("--executor-option provider=openvino"), "{help}");
}

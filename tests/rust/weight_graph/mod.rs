//! Weights that a pass derives from others: their types, that they equal the results of the nodes, and
//! the memory that they take.

mod plugin;

use std::fs::File;
use std::path::Path;

use onnxport_core::diagnose::Diagnostic;
use onnxport_core::host::Host;
use onnxport_core::ir::{Attr, Attribute, Model, OpsetImport, Shape, Type, ValueId};
use onnxport_core::ops::infer;
use onnxport_core::optimise::{OptimiseOptions, optimise};
use onnxport_core::tensor::{DType, LazyTensor, MappedFile, Source};
use onnxport_core::valid::{StatedTypes, validate};
use onnxport_core::write::{WriteOptions, plan};

/// Anonymous memory in bytes, which the kernel cannot take back.
#[cfg(target_os = "linux")]
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("RssAnon");
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kib * 1024
}

struct Builder {
    model: Model,
}

impl Builder {
    fn new() -> Self {
        let opsets = vec![OpsetImport { domain: String::new(), version: 20 }];
        Self { model: Model { opsets, ..Model::default() } }
    }

    fn input(&mut self, shape: &[i64]) -> ValueId {
        let main = self.model.graph.main();
        let shape = Shape::Ranked(shape.iter().map(|extent| Some((*extent).into())).collect());
        self.model.graph.add_input(main, Some("x".into()), Type::tensor(DType::F32, shape))
    }

    fn weight(&mut self, name: &str, data: LazyTensor) -> ValueId {
        self.model.graph.add_weight(Some(name.into()), data)
    }

    fn node(&mut self, op: &str, inputs: &[ValueId], attributes: &[(&str, Attr)]) -> ValueId {
        let attributes = attributes
            .iter()
            .map(|(name, value)| Attribute { name: (*name).into(), value: value.clone() })
            .collect();
        let graph = &mut self.model.graph;
        let main = graph.main();
        let node = graph.append(main, "", op, inputs.iter().copied().map(Some), attributes, 1, None);
        infer::infer(graph, &mut self.model.symbols, 20, node);
        graph.nodes[node].outputs[0].expect("an output")
    }

    fn finish(mut self, outputs: &[ValueId]) -> Model {
        let main = self.model.graph.main();
        self.model.graph.set_outputs(main, outputs.iter().copied());
        self.model.output_names = (0..outputs.len()).map(|index| format!("y{index}")).collect();
        self.model
    }
}

/// A file of so many bytes that takes no room on the disk.
fn sparse(path: &Path, bytes: u64) -> MappedFile {
    File::create(path).and_then(|file| file.set_len(bytes)).expect("the file is made");
    MappedFile::open(path).expect("the file is mapped")
}

fn stored(file: &MappedFile, at: u64, shape: &[u64]) -> LazyTensor {
    let source = Source::Mapped { file: file.clone(), offset: 0, len: file.bytes().len() as u64 };
    LazyTensor { dtype: DType::F32, shape: shape.to_vec(), source, offset: at, strides: None }
}

fn floats(values: &[f32]) -> LazyTensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    LazyTensor::inline(DType::F32, vec![values.len() as u64], bytes)
}

/// Returns the diagnostics when `pass` alone runs.
fn found(model: &mut Model, pass: &str) -> Vec<Diagnostic> {
    let host = Host::new(&[&plugin::ROOT]).unwrap_or_else(|report| panic!("{:?}", report.diagnostics));
    let options = OptimiseOptions { only: Some(pass.to_owned()), ..OptimiseOptions::default() };
    optimise(&host, model, &mut StatedTypes::default(), &options).expect("it runs").1
}

fn folded(model: &mut Model, pass: &str) {
    let found = found(model, pass);
    assert!(found.is_empty(), "{found:?}");
    assert!(validate(model, &StatedTypes::default()).is_empty(), "{}", model.to_text());
}

/// Returns the initializer of rank `rank`.
fn initializer(model: &Model, rank: usize) -> &LazyTensor {
    let mut all = model.graph.initializers.iter().map(|initializer| &initializer.data);
    all.find(|data| data.shape.len() == rank).expect("it is there")
}

fn values(data: &LazyTensor) -> Vec<f32> {
    let bytes = data.read().expect("it can be read");
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four"))).collect()
}

/// Convolution and batch norm with weights in `weight`, a channel for each number of the norm.
fn convolution(weight: LazyTensor, norm: [&[f32]; 4], bias: Option<&[f32]>) -> Model {
    let mut builder = Builder::new();
    let x = builder.input(&[1, weight.shape[1] as i64, 8, 8]);
    let mut inputs = vec![x, builder.weight("w", weight)];
    inputs.extend(bias.map(|bias| builder.weight("b", floats(bias))));
    let made = builder.node("Conv", &inputs, &[("pads", Attr::Ints(vec![1, 1, 1, 1]))]);
    let mut inputs = vec![made];
    for (name, values) in ["gamma", "beta", "mean", "variance"].iter().zip(norm) {
        inputs.push(builder.weight(name, floats(values)));
    }
    let y = builder.node("BatchNormalization", &inputs, &[("epsilon", Attr::Float(1e-3))]);
    builder.finish(&[y])
}

#[test]
fn batch_norms_go_into_weights_and_are_rounded_once() {
    let weight: Vec<f32> = (0..3 * 2 * 9).map(|i| (i as f32 * 0.37).sin()).collect();
    let norm: [&[f32]; 4] = [&[1.5, -0.25, 3.0], &[0.125, 7.0, -2.0], &[0.3, -0.7, 11.0], &[0.9, 0.01, 25.0]];
    let bias: &[f32] = &[0.1, 0.2, -0.3];
    let tensor = LazyTensor { shape: vec![3, 2, 3, 3], ..floats(&weight) };
    let mut model = convolution(tensor, norm, Some(bias));
    folded(&mut model, "conv_batch_norm");
    let ops: Vec<&str> = model.graph.nodes.iter().map(|(_, node)| node.op.as_str()).collect();
    assert_eq!(model.graph.order(model.graph.main()).count(), 1, "{ops:?}");
    assert_eq!(model.graph.initializers.len(), 2, "{}", model.to_text());
    let [gamma, beta, mean, variance] =
        norm.map(|values| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
    let scale = |at: usize| gamma[at] / (variance[at] + f64::from(1e-3f32)).sqrt();
    let expected: Vec<f32> =
        weight.iter().enumerate().map(|(i, w)| (f64::from(*w) * scale(i / 18)) as f32).collect();
    assert_eq!(values(initializer(&model, 4)), expected);
    let shift = |at: usize| ((f64::from(bias[at]) - mean[at]) * scale(at) + beta[at]) as f32;
    assert_eq!(values(initializer(&model, 1)), [shift(0), shift(1), shift(2)]);
}

/// Three linear layers of one input.
fn linears(weights: [LazyTensor; 3], biases: [LazyTensor; 3]) -> Model {
    let mut builder = Builder::new();
    let x = builder.input(&[1, weights[0].shape[1] as i64]);
    let mut outputs = Vec::new();
    for (index, (weight, bias)) in weights.into_iter().zip(biases).enumerate() {
        let inputs =
            [x, builder.weight(&format!("w{index}"), weight), builder.weight(&format!("b{index}"), bias)];
        outputs.push(builder.node("Gemm", &inputs, &[("transB", Attr::Int(1))]));
    }
    builder.finish(&outputs)
}

#[test]
fn packed_weights_are_the_parts_in_a_row() {
    let part = |from: u16| LazyTensor {
        shape: vec![2, 3],
        ..floats(&[0, 1, 2, 3, 4, 5].map(|i| f32::from(i + from)))
    };
    let bias = |from: u16| floats(&[f32::from(from), 0.5]);
    let mut model = linears([part(0), part(6), part(12)], [bias(1), bias(2), bias(3)]);
    folded(&mut model, "packed_qkv");
    assert_eq!(model.graph.order(model.graph.main()).count(), 2, "{}", model.to_text());
    assert_eq!(values(initializer(&model, 2)), (0..18u16).map(f32::from).collect::<Vec<_>>());
    let packed = initializer(&model, 2);
    assert_eq!((packed.parts().len(), packed.least_memory()), (3, 0));
}

#[test]
fn sums_of_weights_are_rounded_once() {
    let linear = |rows: u64, columns: u64| {
        let numbers: Vec<f32> = (0..rows * columns).map(|i| (i as f32 * 0.37).sin()).collect();
        let mut builder = Builder::new();
        let x = builder.input(&[1, columns as i64]);
        let weight = builder.weight("w", LazyTensor { shape: vec![rows, columns], ..floats(&numbers) });
        let y = builder.node("Gemm", &[x, weight], &[("transB", Attr::Int(1))]);
        (builder.finish(&[y]), numbers)
    };
    let (mut model, numbers) = linear(3, 1000);
    folded(&mut model, "sums_of_rows");
    let expected: Vec<f32> =
        numbers.chunks(1000).map(|row| row.iter().map(|x| f64::from(*x)).sum::<f64>() as f32).collect();
    assert_eq!(values(initializer(&model, 1)), expected);

    // The memory held for one sum is limited.
    let (mut model, _) = linear(1, (1 << 16) + 1);
    let found = found(&mut model, "sums_of_rows");
    let notes: Vec<&str> = found.iter().flat_map(|found| &found.notes).map(String::as_str).collect();
    assert_eq!(notes, ["f64[1, 65537] cannot be summed"], "{found:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn weights_of_many_gigabytes_are_folded_without_being_held() {
    const BUDGET: usize = 16 << 20;
    const LIMIT: u64 = 40 << 20;
    let dir = tempfile::tempdir().expect("a folder");
    let before = anonymous();
    let grown = || anonymous().saturating_sub(before);
    // 10 GB of weights of linear layers.
    let (rows, columns) = (1u64 << 16, 12_800u64);
    let bytes = 3 * rows * columns * 4;
    assert!(bytes > 10_000_000_000);
    let file = sparse(&dir.path().join("linears"), bytes);
    let weight = |at: u64| stored(&file, at * rows * columns, &[rows, columns]);
    let bias = |at: u64| stored(&file, at, &[rows]);
    let mut model = linears([weight(2), weight(0), weight(1)], [bias(0), bias(3), bias(9)]);
    folded(&mut model, "packed_qkv");
    // Those that lie one behind the other are one range of the file.
    let packed = initializer(&model, 2);
    assert_eq!((packed.byte_len(), packed.parts().len(), packed.least_memory()), (Some(bytes), 2, 0));
    let written = plan(&model, &dir.path().join("packed.onnx"), &WriteOptions::default()).expect("a plan");
    assert_eq!(written.stream_memory, 1 << 20, "copies by the kernel need a buffer only");
    assert!(grown() < LIMIT, "{} bytes", grown());

    // 4 GB of a convolution, f32, scaled.
    let (channels, inputs) = (1u64 << 12, 27_200u64);
    let bytes = channels * inputs * 9 * 4;
    assert!(bytes > 4_000_000_000);
    let file = sparse(&dir.path().join("convolution"), bytes);
    let ones = vec![1.0; channels as usize];
    let norm: [&[f32]; 4] = [&ones, &ones, &ones, &ones];
    let mut model = convolution(stored(&file, 0, &[channels, inputs, 3, 3]), norm, None);
    folded(&mut model, "conv_batch_norm");
    let folded = initializer(&model, 4);
    let len = folded.byte_len().expect("it is known before");
    assert_eq!(len, bytes);
    for start in [0, len / 2 + 5, len - (24 << 20)] {
        let mut read = 0;
        folded
            .stream(start..start + (24 << 20), BUDGET, &mut |bytes: &[u8]| {
                read += bytes.len();
                assert!(grown() < LIMIT, "{} bytes", grown());
                Ok(())
            })
            .expect("it is made");
        assert_eq!(read, 24 << 20);
    }
}

//! Whole architectures, node by node: small ones on the processor against the evaluator, those of full size on a GPU against
//! the same computation in f64.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onnxport_ir::ir::{Model, ValueId};
use onnxport_ir::ops::{Limits, Tensor, Value, run_each};
use onnxport_ir::sym::Dim;
use onnxport_ir::tensor::DType;
use onnxport_sdk::executor::Options;
use rustc_hash::FxHashSet;

use super::architectures::{Draw, Size, bert, gpt2, llama, resnet18, vit};
use super::{emulated, engine};
use crate::device::Device;
use crate::executor::cuda::Cuda;
use crate::executor::engine::{Counts, Engine};
use crate::executor::frame::run;
use crate::executor::rehearsal::rehearse;
use crate::executor::value::Held;

const SMALL: Size = Size { dim: 16, depth: 2, heads: 4, kv_heads: 4, hidden: 32, vocabulary: 40, tokens: 5 };

/// A model by its element type.
type Make = Box<dyn Fn(DType) -> Model>;

fn small() -> Vec<(&'static str, Make)> {
    vec![
        ("resnet18", Box::new(|d| resnet18(d, 4, 32, 10))),
        ("vit_b_16", Box::new(|d| vit(d, SMALL, 4, 8))),
        ("DistilBERT", Box::new(|d| bert(d, SMALL))),
        ("GPT-2", Box::new(|d| gpt2(d, SMALL))),
        ("Llama", Box::new(|d| llama(d, Size { kv_heads: 2, ..SMALL }))),
    ]
}

fn full() -> Vec<(&'static str, Make)> {
    let base =
        Size { dim: 768, depth: 12, heads: 12, kv_heads: 12, hidden: 3072, vocabulary: 1000, tokens: 197 };
    let words = Size { tokens: 128, ..base };
    let large =
        Size { dim: 2048, depth: 16, heads: 32, kv_heads: 8, hidden: 8192, vocabulary: 128_256, tokens: 128 };
    vec![
        ("resnet18", Box::new(|d| resnet18(d, 64, 224, 1000))),
        ("vit_b_16", Box::new(move |d| vit(d, base, 16, 224))),
        ("DistilBERT", Box::new(move |d| bert(d, Size { depth: 6, vocabulary: 30_522, ..words }))),
        ("GPT-2", Box::new(move |d| gpt2(d, Size { vocabulary: 50_257, ..words }))),
        ("Llama", Box::new(move |d| llama(d, large))),
    ]
}

/// An image, or tokens that every vocabulary has.
fn input(model: &Model) -> Value {
    let ty = &model.graph.values[model.graph.blocks[model.graph.main()].inputs[0]].ty;
    let dims = ty.shape().and_then(|s| s.dims()).unwrap();
    let shape: Vec<usize> = dims.iter().map(|d| d.and_then(Dim::as_const).unwrap() as usize).collect();
    match ty.dtype().unwrap() {
        DType::I64 => {
            Tensor::of_longs(shape.clone(), (0..shape[1] as i64).map(|n| n * 7 % 40)).unwrap().into()
        }
        dtype => Draw(9).tensor(dtype, &shape, 0.0, 1.0).into(),
    }
}

/// The values of every node of the main block.
fn all(model: &Model) -> FxHashSet<ValueId> {
    let graph = &model.graph;
    graph.order(graph.main()).flat_map(|node| graph.nodes[node].outputs.iter().flatten().copied()).collect()
}

/// Plans the memory of a run that shows `seen`: all of it is known before.
fn prepare(engine: &mut Engine, model: &Model, seen: &FxHashSet<ValueId>) {
    engine.begin();
    let rehearsed = rehearse(model, &[Some(input(model))], seen, engine.limits);
    let (planned, live) = (rehearsed.layout.bytes, rehearsed.layout.live);
    assert!(rehearsed.complete && 2 * planned <= 3 * live, "{planned} bytes for {live}");
    engine.prepare(rehearsed).unwrap();
}

/// Runs a model; `look` sees the floats of every node.
fn each(engine: &mut Engine, model: &Model, mut look: impl FnMut(ValueId, &Tensor)) -> Counts {
    prepare(engine, model, &all(model));
    let given = vec![Some(Held::of_host(input(model), false))];
    run(engine, model, given, &all(model), &mut |engine, value, held| {
        if let Some(tensor) = engine.on_host(held)?.tensor() {
            look(value, tensor);
        }
        Ok(())
    })
    .unwrap();
    engine.counts.clone()
}

/// The largest difference, relative to the largest value; infinities must agree.
fn off(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let finite = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
    let largest = expected.iter().copied().map(finite).fold(f64::MIN_POSITIVE, f64::max);
    let each = found.iter().zip(expected).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() });
    let worst = each.fold(0.0, |worst: f64, d| if d.is_nan() { f64::INFINITY } else { worst.max(d) });
    worst / largest
}

#[test]
fn every_node_of_small_architectures_gives_what_the_evaluator_gives() {
    for threads in [1, 4, -4] {
        let Some(mut engine) = engine(threads, 256 << 20) else { return };
        small_architectures_agree(&mut engine, 1e-5);
    }
    let Some(mut device) = emulated(1) else { return };
    device.library = true;
    let mut engine = Engine::new(Box::new(device), Some(256 << 20), Limits::default()).unwrap();
    assert!(small_architectures_agree(&mut engine, 1e-5) > 50, "products are not those of the library");
}

/// Runs the small architectures, and returns how many products a library computed. All nodes have to be on the device.
fn small_architectures_agree(engine: &mut Engine, bound: f64) -> u64 {
    let mut library = 0;
    for (name, make) in small() {
        let model = make(DType::F32);
        let mut expected: BTreeMap<ValueId, Vec<f64>> = BTreeMap::new();
        let graph = &model.graph;
        let mut see = |node, at: usize, value: &Value| {
            if let (Some(id), Some(tensor)) = (graph.nodes[node].outputs[at], value.tensor()) {
                expected.insert(id, tensor.floats().unwrap());
            }
        };
        run_each(&model, vec![Some(input(&model))], Limits::default(), &mut see).unwrap();
        let (mut worst, mut seen) = (0.0f64, 0);
        let counts = each(engine, &model, |value, tensor| {
            let error = off(&tensor.floats().unwrap(), &expected[&value]);
            assert!(error < bound, "{name}: value {} is off by {error}", value.index());
            (worst, seen) = (worst.max(error), seen + 1);
        });
        assert!(counts.lacking.is_empty(), "{name}: {:?}", counts.lacking);
        assert_eq!(seen, expected.len(), "{name}");
        // A run allocates only the planned memory.
        assert!(engine.peak() <= engine.planned, "{name}: {} of {}", engine.peak(), engine.planned);
        println!("{name}, {}: {seen} nodes agree to {worst:.1e}", engine.describe());
        library += counts.library;
    }
    library
}

/// How long a run takes whose values nobody sees.
fn time(engine: &mut Engine, model: &Model) -> Duration {
    let start = Instant::now();
    prepare(engine, model, &FxHashSet::default());
    let given = vec![Some(Held::of_host(input(model), false))];
    run(engine, model, given, &FxHashSet::default(), &mut |_, _, _| Ok(())).unwrap();
    start.elapsed()
}

/// The device, and engines on it: one with kernels of its own alone, and one with cuBLAS, which has to be there unless
/// `ONNXPORT_GPU_CUBLAS` is `none`. `None` where there is no device and none is required.
fn on_a_gpu() -> Option<(Device, Vec<(bool, Engine)>)> {
    let device = match Device::open(Options::new(&[])) {
        Ok(device) => device,
        Err(why) => {
            crate::without_a_gpu(&why.message);
            return None;
        }
    };
    let engine = |cuda| Engine::new(Box::new(cuda), None, Limits::default()).unwrap();
    let mut engines = vec![(false, engine(Cuda::without_blas(&device)))];
    if std::env::var("ONNXPORT_GPU_CUBLAS").is_ok_and(|wanted| wanted == "none") {
        println!("cuBLAS: left out, as ONNXPORT_GPU_CUBLAS says");
    } else {
        let with = engine(Cuda::on(&device));
        println!("{}", with.describe());
        assert!(!with.describe().contains("own kernels"), "cuBLAS is not used");
        engines.push((true, with));
    }
    Some((device, engines))
}

#[test]
#[ignore = "takes a GPU: cargo xtask gpu"]
fn every_node_of_small_architectures_agrees_on_a_gpu() {
    let Some((_, engines)) = on_a_gpu() else { return };
    for (has_blas, mut engine) in engines {
        let library = small_architectures_agree(&mut engine, 1e-4);
        assert_eq!(library > 0, has_blas, "{library} products by cuBLAS");
    }
}

/// The same graph in f64 with kernels of its own, which the tests of nodes hold against the evaluator, is the reference.
#[test]
#[ignore = "takes a GPU: cargo xtask gpu"]
fn every_node_of_full_architectures_agrees_on_a_gpu() {
    let Some((device, mut engines)) = on_a_gpu() else { return };
    let double = Cuda::without_blas(&device);
    let mut double = Engine::new(Box::new(double), None, Limits::default()).unwrap();
    println!(
        "{:12} {:8} {:>6} {:>8} {:>8} {:>8} {:>9} {:>12} {:>10} {:>9} {:>9}",
        "model",
        "products",
        "nodes",
        "kernels",
        "cuBLAS",
        "lacking",
        "worst",
        "MiB planned",
        "MiB used",
        "ms",
        "2nd ms"
    );
    for (name, make) in full() {
        let mut expected: BTreeMap<ValueId, Vec<f64>> = BTreeMap::new();
        let counts = each(&mut double, &make(DType::F64), |value, tensor| {
            expected.insert(value, tensor.floats().unwrap());
        });
        assert!(counts.lacking.is_empty() && counts.library == 0, "{name} in f64: {counts:?}");
        let model = make(DType::F32);
        for (has_blas, single) in &mut engines {
            let mut worst = 0.0f64;
            let counts = each(single, &model, |value, tensor| {
                worst = worst.max(off(&tensor.floats().unwrap(), &expected[&value]));
            });
            let lacking: u64 = counts.lacking.values().sum();
            // Weights go to the device in each run, which is most of the time; kernels are compiled before.
            let [first, second] = [0, 1].map(|_| time(single, &model).as_secs_f64() * 1e3);
            println!(
                "{name:12} {:8} {:>6} {:>8} {:>8} {lacking:>8} {worst:>9.1e} {:>12} {:>10} {first:>9.1} {second:>9.1}",
                if *has_blas { "cuBLAS" } else { "kernels" },
                expected.len(),
                counts.launches - counts.library,
                counts.library,
                single.planned >> 20,
                single.peak() >> 20,
            );
            assert!(worst < 1e-3 && lacking == 0, "{name}: {worst}, {:?}", counts.lacking);
            assert_eq!(counts.library > 0, *has_blas, "{name}: {} products by cuBLAS", counts.library);
        }
    }
}

//! Tests on the emulated device: missing barriers, the calls of cuBLAS, and a failing device.

use std::cell::RefCell;
use std::rc::Rc;

use onnxport_ir::ir::Model;
use onnxport_ir::ops::{Limits, Value};
use onnxport_ir::tensor::DType;
use rustc_hash::FxHashMap;

use super::kernels::drawn;
use super::{emulated, outputs};
use crate::executor::device::{Args, Device, Grid, Launch, NUMBERS, POINTERS, REALS};
use crate::executor::engine::Engine;
use crate::executor::measure::Meter;
use crate::executor::report::Report;
use crate::executor::session::Loaded;
use crate::executor::source::Kernel;

/// Each thread writes a number, and reads that of the thread before it.
const SHIFT: &str = "
EXPORT void shift(Args a) {
    __shared__ int numbers[THREADS];
    numbers[threadIdx.x] = (int)a.n[0] + (int)threadIdx.x;
    BARRIER;
    ((int *)a.p[0])[threadIdx.x] = threadIdx.x ? numbers[threadIdx.x - 1] : 0;
}
/* __syncthreads */
";

/// The numbers that the threads of a block read. Those of an earlier launch may still be there, so each has its own.
fn shifted(barrier: &str, backwards: bool, first: i64) -> Option<[i32; 4]> {
    let mut device = emulated(4)?;
    device.backwards = backwards;
    let kernel = Kernel::new("shift", SHIFT, &[("BARRIER", barrier)]);
    let to = device.allocate(16).unwrap();
    let mut args = Args { pointers: [0; POINTERS], numbers: [0; NUMBERS], reals: [0.0; REALS] };
    (args.pointers[0], args.numbers[0]) = (to, first);
    device
        .launch(&Launch { kernel: &kernel, args: &args, grid: Grid::Groups(1), product: None })
        .unwrap_or_else(|why| panic!("{why}"));
    let mut bytes = [0; 16];
    device.read(to, &mut bytes).unwrap();
    let mut numbers = [0; 4];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
        *number = i32::from_le_bytes(*bytes);
    }
    Some(numbers)
}

#[test]
fn a_missing_barrier_shows_when_threads_run_backwards() {
    if emulated(4).is_none() {
        return;
    }
    for backwards in [false, true] {
        assert_eq!(shifted("__syncthreads()", backwards, 10), Some([0, 10, 11, 12]));
    }
    // Forwards, the lack of the barrier does not show.
    assert_eq!(shifted("(void)0", false, 20), Some([0, 20, 21, 22]));
    assert_ne!(shifted("(void)0", true, 30), Some([0, 30, 31, 32]));
}

/// Matrices stored by rows and by columns, of one row or column, in stacks, with steps of 0, scaled and added.
#[test]
fn products_as_cublas_is_asked_for_them_give_what_the_evaluator_gives() {
    let forms = [
        ("f32[3, 4]", "f32[4, 5]", "MatMul(%a, %b)"),
        ("f32[1, 4]", "f32[4, 5]", "MatMul(%a, %b)"),
        ("f32[3, 1]", "f32[1, 5]", "MatMul(%a, %b)"),
        ("f32[4]", "f32[4, 5]", "MatMul(%a, %b)"),
        ("f32[3, 4]", "f32[4]", "MatMul(%a, %b)"),
        ("f32[2, 3, 4]", "f32[2, 4, 5]", "MatMul(%a, %b)"),
        ("f32[2, 3, 4]", "f32[4, 5]", "MatMul(%a, %b)"),
        ("f32[3, 4]", "f32[2, 4, 5]", "MatMul(%a, %b)"),
        ("f64[6, 3, 4]", "f64[6, 4, 1]", "MatMul(%a, %b)"),
        ("f32[4, 3]", "f32[4, 5]", "Gemm(%a, %b) {transA = 1, alpha = 0.5}"),
        ("f32[3, 4]", "f32[5, 4]", "Gemm(%a, %b) {transB = 1}"),
        ("f32[4, 3]", "f32[5, 4]", "Gemm(%a, %b) {transA = 1, transB = 1}"),
        ("f32[3, 3]", "f32[3, 3]", "Gemm(%a, %b, %a) {transB = 1}"),
        ("f32[4, 1]", "f32[1, 4]", "Gemm(%a, %b) {transA = 1, transB = 1}"),
        ("f32[2, 3, 4]", "f32[2, 5, 4]", "Einsum(%a, %b) {equation = \"bik,bjk->bij\"}"),
    ];
    for (a, b, node) in forms {
        let Some(mut device) = emulated(1) else { return };
        device.library = true;
        let mut engine = Engine::new(Box::new(device), Some(1 << 20), Limits::default()).unwrap();
        let text = format!(
            "opset 20\ngraph {{\n  input %a: {a}\n  input %b: {b}\n  %0 = {node}\n  output %0 as y\n}}\n"
        );
        let model = Model::parse(&text).unwrap();
        let value = |ty: &str, seed| -> Option<Value> {
            let (dtype, dims) = ty.trim_end_matches(']').split_once('[').unwrap();
            let dims: Vec<usize> = dims.split(", ").map(|n| n.parse().unwrap()).collect();
            let dtype = if dtype == "f64" { DType::F64 } else { DType::F32 };
            Some(drawn(dtype, &dims, seed).into())
        };
        let inputs = vec![value(a, 1), value(b, 2)];
        let (found, counts) = outputs(&mut engine, &model, inputs.clone()).unwrap();
        assert_eq!(counts.library, 1, "{node} of {a} and {b} was not computed by the library");
        let expected = onnxport_ir::ops::run(&model, inputs, Limits::default()).unwrap();
        let floats = |value: &Value| value.tensor().unwrap().floats().unwrap();
        let (found, expected) = (floats(&found[0]), floats(&expected[0]));
        let off = found.iter().zip(&expected).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(found.len() == expected.len() && off < 1e-6, "{node} of {a} and {b}: {found:?}");
    }
}

#[test]
fn a_device_that_fails_ends_the_run_and_is_no_lack_of_a_kernel() {
    let Some(mut device) = emulated(1) else { return };
    device.fails_after = Some(2);
    let engine = Engine::new(Box::new(device), Some(1 << 20), Limits::default()).unwrap();
    let text = "opset 20\ngraph {\n  constant %x: f32[2] = [1.0, 2.0]\n  %0 = Softmax(%x)\n  %1 = Softmax(%0)\n  \
                output %1 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let mut session = Loaded::new(model, engine, &[], Rc::new(RefCell::new(Report::default()))).unwrap();
    for _ in 0..2 {
        let mut meter = Meter { expected: FxHashMap::default(), tell: &mut |_, _| {} };
        let failure = session.results(Vec::new(), &mut meter).unwrap_err();
        assert!(failure.message.starts_with("the CUDA device failed"), "{}", failure.message);
        assert!(!failure.unsupported);
    }
}

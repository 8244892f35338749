//! The sources of kernels: whether NVRTC accepts them, and codes of narrow floats.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use onnxport_ir::ir::Model;
use onnxport_ir::ops::{Elements, Tensor};
use onnxport_ir::tensor::DType;
use onnxport_sdk::executor::Failure;

use super::{engine, outputs, repository};
use crate::device::nvrtc::Nvrtc;
use crate::device::{NVRTC, library_in};
use crate::executor::cuda::text;
use crate::executor::emulated::launched;
use crate::executor::source::Kernel;

/// NVRTC of the tests' environment, or the one that is found.
fn nvrtc() -> Result<Nvrtc, Failure> {
    let entries = |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path());
    let versions = entries(repository().join(".venv/lib"));
    let packages = versions.flat_map(|python| entries(python.join("site-packages/nvidia")));
    let mut folders = packages.map(|package| package.join("lib"));
    let library = folders.find_map(|folder| library_in(&folder, NVRTC));
    Nvrtc::open(library.as_deref())
}

/// A model that goes through every family of kernels, for an element type.
fn families(dtype: &str) -> String {
    format!(
        "opset 20\ngraph {{\n  input %x: {dtype}[2, 4, 6, 6]\n  input %w: {dtype}[4, 2, 3, 3]\n  input %m: {dtype}[36, 5]\n  \
         input %s: {dtype}[4]\n  input %i: i64[3]\n  constant %shape: i64[2] = [8, 36]\n  constant %axes: i64[1] = [1]\n  \
         constant %k: i64[1] = [2]\n  constant %field: i64[4] = [2, 12, 6, 2]\n  constant %pads: i64[4] = [0, 1, 1, 0]\n  constant %sizes: i64[4] = [2, 4, 9, 5]\n  \
         constant %nowhere: f32[0] = []\n  constant %axis: i64[] = [1]\n  \
         %c = Conv(%x, %w) {{group = 2, pads = [1, 1, 1, 1]}}\n  %t = ConvTranspose(%x, %w, %wb) {{group = 2, strides = [2, 2]}}\n  \
         %p = MaxPool(%c) {{kernel_shape = [2, 2]}}\n  %a = AveragePool(%c) {{kernel_shape = [2, 2]}}\n  \
         %n = InstanceNormalization(%c, %s, %s)\n  %r = Resize(%n, %nowhere, %nowhere, %sizes) {{mode = \"linear\"}}\n  \
         %f = Reshape(%c, %shape)\n  %g = MatMul(%f, %m)\n  %h = Softmax(%g)\n  %l = ReduceLogSumExp(%g, %axes)\n  \
         %e = ReduceMean(%g, %axes)\n  %tv, %ti = TopK(%g, %k)\n  %o = CumSum(%g, %axis)\n  %u = ArgMax(%g)\n  \
         %gr = Reshape(%x, %field)\n  %v = GridSample(%x, %gr) {{mode = \"cubic\", padding_mode = \"reflection\"}}\n  \
         %d = Gather(%g, %i)\n  %z = Pad(%d, %pads) {{mode = \"reflect\"}}\n  %y = Gelu(%z)\n  %q = Trilu(%y)\n  \
         output %t as t\n  output %p as p\n  output %a as a\n  output %r as r\n  output %h as h\n  output %l as l\n  \
         output %e as e\n  output %tv as tv\n  output %ti as ti\n  output %o as o\n  output %u as u\n  output %v as v\n  output %q as q\n}}\n"
    )
    .replace(", %wb)", ")")
}

pub(super) fn drawn(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    let count: usize = shape.iter().product();
    let mut state = seed;
    let items = (0..count).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64 / f64::from(1 << 24) - 0.5) * 2.0
    });
    Tensor::of_floats(dtype, shape.to_vec(), items.collect()).unwrap()
}

/// Every family in every float type agrees with the evaluator, and NVRTC compiles the kernels that ran.
#[test]
fn every_family_of_kernels_means_what_it_should_and_is_compiled_by_nvrtc() {
    for threads in [1, 4, -4, 16, -16] {
        let Some(mut engine) = engine(threads, 256 << 20) else { return };
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let model = Model::parse(&families(dtype.as_str())).unwrap();
            let shapes: [&[usize]; 4] = [&[2, 4, 6, 6], &[4, 2, 3, 3], &[36, 5], &[4]];
            let mut inputs: Vec<Option<onnxport_ir::ops::Value>> =
                shapes.iter().zip(1..).map(|(shape, seed)| Some(drawn(dtype, shape, seed).into())).collect();
            inputs.push(Some(Tensor::of_longs(vec![3], [0, -1, 3]).unwrap().into()));
            let (found, counts) = outputs(&mut engine, &model, inputs.clone()).unwrap();
            assert!(counts.lacking.is_empty(), "{:?}", counts.lacking);
            let expected =
                onnxport_ir::ops::run(&model, inputs, onnxport_ir::ops::Limits::default()).unwrap();
            // Values are of about one; the evaluator rounds once after each operator, kernels after each step.
            let bound = match dtype {
                DType::F64 => 1e-13,
                DType::F32 => 2e-5,
                DType::F16 => 2e-2,
                _ => 1e-1,
            };
            for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let (found, expected) = (found.tensor().unwrap(), expected.tensor().unwrap());
                assert_eq!(found.shape(), expected.shape(), "output {index} of {dtype}");
                // Indices of narrow floats depend on how nearly equal ones are rounded.
                if let (Elements::Float(a), Elements::Float(b)) = (found.elements(), expected.elements()) {
                    let off =
                        a.iter().zip(&b).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f64::max);
                    assert!(off <= bound, "output {index} of {dtype} is off by {off}");
                }
            }
        }
    }
    nvrtc_compiles(40, |_| true);
}

/// NVRTC compiles the kernels that this thread ran and that are asked for, of which there are more than `least`.
pub(super) fn nvrtc_compiles(least: usize, is_asked: impl Fn(&str) -> bool) {
    if crate::compiled::can_compile().is_err() {
        return;
    }
    let kernels: Vec<_> = launched().into_iter().filter(|kernel| is_asked(kernel.name)).collect();
    assert!(kernels.len() > least, "{} kernels ran", kernels.len());
    nvrtc_accepts(kernels, |nvrtc, source| nvrtc.compile(source, (8, 0)).map(|_| ()));
}

/// NVRTC accepts the syntax and types of each of these sources.
pub(super) fn nvrtc_checks(kernels: Vec<Kernel>) {
    nvrtc_accepts(kernels, Nvrtc::check);
}

fn nvrtc_accepts(kernels: Vec<Kernel>, take: impl Fn(&Nvrtc, &str) -> Result<(), Failure>) {
    let nvrtc = match nvrtc() {
        Ok(nvrtc) => nvrtc,
        Err(why) => return onnxport_harness::note(&why.message),
    };
    let sources: BTreeMap<_, _> = kernels.iter().map(|kernel| (&kernel.source, kernel)).collect();
    for kernel in sources.values() {
        if let Err(why) = take(&nvrtc, &text(kernel)) {
            panic!("{}\n{}", why.message, kernel.source);
        }
    }
}

/// Casts go through the codes of every number of 16 and of 8 bits, and through floats of every exponent.
#[test]
fn every_number_of_at_most_16_bits_is_read_and_rounded_as_the_evaluator_does() {
    let Some(mut engine) = engine(1, 64 << 20) else { return };
    let narrow = [
        (DType::F16, 10),
        (DType::BF16, 16),
        (DType::F8E4M3FN, 17),
        (DType::F8E4M3FNUZ, 18),
        (DType::F8E5M2, 19),
        (DType::F8E5M2FNUZ, 20),
        (DType::F8E8M0, 24),
    ];
    for ((narrow, code), saturate) in narrow.into_iter().flat_map(|narrow| [(narrow, 0), (narrow, 1)]) {
        let count = 1_u32 << narrow.bits();
        let text = format!(
            "opset 24\ngraph {{\n  input %x: {narrow}[{count}]\n  input %y: f32[131072]\n  input %z: f64[131072]\n  \
             %0 = Cast(%x) {{to = 1}}\n  %1 = Cast(%y) {{to = {code}, saturate = {saturate}}}\n  \
             %2 = Cast(%z) {{to = {code}, saturate = {saturate}}}\n  %3 = Cast(%x) {{to = 7}}\n  output %0 as wide\n  \
             output %1 as narrow\n  output %2 as twice\n  output %3 as whole\n}}\n"
        );
        let model = Model::parse(&text).unwrap();
        let width = (narrow.bits() / 8) as usize;
        let codes: Vec<u8> = (0..count)
            .flat_map(|code| code.to_le_bytes().into_iter().take(width).collect::<Vec<u8>>())
            .collect();
        let x = Tensor::packed(narrow, vec![count as usize], codes.into()).unwrap();
        // Every exponent, with fractions around the halves of a unit.
        let floats =
            (0..1u32 << 17).flat_map(|n| ((n << 15) | (n.wrapping_mul(2_654_435_761) >> 17)).to_le_bytes());
        let y = Tensor::packed(DType::F32, vec![1 << 17], floats.collect::<Vec<u8>>().into()).unwrap();
        let doubles = (0..1u64 << 17)
            .flat_map(|n| ((n << 47) | (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17)).to_le_bytes());
        let z = Tensor::packed(DType::F64, vec![1 << 17], doubles.collect::<Vec<u8>>().into()).unwrap();
        // Floats of 16 bits are computed in f32, to which an f64 is rounded first.
        let z = if width == 1 {
            z
        } else {
            Tensor::of_floats(DType::F64, vec![1 << 17], vec![0.5; 1 << 17]).unwrap()
        };
        let inputs = vec![Some(x.into()), Some(y.into()), Some(z.into())];
        let (found, counts) = outputs(&mut engine, &model, inputs.clone()).unwrap();
        assert!(counts.lacking.is_empty(), "{:?}", counts.lacking);
        let expected = onnxport_ir::ops::run(&model, inputs, onnxport_ir::ops::Limits::default()).unwrap();
        assert_eq!(found[3], expected[3], "of {narrow}");
        for (found, expected) in found.iter().zip(&expected).take(3) {
            let (a, b) =
                (found.tensor().unwrap().floats().unwrap(), expected.tensor().unwrap().floats().unwrap());
            let wrong =
                a.iter().zip(&b).position(|(a, b)| a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan()));
            assert_eq!(wrong, None, "of {narrow}: {:?}", wrong.map(|at| (a[at], b[at])));
        }
    }
}

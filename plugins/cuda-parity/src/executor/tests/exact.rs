//! Boxes, transforms, different elements and packed ones: the evaluator's results, exactly.

use onnxport_ir::ir::Model;
use onnxport_ir::ops::{Limits, Tensor, Value};
use onnxport_ir::tensor::DType;

use super::kernels::{drawn, nvrtc_compiles};
use super::{engine, outputs};

/// Runs the body of a graph in blocks of 1 and of 4 threads; the results equal the evaluator's, bit for bit except for
/// the kind of a NaN.
fn agrees(body: &str, inputs: &[Tensor]) -> Vec<Value> {
    let model = Model::parse(&format!("opset 24\ngraph {{\n{body}}}\n"))
        .unwrap_or_else(|why| panic!("{body}\n{why:?}"));
    let inputs: Vec<Option<Value>> = inputs.iter().map(|x| Some(x.clone().into())).collect();
    let expected = onnxport_ir::ops::run(&model, inputs.clone(), Limits::default()).unwrap();
    for threads in [1, 4] {
        let Some(mut engine) = engine(threads, 4 << 20) else { return expected };
        let (found, counts) = outputs(&mut engine, &model, inputs.clone()).unwrap();
        assert!(counts.lacking.is_empty(), "{:?} in {body}", counts.lacking);
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (found, expected) = (found.tensor().unwrap(), expected.tensor().unwrap());
            assert_eq!(
                (found.dtype(), found.shape()),
                (expected.dtype(), expected.shape()),
                "{index} of {body}"
            );
            assert_eq!(
                format!("{:?}", found.elements()),
                format!("{:?}", expected.elements()),
                "{index} of {body}"
            );
        }
    }
    expected
}

fn floats(shape: &[usize], items: Vec<f64>) -> Tensor {
    Tensor::of_floats(DType::F32, shape.to_vec(), items).unwrap()
}

/// Sixteen boxes of two images, some of them equal, empty or transposed around, and scores of three classes with equal ones.
fn boxes() -> [Tensor; 2] {
    let corner =
        |n: usize| [(n * 7 % 5) as f64, (n * 3 % 4) as f64, 3.0 + (n % 3) as f64, 2.5 + (n % 2) as f64];
    let mut items: Vec<f64> = (0..32).flat_map(corner).collect();
    items[4..8].copy_from_slice(&[1.0, 1.0, 1.0, 4.0]);
    items[8..12].copy_from_slice(&[3.0, 2.5, 0.0, 0.0]);
    let scores = (0..96).map(|n| f64::from(n * 13 % 11) / 10.0).collect();
    [floats(&[2, 16, 4], items), floats(&[2, 3, 16], scores)]
}

#[test]
fn boxes_stay_that_stay() {
    let [boxes, scores] = boxes();
    let rows = |most: i64, overlap: f32, threshold: &str, centred: u8| {
        let more = if threshold.is_empty() { "" } else { ", %t" };
        let body = format!(
            "  input %b: f32[2, 16, 4]\n  input %s: f32[2, 3, 16]\n  constant %k: i64[] = [{most}]\n  \
             constant %o: f32[] = [{overlap:?}]\n{threshold}  %0 = NonMaxSuppression(%b, %s, %k, %o{more}) \
             {{center_point_box = {centred}}}\n  output %0 as y\n"
        );
        let found = agrees(&body, &[boxes.clone(), scores.clone()]);
        found[0].tensor().unwrap().shape()[0]
    };
    let above = |threshold: f32| format!("  constant %t: f32[] = [{threshold:?}]\n");
    let all = rows(i64::MAX, 1.0, "", 0);
    assert_eq!(all, 96);
    let few = rows(100, 0.3, &above(0.2), 0);
    assert!(few > 6 && few < 60, "{few}");
    assert_eq!(rows(2, 0.5, "", 1), 12);
    assert_eq!(rows(1, 0.0, &above(0.2), 0), 6);
    assert_eq!(rows(5, 0.5, &above(2.0), 0), 0);
    assert_eq!(rows(0, 0.5, "", 0), 0);
    nvrtc_compiles(0, |name| name == "suppress");
}

#[test]
fn scores_that_are_no_numbers_have_a_place() {
    let [boxes, _] = boxes();
    let odd = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.5, 0.5];
    let scores = floats(&[2, 1, 16], odd.repeat(4));
    let body = "  input %b: f32[2, 16, 4]\n  input %s: f32[2, 1, 16]\n  constant %k: i64[] = [16]\n  \
                constant %o: f32[] = [0.6]\n  %0 = NonMaxSuppression(%b, %s, %k, %o)\n  output %0 as y\n";
    agrees(body, &[boxes.clone(), scores]);
    let mut corners = boxes.floats().unwrap();
    corners[5] = f64::NAN;
    agrees(body, &[floats(&[2, 16, 4], corners), floats(&[2, 1, 16], (0..32).map(f64::from).collect())]);
}

#[test]
fn transforms_are_sums() {
    for (shape, inverse, onesided, axis, length) in [
        ([2, 8, 3, 1], 0, 0, 1, 8),
        ([2, 8, 3, 2], 0, 0, -3, 8),
        ([2, 8, 3, 2], 1, 0, 1, 8),
        ([2, 7, 3, 1], 0, 1, 1, 7),
        ([2, 5, 3, 1], 0, 1, 2, 4),
        ([2, 5, 3, 2], 1, 1, 1, 8),
        ([2, 5, 3, 2], 1, 1, 1, 9),
        ([2, 5, 3, 2], 0, 0, 1, 3),
        ([1, 1, 1, 1], 0, 1, 1, 1),
    ] {
        for dtype in [DType::F32, DType::F64] {
            let body = format!(
                "  input %x: {dtype}{shape:?}\n  constant %n: i64[] = [{length}]\n  constant %a: i64[] = [{axis}]\n  \
                 %0 = DFT(%x, %n, %a) {{inverse = {inverse}, onesided = {onesided}}}\n  output %0 as y\n"
            );
            agrees(&body, &[drawn(dtype, &shape, 5)]);
        }
    }
    let body = "  input %x: f32[2, 6, 1]\n  %0 = DFT(%x)\n  output %0 as y\n";
    agrees(body, &[drawn(DType::F32, &[2, 6, 1], 6)]);
    nvrtc_compiles(1, |name| name == "transform");
}

#[test]
fn different_elements_are_found() {
    let outputs = "  output %y as y\n  output %f as f\n  output %i as i\n  output %c as c\n";
    let odd = vec![2.0, f64::NAN, -0.0, 2.0, 0.0, f64::NAN, -1.0, f64::INFINITY, 0.0, 2.0, -1.0, 5.0];
    for sorted in [0, 1] {
        for axis in ["", ", axis = 0", ", axis = 1", ", axis = -1"] {
            let node = format!("  %y, %f, %i, %c = Unique(%x) {{sorted = {sorted}{axis}}}\n{outputs}");
            agrees(&format!("  input %x: f32[2, 3, 2]\n{node}"), &[floats(&[2, 3, 2], odd.clone())]);
            let same = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
            agrees(&format!("  input %x: f32[2, 3, 2]\n{node}"), &[floats(&[2, 3, 2], same.into())]);
            let longs = Tensor::of_longs(vec![3, 4], [7, -1, 7, 2, 7, -1, 7, 2, 0, 9, 0, i64::MIN]).unwrap();
            agrees(&format!("  input %x: i64[3, 4]\n{node}"), &[longs]);
            let bools = Tensor::of_bools(vec![2, 3], vec![true, false, true, true, false, true]).unwrap();
            agrees(&format!("  input %x: bool[2, 3]\n{node}"), &[bools]);
        }
        let nothing =
            format!("  input %x: f32[0]\n  %y, %f, %i, %c = Unique(%x) {{sorted = {sorted}}}\n{outputs}");
        agrees(&nothing, &[floats(&[0], Vec::new())]);
    }
    nvrtc_compiles(2, |name| name == "first");
}

/// Floats of every exponent, halves between codes, and NaN, in odd counts.
#[test]
fn elements_of_less_than_a_byte_are_packed() {
    let halves = (-300..300).map(|n| f64::from(n) / 64.0);
    let wide =
        (0..1021u32).map(|n| f64::from(f32::from_bits((n << 22) | (n.wrapping_mul(2_654_435_761) >> 10))));
    let odd = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 6.0, 7.0, -7.5, 29.0];
    let items: Vec<f64> = halves.chain(wide).chain(odd).collect();
    let count = items.len();
    assert_ne!(count % 8, 0);
    let packed: Vec<DType> = DType::ALL.iter().copied().filter(|to| (1..8).contains(&to.bits())).collect();
    assert!(packed.contains(&DType::F4E2M1) && packed.contains(&DType::I4), "{packed:?}");
    for to in packed {
        let code = to.onnx();
        let body = format!("  input %x: f32[{count}]\n  %0 = Cast(%x) {{to = {code}}}\n  output %0 as y\n");
        agrees(&body, &[floats(&[count], items.clone())]);
        let others = [(DType::I64, [3, 5]), (DType::Bool, [1, 1]), (DType::F16, [2, 8]), (DType::U8, [0, 4])];
        for (from, shape) in others {
            let some: Vec<f64> = (0..shape[0] * shape[1]).map(|n| n as f64 * 5.0 - 20.0).collect();
            let body =
                format!("  input %x: {from}{shape:?}\n  %0 = Cast(%x) {{to = {code}}}\n  output %0 as y\n");
            agrees(&body, &[Tensor::of_numbers(from, shape.to_vec(), some).unwrap()]);
        }
    }
    nvrtc_compiles(10, |name| name == "narrow");
}

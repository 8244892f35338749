//! Graphs, end to end: chains, control flow, memory, and messages.

use onnxport_ir::ir::Model;
use onnxport_ir::ops::{Fault, Limits, Tensor, Value};
use onnxport_ir::tensor::DType;
use rustc_hash::FxHashSet;

use super::{engine, outputs};
use crate::executor::frame::run;
use crate::executor::rehearsal::rehearse;
use crate::executor::value::Held;

fn floats(shape: &[usize], items: &[f64]) -> Value {
    Tensor::of_floats(DType::F32, shape.to_vec(), items.to_vec()).unwrap().into()
}

fn longs(shape: &[usize], items: &[i64]) -> Value {
    Tensor::of_longs(shape.to_vec(), items.iter().copied()).unwrap().into()
}

#[test]
fn a_chain_is_one_kernel_and_gives_what_its_operators_give() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  input %x: f32[2, 3]\n  input %b: f32[3]\n  %0 = Add(%x, %b)\n  %1 = Tanh(%0)\n  \
                %2 = Mul(%1, %x)\n  %3 = Greater(%2, %b)\n  %4 = Where(%3, %x, %b)\n  output %4 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let inputs =
        vec![Some(floats(&[2, 3], &[0.5, -1.0, 2.0, 3.0, -4.0, 0.0])), Some(floats(&[3], &[0.1, -0.2, 0.3]))];
    let (found, counts) = outputs(&mut engine, &model, inputs.clone()).unwrap();
    assert_eq!((counts.device, counts.launches), (5, 1));
    assert_eq!(found, onnxport_ir::ops::run(&model, inputs, Limits::default()).unwrap());
}

#[test]
fn arithmetic_of_shapes_stays_on_the_host() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  input %x: f32[2, 6]\n  constant %two: i64[1] = [2]\n  constant %rest: i64[1] = [-1]\n  \
                constant %zero: i64[] = [0]\n  %0 = Shape(%x)\n  %1 = Gather(%0, %zero)\n  %2 = Mul(%1, %two)\n  \
                %3 = Concat(%2, %rest) {axis = 0}\n  %4 = Reshape(%x, %3)\n  output %4 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let items: Vec<f64> = (0..12).map(f64::from).collect();
    let (found, counts) = outputs(&mut engine, &model, vec![Some(floats(&[2, 6], &items))]).unwrap();
    assert_eq!(found, [floats(&[4, 3], &items)]);
    assert_eq!((counts.host, counts.device, counts.launches), (4, 1, 0));
    assert!(counts.lacking.is_empty());
}

#[test]
fn bodies_run_on_the_device_and_conditions_on_the_host() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  constant %n: i64[] = [4]\n  constant %go: bool[] = [true]\n  input %x: f32[2]\n  \
                %0, %1 = Loop(%n, %go, %x) {body = {\n    input %i: i64[]\n    input %c: bool[]\n    input %v: f32[2]\n    \
                %2 = Add(%v, %x)\n    output %c\n    output %2\n    output %2\n  }}\n  output %0 as y\n  output %1 as z\n}\n";
    let model = Model::parse(text).unwrap();
    let (found, counts) = outputs(&mut engine, &model, vec![Some(floats(&[2], &[1.0, -0.5]))]).unwrap();
    assert_eq!(found[0], floats(&[2], &[5.0, -2.5]));
    assert_eq!(found[1], floats(&[4, 2], &[2.0, -1.0, 3.0, -1.5, 4.0, -2.0, 5.0, -2.5]));
    assert_eq!((counts.device, counts.host), (4, 1));
}

#[test]
fn what_the_device_lacks_is_counted() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text =
        "opset 20\ngraph {\n  input %x: f32[4]\n  %0 = Neg(%x)\n  %1 = NonZero(%0)\n  output %1 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let (found, counts) =
        outputs(&mut engine, &model, vec![Some(floats(&[4], &[0.0, 1.0, 0.0, 2.0]))]).unwrap();
    assert_eq!(found, [longs(&[1, 2], &[1, 3])]);
    assert_eq!(counts.lacking.into_iter().collect::<Vec<_>>(), [("NonZero".to_owned(), 1)]);
    assert_eq!(counts.device, 1);
}

#[test]
fn an_index_out_of_range_and_a_division_by_zero_are_errors_and_not_results() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  input %x: f32[4]\n  input %i: i64[2]\n  %0 = Gather(%x, %i)\n  output %0 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let x = floats(&[4], &[1.0, 2.0, 3.0, 4.0]);
    let error = outputs(&mut engine, &model, vec![Some(x.clone()), Some(longs(&[2], &[1, 4]))]).unwrap_err();
    assert_eq!(error, "an index is out of range");
    let (found, _) = outputs(&mut engine, &model, vec![Some(x), Some(longs(&[2], &[1, -4]))]).unwrap();
    assert_eq!(found, [floats(&[2], &[2.0, 1.0])]);
    let text = "opset 20\ngraph {\n  input %a: i32[2]\n  input %b: i32[2]\n  %0 = Div(%a, %b)\n  output %0 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let ints = |items: [i128; 2]| Some(Tensor::of_ints(DType::I32, vec![2], items.to_vec()).unwrap().into());
    let error = outputs(&mut engine, &model, vec![ints([4, 5]), ints([2, 0])]).unwrap_err();
    assert_eq!(error, "an integer is divided by zero");
}

/// Twenty values of a megabyte each, one after the other, in four megabytes; two at once are not in one.
#[test]
fn memory_is_bounded_and_used_again() {
    let names = (0..20).map(|k| {
        format!("  %{} = Transpose({})\n", k, if k == 0 { "%x".to_owned() } else { format!("%{}", k - 1) })
    });
    let text = format!(
        "opset 20\ngraph {{\n  input %x: f32[512, 512]\n{}  output %19 as y\n}}\n",
        names.collect::<Vec<_>>().concat()
    );
    let model = Model::parse(&text).unwrap();
    let x = floats(&[512, 512], &(0..512 * 512).map(f64::from).collect::<Vec<_>>());
    let Some(mut large) = engine(1, 4 << 20) else { return };
    let (found, counts) = outputs(&mut large, &model, vec![Some(x.clone())]).unwrap();
    assert_eq!((found, counts.device), (vec![x.clone()], 20));
    assert!(large.peak() <= 4 << 20, "{}", large.peak());
    let Some(mut small) = engine(1, 3 << 19) else { return };
    let input = vec![Some(Held::of_host(x, false))];
    let error = run(&mut small, &model, input, &FxHashSet::default(), &mut |_, _, _| Ok(())).unwrap_err();
    assert_eq!(error.fault, Fault::Memory, "{error}");
}

/// A run takes what its rehearsal took, where it was planned; what is not known before does not fit into less than it
/// takes.
#[test]
fn memory_is_planned_before_it_is_used() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  input %x: f32[64, 64]\n  %0 = Transpose(%x)\n  %1 = MatMul(%0, %x)\n  %2 = Transpose(%1)\n  \
                %3 = MatMul(%2, %1)\n  %4 = Softmax(%3)\n  output %4 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let x = floats(&[64, 64], &(0..64 * 64).map(|n| f64::from(n % 7) / 8.0).collect::<Vec<_>>());
    let inputs = vec![Some(x.clone())];
    let rehearsed = rehearse(&model, &inputs, &FxHashSet::default(), Limits::default());
    // The input and two results at once.
    assert!(rehearsed.complete && rehearsed.layout.live == 3 << 14, "{rehearsed:?}");
    assert_eq!(rehearsed.layout.bytes, rehearsed.layout.live);
    let (found, _) = outputs(&mut engine, &model, inputs.clone()).unwrap();
    assert_eq!((engine.planned, engine.peak(), engine.taken()), (3 << 14, 3 << 14, 3 << 14));
    assert_eq!(found.len(), 1);
    // The next run finds the block.
    outputs(&mut engine, &model, inputs.clone()).unwrap();
    assert_eq!(engine.taken(), 3 << 14);
    let Some(mut small) = super::engine(1, 40_000) else { return };
    let error = outputs(&mut small, &model, inputs).unwrap_err();
    assert_eq!(error, "49152 bytes of device memory are needed at once, and 39744 are allowed");
    assert_eq!(small.counts.launches, 0);
}

/// After a value whose size only the run knows, values are allocated as they come, within the same bound.
#[test]
fn sizes_that_are_not_known_before_fall_back() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  input %x: f32[64]\n  %0 = Neg(%x)\n  %1 = NonZero(%0)\n  %2 = Cast(%1) {to = 1}\n  \
                %3 = Transpose(%2)\n  output %0 as y\n  output %3 as z\n}\n";
    let model = Model::parse(text).unwrap();
    for kept in [3, 40] {
        let items: Vec<f64> = (0..64).map(|n| f64::from(u8::from(n < kept))).collect();
        let inputs = vec![Some(floats(&[64], &items))];
        let rehearsed = rehearse(&model, &inputs, &FxHashSet::default(), Limits::default());
        assert!(!rehearsed.complete && rehearsed.layout.bytes == 512, "{rehearsed:?}");
        let (found, _) = outputs(&mut engine, &model, inputs.clone()).unwrap();
        assert_eq!(found[1].tensor().unwrap().shape(), [kept, 1]);
        assert_eq!(found, onnxport_ir::ops::run(&model, inputs, Limits::default()).unwrap());
        assert!(engine.peak() > 512);
    }
}

/// Values inside the graph are shown as they are computed; shown values are not fused.
#[test]
fn every_value_can_be_seen() {
    let Some(mut engine) = engine(1, 1 << 20) else { return };
    let text = "opset 20\ngraph {\n  input %x: f32[2]\n  %0 = Exp(%x)\n  %1 = Neg(%0)\n  %2 = Abs(%1)\n  output %2 as y\n}\n";
    let model = Model::parse(text).unwrap();
    let graph = &model.graph;
    let all: FxHashSet<_> = graph.order(graph.main()).filter_map(|n| graph.nodes[n].outputs[0]).collect();
    let mut found = Vec::new();
    let input = vec![Some(Held::of_host(floats(&[2], &[0.0, 0.0]), false))];
    run(&mut engine, &model, input, &all, &mut |engine, _, held| {
        found.push(engine.on_host(held)?);
        Ok(())
    })
    .unwrap();
    assert_eq!(found, [floats(&[2], &[1.0, 1.0]), floats(&[2], &[-1.0, -1.0]), floats(&[2], &[1.0, 1.0])]);
}

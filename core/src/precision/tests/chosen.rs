//! Tests of which weights are quantised if others derive from them, or if they are parts of a stack.

use super::{BESIDE, model, ops, quantise, run};
use crate::diagnose::Code;
use crate::ir::Model;
use crate::ops::{Limits, Tensor, Value};
use crate::precision::{Form, Patterns, PrecisionOptions};
use crate::tensor::DType;

#[test]
fn products_that_are_one_are_chosen_by_the_names_of_their_weights() {
    let only = |names: &[&str]| PrecisionOptions {
        quantise_only: Patterns::new(names.iter().map(|name| (*name).to_owned())),
        ..quantise("int8:block=16", Form::MatMulNBits)
    };
    let mut both = model(BESIDE, 21);
    assert_eq!(run(&mut both, &only(&["q", "k"])).unwrap(), Vec::new());
    assert_eq!(ops(&both).iter().filter(|op| **op == "MatMulNBits").count(), 1, "{:?}", ops(&both));
    assert!(ops(&both).contains(&"Split"));
    let mut one = model(BESIDE, 21);
    assert_eq!(run(&mut one, &only(&["q"])).unwrap(), Vec::new());
    assert_eq!(ops(&one).iter().filter(|op| **op == "MatMulNBits").count(), 1, "{:?}", ops(&one));
    assert!(!ops(&one).contains(&"Split"));
}

/// Two matrices of a stack that lies as its products take it, and two of one that is transposed; `%r` is one that the caller
/// picks.
const STACKS: &str = "  constant %w: f32[2, 64, 8] = ...
  constant %v: f32[2, 8, 64] = ...
  constant %e: f32[2, 64, 8] = ...
  constant %0: i64[] = [0]
  constant %1: i64[] = [-1]
  input %x: f32[s0, 64]
  input %y: f32[s0, 64]
  input %i: i64[]
  %a: f32[64, 8] = Gather(%w, %0)
  %b: f32[64, 8] = Gather(%w, %1)
  %t: f32[2, 64, 8] = Transpose(%v) {perm = [0, 2, 1]}
  %c: f32[64, 8] = Gather(%t, %0)
  %d: f32[64, 8] = Gather(%t, %1)
  %y2: f32[s0, 64] = Neg(%y)
  %x2: f32[s0, 64] = Neg(%x)
  %p: f32[s0, 8] = MatMul(%x, %a)
  %q: f32[s0, 8] = MatMul(%y, %b)
  %f: f32[s0, 8] = MatMul(%x2, %c)
  %g: f32[s0, 8] = MatMul(%y2, %d)
  %r: f32[64, 8] = Gather(%e, %i)
  %h: f32[s0, 8] = MatMul(%x, %r)
  output %p as p
  output %q as q
  output %f as f
  output %g as g
  output %h as h";

#[test]
fn matrices_of_a_stack_are_quantised_one_by_one() {
    for form in [Form::Dequantize, Form::MatMulNBits] {
        let mut stacked = model(STACKS, 21);
        run(&mut stacked, &quantise("int8:block=16", form)).unwrap();
        let graph = &stacked.graph;
        let weights = crate::precision::select::weights(graph).filter_map(|(value, name)| {
            let data = graph.initializer(value)?;
            Some((name, data.dtype, data.shape.clone()))
        });
        let found: Vec<_> = weights.filter(|(name, ..)| !name.ends_with("_scale")).collect();
        let (dtype, shape) = match form {
            Form::Dequantize => (DType::I8, vec![64, 8]),
            Form::MatMulNBits => (DType::U8, vec![8, 4, 16]),
        };
        // A weight selected at run time stays.
        assert!(found.contains(&("e", DType::F32, vec![2, 64, 8])), "{found:?}");
        for name in ["w.0", "w.1", "v.0", "v.1"] {
            assert!(found.contains(&(name, dtype, shape.clone())), "{name}: {found:?}");
        }
        assert_eq!(found.len(), 5, "{found:?}");
        assert!(!ops(&stacked).contains(&"Transpose"), "{:?}", ops(&stacked));
        if form == Form::Dequantize {
            let given = || {
                let row = |shift: f64| {
                    let x = (0..2 * 64).map(|n| f64::from(n % 13) - shift).collect();
                    Some(Value::Tensor(Tensor::of_floats(DType::F32, vec![2, 64], x).unwrap()))
                };
                let i = Tensor::of_ints(DType::I64, Vec::new(), vec![1]).unwrap();
                vec![row(6.0), row(3.0), Some(Value::Tensor(i))]
            };
            let made = crate::ops::run(&stacked, given(), Limits::default()).unwrap();
            let wanted = crate::ops::run(&model(STACKS, 21), given(), Limits::default()).unwrap();
            for (made, wanted) in made.iter().zip(&wanted) {
                let (made, wanted) = (made.tensor().unwrap(), wanted.tensor().unwrap());
                let pairs: Vec<(f64, f64)> =
                    made.floats().unwrap().into_iter().zip(wanted.floats().unwrap()).collect();
                // 64 products of numbers up to 9 with weights up to 56, each half a step of 127 off at most.
                assert!(pairs.iter().all(|(a, b)| (a - b).abs() < 64.0 * 9.0 * 56.0 / 254.0), "{pairs:?}");
                assert!(wanted.floats().unwrap().iter().any(|value| value.abs() > 1000.0));
            }
        }
    }
}

/// Products with matrices of a stack in branches, or in the body of a loop.
fn inside(is_loop: bool) -> Model {
    let holder = if is_loop {
        "  %y: f32[64, 8] = Loop(%m, %c, %s) {body = {
    input %i: i64[]
    input %k: bool[]
    input %v: f32[64, 8]
    %a: f32[64, 8] = Gather(%w, %0)
    %p: f32[64, 8] = MatMul(%x, %a)
    %l: bool[] = Identity(%k)
    output %l
    output %p
  }}
  output %y as y"
    } else {
        "  %y: f32[64, 8] = If(%c) {then_branch = {
    %a: f32[64, 8] = Gather(%w, %0)
    %p: f32[64, 8] = MatMul(%x, %a)
    output %p
  }, else_branch = {
    %b: f32[64, 8] = Gather(%w, %1)
    %q: f32[64, 8] = MatMul(%x, %b)
    output %q
  }}
  output %y as y"
    };
    let text = format!(
        "  constant %w: f32[2, 64, 8] = ...
  constant %0: i64[] = [0]
  constant %1: i64[] = [1]
  constant %m: i64[] = [2]
  input %x: f32[64, 64]
  input %s: f32[64, 8]
  input %c: bool[]
{holder}"
    );
    model(&text, 21)
}

#[test]
fn matrices_in_branches_have_codes_there() {
    let options = quantise("int8", Form::Dequantize);
    let mut branches = inside(false);
    assert_eq!(run(&mut branches, &options).unwrap(), Vec::new());
    let graph = &branches.graph;
    let main = graph.main();
    let held = graph.initializers.iter().filter(|initializer| initializer.block != main);
    let names: Vec<&str> =
        held.filter_map(|initializer| graph.values[initializer.value].name.as_deref()).collect();
    assert_eq!(names, ["w.0", "w.1", "w.0_scale", "w.1_scale"]);
    let restored = graph.nodes.iter().filter(|(_, node)| node.is("DequantizeLinear"));
    let blocks: Vec<_> = restored.filter_map(|(_, node)| node.block).collect();
    assert!(blocks.len() == 2 && !blocks.contains(&main), "{}", branches.to_text());
}

#[test]
fn matrices_in_loops_are_quantised_in_one_form() {
    let quantised =
        |model: &Model| crate::precision::select::weights(&model.graph).any(|(_, name)| name == "w.0");
    let mut stays = inside(true);
    let notes = run(&mut stays, &quantise("int8", Form::Dequantize)).unwrap();
    let codes: Vec<Code> = notes.iter().map(|(code, _)| code.clone()).collect();
    assert_eq!(codes, [Code::WEIGHT_KEPT], "{notes:?}");
    assert!(!quantised(&stays));
    let mut goes = inside(true);
    assert_eq!(run(&mut goes, &quantise("int8", Form::MatMulNBits)).unwrap(), Vec::new());
    assert!(quantised(&goes));
}

//! File tests of legalising: `tests/files/legalise/*.txt`.
//!
//! Sections:
//! - `target` (optional): the name of a target, which must run the model; ONNX Runtime when absent, which need not;
//! - `tolerance` (optional): how far the results may be from those before, by the evaluator;
//! - `input`: a model in text form;
//! - `output`: the resulting model, followed by the messages.

use std::fmt::Write;

use onnxport_core::ir::{BlockId, Graph, Model};
use onnxport_core::legalise::{LegaliseOptions, Target, forms, legalise};
use onnxport_core::ops::infer::infer;
use onnxport_core::ops::{Limits, Tensor, Value, run};
use onnxport_core::sym::Symbols;
use onnxport_core::tensor::DType;

use crate::files::{Outcome, Sections, at, errors, table};
use crate::optimise::draw::{Random, agree, inputs};

/// Infers the types of the outputs of the nodes of a block, those in its inner blocks first.
pub(crate) fn type_block(graph: &mut Graph, symbols: &mut Symbols, opset: i64, block: BlockId) {
    for node in graph.order(block).collect::<Vec<_>>() {
        for inner in graph.nodes[node].blocks().collect::<Vec<_>>() {
            type_block(graph, symbols, opset, inner);
        }
        infer(graph, symbols, opset, node);
    }
}

fn outcome(sections: &Sections) -> Outcome {
    let mut model = Model::parse(sections.get("input").expect("an input section")).expect("a model");
    let (opset, main) = (model.opset(), model.graph.main());
    type_block(&mut model.graph, &mut model.symbols, opset, main);
    for function in &mut model.functions {
        let main = function.graph.main();
        type_block(&mut function.graph, &mut model.symbols, opset, main);
    }
    let options = match sections.get("target") {
        Some(text) if text.trim().contains(' ') => {
            let target = Target::parse(text).expect("a target");
            LegaliseOptions { target: target.into(), demanded: true, keep_bits: false }
        }
        Some(name) => {
            let target = Target::named(name.trim()).expect("a target");
            LegaliseOptions { target, demanded: true, keep_bits: false }
        }
        None => LegaliseOptions::default(),
    };
    let before = model.clone();
    match legalise(&mut model, &options) {
        Ok((_, said)) => {
            if let Some(tolerance) = sections.get("tolerance") {
                hold(&before, &model, tolerance.trim().parse().expect("a number"));
            }
            let found = onnxport_core::valid::validate(&model, &onnxport_core::valid::StatedTypes::default());
            assert!(found.is_empty(), "{found:?}");
            let mut text = model.to_text();
            for found in said {
                let _ = writeln!(text, "{found}");
            }
            ("output", text)
        }
        Err(report) => ("error", errors(&report)),
    }
}

/// Computes both models for drawn inputs.
fn hold(before: &Model, after: &Model, tolerance: f64) {
    let mut random = Random(7);
    for _ in 0..8 {
        let given = inputs(before, 1, false, &mut random);
        let wanted = run(before, given.clone(), Limits::default()).expect("the model runs");
        let found = run(after, given, Limits::default()).expect("the legalised model runs");
        for (wanted, found) in wanted.iter().zip(&found) {
            let (wanted, found) = (wanted.tensor().expect("a tensor"), found.tensor().expect("a tensor"));
            assert!(agree(wanted, found, tolerance), "{wanted:?}, {found:?}");
        }
    }
}

file_tests!("legalise", outcome);

/// Each form has a file in which it is used.
#[test]
fn forms_are_used_and_the_page_of_targets_is_current() {
    let mut used: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(at("legalise")).expect("the folder") {
        let text = std::fs::read_to_string(entry.expect("it").path()).expect("a readable file");
        used.extend(text.lines().map(str::to_owned));
    }
    let mut rows = String::new();
    for form in forms() {
        let becomes = form.becomes();
        let says = |line: &str| match becomes.split_once('=') {
            None => line.contains(&format!("`{}` is written as {becomes} in", form.operator)),
            // Computing in a wider type is not reported, but visible.
            Some(_) => line.contains(&format!("= {}(", form.operator)),
        };
        assert!(
            used.iter().any(|line| says(line)),
            "no file of `legalise` uses {} {}",
            form.operator,
            form.condition
        );
        let _ = writeln!(
            rows,
            "| `{}` | `{}` | {} | {} |",
            form.operator,
            form.condition,
            if becomes.contains('=') { format!("`{becomes}`") } else { becomes },
            form.about
        );
    }
    table("docs/targets.md", "| operator | where | becomes | definition |\n|---|---|---|---|\n", &rows);
}

/// The random values of `model` when it is legalized for ONNX Runtime at opset 22, which draws them.
fn drawn(model: &str, given: Vec<Tensor>) -> Vec<f64> {
    let mut model = Model::parse(model).expect("a model");
    let (done, _) = legalise(&mut model, &LegaliseOptions::default()).expect("it is legal");
    assert_eq!((done.replaced.len(), done.lacking.len()), (1, 0));
    let given = given.into_iter().map(|x| Some(Value::Tensor(x))).collect();
    let drawn = run(&model, given, Limits::default()).expect("it runs");
    let drawn = drawn[0].tensor().expect("a tensor");
    drawn
        .floats()
        .or_else(|_| Ok(drawn.ints()?.into_iter().map(|n| n as f64).collect::<Vec<f64>>()))
        .unwrap_or_else(|_: onnxport_core::ops::Error| panic!("neither floats nor integers"))
}

/// The mean of `numbers`, and their standard deviation.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    (mean, (numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt())
}

#[test]
fn coins_make_uniform_and_normal_numbers() {
    for (op, attributes, mean, deviation, reach) in [
        ("RandomUniform", "high = 3.0, low = -1.0", 1.0, 4.0 / 12f64.sqrt(), 2.0),
        ("RandomNormal", "mean = 2.0, scale = 0.5", 2.0, 0.5, 4.0),
    ] {
        for (code, dtype) in [(1, "f32"), (11, "f64")] {
            let text = format!(
                "opset 22\ngraph {{\n  %0: {dtype}[4000] = {op}() {{dtype = {code}, {attributes}, shape = [4000]}}\n  \
                 output %0 as y\n}}\n"
            );
            let numbers = drawn(&text, Vec::new());
            let (found, spread) = moments(&numbers);
            assert_eq!(numbers.len(), 4000);
            assert!((found - mean).abs() < 0.1 && (spread - deviation).abs() < 0.1, "{found}, {spread}");
            assert!(numbers.iter().all(|x| (x - mean).abs() <= reach), "{op} of {dtype}");
        }
    }
}

#[test]
fn coins_hit_as_often_as_the_probability_says() {
    let text = "opset 22\ngraph {\n  input %x: f32[4000]\n  %0: f32[4000] = Bernoulli(%x) {dtype = 1}\n  output %0 as y\n}\n";
    let often = Tensor::of_floats(DType::F32, vec![4000], vec![0.3; 4000]).expect("a tensor");
    let (mean, _) = moments(&drawn(text, vec![often]));
    assert!((mean - 0.3).abs() < 0.05, "{mean}");
}

/// Of three classes each is drawn as often as its weight says.
#[test]
fn multinomial_draws_by_weight() {
    let text = "opset 22\ngraph {\n  input %x: f32[1, 3]\n  %0: i64[1, 2000] = Multinomial(%x) \
                {dtype = 7, sample_size = 2000}\n  output %0 as y\n}\n";
    let logs = [0.6f64.ln(), 0.4f64.ln(), f64::NEG_INFINITY];
    let logs = Tensor::of_floats(DType::F32, vec![1, 3], logs.to_vec()).expect("a tensor");
    let drawn = drawn(text, vec![logs]);
    let of = |class: f64| drawn.iter().filter(|n| **n == class).count();
    assert_eq!((drawn.len(), of(2.0)), (2000, 0));
    assert!((1100..1300).contains(&of(0.0)), "{} of 2000", of(0.0));
}

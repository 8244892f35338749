//! Models of opsets 11 to 17: the programs of every overload, computed by the evaluator as the model of opset 18 is.
//!
//! Each is right or refused. A run takes every eighth program; `ONNXPORT_OLDER=all` takes all of them and prints the
//! table of `docs/targets.md`, `ONNXPORT_OLDER=list` also the refusals.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use onnxport_core::ir::Model;
use onnxport_core::legalise::{Form, LegaliseOptions, Target, older, older_forms};
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::Program;
use onnxport_core::{Report, ops};
use onnxport_ir::ops::{Limits, Traits, Value, traits};

use crate::files::{Sections, at};
use crate::legalise::type_block;
use crate::optimise::draw::{Random, agree, sizes, values};
use crate::overloads::{HOST, families, program, split};

const OPSETS: [i64; 4] = [11, 13, 15, 17];

/// How far results may be apart: forms round in another order.
const TOLERANCE: f64 = 1e-4;

fn convert(program: &Program, opset: i64) -> Result<Model, Report> {
    let mut options = ConvertOptions {
        validate: true,
        legalise: LegaliseOptions {
            target: Target::named("onnx").expect("a target"),
            ..LegaliseOptions::default()
        },
        optimise: OptimiseOptions { level: Level::Nothing, ..OptimiseOptions::default() },
        ..ConvertOptions::default()
    };
    options.lower.opset = opset;
    pipeline::convert(&HOST, program.clone(), &options).map(|converted| converted.model)
}

/// Gives the program weights, which the files do not have.
fn weigh(program: &mut Program, random: &mut Random) {
    for data in program.tensors.values_mut().filter(|data| data.unbound().is_some()) {
        let shape = data.shape.iter().map(|extent| *extent as usize).collect();
        let tensor = random.tensor(data.dtype, shape, false);
        *data = tensor.to_lazy().expect("plain data");
    }
}

fn run(model: &Model, given: Vec<Option<Value>>) -> Option<Vec<Value>> {
    ops::run(model, given, Limits::default()).ok()
}

/// The difference between two results, if any.
fn differs(wanted: &Value, found: &Value) -> bool {
    match (wanted.tensor(), found.tensor()) {
        (Some(wanted), Some(found)) => !agree(wanted, found, TOLERANCE),
        _ => false,
    }
}

#[derive(Default)]
struct Counts {
    right: usize,
    /// Equal signatures, but the drawn inputs are ones that the program does not take.
    unrun: usize,
    refused: BTreeMap<String, usize>,
}

#[test]
fn programs_are_right_at_older_opsets_or_refused() {
    let asked = std::env::var("ONNXPORT_OLDER").unwrap_or_default();
    let step = if asked.is_empty() { 8 } else { 1 };
    let mut counts: BTreeMap<i64, Counts> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut number = 0;
    for path in families() {
        let text = fs::read_to_string(&path).expect("a readable file");
        for (name, case) in split(&text) {
            number += 1;
            if number % step != 0 {
                continue;
            }
            let mut program = program(&Sections::from_text(case));
            let mut random = Random(number as u64);
            weigh(&mut program, &mut random);
            let Ok(newer) = convert(&program, 18) else { continue };
            // Two runs draw different numbers.
            if newer.graph.nodes.iter().any(|(_, node)| traits(node).has(Traits::RANDOM)) {
                continue;
            }
            let drawn = sizes(&newer, &mut random);
            let size = |symbol: onnxport_core::sym::SymId| drawn.get(symbol.index()).copied();
            let given = values(&newer, &size, false, &mut random);
            let wanted = run(&newer, given.clone());
            for opset in OPSETS {
                let counts = counts.entry(opset).or_default();
                let model = match convert(&program, opset) {
                    Ok(model) => model,
                    Err(report) => {
                        for found in &report.diagnostics {
                            if found.code.to_string() != "OP417" {
                                wrong.push(format!("{name} at {opset}: {found:?}"));
                            }
                        }
                        let first = report.diagnostics.first().map(|d| d.message.clone()).unwrap_or_default();
                        *counts.refused.entry(first).or_default() += 1;
                        continue;
                    }
                };
                let Some(wanted) = &wanted else {
                    counts.unrun += 1;
                    continue;
                };
                match run(&model, given.clone()) {
                    Some(found) if wanted.iter().zip(&found).any(|(a, b)| differs(a, b)) => {
                        wrong.push(format!("{name} at {opset}: differs"));
                    }
                    Some(_) => counts.right += 1,
                    None => {
                        let why = ops::run(&model, given.clone(), Limits::default()).err();
                        wrong.push(format!("{name} at {opset}: does not run: {why:?}"));
                    }
                }
            }
        }
    }
    let mut table = String::from("| opset | right | not run | refused |\n|---|---|---|---|\n");
    for (opset, counts) in &counts {
        let refused: usize = counts.refused.values().sum();
        let _ = writeln!(table, "| {opset} | {} | {} | {refused} |", counts.right, counts.unrun);
    }
    if !asked.is_empty() {
        println!("{table}");
    }
    if asked == "list" {
        for (opset, counts) in &counts {
            for (why, count) in &counts.refused {
                println!("{opset} {count} {why}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A model of one case of `tests/files/older.txt`, with the types of its values.
fn model_of(lines: &str) -> Model {
    let mut model = Model::parse(&format!("opset 18\ngraph {{\n{lines}\n  output %0 as y\n}}\n"))
        .unwrap_or_else(|error| panic!("{lines}: {error}"));
    let main = model.graph.main();
    type_block(&mut model.graph, &mut model.symbols, 18, main);
    model
}

/// Each form and edit has a case: the model of the older opset computes the same, or is refused.
#[test]
fn forms_for_older_opsets_compute_the_same() {
    let text = fs::read_to_string(at("older.txt")).expect("the file");
    let mut random = Random(11);
    let mut used: Vec<&Form> = Vec::new();
    for (number, case) in text.split("=== ").filter(|case| !case.is_empty()).enumerate() {
        let (head, lines) = case.split_once('\n').expect("a case");
        let words: Vec<&str> = head.split_whitespace().collect();
        let opset: i64 = words[0].parse().expect("an opset");
        let before = model_of(lines.trim_end());
        let mut after = before.clone();
        match (older::translate(&mut after, opset), words.get(2)) {
            (Err(report), Some(operator)) => {
                let message = &report.diagnostics[0].message;
                assert!(message.contains(&format!("`{operator}`")), "{number}: {message}");
                assert!(report.diagnostics.iter().all(|d| d.code.to_string() == "OP417"));
                continue;
            }
            (Err(report), None) => panic!("{head}\n{lines}: {:?}", report.diagnostics),
            (Ok(_), Some(_)) => panic!("{head}\n{lines} is not refused: {}", after.to_text()),
            (Ok(forms), None) => used.extend(forms),
        }
        assert_eq!(after.opset(), opset);
        let found = onnxport_core::valid::validate(&after, &onnxport_core::valid::StatedTypes::default());
        assert!(found.is_empty(), "{lines}: {found:?}\n{}", after.to_text());
        for _ in 0..4 {
            let given = values(&before, &|_| Some(3), false, &mut random);
            let wanted = run(&before, given.clone()).unwrap_or_else(|| panic!("{lines} does not run"));
            let found = run(&after, given).unwrap_or_else(|| panic!("does not run: {}", after.to_text()));
            assert!(!differs(&wanted[0], &found[0]), "{lines}: {wanted:?} {found:?} {}", after.to_text());
        }
    }
    for form in older_forms() {
        let used = used.iter().any(|used| std::ptr::eq(*used, form));
        assert!(used, "no case of `older.txt` uses {} {}", form.operator, form.condition);
    }
}

#[test]
fn the_page_of_targets_has_the_forms_for_older_opsets() {
    let mut rows = String::new();
    for form in older_forms() {
        let becomes = form.becomes();
        let becomes = if becomes.contains('=') { format!("`{becomes}`") } else { becomes };
        let condition =
            if form.condition.is_empty() { String::new() } else { format!("`{}`", form.condition) };
        let (operator, below, about) = (&form.operator, form.below.unwrap_or_default(), &form.about);
        let _ = writeln!(rows, "| `{operator}` | {below} | {condition} | {becomes} | {about} |");
    }
    crate::files::table(
        "docs/targets.md",
        "| operator | below opset | where | becomes | definition |\n|---|---|---|---|---|\n",
        &rows,
    );
}

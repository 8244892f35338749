//! Programs of `tests/files/overloads` with one type altered: the errors never blame a plugin.
//!
//! Each run takes a sample; `ONNXPORT_CONTRADICTIONS=all` takes every program and every alteration.

use std::collections::BTreeMap;
use std::fs;

use onnxport_core::diagnose::{Report, Severity};
use onnxport_core::optimise::{Level, OptimiseOptions};
use onnxport_core::pipeline::{self, ConvertOptions};
use onnxport_core::program::{Program, TensorType, Val};
use onnxport_core::sym::Dim;
use onnxport_core::tensor::DType;

use crate::files::Sections;
use crate::overloads::{HOST, families, program, split};

/// The types that differ from `ty` in the element type, the rank, or one size.
fn altered(ty: &TensorType) -> Vec<TensorType> {
    let dense = |dtype, shape: &[Dim]| TensorType::dense(dtype, shape.to_vec());
    let mut types = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::I64, DType::I32, DType::Bool] {
        if dtype != ty.dtype {
            types.push(dense(dtype, &ty.shape));
        }
    }
    let mut longer = ty.shape.clone();
    longer.insert(0, Dim::Const(2));
    types.push(dense(ty.dtype, &longer));
    if let [_, rest @ ..] = ty.shape.as_slice() {
        types.push(dense(ty.dtype, rest));
    }
    for (axis, dim) in ty.shape.iter().enumerate() {
        if let Dim::Const(n) = dim {
            let mut shape = ty.shape.clone();
            shape[axis] = Dim::Const(n + 1);
            types.push(dense(ty.dtype, &shape));
        }
    }
    types
}

/// Every value of the program with each of its altered types.
fn alterations(program: &Program) -> impl Iterator<Item = (Val, TensorType)> + '_ {
    program.body.values.iter().flat_map(|(val, value)| {
        let types = value.ty.as_tensor().map(altered).unwrap_or_default();
        types.into_iter().map(move |ty| (val, ty))
    })
}

/// The first message that calls the outcome a defect of onnxport or of a plugin, which is exit 70.
fn blames_a_plugin(report: &Report) -> Option<String> {
    let internal = |code: &str| ["OP4", "OP8", "OP9"].iter().any(|class| code.starts_with(class));
    let mut errors = report.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    errors.find(|d| internal(d.code.as_str())).map(|d| format!("{}: {}", d.code, d.message))
}

/// How many of a thousand altered types may stay unnoticed, because they contradict nothing.
const UNNOTICED: usize = 175;

#[test]
fn contradicting_programs_are_not_blamed_on_plugins() {
    let options = ConvertOptions {
        validate: true,
        weightless: true,
        optimise: OptimiseOptions { level: Level::Nothing, ..OptimiseOptions::default() },
        ..ConvertOptions::default()
    };
    let step = if std::env::var("ONNXPORT_CONTRADICTIONS").is_ok_and(|all| all == "all") { 1 } else { 7 };
    let mut turn = 0usize;
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut blamed = Vec::new();
    for path in families() {
        let text = fs::read_to_string(&path).expect("a readable file");
        for (name, case) in split(&text) {
            let original = program(&Sections::from_text(case));
            for (val, ty) in alterations(&original) {
                turn += 1;
                if !turn.is_multiple_of(step) {
                    continue;
                }
                let mut altered = original.clone();
                let value = format!("%{}: {}{:?}", altered.body.values[val].name, ty.dtype, ty.shape);
                altered.body.values[val].ty = ty.into();
                let outcome = match pipeline::convert(&HOST, altered, &options) {
                    Ok(_) => "converted",
                    Err(report) => match blames_a_plugin(&report) {
                        Some(message) => {
                            blamed.push(format!("{name} with {value}: {message}"));
                            "blamed"
                        }
                        None if report.diagnostics.iter().any(|d| d.code.as_str() == "OP111") => "OP111",
                        None => "refused",
                    },
                };
                *outcomes.entry(outcome).or_default() += 1;
            }
        }
    }
    println!("{outcomes:?}");
    let tried: usize = outcomes.values().sum();
    let unnoticed = outcomes.get("converted").copied().unwrap_or_default();
    assert!(
        unnoticed * 1000 <= tried * UNNOTICED,
        "{unnoticed} of {tried} are not noticed: state facts about new operators (docs/facts.md)"
    );
    let list = blamed.join("\n");
    assert!(blamed.is_empty(), "{} of {turn} are called a plugin's defect:\n{list}", blamed.len());
}

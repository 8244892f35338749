//! Facts about the contents of two files, side by side.

use std::collections::BTreeMap;
use std::path::Path;

use onnxport_core::diagnose::Report;
use onnxport_core::inspect::{
    FileKind, InputSummary, ModelSummary, ProgramSummary, ValueSummary, WeightTable,
};
use onnxport_core::ir::opset::DEFAULT_OPSET;
use onnxport_core::weights::WeightSet;
use onnxport_core::{Host, pipeline};
use schemars::JsonSchema;
use serde::Serialize;

/// A fact about the contents of a file.
struct Fact {
    section: &'static str,
    name: String,
    value: String,
}

/// The parts of the contents, in the order in which they are shown.
pub const SECTIONS: [&str; 12] = [
    "file",
    "operator sets",
    "inputs",
    "outputs",
    "state",
    "dynamic dimensions",
    "weights",
    "tensors",
    "guards",
    "functions",
    "metadata",
    "operators",
];

/// A fact about two files.
#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
pub struct Row {
    /// The part of the contents, one of [`SECTIONS`].
    pub section: &'static str,
    /// The name of the fact, such as that of an input.
    pub name: String,
    /// The value in the first file; `None` if it has none.
    pub a: Option<String>,
    /// The value in the second file.
    pub b: Option<String>,
}

impl Row {
    /// Whether the files differ in this fact.
    pub fn differs(&self) -> bool {
        self.a != self.b
    }
}

/// Returns the facts about two files, and the number of equal ones.
pub(super) fn compare(a: &Path, b: &Path, host: &Host) -> Result<(Vec<Row>, usize), Report> {
    Ok(paired(facts(a, host)?, facts(b, host)?))
}

/// Returns facts of the same section and name side by side, those of the first file first, and the number of equal
/// ones.
fn paired(a: Vec<Fact>, b: Vec<Fact>) -> (Vec<Row>, usize) {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: BTreeMap<(&'static str, String), usize> = BTreeMap::new();
    for Fact { section, name, value } in a {
        places.insert((section, name.clone()), rows.len());
        rows.push(Row { section, name, a: Some(value), b: None });
    }
    for Fact { section, name, value } in b {
        match places.get(&(section, name.clone())).and_then(|at| rows.get_mut(*at)) {
            Some(row) => row.b = Some(value),
            None => rows.push(Row { section, name, a: None, b: Some(value) }),
        }
    }
    let same = rows.iter().filter(|row| !row.differs()).count();
    (rows, same)
}

fn facts(path: &Path, host: &Host) -> Result<Vec<Fact>, Report> {
    let mut facts = Vec::new();
    let mut fact = |section: &'static str, name: &str, value: String| {
        facts.push(Fact { section, name: name.to_owned(), value });
    };
    match FileKind::of(path) {
        FileKind::Model => {
            let model = ModelSummary::read(path)?;
            fact("file", "made by", model.producer);
            fact("file", "IR version", model.ir_version.to_string());
            for (domain, version) in model.opsets {
                fact("operator sets", if domain.is_empty() { "ONNX" } else { &domain }, version.to_string());
            }
            interface(&mut fact, &model.inputs, &model.outputs);
            states(&mut fact, &model.states);
            fact("weights", "initializers", model.initializers.to_string());
            fact("weights", "bytes", model.weight_bytes.to_string());
            fact("weights", "data files", model.data_files.join(", "));
            for function in model.functions {
                fact("functions", &function, "there".to_owned());
            }
            for (key, value) in model.metadata {
                fact("metadata", &key, value);
            }
            for op in model.ops {
                fact("operators", &op.target, op.count.to_string());
            }
        }
        FileKind::Program => {
            let archive = pipeline::read(path)?;
            let program = ProgramSummary::from_archive(&archive, host, DEFAULT_OPSET);
            fact("file", "made by", format!("PyTorch {}", program.torch));
            fact("file", "schema", program.schema);
            let inputs: Vec<ValueSummary> = (program.inputs.iter())
                .map(|input| ValueSummary { name: input.name.clone(), ty: input.ty.clone() })
                .collect();
            interface(&mut fact, &inputs, &program.outputs);
            states(&mut fact, &program.states);
            for dim in program.dims {
                let bound = |n: Option<i64>| n.map_or_else(|| "..".to_owned(), |n| n.to_string());
                let range = format!("{} to {}", bound(dim.min), bound(dim.max));
                fact("dynamic dimensions", &dim.name, format!("{range} {}", dim.axes.join(" ")));
            }
            fact("weights", "parameters", program.parameters.to_string());
            fact("weights", "buffers", program.buffers.to_string());
            fact("weights", "constants", program.constants.to_string());
            fact("weights", "bytes", program.weight_bytes.to_string());
            for guard in program.guards {
                fact("guards", &guard, "there".to_owned());
            }
            for op in program.ops {
                fact("operators", &op.target, op.count.to_string());
            }
        }
        FileKind::Weights => {
            let table = WeightTable::from(&WeightSet::open(&[path.to_owned()], None)?);
            fact("weights", "tensors", table.tensors.len().to_string());
            fact("weights", "bytes", table.bytes.to_string());
            fact("weights", "different bytes", table.distinct_bytes.to_string());
            for tensor in table.tensors {
                let extents = tensor.shape.map_or_else(|| "?".to_owned(), |shape| format!("{shape:?}"));
                fact("tensors", &tensor.name, format!("{}{extents}", tensor.dtype));
            }
        }
    }
    Ok(facts)
}

fn interface(
    fact: &mut impl FnMut(&'static str, &str, String),
    inputs: &[ValueSummary],
    outputs: &[ValueSummary],
) {
    for (section, values) in [("inputs", inputs), ("outputs", outputs)] {
        for value in values {
            fact(section, &value.name, value.ty.clone());
        }
    }
}

fn states(fact: &mut impl FnMut(&'static str, &str, String), states: &[InputSummary]) {
    for state in states {
        fact("state", &state.name, format!("{} {}", state.kind, state.ty));
    }
}

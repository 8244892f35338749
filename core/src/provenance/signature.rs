//! Descriptions of a program's inputs and outputs in PyTorch's terms (`torch/export/graph_signature.py`).

use std::fmt::Write;

use crate::onnx::torch;
use crate::program::{Arg, Body, InputKind, InputSpec, OutputKind, OutputSpec, Program, StateKind};

/// Returns the kind of an input, its target, and whether it is in the state dict.
fn input_parts(kind: &InputKind) -> (&'static str, Option<&str>, Option<bool>) {
    match kind {
        InputKind::User | InputKind::Constant => ("USER_INPUT", None, None),
        InputKind::Parameter(name) => ("PARAMETER", Some(name), None),
        InputKind::Buffer { name, persistent } => ("BUFFER", Some(name), Some(*persistent)),
        InputKind::TensorConstant(name) => ("CONSTANT_TENSOR", Some(name), None),
        InputKind::CustomObject(name) => ("CUSTOM_OBJ", Some(name), None),
        InputKind::Token => ("TOKEN", None, None),
    }
}

fn output_parts(kind: &OutputKind) -> (&'static str, Option<&str>) {
    match kind {
        OutputKind::User => ("USER_OUTPUT", None),
        OutputKind::Loss => ("LOSS_OUTPUT", None),
        OutputKind::State { kind: StateKind::Buffer, name, .. } => ("BUFFER_MUTATION", Some(name)),
        OutputKind::State { kind: StateKind::Parameter, name, .. } => ("PARAMETER_MUTATION", Some(name)),
        OutputKind::State { kind: StateKind::Input, name, .. } => ("USER_INPUT_MUTATION", Some(name)),
        OutputKind::Gradient(name) => ("GRADIENT_TO_PARAMETER", Some(name)),
        OutputKind::Token => ("TOKEN", None),
    }
}

/// A truth value, or none, as Python prints it.
const fn truth(value: Option<bool>) -> &'static str {
    match value {
        None => "None",
        Some(true) => "True",
        Some(false) => "False",
    }
}

/// Returns the metadata of an input or a weight named `name` in the model, sorted by key.
pub fn input(spec: &InputSpec, name: &str) -> Vec<(String, String)> {
    let (kind, target, persistent) = input_parts(&spec.kind);
    let mut entries = vec![
        (torch::INPUT_KIND.to_owned(), kind.to_owned()),
        (torch::PERSISTENT.to_owned(), truth(persistent).to_owned()),
    ];
    if target.is_some() || spec.name != name {
        entries.push((torch::ORIGINAL_NAME.to_owned(), spec.name.clone()));
    }
    entries
}

/// Returns the metadata of an output named `name` in the model and `own` in the program, sorted by key.
pub fn output(spec: &OutputSpec, own: Option<&str>, name: &str) -> Vec<(String, String)> {
    let mut entries = vec![(torch::OUTPUT_KIND.to_owned(), output_parts(&spec.kind).0.to_owned())];
    if let Some(own) = own.filter(|own| *own != name) {
        entries.push((torch::ORIGINAL_NAME.to_owned(), own.to_owned()));
    }
    entries
}

/// Formats the signature of `program` as PyTorch prints it; mutations come before returned values.
pub(super) fn text(program: &Program) -> String {
    let mut out = "\n# inputs\n".to_owned();
    // Writing to a String cannot fail.
    for (at, (spec, arg)) in program.signature.inputs.iter().zip(&program.body.inputs).enumerate() {
        let (kind, target, persistent) = input_parts(&spec.kind);
        let own = name(&program.body, arg).unwrap_or(&spec.name);
        let _ = write!(out, "{}{own}: {kind}", if at > 0 { "\n" } else { "" });
        if let Some(target) = target {
            let _ = write!(out, " target='{target}'");
        }
        if persistent.is_some() {
            let _ = write!(out, " persistent={}", truth(persistent));
        }
    }
    out.push_str("\n\n# outputs\n");
    let outputs = program.signature.outputs.iter().zip(&program.body.outputs);
    let (written, returned): (Vec<_>, Vec<_>) = outputs.partition(|(spec, _)| !spec.kind.is_returned());
    for (at, (spec, arg)) in written.into_iter().chain(returned).enumerate() {
        let (kind, target) = output_parts(&spec.kind);
        let own = name(&program.body, arg).unwrap_or_default();
        let _ = write!(out, "{}{own}: {kind}", if at > 0 { "\n" } else { "" });
        if let Some(target) = target {
            let _ = write!(out, " target='{target}'");
        }
    }
    out.push('\n');
    out
}

/// Returns the program's name of a value.
fn name<'b>(body: &'b Body, arg: &Arg) -> Option<&'b str> {
    arg.as_value().and_then(|val| body.values.find(val)).map(|value| value.name.as_str())
}

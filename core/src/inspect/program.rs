//! The contents of an exported program.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::host::Host;
use crate::normalise;
use crate::onnx::SizeRanges;
use crate::program::{Arg, Body, InputKind, OutputKind, OutputSpec, Program, Val, ValueType};
use crate::pt2::Archive;
use crate::registry::Resolved;
use crate::sizes::{self, InterfaceNames};
use crate::sym::{Range, Symbols};

/// The contents of an exported program.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ProgramSummary {
    /// PyTorch's version.
    pub torch: String,
    /// The schema's version.
    pub schema: String,
    /// The user's inputs.
    pub inputs: Vec<InputSummary>,
    /// The outputs.
    pub outputs: Vec<ValueSummary>,
    /// The mutated inputs.
    pub states: Vec<InputSummary>,
    /// The dynamic dimensions.
    pub dims: Vec<DimSummary>,
    /// The sizes that the program takes.
    pub sizes: SizeRanges,
    /// The conditions that PyTorch recorded, as Python expressions.
    pub guards: Vec<String>,
    /// The operators, most used first.
    pub ops: Vec<OpSummary>,
    /// The number of parameters.
    pub parameters: usize,
    /// The number of buffers.
    pub buffers: usize,
    /// The number of tensor constants.
    pub constants: usize,
    /// Their total size in bytes; shared ones count once.
    pub weight_bytes: u64,
}

/// An input or a state.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct InputSummary {
    /// The name.
    pub name: String,
    /// `user`, `constant`, `buffer`, `parameter` or `input`.
    pub kind: &'static str,
    /// Its type: `f32[batch, 3]`.
    #[serde(rename = "type")]
    pub ty: String,
}

/// An output.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ValueSummary {
    /// The name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
}

/// A dynamic dimension.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct DimSummary {
    /// The symbol.
    pub name: String,
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
    /// The value at which the program was traced.
    pub traced: Option<i64>,
    /// The axes of inputs with this size: `x:0`.
    pub axes: Vec<String>,
}

/// The provider of operators that normalisation rewrites or removes.
pub const NORMALISER: &str = "normaliser";

/// An operator.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct OpSummary {
    /// The overload.
    pub target: String,
    /// The number of calls, nested graphs included.
    pub count: usize,
    /// The plugin that lowers it, or [`NORMALISER`]; `None` if there is none.
    pub provider: Option<String>,
}

impl ProgramSummary {
    /// Describes an archive; the host's plugins lower its operators at `opset`.
    pub fn from_archive(archive: &Archive, host: &Host, opset: i64) -> Self {
        let program = &archive.program;
        // Mutations and the operators that functionalisation removes are known only after normalisation.
        let (functional, _) = normalise::attempt(program.clone(), &host.schemas, |_| true);
        let (symbols, body) = (&program.symbols, &program.body);
        let mut summary = Self {
            torch: program.producer.torch.clone(),
            schema: format!("{}.{}", program.producer.schema.0, program.producer.schema.1),
            inputs: Vec::new(),
            outputs: Vec::new(),
            states: Vec::new(),
            dims: dims(program),
            sizes: sizes::effective(program, &host.schemas, &InterfaceNames::default()).stated,
            guards: program.guards.iter().map(|guard| guard.text.clone()).collect(),
            ops: ops(body, &functional.body, host, opset),
            parameters: 0,
            buffers: 0,
            constants: 0,
            weight_bytes: archive.weight_bytes,
        };
        for (spec, arg) in program.signature.inputs.iter().zip(&body.inputs) {
            let kind = match &spec.kind {
                InputKind::User => "user",
                InputKind::Constant => "constant",
                InputKind::Parameter(_) => {
                    summary.parameters += 1;
                    continue;
                }
                InputKind::Buffer { .. } => {
                    summary.buffers += 1;
                    continue;
                }
                InputKind::TensorConstant(_) => {
                    summary.constants += 1;
                    continue;
                }
                InputKind::CustomObject(_) | InputKind::Token => continue,
            };
            summary.inputs.push(InputSummary {
                name: spec.name.clone(),
                kind,
                ty: type_of(symbols, body, arg),
            });
        }
        for (spec, arg) in program.signature.outputs.iter().zip(&body.outputs) {
            match &spec.kind {
                OutputKind::User | OutputKind::Loss => {
                    let name = arg.as_value().and_then(|v| body.values.find(v)).map(|v| v.name.to_string());
                    let ty = type_of(symbols, body, arg);
                    summary.outputs.push(ValueSummary { name: name.unwrap_or_default(), ty });
                }
                OutputKind::State { .. } | OutputKind::Gradient(_) | OutputKind::Token => {}
            }
        }
        summary.states = states(&functional);
        summary
    }
}

fn states(functional: &Program) -> Vec<InputSummary> {
    let outputs = functional.signature.outputs.iter().zip(&functional.body.outputs);
    let state = |(spec, arg): (&OutputSpec, &Arg)| match &spec.kind {
        OutputKind::State { kind, name, .. } => {
            let ty = type_of(&functional.symbols, &functional.body, arg);
            Some(InputSummary { name: name.clone(), kind: kind.as_str(), ty })
        }
        _ => None,
    };
    outputs.filter_map(state).collect()
}

fn type_of(symbols: &Symbols, body: &Body, arg: &Arg) -> String {
    match arg {
        Arg::Value(val) => value_type(symbols, body, *val),
        Arg::None => "None".to_owned(),
        Arg::Int(n) => n.to_string(),
        Arg::Float(n) => n.to_string(),
        Arg::Bool(b) => b.to_string(),
        Arg::Str(text) => format!("{text:?}"),
        _ => "constant".to_owned(),
    }
}

fn value_type(symbols: &Symbols, body: &Body, val: Val) -> String {
    match body.values.find(val).map(|value| &value.ty) {
        Some(ValueType::Tensor(ty)) => {
            let dims: Vec<String> = ty.shape.iter().map(|dim| symbols.display(*dim)).collect();
            format!("{}[{}]", ty.dtype, dims.join(", "))
        }
        Some(ValueType::SymInt(dim)) => format!("int {}", symbols.display(*dim)),
        Some(ValueType::SymFloat) => "float".to_owned(),
        Some(ValueType::SymBool) => "bool".to_owned(),
        Some(ValueType::Token) => "token".to_owned(),
        Some(ValueType::Custom(class)) => class.to_string(),
        None => "unknown".to_owned(),
    }
}

fn dims(program: &Program) -> Vec<DimSummary> {
    let symbols = &program.symbols;
    let mut dims: Vec<DimSummary> = symbols
        .iter()
        .map(|(_, symbol)| {
            let Range { min, max } = symbol.range;
            DimSummary { name: symbol.name.clone(), min, max, traced: symbol.hint, axes: Vec::new() }
        })
        .collect();
    for (spec, arg) in program.signature.inputs.iter().zip(&program.body.inputs) {
        let value = arg.as_value().and_then(|val| program.body.values.find(val));
        let Some(ty) = value.and_then(|v| v.ty.as_tensor()) else { continue };
        for (axis, dim) in ty.shape.iter().enumerate() {
            if let Some(summary) = symbols.as_symbol(*dim).and_then(|id| dims.get_mut(id.index())) {
                summary.axes.push(format!("{}:{axis}", spec.name));
            }
        }
    }
    dims
}

fn ops(body: &Body, functional: &Body, host: &Host, opset: i64) -> Vec<OpSummary> {
    let (mut counts, mut left) = (BTreeMap::new(), BTreeMap::new());
    count(body, &mut counts);
    count(functional, &mut left);
    let provider = |target: &str| match host.registry.resolve(target, opset, false, &host.choice) {
        Resolved::Use(provider) => Some(host.plugin_id(&provider).to_owned()),
        _ => (!left.contains_key(target)).then(|| NORMALISER.to_owned()),
    };
    let mut ops: Vec<OpSummary> = counts
        .into_iter()
        .map(|(target, count)| OpSummary { target: target.to_owned(), count, provider: provider(target) })
        .collect();
    ops.sort_by_key(|op| std::cmp::Reverse(op.count));
    ops
}

fn count<'a>(body: &'a Body, counts: &mut BTreeMap<&'a str, usize>) {
    for call in &body.calls {
        *counts.entry(&call.target).or_default() += 1;
        for named in &call.args {
            count_arg(&named.arg, counts);
        }
    }
}

fn count_arg<'a>(arg: &'a Arg, counts: &mut BTreeMap<&'a str, usize>) {
    match arg {
        Arg::Graph(graph) => count(&graph.body, counts),
        Arg::List(items) => items.iter().for_each(|item| count_arg(item, counts)),
        Arg::Dict(items) => items.iter().for_each(|(_, item)| count_arg(item, counts)),
        _ => {}
    }
}

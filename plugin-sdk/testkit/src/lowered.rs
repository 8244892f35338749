//! The result of lowering a call.

use std::collections::BTreeMap;
use std::fmt;

use onnxport_core::diagnose::{Code, Report};
use onnxport_core::ir::{Model, Shape, Type};
use onnxport_core::ops::{Limits, Value, run};
use onnxport_core::sym::SymId;

use crate::Tensor;

/// Why a call was not lowered: the host's message for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code; [`Code::LOWER_REFUSED`] for a refusal that names none.
    pub code: Code,
    /// The sentence.
    pub message: String,
    /// The next step; empty if unknown.
    pub help: String,
}

impl Failure {
    /// The test is wrong.
    pub(crate) fn setup(message: String) -> Self {
        Self { code: Code::LOWER_ARGUMENT, message, help: String::new() }
    }

    pub(crate) fn from_report(report: Report) -> Self {
        match report.diagnostics.into_iter().next() {
            Some(first) => {
                Self { code: first.code, message: first.message, help: first.help.unwrap_or_default() }
            }
            None => Self::setup("the host reports nothing".to_owned()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)?;
        if self.help.is_empty() { Ok(()) } else { write!(f, " (help: {})", self.help) }
    }
}

impl std::error::Error for Failure {}

/// A call that was lowered, as a model of its own.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub(crate) model: Model,
    /// The inputs whose values the call stated.
    pub(crate) given: BTreeMap<String, Tensor>,
}

impl Lowered {
    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The operators of the main graph in order: `Mul`, `com.microsoft::Gelu`.
    pub fn ops(&self) -> Vec<String> {
        let graph = &self.model.graph;
        let names = graph.order(graph.main()).map(|node| {
            let node = &graph.nodes[node];
            if node.domain.is_empty() { node.op.to_string() } else { format!("{}::{}", node.domain, node.op) }
        });
        names.collect()
    }

    /// The model in text form, with the type that was inferred for every value.
    pub fn to_text(&self) -> String {
        self.model.to_text()
    }

    /// Computes the results. Values for inputs that the call stated with their elements may be left out.
    ///
    /// # Errors
    /// A sentence: a value that is missing or does not fit the stated type, or what the evaluator says.
    pub fn run(&self, values: &[(&str, &Tensor)]) -> Result<Vec<Tensor>, String> {
        let graph = &self.model.graph;
        let mut sizes = BTreeMap::new();
        let mut inputs = Vec::new();
        let mut names = Vec::new();
        for input in &graph.blocks[graph.main()].inputs {
            let value = &graph.values[*input];
            let name = value.name.as_deref().unwrap_or_default();
            let stated = values.iter().find(|(other, _)| *other == name).map(|(_, tensor)| *tensor);
            let tensor = stated.or_else(|| self.given.get(name));
            let tensor = tensor.ok_or_else(|| format!("input `{name}` was given nothing"))?;
            self.hold(name, &value.ty, tensor, &mut sizes)?;
            inputs.push(Some(Value::Tensor(tensor.0.clone())));
            names.push(name);
        }
        if let Some((odd, _)) = values.iter().find(|(name, _)| !names.contains(name)) {
            return Err(format!("unknown input `{odd}`; there are {}", names.join(", ")));
        }
        let results = run(&self.model, inputs, Limits::default()).map_err(|error| error.to_string())?;
        let tensor =
            |value: &Value| value.tensor().cloned().map(Tensor).ok_or("a result is not a tensor".to_owned());
        results.iter().map(tensor).collect()
    }

    /// Holds a value against the type of its input. `sizes` are those of symbols, which every input shares.
    fn hold(
        &self,
        name: &str,
        ty: &Type,
        tensor: &Tensor,
        sizes: &mut BTreeMap<SymId, i64>,
    ) -> Result<(), String> {
        let dims = ty.shape().and_then(Shape::dims).unwrap_or_default();
        if ty.dtype() != Some(tensor.dtype()) || dims.len() != tensor.rank() {
            return Err(format!("input `{name}` is not {}", tensor.type_text()));
        }
        let symbols = &self.model.symbols;
        for (axis, (dim, size)) in dims.iter().zip(tensor.shape()).enumerate() {
            let (Some(dim), size) = (*dim, *size as i64) else { continue };
            let alone = symbols
                .iter()
                .map(|(id, _)| id)
                .find(|id| symbols.eval(dim, &|s| (s == *id).then_some(size)) == Some(size));
            if let Some(symbol) = alone {
                sizes.entry(symbol).or_insert(size);
            }
            match symbols.eval(dim, &|symbol| sizes.get(&symbol).copied()) {
                Some(expected) if expected != size => {
                    return Err(format!("axis {axis} of input `{name}` must be {expected}, it is {size}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

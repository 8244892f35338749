//! Lowering: every call of a functional program becomes ONNX nodes, through the plugins' tables.
//!
//! Symbolic integers of the program are i64 tensors of shape `[1]`; symbolic floats and truth values
//! are f64 and bool ones. Complex tensors are pairs of reals in a last axis of extent 2.

mod bind;
mod callbacks;
mod contents;
mod dims;
mod driver;
mod emit;
mod frame;
mod functions;
mod interface;
mod names;
mod suggest;
mod unresolved;

pub(crate) use callbacks::{host_table, origin_of};
pub use interface::{DimName, program_input};
pub use names::Names;

use crate::diagnose::{Diagnostic, Report};
use crate::host::Host;
use crate::ir::Model;
use crate::ir::opset::DEFAULT_OPSET;
use crate::program::{Arg, Program};
use crate::valid::Stated;

/// What the user asks of the model's interface.
#[derive(Clone, Debug)]
pub struct LowerOptions {
    /// The opset to emit.
    pub opset: i64,
    /// Names of the tensor inputs.
    pub input_names: Names,
    /// Names of the outputs that the program returns.
    pub output_names: Names,
    /// Names of dimensions.
    pub dims: Vec<DimName>,
    /// Say on inputs, weights and outputs what they are in the program.
    pub provenance: bool,
}

impl Default for LowerOptions {
    /// The opset that is emitted unless the user asks for another, and the program's own names.
    fn default() -> Self {
        Self {
            opset: DEFAULT_OPSET,
            input_names: Names::Own,
            output_names: Names::Own,
            dims: Vec::new(),
            provenance: false,
        }
    }
}

/// A model, and what the program states about its values.
#[derive(Debug)]
pub struct Lowered {
    /// The model.
    pub model: Model,
    /// The stated type of every value that stands for one of the program's.
    pub stated: Stated,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Which plugin lowered what, sorted.
    pub provided: Vec<Provided>,
}

/// An operator, and the plugin that lowered its calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, schemars::JsonSchema, serde::Serialize)]
pub struct Provided {
    /// The plugin.
    pub plugin: String,
    /// The operator, `aten.add.Tensor`.
    pub operator: String,
    /// How many calls of it there were, nested graphs included.
    pub calls: usize,
}

/// The names that an exported program gives its user outputs, in order; empty where it gives none.
///
/// To be asked before normalisation, which can leave an output with another value than the one that
/// was named.
pub fn output_names(program: &Program) -> Vec<String> {
    let outputs = program.signature.outputs.iter().zip(&program.body.outputs);
    let users = outputs.filter(|(spec, _)| spec.kind.is_returned());
    let name = |arg: &Arg| {
        let value = arg.as_value().and_then(|val| program.body.values.find(val));
        value.map(|v| v.name.to_string()).unwrap_or_default()
    };
    users.map(|(_, arg)| name(arg)).collect()
}

/// Lowers `program`, which must be functional. Outputs that the user does not name get `output_names`.
///
/// # Errors
/// A report of every call that cannot be lowered, not only the first.
pub fn lower(
    host: &Host,
    program: Program,
    options: &LowerOptions,
    output_names: &[String],
) -> Result<Lowered, Report> {
    driver::run(host, program, options, output_names)
}

//! Lowering: every call of a functional program becomes ONNX nodes, through the plugins' tables.
//!
//! Symbolic integers of the program are i64 tensors of shape `[1]`; symbolic floats and truth values
//! are f64 and bool ones. Complex tensors are pairs of reals in a last axis of extent 2.

mod bind;
mod callbacks;
mod dims;
mod driver;
mod frame;
mod interface;

use rustc_hash::FxHashMap;

pub use interface::DimName;

use crate::diagnose::{Diagnostic, Report};
use crate::host::Host;
use crate::ir::{Model, Shape, ValueId};
use crate::program::{Arg, Program};
use crate::tensor::DType;

/// What the user asks of the model's interface.
#[derive(Clone, Debug, Default)]
pub struct LowerOptions {
    /// The opset to emit.
    pub opset: i64,
    /// Names of the inputs in order; empty keeps the program's.
    pub input_names: Vec<String>,
    /// Names of the user outputs in order; empty keeps the program's.
    pub output_names: Vec<String>,
    /// Names of dimensions.
    pub dims: Vec<DimName>,
    /// The names that the exported program gives its user outputs, in order; empty where it gives
    /// none. Normalisation can leave an output with another value than the one that was named.
    pub program_outputs: Vec<String>,
}

impl LowerOptions {
    /// Remembers the names of the program's user outputs.
    pub fn keep_output_names(&mut self, program: &Program) {
        let outputs = program.signature.outputs.iter().zip(&program.body.outputs);
        let users = outputs.filter(|(spec, _)| spec.kind.is_returned());
        let name = |arg: &Arg| {
            let value = arg.as_value().and_then(|val| program.body.values.get(val));
            value.map(|v| v.name.clone()).unwrap_or_default()
        };
        self.program_outputs = users.map(|(_, arg)| name(arg)).collect();
    }
}

/// A model, and what the program states about its values.
#[derive(Debug)]
pub struct Lowered {
    /// The model.
    pub model: Model,
    /// The stated type of every value that stands for one of the program's.
    pub stated: FxHashMap<ValueId, (DType, Shape)>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Lowers `program`, which must be functional.
///
/// # Errors
/// A report of every call that cannot be lowered, not only the first.
pub fn lower(host: &Host, program: Program, options: &LowerOptions) -> Result<Lowered, Report> {
    driver::run(host, program, options)
}

//! Lowering: every call of a functional program becomes ONNX nodes, through the plugins' tables.
//!
//! Symbolic integers of the program are i64 tensors of shape `[1]`; symbolic floats and truth values
//! are f64 and bool ones. Complex tensors are pairs of reals in a last axis of size 2.

mod bind;
mod callbacks;
mod contents;
mod dims;
mod driver;
mod emit;
mod frame;
mod functions;
mod interface;
mod metadata;
mod names;
mod naming;
mod suggest;
mod unresolved;

pub(crate) use callbacks::{host_table, origin_of};
pub use interface::{DimName, input_names, program_input};
pub use names::Names;
pub use naming::Naming;

use crate::diagnose::{Diagnostic, Report};
use crate::host::Host;
use crate::ir::Model;
use crate::ir::opset::DEFAULT_OPSET;
use crate::program::{Arg, Program};
use crate::pt2::TreeSpec;
use crate::valid::StatedTypes;

/// The user's options for the model's interface.
#[derive(Clone, Debug)]
pub struct LowerOptions {
    /// The opset to emit.
    pub opset: i64,
    /// Names of the tensor inputs.
    pub input_names: Names,
    /// Names of the outputs that the program returns.
    pub output_names: Names,
    /// The convention for the names of other outputs.
    pub naming: Naming,
    /// Names of dimensions.
    pub dims: Vec<DimName>,
    /// Record on inputs, weights and outputs their role in the program.
    pub provenance: bool,
}

impl Default for LowerOptions {
    /// The default opset, and the program's own names.
    fn default() -> Self {
        Self {
            opset: DEFAULT_OPSET,
            input_names: Names::Own,
            output_names: Names::Own,
            naming: Naming::Torch,
            dims: Vec::new(),
            provenance: false,
        }
    }
}

impl LowerOptions {
    /// Follows a convention for the inputs and outputs of `program` that have no names yet.
    #[must_use]
    pub fn naming(mut self, naming: Naming, program: &Program) -> Self {
        self.naming = naming;
        let own: Vec<String> = input_names(program, &Names::Own).into_iter().map(|(own, _)| own).collect();
        for (own, new) in own.iter().zip(naming.inputs(&own)) {
            if let Some(new) = new
                && self.input_names.keeps(own)
            {
                self.input_names.rename(own.clone(), new);
            }
        }
        self
    }
}

/// A model, and the types that the program states for its values.
#[derive(Debug)]
pub struct Lowered {
    /// The model.
    pub model: Model,
    /// The stated type of every value that corresponds to one of the program's.
    pub stated: StatedTypes,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// The plugin that lowered each operator, sorted.
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

/// The names of the outputs for the caller.
#[derive(Clone, Debug, Default)]
pub struct OutputNames {
    /// The program's names of their values, in order; empty where there is none.
    pub values: Vec<String>,
    /// Their names in the return value of the module: the keys of dictionaries and the fields of dataclasses. In the
    /// order of `values`, or empty.
    pub returned: Vec<Option<String>>,
}

impl OutputNames {
    /// Returns the names of `program`'s outputs. Call it before normalisation, which can replace the value of an
    /// output.
    pub fn of(program: &Program) -> Self {
        let outputs = program.signature.outputs.iter().zip(&program.body.outputs);
        let users = outputs.filter(|(spec, _)| spec.kind.is_returned());
        let name = |arg: &Arg| {
            let value = arg.as_value().and_then(|val| program.body.values.find(val));
            value.map(|v| v.name.to_string()).unwrap_or_default()
        };
        let values: Vec<String> = users.map(|(_, arg)| name(arg)).collect();
        let tree = program.signature.out_spec.as_deref().and_then(|text| TreeSpec::parse(text).ok());
        let returned = tree.map(|tree| tree.leaf_names()).filter(|leaves| leaves.len() == values.len());
        Self { values, returned: returned.unwrap_or_default() }
    }
}

/// Lowers `program`, which must be functional. `names` names the outputs that the user does not name.
///
/// # Errors
/// A report of every call that cannot be lowered, not only the first.
pub fn lower(
    host: &Host,
    program: Program,
    options: &LowerOptions,
    names: &OutputNames,
) -> Result<Lowered, Report> {
    driver::run(host, program, options, names)
}

//! The metadata in which onnxport records the states of a model and its weights outside of the model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The key under which a model lists its states.
pub const STATE_KEY: &str = "onnxport.state";

/// The key under which a model lists the values that its program writes to and the model does not: [`DroppedState`].
pub const DROPPED_KEY: &str = "onnxport.dropped";

/// The key under which a model lists the pairs of an input and an output that may share memory: [`InPlace`].
pub const IN_PLACE_KEY: &str = "onnxport.in_place";

/// A buffer, parameter or input that the program writes to, and whose new value the model does not return.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DroppedState {
    /// `buffer`, `parameter` or `input`.
    pub kind: String,
    /// The fully qualified name, or the placeholder of a user input.
    pub name: String,
}

/// An input and an output that a runtime may keep in the same memory.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InPlace {
    /// The name of the input.
    pub input: String,
    /// The name of the output.
    pub output: String,
}

/// The key under which a model lists the weights that are still to be given.
pub const UNBOUND_KEY: &str = "onnxport.unbound";

/// The key under which a model says that weights were changed on purpose: stored in a lower type, quantised,
/// changed by plugins. Its values are not those of the program then.
pub const CHANGED_KEY: &str = "onnxport.changed";

/// The key under which a model lists the sizes that it was made for, of axes that the program leaves open.
pub const FIXED_KEY: &str = "onnxport.fixed";

/// The key under which a model lists the sizes that its program takes: [`SizeRanges`].
pub const SIZES_KEY: &str = "onnxport.sizes";

/// The key under which a model lists the files that it points into and does not own.
pub const SOURCES_KEY: &str = "onnxport.sources";

/// The key under which a node names the exported node that it comes from; several are joined by `+`.
pub const NODE_KEY: &str = "onnxport.node";

/// The key under which a node names the exported calls whose results its outputs are, where the outputs themselves are
/// called differently. The names are joined by `,`; that of an output which is not the result of a call is empty.
pub const RESULTS_KEY: &str = "onnxport.results";

/// The key under which a node names the line of the user's code, `folder/file.py:12`.
pub const SOURCE_KEY: &str = "onnxport.source";

/// The data file that an initializer without bytes states. Runtimes show it in the error of a file that
/// is missing.
pub const UNBOUND_LOCATION: &str = "weights-are-missing--run--onnxport-weights-bind";

/// An initializer without bytes, as the metadata of a model describes it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct UnboundEntry {
    /// The name of the initializer.
    pub initializer: String,
    /// The fully qualified name of the tensor in the program.
    pub name: String,
    /// Its element type in the program; complex tensors are pairs of reals in the model.
    pub dtype: String,
    /// Its sizes in the program, outermost first.
    pub shape: Vec<u64>,
    /// The initializer before it that shows the same elements of the same memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied: Option<String>,
}

/// A file that a model points into and does not own.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path, relative to the model's folder, with `/` between the parts.
    pub location: String,
    /// Its size in bytes when the model was written.
    pub bytes: u64,
}

/// The name of the metadata of a model that checks the sizes of its inputs: [`GuardOutput`].
pub const GUARDS_KEY: &str = "onnxport.guards";

/// The output that tells whether the sizes of inputs are ones that the model takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardOutput {
    /// The name of the output, a scalar of type bool.
    pub output: String,
    /// Conditions of the program that the output does not cover.
    pub unchecked: Vec<String>,
}

/// The size of an axis of an input: `x:0=8`.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AxisSize {
    /// The name of the input; in the metadata of a model, the program's.
    pub input: String,
    /// The axis, from 0.
    pub axis: usize,
    /// The number of elements along it.
    pub size: u64,
}

impl std::fmt::Display for AxisSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}={}", self.input, self.axis, self.size)
    }
}

/// The sizes that a program takes, by its guards, its assertions and the ranges of its symbols.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SizeRanges {
    /// The range of each symbol in the shapes of inputs.
    pub dims: Vec<SizeRange>,
    /// Further conditions on the sizes.
    pub conditions: Vec<SizeCondition>,
}

impl SizeRanges {
    /// Whether the sizes are restricted by more than the smallest size that PyTorch leaves open by default, 2.
    pub fn are_restricted(&self) -> bool {
        let bounded =
            |dim: &SizeRange| dim.max.is_some() || dim.step != 1 || dim.min.is_some_and(|min| min > 2);
        !self.conditions.is_empty() || self.dims.iter().any(bounded)
    }
}

/// The sizes that a symbol may have.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SizeRange {
    /// The name of the symbol in the shapes of the model.
    pub name: String,
    /// The smallest size; unbounded if absent.
    pub min: Option<i64>,
    /// The largest size; unbounded if absent.
    pub max: Option<i64>,
    /// The distance from one size to the next.
    pub step: i64,
    /// The axes that have this size, `x:0`, or a size computed from it, `y:1 = 2*s0`.
    pub axes: Vec<String>,
}

/// A condition on sizes that ranges do not express.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SizeCondition {
    /// The condition, as an expression over symbols, or as the program states it.
    pub expression: String,
    /// The line of the user's code that it comes from, `folder/file.py:12`, if that is known.
    pub line: Option<String>,
}

impl std::fmt::Display for SizeRange {
    /// The sizes without the name: `2 to 8`, `at least 8, in steps of 4`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => return write!(f, "only {min}"),
            (Some(min), Some(max)) => write!(f, "{min} to {max}")?,
            (Some(min), None) => write!(f, "at least {min}")?,
            (None, Some(max)) => write!(f, "at most {max}")?,
            (None, None) => f.write_str("any size")?,
        }
        if self.step > 1 { write!(f, ", in steps of {}", self.step) } else { Ok(()) }
    }
}

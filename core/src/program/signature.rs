//! The meaning of the inputs and outputs of a program.

use super::Val;
use crate::ir::StateKind;

/// The meaning of every input and output of the top-level graph, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// One per input of the body.
    pub inputs: Vec<InputSpec>,
    /// One per output of the body.
    pub outputs: Vec<OutputSpec>,
    /// The nesting of the flat user inputs, as PyTorch's tree specification (JSON), if recorded.
    pub in_spec: Option<String>,
    /// The nesting of the flat user outputs, likewise.
    pub out_spec: Option<String>,
}

/// The meaning of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputSpec {
    /// The placeholder's name.
    pub name: String,
    /// The kind of input.
    pub kind: InputKind,
}

/// The kind of an input.
#[derive(Clone, Debug, PartialEq)]
pub enum InputKind {
    /// Given by the user at every call.
    User,
    /// A specialized constant: `None`, a number, a string.
    Constant,
    /// A parameter, by fully qualified name.
    Parameter(String),
    /// A buffer, by fully qualified name.
    Buffer {
        /// The fully qualified name.
        name: String,
        /// Whether the state dict holds it.
        persistent: bool,
    },
    /// A tensor that the program captured as a constant, by name.
    TensorConstant(String),
    /// A custom class instance, by name.
    CustomObject(String),
    /// An effect token.
    Token,
}

impl InputKind {
    /// Returns the key of the data in [`Program::tensors`](super::Program::tensors), if the input has data.
    pub fn tensor_name(&self) -> Option<&str> {
        match self {
            InputKind::Parameter(name) | InputKind::Buffer { name, .. } | InputKind::TensorConstant(name) => {
                Some(name)
            }
            _ => None,
        }
    }
}

/// The meaning of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSpec {
    /// The kind of output.
    pub kind: OutputKind,
}

/// The kind of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputKind {
    /// Returned to the user.
    User,
    /// The loss of a training graph, also returned to the user.
    Loss,
    /// The value of a mutated object after the call.
    State {
        /// Which kind of thing.
        kind: StateKind,
        /// The fully qualified name of the buffer or parameter, or the placeholder of the input.
        name: String,
        /// The input of the body whose next value this is.
        input: Val,
    },
    /// A gradient.
    Gradient(String),
    /// An effect token.
    Token,
}

impl OutputKind {
    /// Whether the output is returned to the caller.
    pub const fn is_returned(&self) -> bool {
        matches!(self, OutputKind::User | OutputKind::Loss | OutputKind::Gradient(_))
    }
}

//! A typed exported program: ATen calls over values with symbolic shapes, and its signature.

mod call;
mod signature;
pub mod text;
mod value;

pub use crate::ir::StateKind;
pub use call::{Arg, Call, NamedArg, Output, Outputs, Subgraph};
pub use signature::{InputKind, InputSpec, OutputKind, OutputSpec, Signature};
pub use value::{TensorType, Val, Value, ValueType};

use indexmap::IndexMap;

use crate::arena::Arena;
use crate::diagnose::{OriginId, Origins};
use crate::sym::Symbols;
use crate::tensor::LazyTensor;

/// A program as `torch.export.save` recorded it, or one of its normalised forms.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The top-level graph. Its inputs follow [`Signature::inputs`], its outputs
    /// [`Signature::outputs`], one to one.
    pub body: Body,
    /// The meaning of each input and output of the body.
    pub signature: Signature,
    /// Symbols and the expressions over them.
    pub symbols: Symbols,
    /// The origins of calls.
    pub origins: Origins,
    /// Parameters, buffers and tensor constants by their fully qualified name.
    pub tensors: IndexMap<String, LazyTensor>,
    /// The producer of the program: format, schema and PyTorch versions, in this order.
    pub producer: Producer,
    /// The guards that PyTorch recorded.
    pub guards: Vec<Guard>,
}

/// A condition on sizes under which the captured branch is the one that the module takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// A Python expression, `L['x'].size()[0] <= 8`.
    pub text: String,
    /// The code that asked for it. PyTorch's archives do not have it; onnxport adds it to its own.
    pub origin: Option<OriginId>,
}

impl From<String> for Guard {
    /// A guard whose code is not known.
    fn from(text: String) -> Self {
        Self { text, origin: None }
    }
}

/// The producer of the program.
#[derive(Clone, Debug, Default)]
pub struct Producer {
    /// The schema's version, major and minor.
    pub schema: (u32, u32),
    /// PyTorch's version.
    pub torch: String,
}

/// A graph: a straight line of calls over its own values.
///
/// A nested graph (an argument of a higher-order operator) has separate values; outside values that it uses
/// are its inputs.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Every value of the graph.
    pub values: Arena<Value>,
    /// The inputs, in order; values, or constants where an input was specialised.
    pub inputs: Vec<Arg>,
    /// The calls, in execution order.
    pub calls: Vec<Call>,
    /// The outputs, in order.
    pub outputs: Vec<Arg>,
}

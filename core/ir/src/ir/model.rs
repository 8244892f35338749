//! A whole model: the main graph, local functions and metadata.

use super::{About, Attribute, BlockId, Graph, Header, StateKind, ValueId};
use crate::diagnose::Origins;
use crate::sym::Symbols;
use crate::tensor::LazyTensor;

/// A constant tensor of a graph.
#[derive(Clone, Debug)]
pub struct Initializer {
    /// The value that it defines.
    pub value: ValueId,
    /// The data.
    pub data: LazyTensor,
    /// Whether it is a parameter or a buffer: the bytes of these are not read to build a graph, so
    /// that a graph is the same with and without them.
    pub weight: bool,
    /// The block that holds it: the main one, unless a nested graph has it.
    pub block: BlockId,
}

/// A domain and the version of its operator set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpsetImport {
    /// The domain; empty for ONNX's own.
    pub domain: String,
    /// The version.
    pub version: i64,
}

/// A local function.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The domain.
    pub domain: String,
    /// The name.
    pub name: String,
    /// Which of several functions of this name it is; mostly empty.
    pub overload: String,
    /// The names of its attributes that a call gives.
    pub attributes: Vec<String>,
    /// The optional attributes, with their defaults.
    pub defaults: Vec<Attribute>,
    /// The operator sets that the body uses, sorted by domain; empty for those of the model.
    pub opsets: Vec<OpsetImport>,
    /// Its metadata.
    pub about: About,
    /// The body; its main block's inputs and outputs are the function's.
    pub graph: Graph,
}

/// A declared state: a graph input whose next value is a graph output.
#[derive(Clone, Debug)]
pub struct State {
    /// The input that holds the value before the call.
    pub input: ValueId,
    /// The position, among the outputs of the main block, of the value after the call.
    pub output: usize,
    /// The kind of state that the program mutates.
    pub kind: StateKind,
    /// The fully qualified name of the buffer or parameter, or the name of the user input.
    pub name: String,
    /// The value at the first call, written as the input's default; `None` for a user input.
    pub initial: Option<LazyTensor>,
}

/// A file that lies beside the model and that a node refers to.
#[derive(Clone, Debug)]
pub struct Artefact {
    /// Its name, without folders.
    pub file: String,
    /// Its contents, a dense tensor of bytes.
    pub data: LazyTensor,
    /// Their SHA-256 in hexadecimal.
    pub sha256: String,
}

/// An ONNX model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The main graph.
    pub graph: Graph,
    /// The names of the outputs of the main block, one to one. An output has a name of its own
    /// because the same value may be returned twice; the writer inserts `Identity` where needed.
    pub output_names: Vec<String>,
    /// Metadata of outputs of the main block, as outputs, one to one; may be shorter than the outputs.
    pub output_metadata: Vec<Vec<(String, String)>>,
    /// Local functions.
    pub functions: Vec<Function>,
    /// The operator sets that the model uses, sorted by domain.
    pub opsets: Vec<OpsetImport>,
    /// The symbols of every dimension.
    pub symbols: Symbols,
    /// Where nodes come from.
    pub origins: Origins,
    /// Inputs whose next values are outputs.
    pub states: Vec<State>,
    /// Files beside the model, in the order in which they were made.
    pub artefacts: Vec<Artefact>,
    /// Further metadata, sorted by key.
    pub metadata: Vec<(String, String)>,
    /// Whether it was imported or converted.
    pub origin: ModelOrigin,
    /// The IR version to write; where it is absent, the one of the opset, or a later one that an element type needs.
    pub ir_version: Option<i64>,
}

/// The origin of a model.
#[derive(Clone, Debug, Default)]
pub enum ModelOrigin {
    /// Built here. Names are chosen when it is written, from those of the exported program.
    #[default]
    Converted,
    /// Read from an ONNX file. It keeps its names, including those of nested graphs, and its header.
    Imported(Box<Header>),
}

impl ModelOrigin {
    /// Whether the model was read from an ONNX file.
    pub fn is_imported(&self) -> bool {
        matches!(self, Self::Imported(_))
    }

    /// The header of an imported model.
    pub fn header(&self) -> Option<&Header> {
        match self {
            Self::Converted => None,
            Self::Imported(header) => Some(header),
        }
    }
}

impl Model {
    /// A copy to cut a part from: without states, metadata, files of plugins and training graphs, which are about the whole.
    #[must_use]
    pub fn to_part(&self) -> Self {
        let mut part = self.clone();
        part.states.clear();
        part.metadata.clear();
        part.artefacts.clear();
        if let ModelOrigin::Imported(header) = &mut part.origin {
            header.training.clear();
        }
        part
    }

    /// The version of ONNX's own operator set.
    pub fn opset(&self) -> i64 {
        version(&self.opsets)
    }

    /// The version of the operator set of `domain`, if the model uses it.
    pub fn opset_of(&self, domain: &str) -> Option<i64> {
        self.opsets.iter().find(|o| o.domain == domain).map(|o| o.version)
    }
}

impl Function {
    /// The operator sets of the body in `model`.
    pub fn opsets<'a>(&'a self, model: &'a Model) -> &'a [OpsetImport] {
        if self.opsets.is_empty() { &model.opsets } else { &self.opsets }
    }

    /// The version of ONNX's own operator set in the body.
    pub fn opset(&self, model: &Model) -> i64 {
        version(self.opsets(model))
    }
}

fn version(opsets: &[OpsetImport]) -> i64 {
    opsets.iter().find(|o| o.domain.is_empty()).map_or(0, |o| o.version)
}

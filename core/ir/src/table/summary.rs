//! The summary of one tensor.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A tensor: what it is, where its bytes are and what happens to them.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TensorSummary {
    /// The name.
    pub name: String,
    /// What it is in its file.
    pub kind: TensorKind,
    /// The type of its elements, after the transforms; `unknown` where this release does not know it.
    pub dtype: String,
    /// The sizes, after the transforms; `None` for some that cannot be.
    pub shape: Option<Vec<u64>>,
    /// The bytes of the dense tensor, after the transforms.
    pub bytes: u64,
    /// Where the bytes are.
    pub source: SourceSummary,
    /// Which elements of the source it shows, before the transforms.
    pub view: ViewSummary,
    /// What happens to the elements on their way into a file, first to last: `cast f16`.
    pub transforms: Vec<String>,
    /// The number of its storage in [`WeightTable::shared`](super::WeightTable::shared), when others
    /// show it as well.
    pub shared: Option<usize>,
    /// Where it goes, for a model that is to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<DestinationSummary>,
    /// Why its bytes cannot be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ProblemSummary>,
}

/// What a tensor is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TensorKind {
    /// A parameter of a program.
    Parameter,
    /// A buffer of a program.
    Buffer,
    /// A constant of a program, or one that a conversion made.
    Constant,
    /// In the archive of a program that does not take it.
    Unused,
    /// An initializer of a model.
    Initializer,
    /// An initializer of a nested graph of a model.
    Nested,
    /// The value of a state at the first call.
    State,
    /// A parameter or a buffer on its way into a model.
    Weight,
    /// In a file of weights.
    Tensor,
}

impl TensorKind {
    /// The name, as in the JSON form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parameter => "parameter",
            Self::Buffer => "buffer",
            Self::Constant => "constant",
            Self::Unused => "unused",
            Self::Initializer => "initializer",
            Self::Nested => "nested",
            Self::State => "state",
            Self::Weight => "weight",
            Self::Tensor => "tensor",
        }
    }
}

/// A path as it can be shown: not every one is text.
pub fn shown<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// Where the bytes of a tensor are.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SourceSummary {
    /// In a file.
    File {
        /// The file.
        #[serde(serialize_with = "shown")]
        file: PathBuf,
        /// The entry of the zip archive; `outer!inner` for an archive in an archive.
        entry: Option<String>,
        /// The first byte of the storage in the file.
        offset: u64,
        /// The bytes of the storage; the tensor may show a part of them.
        length: u64,
        /// Whether the first element lies at a multiple of its size.
        aligned: bool,
    },
    /// In the model's own file.
    Model {
        /// The bytes.
        length: u64,
    },
    /// In memory: compressed in its archive, or made by the conversion.
    Memory {
        /// The bytes of the storage.
        length: u64,
    },
    /// Made when it is written.
    Made {
        /// What makes it: `plugin mine: embeddings`.
        by: String,
        /// The bytes.
        length: u64,
    },
    /// Made of several tensors.
    Joined {
        /// How: `concat along axis 0`.
        by: String,
        /// What goes in, in order.
        inputs: Vec<PartSummary>,
    },
    /// Nowhere: nobody has given them yet.
    Unbound {
        /// The tensor of the program that they belong to.
        tensor: String,
    },
    /// Not where the file says.
    Nowhere,
}

/// A tensor that goes into another one.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct PartSummary {
    /// The type of its elements, after the transforms.
    pub dtype: String,
    /// The sizes, after the transforms.
    pub shape: Vec<u64>,
    /// Where its bytes are.
    pub source: SourceSummary,
    /// Which elements of the source it shows, before the transforms.
    pub view: ViewSummary,
    /// What happens to the elements, first to last.
    pub transforms: Vec<String>,
}

/// Which elements of a storage a tensor shows.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ViewSummary {
    /// All of them, in order.
    Dense,
    /// Some that follow each other, in order.
    Slice {
        /// The elements before the first one.
        offset: u64,
    },
    /// Some at distances.
    Strided {
        /// The elements before the first one.
        offset: u64,
        /// The elements from one to the next, by axis.
        strides: Vec<u64>,
    },
}

/// Where a tensor goes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DestinationSummary {
    /// Into a data file.
    Data {
        /// The file.
        #[serde(serialize_with = "shown")]
        file: PathBuf,
        /// The first byte.
        offset: u64,
        /// The bytes.
        length: u64,
        /// The tensor whose stored bytes these are, when they are stored already.
        tied: Option<String>,
    },
    /// Nowhere: the model points at it.
    Pointed {
        /// The file.
        #[serde(serialize_with = "shown")]
        file: PathBuf,
        /// The first byte.
        offset: u64,
        /// The bytes.
        length: u64,
    },
    /// Into the model's own file.
    Model,
    /// Nowhere yet: the model waits for it.
    Unbound,
    /// Nowhere: the model is written without it.
    LeftOut,
}

/// Why the bytes of a tensor cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ProblemSummary {
    /// The code.
    pub code: String,
    /// The problem, to be read after the tensor's name.
    pub message: String,
}

/// A storage that several tensors show.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct SharedStorage {
    /// The views; the tensors of each show exactly the same elements.
    pub views: Vec<Vec<String>>,
    /// Whether two different views reach into the same bytes.
    pub overlapping: bool,
    /// The bytes that the tensors of the same view do not need again.
    pub saved_bytes: u64,
}

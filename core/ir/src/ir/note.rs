//! Metadata of parts of a model.
//!
//! Imported models have notes; in converted ones, lowerings add metadata to nodes. They are stored beside the arenas, because few parts of few models have any,
//! and are keyed by ids that are never reused: the note of a removed node is merely unread.

use onnxport_proto::{DeviceConfigurationProto, NodeDeviceConfigurationProto, TrainingInfoProto};
use rustc_hash::FxHashMap;

use super::{BlockId, NodeId, ValueId};
use crate::diagnose::OriginId;
use crate::sym::Dim;

/// Documentation and metadata of anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The documentation; empty for none.
    pub doc: String,
    /// Metadata, sorted by key.
    pub metadata: Vec<(String, String)>,
}

impl About {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.doc.is_empty() && self.metadata.is_empty()
    }
}

/// About a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeNote {
    /// Its name; empty for none.
    pub name: String,
    /// Documentation and metadata.
    pub about: About,
    /// On which devices it runs. The tensors in it are named as the model names them.
    pub devices: Vec<NodeDeviceConfigurationProto>,
}

/// About a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueNote {
    /// Documentation and metadata of the value.
    pub about: About,
    /// Documentation and metadata of the constant behind it.
    pub tensor: About,
    /// The denotation of the value, such as `IMAGE`; empty if there is none.
    pub denotation: String,
    /// The denotations of its axes, such as `DATA_CHANNEL`; empty if there are none.
    pub axes: Vec<String>,
    /// The tensors that quantise it: `SCALE_TENSOR` and the name of one.
    pub quantised: Vec<(String, String)>,
}

impl ValueNote {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    /// Whether something is said that belongs to the value's declaration.
    pub fn declares(&self) -> bool {
        !self.about.is_empty() || !self.denotation.is_empty() || !self.axes.is_empty()
    }
}

/// About a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockNote {
    /// Its name; empty for none.
    pub name: String,
    /// Documentation and metadata.
    pub about: About,
}

/// The notes of a graph.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// By node. A node of an imported model has one, even an empty one; in a converted model, only the metadata counts.
    pub nodes: FxHashMap<NodeId, NodeNote>,
    /// By value.
    pub values: FxHashMap<ValueId, ValueNote>,
    /// By block.
    pub blocks: FxHashMap<BlockId, BlockNote>,
    /// The origins of equal nodes that a node stands for since they were merged into it, each once.
    pub merged: FxHashMap<NodeId, Vec<OriginId>>,
    /// How the model spells sizes that are simpler than it says.
    pub dims: FxHashMap<Dim, String>,
}

/// The metadata of an imported model as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The version of the format. A model that needs a higher one is written with that.
    pub ir_version: i64,
    /// The program that made it.
    pub producer: String,
    /// The version of that program.
    pub producer_version: String,
    /// The namespace of the model, `org.example`.
    pub domain: String,
    /// The version of the model.
    pub version: i64,
    /// The documentation.
    pub doc: String,
    /// The sets of devices that nodes refer to.
    pub devices: Vec<DeviceConfigurationProto>,
    /// How the model is trained: graphs that go on from the main one, kept as they were read, with their tensors in
    /// them. They name values of the main graph.
    pub training: Vec<TrainingInfoProto>,
}

//! Reads the declarations of ONNX files, without the bytes of weights.
//!
//! The file is mapped, and weights in the decoded message borrow the mapping.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod beside;
mod metadata;
pub(crate) mod redirect;
mod signature;
pub mod torch;
mod waiting;
mod weights;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnxport_proto::{FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto};
use prost::Message;

pub use beside::Beside;
pub use metadata::{
    AxisSize, CHANGED_KEY, DROPPED_KEY, DroppedState, FIXED_KEY, GUARDS_KEY, GuardOutput, IN_PLACE_KEY,
    InPlace, NODE_KEY, RESULTS_KEY, SIZES_KEY, SOURCE_KEY, SOURCES_KEY, STATE_KEY, SizeCondition, SizeRange,
    SizeRanges, SourceFile, UNBOUND_KEY, UNBOUND_LOCATION, UnboundEntry,
};
pub use signature::{Extent, Port, Signature, State, further_outputs};
pub use waiting::{check_waiting, waiting};
pub use weights::{Location, Weight};

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{DType, MappedFile};

/// A decoded ONNX file.
#[derive(Clone, Debug)]
pub struct OnnxFile {
    path: PathBuf,
    /// The message.
    pub proto: ModelProto,
    /// Every initializer of the main graph, in order.
    pub weights: Vec<Weight>,
    /// Every initializer of the graphs inside of nodes, in order.
    pub nested: Vec<Weight>,
}

impl OnnxFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// `OP101` when it cannot be read; `OP110` when it is damaged, holds no graph, or states weights
    /// that cannot be: sizes below zero, bytes that do not fit their shape, data outside of the
    /// model's folder.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        Self::declarations(path)?.with_weights()
    }

    /// Reads the file at `path` from its contents.
    ///
    /// # Errors
    /// `OP110` as of [`open`](Self::open).
    pub fn from_message(path: &Path, message: Bytes) -> Result<Self, Diagnostic> {
        Self::decode(path, message)?.with_weights()
    }

    fn with_weights(self) -> Result<Self, Diagnostic> {
        let mut file = self;
        let read = |tensor: &TensorProto| Weight::read(tensor).map_err(|why| file.about(tensor.name(), &why));
        let main = file.proto.graph.iter().flat_map(|graph| &graph.initializer);
        let weights = main.map(read).collect::<Result<_, _>>()?;
        let inside = file.proto.graph.iter().flat_map(nested_initializers);
        let nested = inside.map(read).collect::<Result<_, _>>()?;
        (file.weights, file.nested) = (weights, nested);
        Ok(file)
    }

    /// Reads the file at `path`; its weights are still to be read.
    pub fn declarations(path: &Path) -> Result<Self, Diagnostic> {
        let file = MappedFile::open(path).map_err(|e| {
            Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {e}", path.display()))
        })?;
        Self::decode(path, Bytes::from_owner(file))
    }

    fn decode(path: &Path, message: Bytes) -> Result<Self, Diagnostic> {
        let proto = ModelProto::decode(message).map_err(|e| invalid(path, &e.to_string()))?;
        if proto.graph.is_none() {
            return Err(invalid(path, "it has no graph"));
        }
        Ok(Self { path: path.to_owned(), weights: Vec::new(), nested: Vec::new(), proto })
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every initializer of the model.
    pub fn all_weights(&self) -> impl Iterator<Item = &Weight> {
        self.weights.iter().chain(&self.nested)
    }

    /// An error about the initializer called `name`.
    fn about(&self, name: &str, why: &str) -> Diagnostic {
        invalid(&self.path, &format!("the initializer `{name}` {why}"))
    }

    /// The main graph.
    pub fn graph(&self) -> Option<&GraphProto> {
        self.proto.graph.as_ref()
    }

    /// The local functions.
    pub fn functions(&self) -> &[FunctionProto] {
        &self.proto.functions
    }

    /// Returns the tool that wrote the file, with its version.
    pub fn producer(&self) -> String {
        format!("{} {}", self.proto.producer_name(), self.proto.producer_version()).trim().to_owned()
    }

    /// The metadata entry called `key`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.proto.metadata_props.iter().find(|p| p.key() == key).map(StringStringEntryProto::value)
    }

    /// The number of nodes by domain and operator, nested graphs and functions included; the domain
    /// of ONNX's own operators is empty.
    pub fn op_counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        let functions = self.proto.functions.iter().map(|f| f.node.as_slice());
        for nodes in self.graph().map(|g| g.node.as_slice()).into_iter().chain(functions) {
            count(nodes, &mut counts);
        }
        counts
    }

    /// Checks that every data file exists and is long enough for its weights, and that files which the model does
    /// not own have the size that they had.
    ///
    /// # Errors
    /// `OP110` with the weight and its file, or with the damage; `OP630` for a model that was written without
    /// weights.
    pub fn check_data(&self) -> Result<(), Diagnostic> {
        let waiting = self.weights.iter().filter(|w| w.location.file() == Some(UNBOUND_LOCATION)).count();
        if waiting > 0 {
            let message = format!("`{}` waits for {waiting} of its weights", self.path.display());
            return Err(Diagnostic::error(Code::WEIGHTS_MISSING, message)
                .help("give them with `onnxport weights bind`"));
        }
        let mut beside = Beside::for_model(&self.path);
        for weight in self.all_weights() {
            if let Some(why) = beside.problem(weight) {
                return Err(self.about(&weight.name, &why));
            }
        }
        match sources(&self.path, &self.proto)?.iter().find_map(|source| beside.changed(source)) {
            Some(why) => Err(invalid(&self.path, &why)),
            None => Ok(()),
        }
    }

    /// The files that the model points into and does not own; none where its metadata is damaged, which
    /// [`check_data`](Self::check_data) says.
    pub fn sources(&self) -> Vec<SourceFile> {
        sources(&self.path, &self.proto).unwrap_or_default()
    }
}

/// The files that the model at `path` points into and does not own.
///
/// # Errors
/// `OP110` for damaged metadata.
pub fn sources(path: &Path, proto: &ModelProto) -> Result<Vec<SourceFile>, Diagnostic> {
    let mut entries = proto.metadata_props.iter().filter(|entry| entry.key() == SOURCES_KEY);
    let Some(entry) = entries.next() else { return Ok(Vec::new()) };
    let damaged = |why: String| invalid(path, &format!("its metadata `{SOURCES_KEY}` is damaged: {why}"));
    if entries.next().is_some() {
        return Err(damaged("it is there twice".to_owned()));
    }
    serde_json::from_str(entry.value()).map_err(|e| damaged(e.to_string()))
}

/// The initializers of the graphs inside of the nodes of `graph`, in order: those of a graph come before those of graphs
/// inside of it. Protobuf's own limit keeps the nesting shallow.
pub fn nested_initializers(graph: &GraphProto) -> Vec<&TensorProto> {
    let attributes = graph.node.iter().flat_map(|node| &node.attribute);
    let inner = attributes.flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
    inner.flat_map(|graph| graph.initializer.iter().chain(nested_initializers(graph))).collect()
}

/// Whether `tensor` holds texts.
pub fn is_text(tensor: &TensorProto) -> bool {
    DType::from_onnx(tensor.data_type()) == Some(DType::String)
}

/// [`nested_initializers`], to be changed.
pub fn nested_initializers_mut(graph: &mut GraphProto) -> Vec<&mut TensorProto> {
    fn collect<'g>(nodes: &'g mut [NodeProto], found: &mut Vec<&'g mut TensorProto>) {
        for attribute in nodes.iter_mut().flat_map(|node| &mut node.attribute) {
            for GraphProto { initializer, node, .. } in attribute.g.iter_mut().chain(&mut attribute.graphs) {
                found.extend(initializer);
                collect(node, found);
            }
        }
    }
    let mut found = Vec::new();
    collect(&mut graph.node, &mut found);
    found
}

/// Protobuf's own limit keeps the nesting of graphs shallow.
fn count(nodes: &[NodeProto], counts: &mut BTreeMap<(String, String), usize>) {
    for node in nodes {
        let domain = Some(node.domain()).filter(|d| *d != "ai.onnx").unwrap_or_default();
        let count_of = counts.entry((domain.to_owned(), node.op_type().to_owned())).or_default();
        *count_of = count_of.saturating_add(1);
        for attribute in &node.attribute {
            for graph in attribute.g.iter().chain(&attribute.graphs) {
                count(&graph.node, counts);
            }
        }
    }
}

/// The error about a file that is not a model that can be used.
pub fn invalid(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(
        Code::READ_ONNX,
        format!("`{}` is not an ONNX model that can be used: {why}", path.display()),
    )
}

//! Reading ONNX files: the declarations, without the bytes of weights.
//!
//! The file is mapped, and what the decoded message holds of weights borrows the mapping.

mod weights;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use onnxport_proto::{GraphProto, ModelProto, NodeProto, StringStringEntryProto};
use prost::Message;

pub use weights::{Location, Weight};

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::MappedFile;
use crate::write::{SOURCES_KEY, SourceFile, UNBOUND_LOCATION};

/// A decoded ONNX file.
#[derive(Clone, Debug)]
pub struct OnnxFile {
    path: PathBuf,
    /// The message.
    pub proto: ModelProto,
    /// Every initializer of the main graph, in order.
    pub weights: Vec<Weight>,
}

impl OnnxFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// `OP101` when it cannot be read; `OP110` when it is damaged, holds no graph, or states weights
    /// that cannot be: extents below zero, bytes that do not fit their shape, data outside of the
    /// model's folder.
    pub fn open(path: &Path) -> Result<Self, Diagnostic> {
        let file = MappedFile::open(path).map_err(|e| {
            Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {e}", path.display()))
        })?;
        let proto = ModelProto::decode(Bytes::from_owner(file)).map_err(|e| invalid(path, &e.to_string()))?;
        let Some(graph) = &proto.graph else { return Err(invalid(path, "it holds no graph")) };
        let weights = graph.initializer.iter().map(|tensor| Weight::read(path, tensor));
        let weights = weights.collect::<Result<_, _>>()?;
        Ok(Self { path: path.to_owned(), weights, proto })
    }

    /// The main graph.
    pub fn graph(&self) -> Option<&GraphProto> {
        self.proto.graph.as_ref()
    }

    /// What wrote the file, with its version.
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

    /// Whether every data file is there and long enough for what the model places in it, and those that
    /// the model does not own have the size that they had.
    ///
    /// # Errors
    /// `OP110` that names the weight and its file, `OP630` when the model was written without weights.
    pub fn check_data(&self) -> Result<(), Diagnostic> {
        let waiting = self.weights.iter().filter(|w| w.location.file() == Some(UNBOUND_LOCATION)).count();
        if waiting > 0 {
            let message = format!("`{}` waits for {waiting} of its weights", self.path.display());
            return Err(Diagnostic::error(Code::WEIGHTS_MISSING, message)
                .help("give them with `onnxport weights bind`"));
        }
        let mut lengths: BTreeMap<&str, Option<u64>> = BTreeMap::new();
        let folder = self.path.parent().unwrap_or(Path::new(""));
        for weight in &self.weights {
            let Location::External { file, offset, length } = &weight.location else { continue };
            let known = lengths.entry(file).or_insert_with(|| {
                std::fs::metadata(folder.join(file)).ok().filter(Metadata::is_file).map(|m| m.len())
            });
            let Some(available) = known else {
                let message =
                    format!("the data file `{file}` of the initializer `{}` is missing", weight.name);
                return Err(invalid(&self.path, &message));
            };
            let end = offset.checked_add(length.unwrap_or(weight.bytes));
            if end.is_none_or(|end| end > *available) {
                let message = format!(
                    "the initializer `{}` takes bytes up to {} of `{file}`, which has {available}",
                    weight.name,
                    end.unwrap_or(u64::MAX)
                );
                return Err(invalid(&self.path, &message));
            }
        }
        for source in self.sources() {
            let held = std::fs::metadata(folder.join(&source.location)).map(|m| m.len());
            if held.as_ref().is_ok_and(|held| *held != source.bytes) {
                let message = format!(
                    "`{}`, into which it points, had {} bytes when it was written and has {}",
                    source.location,
                    source.bytes,
                    held.unwrap_or(0)
                );
                return Err(invalid(&self.path, &message));
            }
        }
        Ok(())
    }

    /// The files that the model points into and does not own.
    pub fn sources(&self) -> Vec<SourceFile> {
        let listed = self.metadata(SOURCES_KEY).and_then(|text| serde_json::from_str(text).ok());
        listed.unwrap_or_default()
    }
}

/// Protobuf's own limit keeps the nesting of graphs shallow.
fn count(nodes: &[NodeProto], counts: &mut BTreeMap<(String, String), usize>) {
    for node in nodes {
        let domain = Some(node.domain()).filter(|d| *d != "ai.onnx").unwrap_or_default();
        *counts.entry((domain.to_owned(), node.op_type().to_owned())).or_default() += 1;
        for attribute in &node.attribute {
            for graph in attribute.g.iter().chain(&attribute.graphs) {
                count(&graph.node, counts);
            }
        }
    }
}

pub(crate) fn invalid(path: &Path, why: &str) -> Diagnostic {
    Diagnostic::error(
        Code::READ_ONNX,
        format!("`{}` is not an ONNX model that can be used: {why}", path.display()),
    )
}

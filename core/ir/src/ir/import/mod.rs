//! Reads ONNX models into the graph.
//!
//! The file is mapped, and so are the data files that it names: no weight is copied, whatever its size. Names are
//! resolved once, here: a use before its definition, a name that is defined twice, and a recursive function are
//! refused. Metadata becomes [`Notes`](super::Notes).
//!
//! Reading a model and writing it again preserves it: the same graphs, nodes, names and texts in the same order,
//! and constants with the same elements, in whatever form they were stored. Only meaningless details may differ:
//!
//! - the form in which tensors are stored, and in which file;
//! - the order of attributes, of imported operator sets, of metadata, of functions, of initializers and of
//!   `value_info`;
//! - the domain `ai.onnx`, which is the empty one; empty texts, which are absent;
//! - `value_info` of initializers, inputs and outputs, and of names that nothing defines;
//! - names and documentation of tensors inside of attributes, documentation of attributes;
//! - the location of tensors in training information, which move into the model;
//! - denotations inside of sequences, optionals and maps;
//! - a name in a nested graph that shadows an outer one, which gets a number;
//! - negative sizes, which are unknown ones.
//!
//! The time is linear in the size of the file, and recursion is bounded by the decoder's limit of 100 nested
//! messages.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod attribute;
mod block;
mod data;
mod functions;
mod scope;
mod training;
mod types;

pub use functions::check_calls;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use onnxport_proto::{ModelProto, OperatorSetIdProto, StringStringEntryProto};
use prost::Message;
use rustc_hash::FxHashSet;

use super::{About, Graph, Header, Model, ModelOrigin, OpsetImport, ValueId};
use crate::diagnose::{Code, Diagnostic};
use crate::onnx::{SOURCES_KEY, UNBOUND_KEY};
use crate::tensor::{LentMemory, MappedFile};
use data::Data;
use scope::Scope;

/// Why a model cannot be read, as a sentence.
type Res<T> = Result<T, String>;

/// Reads the model at `path`. Its weights stay in their files, which must not change while the model lives.
///
/// # Errors
/// `OP101` when the file cannot be read; `OP110` when it is damaged, contradicts itself, or states data that is not
/// there.
pub fn import(path: &Path) -> Result<Model, Diagnostic> {
    let failed = |e: std::io::Error| {
        Diagnostic::error(Code::READ_IO, format!("cannot read `{}`: {e}", path.display()))
    };
    let invalid = |why: String| {
        let message = format!("`{}` is not an ONNX model that can be used: {why}", path.display());
        Diagnostic::error(Code::READ_ONNX, message)
    };
    let file = MappedFile::open(path).map_err(failed)?;
    let proto = ModelProto::decode(Bytes::from_owner(file.clone())).map_err(|e| invalid(e.to_string()))?;
    model(proto, Data::beside(path, file)).map_err(invalid)
}

/// The model of a decoded message, whose data files lie beside `path`.
///
/// # Errors
/// Those of [`import`].
pub fn decoded(proto: ModelProto, path: &Path) -> Result<Model, Diagnostic> {
    model(proto, Data::unmapped(path)).map_err(|why| {
        let message = format!("`{}` is not an ONNX model that can be used: {why}", path.display());
        Diagnostic::error(Code::READ_ONNX, message)
    })
}

/// Reads a model from memory. `weights` are the bytes of initializers that state their data in these locations; they are
/// not copied.
///
/// # Errors
/// `OP110` when the message is damaged, contradicts itself, or states data in other locations.
pub fn from_memory(message: Bytes, weights: BTreeMap<String, LentMemory>) -> Result<Model, Diagnostic> {
    let invalid = |why: String| {
        Diagnostic::error(Code::READ_ONNX, format!("the model in memory cannot be used: {why}"))
    };
    let proto = ModelProto::decode(message).map_err(|e| invalid(e.to_string()))?;
    model(proto, Data::lent(weights)).map_err(invalid)
}

fn model(mut proto: ModelProto, mut data: Data) -> Res<Model> {
    data.expect(&proto)?;
    let graph = proto.graph.take().ok_or("it has no graph")?;
    let mut header = header(&mut proto);
    header.training = training::embedded(std::mem::take(&mut proto.training_info), &mut data)?;
    let mut model = Model { origin: ModelOrigin::Imported(Box::new(header)), ..Model::default() };
    model.opsets = opsets(&proto.opset_import)?;
    if model.opsets.is_empty() {
        // Files of the first two versions of the format name none and mean the first one.
        model.opsets.push(OpsetImport { domain: String::new(), version: 1 });
    }
    model.metadata = pairs(std::mem::take(&mut proto.metadata_props));
    // They say where weights are, which is for the writer to say again.
    model.metadata.retain(|(key, _)| ![SOURCES_KEY, UNBOUND_KEY].contains(&key.as_str()));
    let mut importer = Importer {
        model,
        data,
        graph: Graph::default(),
        scope: Scope::default(),
        given: FxHashSet::default(),
    };
    importer.main(graph)?;
    importer.model.graph = std::mem::take(&mut importer.graph);
    for function in functions::in_order(std::mem::take(&mut proto.functions))? {
        let name = format!("{}::{}", function.domain(), function.name());
        importer.function(function).map_err(|why| format!("in the function `{name}`, {why}"))?;
    }
    Ok(importer.model)
}

struct Importer {
    model: Model,
    data: Data,
    /// The graph under construction.
    graph: Graph,
    /// The names in sight.
    scope: Scope,
    /// The inputs of the graph that have a default.
    given: FxHashSet<ValueId>,
}

fn header(proto: &mut ModelProto) -> Header {
    Header {
        ir_version: proto.ir_version(),
        producer: proto.producer_name.take().unwrap_or_default(),
        producer_version: proto.producer_version.take().unwrap_or_default(),
        domain: proto.domain.take().unwrap_or_default(),
        version: proto.model_version(),
        doc: proto.doc_string.take().unwrap_or_default(),
        devices: std::mem::take(&mut proto.configuration),
        training: Vec::new(),
    }
}

/// The imported operator sets, sorted by domain.
fn opsets(imports: &[OperatorSetIdProto]) -> Res<Vec<OpsetImport>> {
    let mut opsets: Vec<OpsetImport> = imports
        .iter()
        .map(|o| OpsetImport { domain: domain(o.domain()).to_owned(), version: o.version() })
        .collect();
    opsets.sort();
    opsets.dedup();
    match opsets.windows(2).find(|pair| matches!(pair, [a, b] if a.domain == b.domain)) {
        Some([a, b]) => Err(format!(
            "it imports version {} and version {} of the operators of `{}`",
            a.version, b.version, a.domain
        )),
        _ => Ok(opsets),
    }
}

/// A domain of operators; that of ONNX itself has two names.
fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

fn about(doc: Option<String>, metadata: Vec<StringStringEntryProto>) -> About {
    About { doc: doc.unwrap_or_default(), metadata: pairs(metadata) }
}

/// Entries sorted by key.
fn pairs(entries: Vec<StringStringEntryProto>) -> Vec<(String, String)> {
    let pair = |e: StringStringEntryProto| (e.key.unwrap_or_default(), e.value.unwrap_or_default());
    let mut pairs: Vec<_> = entries.into_iter().map(pair).collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs
}

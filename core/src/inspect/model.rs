//! What an ONNX file holds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bytes::Bytes;
use onnxport_proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;
use serde::Serialize;

use super::program::{InputSummary, OpSummary, ValueSummary};
use crate::diagnose::{Code, Diagnostic};
use crate::tensor::{DType, MappedFile};
use crate::verify::{Port, Signature};

/// What an ONNX file holds.
#[derive(Clone, Debug, Serialize)]
pub struct ModelSummary {
    /// What wrote the file.
    pub producer: String,
    /// The version of the format.
    pub ir_version: i64,
    /// The operator sets: domain and version.
    pub opsets: Vec<(String, i64)>,
    /// What the user passes.
    pub inputs: Vec<ValueSummary>,
    /// What the user gets.
    pub outputs: Vec<ValueSummary>,
    /// Inputs whose next values are outputs.
    pub states: Vec<InputSummary>,
    /// The operators, most used first; the provider is not of interest.
    pub ops: Vec<OpSummary>,
    /// The names of local functions.
    pub functions: Vec<String>,
    /// How many initializers there are.
    pub initializers: usize,
    /// The bytes of all of them.
    pub weight_bytes: u64,
    /// The data files that hold some of them, relative to the model.
    pub data_files: Vec<String>,
    /// The metadata, onnxport's own left out.
    pub metadata: Vec<(String, String)>,
}

impl ModelSummary {
    /// Reads the file at `path`; no weight is read.
    ///
    /// # Errors
    /// `OP101` and `OP110` for a file that is not readable or not a model.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let signature = Signature::read(path)?;
        let file = MappedFile::open(path)
            .map_err(|e| Diagnostic::error(Code::READ_IO, format!("cannot read {}: {e}", path.display())))?;
        let model = ModelProto::decode(Bytes::from_owner(file)).map_err(|e| {
            Diagnostic::error(Code::READ_ONNX, format!("{} is not an ONNX model: {e}", path.display()))
        })?;
        let graph = model.graph.unwrap_or_default();
        let mut counts = BTreeMap::new();
        count(&graph.node, &mut counts);
        let functions: Vec<String> = model.functions.iter().filter_map(|f| f.name.clone()).collect();
        for function in &model.functions {
            count(&function.node, &mut counts);
        }
        let mut ops: Vec<OpSummary> =
            counts.into_iter().map(|(target, count)| OpSummary { target, count, provider: None }).collect();
        ops.sort_by_key(|op| std::cmp::Reverse(op.count));
        let (weight_bytes, data_files) = weights(&graph);
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let producer = format!("{} {}", text(&model.producer_name), text(&model.producer_version));
        Ok(Self {
            producer: producer.trim().to_owned(),
            ir_version: model.ir_version.unwrap_or_default(),
            opsets: model.opset_import.iter().map(|o| (text(&o.domain), o.version.unwrap_or(0))).collect(),
            inputs: signature.user_inputs().map(value).collect(),
            outputs: signature
                .outputs
                .iter()
                .filter(|o| signature.state_of(&o.name).is_none())
                .map(value)
                .collect(),
            states: signature
                .states
                .iter()
                .map(|state| InputSummary {
                    name: state.name.clone(),
                    kind: match state.kind.as_str() {
                        "buffer" => "buffer",
                        "parameter" => "parameter",
                        _ => "input",
                    },
                    ty: format!("{} -> {}", state.input, state.output),
                })
                .collect(),
            ops,
            functions,
            initializers: graph.initializer.len(),
            weight_bytes,
            data_files,
            metadata: model
                .metadata_props
                .iter()
                .map(|p| (text(&p.key), text(&p.value)))
                .filter(|(key, _)| !key.starts_with("onnxport."))
                .collect(),
        })
    }
}

fn value(port: &Port) -> ValueSummary {
    ValueSummary { name: port.name.clone(), ty: port.type_text() }
}

fn count(nodes: &[NodeProto], counts: &mut BTreeMap<String, usize>) {
    for node in nodes {
        let op = node.op_type.as_deref().unwrap_or_default();
        let name = match node.domain.as_deref() {
            None | Some("" | "ai.onnx") => op.to_owned(),
            Some(domain) => format!("{domain}.{op}"),
        };
        *counts.entry(name).or_default() += 1;
        for attribute in &node.attribute {
            for graph in attribute.g.iter().chain(&attribute.graphs) {
                count(&graph.node, counts);
            }
        }
    }
}

fn weights(graph: &GraphProto) -> (u64, Vec<String>) {
    let mut files = BTreeSet::new();
    let mut bytes = 0u64;
    for tensor in &graph.initializer {
        bytes = bytes.saturating_add(tensor_bytes(tensor));
        let location = tensor.external_data.iter().find(|e| e.key.as_deref() == Some("location"));
        files.extend(location.and_then(|e| e.value.clone()));
    }
    (bytes, files.into_iter().collect())
}

fn tensor_bytes(tensor: &TensorProto) -> u64 {
    let dtype = DType::from_onnx(tensor.data_type.unwrap_or_default());
    let elements =
        tensor.dims.iter().try_fold(1u64, |n, d| n.checked_mul(u64::try_from(*d).ok()?)).unwrap_or(0);
    dtype.and_then(|d| d.byte_len(elements)).unwrap_or(0)
}

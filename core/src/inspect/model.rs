//! The contents of an ONNX file.

use std::collections::BTreeSet;
use std::path::Path;

use onnxport_proto::FunctionProto;
use schemars::JsonSchema;
use serde::Serialize;

use super::program::{InputSummary, OpSummary, ValueSummary};
use crate::diagnose::Diagnostic;
use crate::onnx::{OnnxFile, SizeRanges};
use crate::verify::{Port, Signature};

/// The contents of an ONNX file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ModelSummary {
    /// The program that wrote the file.
    pub producer: String,
    /// The version of the format.
    pub ir_version: i64,
    /// The operator sets: domain and version.
    pub opsets: Vec<(String, i64)>,
    /// The user's inputs.
    pub inputs: Vec<ValueSummary>,
    /// The outputs.
    pub outputs: Vec<ValueSummary>,
    /// Inputs whose next values are outputs.
    pub states: Vec<InputSummary>,
    /// The sizes that the model takes, as its metadata states them.
    pub sizes: SizeRanges,
    /// The operators, most used first; their provider is not set.
    pub ops: Vec<OpSummary>,
    /// The local functions, `domain::name`.
    pub functions: Vec<String>,
    /// The number of initializers.
    pub initializers: usize,
    /// Their total size in bytes.
    pub weight_bytes: u64,
    /// The data files that hold some of them, relative to the model.
    pub data_files: Vec<String>,
    /// The metadata, without onnxport's own.
    pub metadata: Vec<(String, String)>,
}

impl ModelSummary {
    /// Reads the file at `path`, without its weights.
    ///
    /// # Errors
    /// `OP101` and `OP110` for a file that is not readable or not a model.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        Self::from_file(&OnnxFile::open(path)?)
    }

    /// Describes a file that was read.
    ///
    /// # Errors
    /// `OP110` for damaged metadata.
    pub fn from_file(file: &OnnxFile) -> Result<Self, Diagnostic> {
        let signature = Signature::of(file)?;
        let model = &file.proto;
        let called = |f: &FunctionProto| Some(format!("{}::{}", f.domain.as_deref()?, f.name.as_deref()?));
        let functions: Vec<String> = model.functions.iter().filter_map(called).collect();
        let target =
            |(domain, op): (String, String)| if domain.is_empty() { op } else { format!("{domain}.{op}") };
        let counts = file.op_counts().into_iter();
        let mut ops: Vec<OpSummary> =
            counts.map(|(op, count)| OpSummary { target: target(op), count, provider: None }).collect();
        ops.sort_by_key(|op| std::cmp::Reverse(op.count));
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let data_files: BTreeSet<&str> = file.all_weights().filter_map(|w| w.location.file()).collect();
        Ok(Self {
            producer: file.producer(),
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
            sizes: signature.sizes.clone(),
            ops,
            functions,
            initializers: file.all_weights().count(),
            weight_bytes: file.all_weights().fold(0, |n, w| n.saturating_add(w.bytes)),
            data_files: data_files.into_iter().map(str::to_owned).collect(),
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

//! The composition of a model in numbers: its parameters, modules, operators and graph.

use std::collections::BTreeMap;
use std::path::Path;

use onnxport_proto::{NodeProto, StringStringEntryProto};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ModelSummary, WeightTable};
use crate::diagnose::Diagnostic;
use crate::onnx::{OnnxFile, torch};
use crate::tidy;

/// The composition of a model. Nothing here depends on the location of the file.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct ModelParts {
    /// The interface, the operator sets and the operators.
    pub summary: ModelSummary,
    /// The main graph's metadata about the program it comes from: its signature, its ranges, its guards.
    pub program: BTreeMap<&'static str, String>,
    /// The nodes of the main graph.
    pub nodes: usize,
    /// The number of nodes that name a module, or belong to the root module.
    pub with_module: usize,
    /// The number of nodes that name a line of the user's code.
    pub with_line: usize,
    /// The initializers of each element type, the largest first.
    pub types: Vec<TypeParts>,
    /// Shared weights, and the largest ones.
    pub weights: WeightParts,
    /// The nodes and weights of each module, without those of the modules inside it; sorted by path.
    pub modules: Vec<ModuleParts>,
    /// The nodes of the main graph, in order.
    pub graph: Vec<NodePart>,
}

/// The initializers of an element type.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct TypeParts {
    /// The element type.
    pub dtype: String,
    /// The number of initializers.
    pub tensors: usize,
    /// The number of their elements.
    pub elements: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// The initializers, nested graphs included.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct WeightParts {
    /// The number of initializers.
    pub tensors: usize,
    /// Their total size in bytes, without sharing.
    pub bytes: u64,
    /// Their total size in the files in bytes, where shared storage counts once.
    pub distinct_bytes: u64,
    /// The names of initializers with the same storage, group by group.
    pub shared: Vec<Vec<String>>,
    /// The largest ones, at most [`LARGE`].
    pub largest: Vec<LargePart>,
}

/// A large initializer.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct LargePart {
    /// Its name.
    pub name: String,
    /// Its type, `f32[512, 512]`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The number of initializers that are listed as the largest ones.
const LARGE: usize = 20;

impl From<&WeightTable> for WeightParts {
    fn from(table: &WeightTable) -> Self {
        let mut shared: Vec<Vec<String>> = vec![Vec::new(); table.shared.len()];
        for tensor in &table.tensors {
            if let Some(group) = tensor.shared.and_then(|at| shared.get_mut(at)) {
                group.push(tensor.name.clone());
            }
        }
        let mut order: Vec<_> = table.tensors.iter().collect();
        order.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(&b.name)));
        let large = order.into_iter().take(LARGE).map(|tensor| {
            let extents = tensor.shape.as_ref().map_or_else(|| "?".to_owned(), |shape| format!("{shape:?}"));
            LargePart {
                name: tensor.name.clone(),
                ty: format!("{}{extents}", tensor.dtype),
                bytes: tensor.bytes,
            }
        });
        Self {
            tensors: table.tensors.len(),
            bytes: table.bytes,
            distinct_bytes: table.distinct_bytes,
            shared,
            largest: large.collect(),
        }
    }
}

/// The nodes and weights of a module.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct ModuleParts {
    /// The path, with dots; empty for the root.
    pub path: String,
    /// The number of its nodes.
    pub nodes: usize,
    /// The number of initializers that are named after it.
    pub tensors: usize,
    /// The number of their elements.
    pub elements: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A node.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct NodePart {
    /// Its name.
    pub name: String,
    /// Its operator, with the domain if that is not ONNX's.
    pub operator: String,
    /// The path of its module; empty for the root, or if the model does not name it.
    pub module: String,
    /// The line of the user's code, `folder/file.py:12`; empty if the model does not name it.
    pub source: String,
    /// The indices of the nodes that it reads, in order, each once.
    pub reads: Vec<usize>,
    /// The inputs and initializers that it reads.
    pub takes: Vec<String>,
}

impl ModelParts {
    /// Reads the model at `path`, without its weights.
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
        let summary = ModelSummary::from_file(file)?;
        let weights = WeightParts::from(&WeightTable::from(file));
        let nodes = file.graph().map(|graph| graph.node.as_slice()).unwrap_or_default();
        let graph = graph(nodes);
        let mut modules: BTreeMap<&str, ModuleParts> = BTreeMap::new();
        for node in &graph {
            modules.entry(&node.module).or_default().nodes += 1;
        }
        let mut types: BTreeMap<&str, TypeParts> = BTreeMap::new();
        for weight in file.all_weights() {
            let dtype = weight.dtype.map_or("unknown", crate::DType::as_str);
            let elements = weight.dims.iter().fold(1u64, |n, d| n.saturating_mul(*d));
            let row = types.entry(dtype).or_default();
            row.tensors += 1;
            row.elements = row.elements.saturating_add(elements);
            row.bytes = row.bytes.saturating_add(weight.bytes);
            let module = tidy::underived(&weight.name).rsplit_once('.').map_or("", |(module, _)| module);
            let row = modules.entry(module).or_default();
            row.tensors += 1;
            row.elements = row.elements.saturating_add(elements);
            row.bytes = row.bytes.saturating_add(weight.bytes);
        }
        let mut types: Vec<TypeParts> =
            types.into_iter().map(|(dtype, row)| TypeParts { dtype: dtype.to_owned(), ..row }).collect();
        types.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        let modules =
            modules.into_iter().map(|(path, row)| ModuleParts { path: path.to_owned(), ..row }).collect();
        let stated = file.graph().map(|graph| graph.metadata_props.as_slice()).unwrap_or_default();
        let stated =
            |key: &str| stated.iter().find(|entry| entry.key() == key).map(|entry| entry.value().to_owned());
        let names = [("signature", torch::SIGNATURE), ("ranges", torch::RANGES), ("guards", torch::GUARDS)];
        let program = names.into_iter().filter_map(|(name, key)| Some((name, stated(key)?))).collect();
        let with_module = nodes.iter().filter(|node| said(node, torch::NAMESPACE).is_some()).count();
        let with_line = graph.iter().filter(|node| !node.source.is_empty()).count();
        Ok(Self {
            summary,
            program,
            nodes: nodes.len(),
            with_module,
            with_line,
            types,
            weights,
            modules,
            graph,
        })
    }
}

fn said<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

fn graph(nodes: &[NodeProto]) -> Vec<NodePart> {
    let mut made: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, node) in nodes.iter().enumerate() {
        made.extend(node.output.iter().filter(|name| !name.is_empty()).map(|name| (name.as_str(), at)));
    }
    let part = |node: &NodeProto| {
        let (module, source) = torch::place(|key| said(node, key));
        let (mut reads, mut takes) = (Vec::new(), Vec::new());
        for name in node.input.iter().filter(|name| !name.is_empty()) {
            match made.get(name.as_str()) {
                Some(at) if !reads.contains(at) => reads.push(*at),
                Some(_) => {}
                None => takes.push(name.clone()),
            }
        }
        let result = node.output.iter().find(|name| !name.is_empty());
        let name = Some(node.name()).filter(|name| !name.is_empty()).or(result.map(String::as_str));
        let operator = match node.domain() {
            "" => node.op_type().to_owned(),
            domain => format!("{domain}::{}", node.op_type()),
        };
        NodePart { name: name.unwrap_or_default().to_owned(), operator, module, source, reads, takes }
    };
    nodes.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{self, ExternalData, WriteOptions};

    /// A model that was not written yet has the parts of the file.
    #[test]
    fn a_preview_is_the_file() {
        let numbers = (0..2048).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
        let text = format!(
            "opset 20\ngraph {{\n input %x: f32[2048]\n constant %w: f32[2048] = [{numbers}]\n \
             %a: f32[2048] = Add(%x, %w)\n output %a as y\n}}\n"
        );
        let model = crate::Model::parse(&text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.onnx");
        for external_data in [ExternalData::Inline, ExternalData::External] {
            let options = WriteOptions { external_data, ..WriteOptions::default() };
            let preview = ModelParts::from_file(&write::preview(&model, &path, &options).unwrap()).unwrap();
            assert!(!path.exists());
            write::write(&model, &path, &options).unwrap();
            let written = ModelParts::read(&path).unwrap();
            let json = |parts: &ModelParts| serde_json::to_value(parts).unwrap();
            assert_eq!(json(&preview), json(&written));
            assert_eq!(written.weights.bytes, 4 * 2048);
            assert_eq!(
                written.summary.data_files.len(),
                usize::from(external_data == ExternalData::External)
            );
            std::fs::remove_file(&path).unwrap();
        }
    }
}

//! The parts of documents that are not types of the library.

use onnxport_core::host::{Manifest, Plugin, PluginOption, Source, WeightsPlugin};
use onnxport_core::onnx::{Port, State};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An input or an output.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct PortJson {
    name: String,
    /// Its type, such as `f32[batch, 3]`.
    #[serde(rename = "type")]
    of: String,
}

impl From<&Port> for PortJson {
    fn from(port: &Port) -> Self {
        Self { name: port.name.clone(), of: port.type_text() }
    }
}

/// An input and an output that hold one buffer before and after a call.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct StateJson {
    name: String,
    kind: String,
    input: String,
    output: String,
}

impl From<&State> for StateJson {
    fn from(state: &State) -> Self {
        let State { name, kind, input, output } = state;
        Self { name: name.clone(), kind: kind.clone(), input: input.clone(), output: output.clone() }
    }
}

/// Calls whose results could not be checked.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct UncheckedJson {
    pub(crate) calls: usize,
    pub(crate) operators: Vec<String>,
}

/// A rule or a pass of the optimizer.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct RuleJson {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) plugin: String,
    pub(crate) documentation: String,
    /// How exact it is.
    pub(crate) class: Option<String>,
    /// The target, if it is for one target only.
    pub(crate) target: Option<String>,
    pub(crate) bound: Option<BoundJson>,
    /// The lowest level at which it runs.
    pub(crate) level: Option<String>,
    pub(crate) min_opset: i64,
    pub(crate) max_opset: Option<i64>,
    pub(crate) pattern: Option<String>,
    /// An example, and the result.
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
    pub(crate) applied: AppliedJson,
    /// The rules of the same priority that are tried before, and may match at the same node.
    pub(crate) tried_after: Vec<String>,
}

/// The number of test models in which a rule was applied, and of its applications.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct AppliedJson {
    pub(crate) models: u64,
    pub(crate) places: u64,
}

/// The bound on the difference of results.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct BoundJson {
    pub(crate) relative: f64,
    pub(crate) ulps: f64,
    /// Whether it holds for finite values only.
    pub(crate) finite: bool,
}

/// A plugin.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct PluginJson {
    id: String,
    version: String,
    description: String,
    /// The revision of the contract that it was built with.
    contract: String,
    /// The interfaces that it provides.
    provides: Vec<String>,
    /// The number of its lowerings.
    lowerings: usize,
    tensors: Vec<String>,
    transforms: Vec<String>,
    quantisers: Vec<QuantiserJson>,
    options: Vec<PluginOption>,
    source: Source,
    library: Option<String>,
    replaces_linked: bool,
}

/// A quantiser, which chooses scales and codes of weights.
#[derive(Debug, JsonSchema, Serialize)]
struct QuantiserJson {
    name: String,
    doc: String,
}

impl From<&Plugin> for PluginJson {
    fn from(plugin: &Plugin) -> Self {
        let weights = || plugin.weights.iter();
        let quantiser =
            |(name, doc): (&str, &str)| QuantiserJson { name: name.to_owned(), doc: doc.to_owned() };
        Self {
            id: plugin.id.to_owned(),
            version: plugin.version.to_owned(),
            description: plugin.description.to_owned(),
            contract: plugin.contract.to_string(),
            provides: plugin.provides.iter().map(|name| (*name).to_owned()).collect(),
            lowerings: plugin.lowering.map_or(0, |table| table.entries.len()),
            tensors: weights().flat_map(WeightsPlugin::tensors).map(str::to_owned).collect(),
            transforms: weights().flat_map(WeightsPlugin::transforms).map(str::to_owned).collect(),
            quantisers: weights().flat_map(WeightsPlugin::quantisers).map(quantiser).collect(),
            options: plugin.options.clone(),
            source: plugin.source,
            library: plugin.library.as_ref().map(|path| path.display().to_string()),
            replaces_linked: plugin.replaces_linked,
        }
    }
}

/// A library that holds a plugin.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct LibraryJson {
    #[serde(flatten)]
    pub(crate) plugin: PluginJson,
    pub(crate) sha256: String,
    /// The system that it was built for.
    pub(crate) target: String,
    /// The manifest beside it.
    pub(crate) manifest: Option<Manifest>,
}

/// The effective options of a file, or all effective options.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub(crate) struct ConfigJson {
    pub(crate) file: Option<String>,
    pub(crate) preset: Option<String>,
    pub(crate) options: Vec<OptionJson>,
}

/// An effective option.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct OptionJson {
    pub(crate) name: String,
    pub(crate) value: Value,
    pub(crate) from: Origin,
    /// The place in the file, or the variable.
    pub(crate) place: Option<String>,
}

/// The origin of an option.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Origin {
    CommandLine,
    Environment,
    Preset,
    File,
    Unset,
    Default,
}

//! The parts of documents that are not types of the library.

use onnxport_core::onnx::{Port, State};
use onnxport_core::optimise::{Bound, Class, Listed};
use onnxport_requests::rules::{Applied, KnownRule};
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
    name: String,
    kind: String,
    plugin: String,
    documentation: String,
    /// How exact it is.
    class: Option<String>,
    /// The target, if it is for one target only.
    target: Option<String>,
    bound: Option<BoundJson>,
    /// The lowest level at which it runs.
    level: Option<String>,
    min_opset: i64,
    max_opset: Option<i64>,
    pattern: Option<String>,
    /// An example, and the result.
    before: Option<String>,
    after: Option<String>,
    applied: Applied,
    /// The rules of the same priority that are tried before, and may match at the same node.
    tried_after: Vec<String>,
}

/// The bound on the difference of results.
#[derive(Debug, JsonSchema, Serialize)]
struct BoundJson {
    relative: f64,
    ulps: f64,
    /// Whether it holds for finite values only.
    finite: bool,
}

impl From<&KnownRule> for RuleJson {
    fn from(rule: &KnownRule) -> Self {
        let Listed { name, documentation, is_pass, class, opsets, pattern, .. } = &rule.listed;
        let target = match class {
            Class::Target { target, .. } => Some(target),
            _ => None,
        };
        let class_name = match class {
            Class::Unstated => None,
            Class::Exact => Some("exact"),
            Class::Bounded { .. } => Some("bounded"),
            Class::Target { .. } => Some("target"),
        };
        let bound = class.bound().filter(|bound| !bound.is_none());
        Self {
            name: (*name).to_owned(),
            kind: if *is_pass { "pass" } else { "rule" }.to_owned(),
            plugin: rule.plugin.clone(),
            documentation: (*documentation).to_owned(),
            class: class_name.map(str::to_owned),
            target: target.cloned(),
            bound: bound.map(|Bound { relative, ulps, finite }| BoundJson { relative, ulps, finite }),
            level: rule.level.map(|level| level.to_string()),
            min_opset: *opsets.start(),
            max_opset: (*opsets.end() != i64::from(u32::MAX)).then_some(*opsets.end()),
            pattern: (!pattern.is_empty()).then(|| (*pattern).to_owned()),
            before: rule.example.as_ref().map(|example| example.text.to_owned()),
            after: rule.example.as_ref().map(|example| example.after.to_text()),
            tried_after: rule.tried_after.iter().map(|name| (*name).to_owned()).collect(),
            applied: rule.applied,
        }
    }
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

//! Listing the operators that plugins convert.

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::ir::opset::{MAX_OPSET, MIN_OPSET};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::progress::Progress;

/// Lists the supported operators.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct OpsRequest {
    /// Show only operators whose name contains this; * stands for any text
    pub pattern: Option<String>,
    /// List the operators that have a schema but no lowering, each with the reason
    #[arg(long)]
    pub missing: bool,
}

/// The operators that a request asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operators {
    /// Those that plugins convert; empty if the missing ones were asked for.
    pub ops: Vec<SupportedOp>,
    /// Those that have a schema but no lowering, if they were asked for.
    pub missing: Vec<MissingOp>,
}

/// An operator that no plugin converts.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct MissingOp {
    /// The operator, such as `aten.poisson.default`.
    pub target: String,
    /// Why it has no lowering.
    pub reason: String,
}

/// An operator that a plugin converts.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct SupportedOp {
    /// The operator, such as `aten.add.Tensor`.
    pub target: String,
    /// The plugin.
    pub provider: String,
    /// The lowest opset.
    pub min_opset: i64,
    /// The highest opset.
    pub max_opset: i64,
    /// Of several plugins for an operator, the one with the highest priority is used.
    pub priority: i32,
}

impl OpsRequest {
    /// Creates a request for the operators that match `pattern`.
    pub fn matching(pattern: impl Into<String>) -> Self {
        Self { pattern: Some(pattern.into()), ..Self::default() }
    }
}

impl Request for OpsRequest {
    type Outcome = Operators;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, host: &Host, _: &mut dyn Progress) -> Result<Operators, Report> {
        let is_wanted = |target: &str| self.pattern.as_deref().is_none_or(|pattern| matches(pattern, target));
        if self.missing {
            let wanted = host.missing().into_iter().filter(|(target, _)| is_wanted(target));
            let missing = wanted.map(|(target, reason)| MissingOp {
                target: target.to_owned(),
                reason: reason.map_or("it has no lowering yet", described).to_owned(),
            });
            return Ok(Operators { missing: missing.collect(), ..Operators::default() });
        }
        let wanted = host.registry.iter().filter(|(target, _)| is_wanted(target));
        let all = wanted.flat_map(|(target, providers)| {
            providers.iter().map(move |provider| SupportedOp {
                target: target.to_owned(),
                provider: host.plugin_id(provider).to_owned(),
                min_opset: i64::from(provider.min_opset).max(MIN_OPSET),
                max_opset: i64::from(provider.max_opset).min(MAX_OPSET),
                priority: provider.priority,
            })
        });
        Ok(Operators { ops: all.collect(), ..Operators::default() })
    }
}

/// The meaning of a reason that a fact `missing` gives; docs/facts.md lists them.
fn described(reason: &str) -> &str {
    match reason {
        "bits" => "it reads the bits of floating-point numbers, which ONNX cannot",
        "capture" => "torch.export evaluates or refuses it, so that no program holds it",
        "composite" => "PyTorch decomposes it: call `run_decompositions()` before you save the program",
        "device" => "it is a kernel of one device, or takes weights packed for one",
        "private" => "it is an inner part of PyTorch, which programs hold only if they call it by its name",
        "quantized" => "it takes or returns quantized tensors, whose element types ONNX lacks",
        "random" => "it draws from a distribution that ONNX lacks, or from a state that ONNX has no type for",
        "sparse" => "it takes or returns sparse tensors, which models cannot",
        "training" => "it occurs in training only",
        other => other,
    }
}

/// Whether `name` contains the parts of `pattern` between its stars, in order.
fn matches(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    pattern.split('*').all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(matches("add", "aten.add.Tensor"));
        assert!(matches("aten.*.Tensor", "aten.add.Tensor"));
        assert!(!matches("Tensor*aten", "aten.add.Tensor"));
        assert!(matches("", "aten.add.Tensor"));
    }

    #[test]
    fn operators_of_the_host_are_listed() {
        let host = Host::new(&[&onnxport_aten::ROOT]).unwrap();
        let list = |request: OpsRequest| request.run(&host, &mut ()).unwrap().ops;
        let additions = list(OpsRequest::matching("aten.add.Tensor"));
        let add = additions.iter().find(|op| op.target == "aten.add.Tensor").expect("an operator");
        assert_eq!(add.provider, "aten");
        assert!(MIN_OPSET <= add.min_opset && add.max_opset <= MAX_OPSET, "{add:?}");
        assert!(list(OpsRequest::default()).len() > list(OpsRequest::matching("aten.a*.Tensor")).len());
        let bare = Host::new(&[]).unwrap();
        assert!(OpsRequest::matching("aten").run(&bare, &mut ()).unwrap().ops.is_empty());
    }

    #[test]
    fn missing_operators_have_reasons() {
        let host = Host::new(&[&onnxport_aten::ROOT]).unwrap();
        let request = OpsRequest { missing: true, ..OpsRequest::matching("aten") };
        let missing = request.run(&host, &mut ()).unwrap().missing;
        let reason =
            |target: &str| missing.iter().find(|op| op.target == target).map(|op| op.reason.as_str());
        assert_eq!(reason("aten.poisson.default"), Some(described("random")));
        assert_eq!(reason("aten.add.Tensor"), None, "it has a lowering");
        assert_eq!(reason("aten.add_.Tensor"), None, "it is written as `aten.add.Tensor`");
        let unexplained: Vec<_> = missing.iter().filter(|op| !op.reason.contains(' ')).collect();
        assert!(unexplained.is_empty(), "no sentence for {unexplained:?}");
        let unknown: Vec<_> =
            missing.iter().filter(|op| op.reason.ends_with("yet")).map(|op| &op.target).collect();
        assert!(unknown.is_empty(), "facts.toml gives no reason for {unknown:?}");
    }
}

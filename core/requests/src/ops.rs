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
        Self { pattern: Some(pattern.into()) }
    }
}

impl Request for OpsRequest {
    type Outcome = Vec<SupportedOp>;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, host: &Host, _: &mut dyn Progress) -> Result<Vec<SupportedOp>, Report> {
        let is_wanted = |target: &str| self.pattern.as_deref().is_none_or(|pattern| matches(pattern, target));
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
        Ok(all.collect())
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
        let list = |request: OpsRequest| request.run(&host, &mut ()).unwrap();
        let additions = list(OpsRequest::matching("aten.add.Tensor"));
        let add = additions.iter().find(|op| op.target == "aten.add.Tensor").expect("an operator");
        assert_eq!(add.provider, "aten");
        assert!(MIN_OPSET <= add.min_opset && add.max_opset <= MAX_OPSET, "{add:?}");
        assert!(list(OpsRequest::default()).len() > list(OpsRequest::matching("aten.a*.Tensor")).len());
        let bare = Host::new(&[]).unwrap();
        assert!(OpsRequest::matching("aten").run(&bare, &mut ()).unwrap().is_empty());
    }
}

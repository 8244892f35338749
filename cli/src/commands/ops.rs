//! `onnxport ops`.

use clap::Args;
use onnxport_core::ir::opset::{MAX_OPSET, MIN_OPSET};
use onnxport_requests::Plugins;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::documents::OpJson;
use crate::format::{bold, count, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;

/// Arguments of `ops`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    /// Show only operators whose name contains this; * stands for any text
    pattern: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    plugins: Plugins,
}

/// Lists the operators that the plugins lower.
pub(crate) fn run(arguments: &Arguments) -> CommandResult {
    let host = plugins::host(&arguments.plugins)?;
    let mut rows = Vec::new();
    let mut json = Vec::new();
    for (target, providers) in host.registry.iter() {
        if !arguments.pattern.as_deref().is_none_or(|pattern| matches(pattern, target)) {
            continue;
        }
        for provider in providers {
            let (low, high) =
                (i64::from(provider.min_opset).max(MIN_OPSET), i64::from(provider.max_opset).min(MAX_OPSET));
            let plugin = host.plugin_id(provider);
            rows.push(vec![target.to_owned(), plugin.to_owned(), format!("{low}-{high}")]);
            json.push(OpJson {
                target: target.to_owned(),
                provider: plugin.to_owned(),
                min_opset: low,
                max_opset: high,
                priority: provider.priority,
            });
        }
    }
    let mut outcome = Outcome::ok().with("ops", json);
    outcome.summary = format!("{}\n", bold(&count(rows.len(), "operator")));
    outcome.text = table(&rows);
    Ok(outcome)
}

/// Whether `name` holds the parts of `pattern` between its stars, in order.
fn matches(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(matches("add", "aten.add.Tensor"));
        assert!(matches("aten.*.Tensor", "aten.add.Tensor"));
        assert!(!matches("Tensor*aten", "aten.add.Tensor"));
        assert!(matches("", "aten.add.Tensor"));
    }
}

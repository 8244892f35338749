//! The report of a call that has no lowering.

use super::driver::Driver;
use super::suggest;
use crate::diagnose::{Code, Diagnostic};
use crate::program::{Body, Call};
use crate::registry::{Provider, Resolved};

impl Driver<'_> {
    /// Explains why `call` has no lowering, and the remedy. Suggested code appears once for each operator.
    pub(super) fn unresolved(&mut self, body: &Body, call: &Call, resolved: Resolved) -> Diagnostic {
        let (target, opset) = (&call.target, self.model.opset());
        let name = |p: &Provider| self.host.plugin_id(p);
        let (code, message, help) = match resolved {
            Resolved::Conflict(a, b) => (
                Code::LOWER_CONFLICT,
                format!("`{target}` is provided by both `{}` and `{}`", name(&a), name(&b)),
                format!("choose one: `--use {target}={}`", name(&a)),
            ),
            Resolved::OtherOpset(p) => (
                Code::LOWER_UNSUPPORTED,
                format!("`{target}` has no lowering at opset {opset}"),
                other_opset(name(&p), &p, opset),
            ),
            Resolved::RealOnly(p) => (
                Code::LOWER_UNSUPPORTED,
                format!("`{target}` has no lowering for complex tensors"),
                format!(
                    "`{}` lowers it for real tensors: compute with the real and imaginary parts, as returned by `torch.view_as_real`",
                    name(&p)
                ),
            ),
            Resolved::Missing | Resolved::Use(_) => (
                Code::LOWER_UNSUPPORTED,
                format!("`{target}` has no lowering"),
                "compute it by other operators in this line, or write a lowering: `onnxport check --suggest` \
                 prints one to begin with"
                    .to_owned(),
            ),
        };
        let mut suggestions = Vec::new();
        if code == Code::LOWER_UNSUPPORTED && self.suggested.insert(target.clone()) {
            suggestions.extend(suggest::lowerings(&self.host.schemas, &self.model.symbols, body, call));
            suggestions.extend(suggest::module(self.model.origins.get(call.origin)));
        }
        Diagnostic::error(code, message).at(call.origin).help(help).suggest(suggestions)
    }
}

/// Returns the advice if a lowering exists for other opsets than `opset`.
fn other_opset(plugin: &str, provider: &Provider, opset: i64) -> String {
    let (least, most) = (provider.min_opset, provider.max_opset);
    let range = match most {
        u32::MAX => format!("{least} and later"),
        _ => format!("{least} to {most}"),
    };
    let nearest = if opset < i64::from(least) { least } else { most };
    format!("convert with `--opset {nearest}`: `{plugin}` lowers it at opsets {range}")
}

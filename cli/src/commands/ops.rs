//! `onnxport ops`.

use onnxport_requests::ops::{MissingOp, OpsRequest, SupportedOp};
use onnxport_requests::{Hosted, Request};

use crate::format::{bold, count, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Lists the operators that the plugins lower, or those that they do not.
pub(crate) fn run(arguments: &Hosted<OpsRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let listed = request.run(&plugins::host(plugins)?, &mut progress.clone())?;
    let row = |SupportedOp { target, provider, min_opset, max_opset, .. }: &SupportedOp| {
        vec![target.clone(), provider.clone(), format!("{min_opset}-{max_opset}")]
    };
    let absent = |MissingOp { target, reason }: &MissingOp| vec![target.clone(), reason.clone()];
    let rows: Vec<_> = listed.ops.iter().map(row).chain(listed.missing.iter().map(absent)).collect();
    let outcome = Outcome::text(table(&rows));
    let mut outcome = if request.missing {
        outcome.with("missing", &listed.missing)
    } else {
        outcome.with("ops", &listed.ops)
    };
    outcome.summary = format!("{}\n", bold(&count(rows.len(), "operator")));
    Ok(outcome)
}

//! `onnxport ops`.

use onnxport_requests::ops::{OpsRequest, SupportedOp};
use onnxport_requests::{Hosted, Request};

use crate::format::{bold, count, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Lists the operators that the plugins lower.
pub(crate) fn run(arguments: &Hosted<OpsRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let ops = request.run(&plugins::host(plugins)?, &mut progress.clone())?;
    let row = |SupportedOp { target, provider, min_opset, max_opset, .. }: &SupportedOp| {
        vec![target.clone(), provider.clone(), format!("{min_opset}-{max_opset}")]
    };
    let mut outcome = Outcome::text(table(&ops.iter().map(row).collect::<Vec<_>>())).with("ops", &ops);
    outcome.summary = format!("{}\n", bold(&count(ops.len(), "operator")));
    Ok(outcome)
}

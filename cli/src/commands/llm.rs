//! `onnxport llm`.

use onnxport_requests::llm::{Exported, LlmRequest};
use onnxport_requests::{Hosted, Request};

use super::verified;
use crate::format::{bold, bytes};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Converts a checkpoint, and shows what the folder holds.
pub(crate) fn run(arguments: &Hosted<LlmRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let host = plugins::host(plugins)?;
    if !request.no_verify {
        plugins::prepare(&host, &request.running);
    }
    let exported = request.run(&host, &mut progress.clone())?;
    Ok(describe(request, exported))
}

fn describe(request: &LlmRequest, exported: Exported) -> Outcome {
    let Exported {
        decoder,
        context,
        files,
        model_bytes,
        data_bytes,
        initializers,
        nodes,
        verification,
        report,
    } = exported;
    let mut outcome = Outcome::ok();
    let models = files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    let models: Vec<_> = models.filter_map(|path| Some(path.file_name()?.to_string_lossy())).collect();
    let kind = match (decoder.layers.len(), decoder.pooling.is_empty()) {
        (0, true) => "scores of a text".to_owned(),
        (0, false) => format!("{} pooling", decoder.pooling.join(" and ")),
        (layers, _) => format!("{layers} layers"),
    };
    let tokens = context.map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
    outcome.summary = format!(
        "{}  {} ({}, {}, {kind}{tokens})\n{}  {}: {nodes} nodes ({}), {initializers} initializers ({})\n",
        bold("wrote"),
        request.output.display(),
        decoder.architecture,
        decoder.dtype,
        bold("model"),
        models.join(", "),
        bytes(model_bytes),
        bytes(data_bytes),
    );
    if let Some(verification) = &verification {
        verified::describe(verification, &request.checkpoint, &mut outcome);
    }
    outcome.put("files", files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>());
    outcome.put("nodes", nodes);
    outcome.put("initializers", initializers);
    outcome.put("decoder", &decoder);
    outcome.put("context", context);
    outcome.put("model_bytes", model_bytes);
    outcome.put("data_bytes", data_bytes);
    outcome.report.diagnostics.splice(0..0, report.diagnostics);
    outcome.report.origins = report.origins;
    outcome
}

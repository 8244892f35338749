//! `onnxport draw`.

use onnxport_core::Host;
use onnxport_requests::{DrawRequest, Hosted, Request};

use crate::format::{bold, count};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Draws a graph.
pub(crate) fn run(arguments: &Hosted<DrawRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let host = if request.uses_plugins() { plugins::host(plugins)? } else { Host::new(&[])? };
    let drawing = request.run(&host, &mut progress.clone())?;
    let (nodes, modules, closed) = (drawing.nodes(), drawing.modules(), drawing.closed());
    let pictures: Vec<String> = drawing.pictures.iter().map(|path| path.display().to_string()).collect();
    let mut outcome = Outcome::ok();
    outcome.summary = format!(
        "{}  {}: {}, {}, {} closed\n",
        bold("drawn"),
        pictures.join(", "),
        count(nodes, "node"),
        count(modules, "module"),
        count(closed, "box").replace("boxs", "boxes"),
    );
    Ok(outcome
        .with("pictures", pictures)
        .with("nodes", nodes)
        .with("modules", modules)
        .with("closed", closed))
}

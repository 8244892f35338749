//! `onnxport partition`.

use clap::Args;
use onnxport_core::backend::{PlacedModule, Placement};
use onnxport_requests::partition::Partitioned;
use onnxport_requests::value::Share;
use onnxport_requests::{Hosted, PartitionRequest, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::reports::ReportArguments;
use crate::backends;
use crate::format::{bold, count, good, plain, table};
use crate::outcome::CommandResult;
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `partition`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<PartitionRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Shows the regions that backends would compile.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, plugins }, reports } = arguments;
    reports.check()?;
    let host = plugins::host(plugins)?;
    let partitioned = request.run(&host, &mut progress.clone())?;
    let is_within = partitioned.passed();
    let Partitioned { regions, placement, pictures, report } = partitioned;
    let mut outcome = backends::explain(&regions, report);
    outcome.text.insert_str(0, &format!("{}\n", modules(&placement)));
    let taken = regions.nodes.saturating_sub(regions.left);
    outcome.summary = format!(
        "{}  {taken} of {} ({}) in {}\n",
        if is_within { good("partition") } else { bold("partition") },
        count(regions.nodes, "node"),
        Share(placement.share),
        count(regions.backends.iter().map(|backend| backend.regions.len()).sum(), "region"),
    );
    outcome.put("placement", &placement);
    if !pictures.is_empty() {
        outcome.put("pictures", pictures.iter().map(|path| path.display().to_string()).collect::<Vec<_>>());
    }
    outcome.refuse();
    let model = Some(&*request.model).filter(|_| !request.is_program());
    reports.write_model("partition", &request.model, model, &mut outcome)?;
    Ok(outcome)
}

/// The modules with the numbers of their nodes.
fn modules(placement: &Placement) -> String {
    let heads = ["module", "nodes", "taken", "left", "regions"];
    let row = |PlacedModule { module, nodes, left, regions, .. }: &PlacedModule| {
        let name = if module.is_empty() { "(root)".to_owned() } else { plain(module) };
        let regions: Vec<String> = regions.iter().map(|region| plain(region)).collect();
        let numbers = [*nodes, nodes - left, *left].map(|n| n.to_string());
        std::iter::once(name).chain(numbers).chain([regions.join(", ")]).collect::<Vec<String>>()
    };
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(placement.modules.iter().map(row));
    table(&rows)
}

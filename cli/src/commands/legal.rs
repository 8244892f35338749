//! `onnxport legal`.

use clap::Args;
use onnxport_core::Host;
use onnxport_core::legalise::legal::{Counts, JudgedModule, JudgedNode, Legality, Verdict};
use onnxport_requests::legal::Judged;
use onnxport_requests::{Hosted, LegalRequest, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::reports::ReportArguments;
use crate::format::{bad, bold, count, good, plain, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `legal`.
#[derive(Debug, Args, Deserialize, JsonSchema)]
pub(crate) struct Arguments {
    #[command(flatten)]
    #[serde(flatten)]
    hosted: Hosted<LegalRequest>,
    #[command(flatten)]
    #[serde(flatten)]
    reports: ReportArguments,
}

/// Tells how a target takes each node.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    let Arguments { hosted: Hosted { request, plugins }, reports } = arguments;
    reports.check()?;
    let host = if request.uses_plugins() { plugins::host(plugins)? } else { Host::new(&[])? };
    if request.probe {
        plugins::prepare_for(&host, request.executor().as_deref(), &request.runtime);
    }
    let Judged { legality, report } = request.run(&host, &mut progress.clone())?;
    let mut outcome = Outcome::text(text(&legality)).with("legal", &legality);
    let Counts { native, form, fallback, refused, unknown } = legality.counts;
    let runs = refused + unknown == 0;
    outcome.summary = format!(
        "{}  {} for {} {}: {native} native, {form} by another form, {fallback} by the fallback, {refused} refused, \
         {unknown} unknown\n",
        if runs { good("legal") } else { bold("legal") },
        count(legality.nodes.len(), "node"),
        legality.target,
        legality.version,
    );
    outcome.report = report;
    outcome.refuse();
    let model = Some(&*request.model).filter(|_| !request.is_program());
    reports.write_model("legal", &request.model, model, &mut outcome)?;
    Ok(outcome)
}

/// The modules, and the nodes without a kernel.
fn text(found: &Legality) -> String {
    let heads = ["module", "nodes", "native", "form", "fallback", "refused", "unknown"];
    let row = |JudgedModule { module, counts, .. }: &JudgedModule| {
        let name = if module.is_empty() { "(root)".to_owned() } else { plain(module) };
        let numbers =
            [counts.total(), counts.native, counts.form, counts.fallback, counts.refused, counts.unknown];
        std::iter::once(name).chain(numbers.map(|n| n.to_string())).collect()
    };
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(found.modules.iter().map(row));
    let mut out = table(&rows);
    let others = found.nodes.iter().filter(|node| node.verdict != Verdict::Native);
    let rows: Vec<Vec<String>> = others.map(node).collect();
    if !rows.is_empty() {
        out.push('\n');
        out.push_str(&table(&rows));
    }
    out
}

fn node(node: &JudgedNode) -> Vec<String> {
    let verdict = match node.verdict {
        Verdict::Native => good("native"),
        Verdict::Form => "form".to_owned(),
        Verdict::Fallback => "fallback".to_owned(),
        Verdict::Refused => bad("refused"),
        Verdict::Unknown => "unknown".to_owned(),
    };
    let line = node.line.as_deref().unwrap_or_default();
    let operator = format!("{} {}", plain(&node.operator), node.version);
    vec![verdict, operator, plain(&node.node), plain(line), plain(&node.reason)]
}

//! `onnxport optimize`.

use std::fmt::Write;
use std::path::PathBuf;

use onnxport_core::Model;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_requests::optimize::{OptimizeRequest, Optimized};
use onnxport_requests::profiling::Profiling;
use onnxport_requests::{Hosted, Request};

use super::calibrated;
use super::optimising;
use super::{profiled, verified, verifying};
use crate::backends;
use crate::exit::Exit;
use crate::format::{bold, bytes, count};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;
use crate::target;

/// Optimizes a model, and reports the changes.
pub(crate) fn run(arguments: &Hosted<OptimizeRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let others: Vec<PathBuf> = std::iter::once(&request.model).chain(&request.output).cloned().collect();
    profiled::around(&request.profiling, "optimize", &others, || {
        let host = plugins::host(plugins)?;
        if request.holding.verify || request.calibrating.is_requested() {
            plugins::prepare(&host, &request.holding.running);
        }
        let request = OptimizeRequest { profiling: Profiling::default(), ..request.clone() };
        let optimized = request.run(&host, &mut progress.clone())?;
        Ok(describe(&request, optimized).0)
    })
}

/// Optimizes a model in memory, which came with some warnings. A model whose results changed is not returned.
pub(crate) fn run_on(
    arguments: &Hosted<OptimizeRequest>,
    read: (Model, Vec<Diagnostic>),
    progress: &Progress,
) -> Result<(Outcome, Model), Outcome> {
    let Hosted { request, plugins } = arguments;
    let mut optimized = None;
    let outcome = profiled::around(&request.profiling, "optimize", &[], || {
        let host = plugins::host(plugins)?;
        if request.holding.verify || request.calibrating.is_requested() {
            plugins::prepare(&host, &request.holding.running);
        }
        let request = OptimizeRequest { profiling: Profiling::default(), output: None, ..request.clone() };
        let (outcome, model) = describe(&request, request.run_on(&host, read, &mut progress.clone())?);
        optimized = Some(model);
        Ok(outcome)
    })?;
    match optimized {
        Some(model) if outcome.exit == Exit::Ok => Ok((outcome, model)),
        _ => Err(outcome),
    }
}

fn describe(request: &OptimizeRequest, optimized: Optimized) -> (Outcome, Model) {
    let Optimized {
        model,
        optimised,
        legalised,
        calibration,
        partitioned,
        matches,
        held,
        written,
        failures,
        profile: _,
        diagnostics,
    } = optimized;
    if request.explain_partition {
        let report = Report { diagnostics, origins: model.origins.clone() };
        let mut outcome = backends::explain(&partitioned.unwrap_or_default(), report);
        for failure in failures {
            outcome.fail(failure);
        }
        return (outcome, model);
    }
    let mut outcome = Outcome::ok();
    if request.emit {
        outcome.text = model.to_text();
    }
    let mut compared = Outcome::ok();
    if let Some(held) = &held {
        verified::describe(&held.verification, &request.model, &mut compared);
        held.failure.iter().cloned().for_each(|failure| compared.fail(failure));
    }
    let is_wrong = compared.exit != Exit::Ok;
    match (&written, &request.output) {
        (Some(written), Some(output)) => {
            let kept = is_wrong.then_some(written.model.as_path());
            outcome.summary =
                format!("{}  {} ({})", bold("wrote"), written.model.display(), bytes(written.model_bytes));
            // Writing to a String cannot fail.
            if !written.data.is_empty() {
                let data = count(written.data.len(), "data file");
                let _ = write!(outcome.summary, ", {data} ({})", bytes(written.data_bytes));
            }
            if written.unbound > 0 {
                let _ = write!(outcome.summary, ", {} unbound", count(written.unbound, "weight"));
            }
            outcome.summary.push('\n');
            let paths = std::iter::once(&written.model)
                .chain(&written.data)
                .chain(&written.artefacts)
                .chain(&written.manifest);
            outcome.put("files", paths.map(|path| path.display().to_string()).collect::<Vec<_>>());
            outcome.put("nodes", model.graph.node_count());
            outcome.put("initializers", written.tensors);
            outcome.put("unbound", written.unbound);
            if let Some(folder) = &request.optimizing.dump_matches {
                optimising::dumped(folder, &matches, &mut outcome);
            }
            optimising::show(&request.optimizing, &optimised, &mut outcome);
            target::describe(&legalised, &mut outcome);
            if let Some(calibration) = &calibration {
                calibrated::describe(calibration, &mut outcome);
            }
            if let Some(partitioned) = &partitioned {
                outcome.summary.push_str(&backends::summary(partitioned));
                outcome.put("backends", &partitioned.backends);
            }
            outcome.report = Report { diagnostics, origins: model.origins.clone() };
            outcome.add(compared);
            outcome.report.diagnostics.extend(kept.map(|kept| verifying::withheld(output, Some(kept))));
        }
        // No model was written, so only the comparison is reported.
        (None, Some(output)) => {
            outcome = compared;
            outcome.report.diagnostics.push(verifying::withheld(output, None));
        }
        _ => {
            outcome.report = Report { diagnostics, origins: model.origins.clone() };
            outcome.add(compared);
        }
    }
    for failure in failures {
        outcome.fail(failure);
    }
    (outcome, model)
}

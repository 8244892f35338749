//! A program that becomes a model, as text and as data.

use std::path::Path;

use onnxport_core::inspect::WeightForm;
use onnxport_requests::export::{Export, Saved, Unwritten};

use super::calibrated;
use super::optimising;
use super::verifying;
use super::written::{self, Facts};
use crate::backends;
use crate::decomposing;
use crate::documents::UncheckedJson;
use crate::exit::Exit;
use crate::outcome::Outcome;
use crate::precision;
use crate::target;

/// Describes a model that has not been written yet; a failure if it must not be.
pub(crate) fn describe(unwritten: &Unwritten, export: &Export) -> Outcome {
    let converted = &unwritten.program.converted;
    let mut outcome = Outcome::ok();
    outcome.report = unwritten.report();
    outcome.refuse();
    if let Some(partitioned) = &converted.partitioned {
        outcome.summary.push_str(&backends::summary(partitioned));
        outcome.put("backends", &partitioned.backends);
    }
    precision::describe(&converted.changed, &mut outcome);
    target::describe(&converted.legalised, &mut outcome);
    if let Some(calibration) = &unwritten.calibration {
        calibrated::describe(calibration, &mut outcome);
    }
    outcome.put(
        "unchecked",
        UncheckedJson {
            calls: converted.checked.unknown,
            operators: converted.checked.operators.iter().cloned().collect(),
        },
    );
    decomposing::describe(&converted.decomposed, &mut outcome);
    outcome.put("lowered", &converted.provided);
    outcome.put("weight_forms", WeightForm::from_model(&converted.model));
    optimising::describe(&export.converting.optimizing, &converted.optimised, "", &mut outcome);
    outcome.put("opset", unwritten.opset);
    outcome.put("nodes", converted.model.graph.node_count());
    written::put_stages(&unwritten.stages(), &mut outcome);
    outcome
}

/// Describes a model that was to be written to `path`.
pub(crate) fn saved(unwritten: &Unwritten, saved: Saved, path: &Path, export: &Export) -> Outcome {
    let checked = verifying::describe(saved.checked);
    let Some(files) = saved.written else {
        let mut outcome = checked;
        outcome.report.diagnostics.push(verifying::withheld(path, None));
        return outcome;
    };
    let mut outcome = describe(unwritten, export);
    outcome.report.diagnostics.extend(files.found);
    let facts = Facts {
        source: &unwritten.source,
        opset: unwritten.opset,
        signature: &files.signature,
        written: &files.report,
        nodes: unwritten.program.converted.model.graph.node_count(),
        stages: &files.stages,
    };
    outcome.summary.insert_str(0, &facts.summary());
    facts.json(&mut outcome);
    outcome.add(checked);
    if outcome.exit != Exit::Ok {
        outcome.report.diagnostics.push(verifying::withheld(path, Some(&files.report.model)));
    }
    outcome.refuse();
    outcome
}

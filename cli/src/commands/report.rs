//! `onnxport report`.

use std::fmt::Write as _;

use onnxport_core::Host;
use onnxport_report::model;
use onnxport_requests::Request;
use onnxport_requests::report::{CheckedReport, ReportRequest, Reported};

use crate::outcome::{CommandResult, Outcome};
use crate::progress::Progress;

/// Reports on the contents of a model, or checks reports.
pub(crate) fn run(request: &ReportRequest, progress: &Progress) -> CommandResult {
    Ok(match request.run(&Host::new(&[])?, &mut progress.clone())? {
        Reported::Written { data, outputs } if outputs.is_empty() => {
            Outcome::text(model::markdown(&data)).with("report", &data)
        }
        Reported::Written { outputs, .. } => {
            let written: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
            Outcome::ok().with("reports", written)
        }
        Reported::Checked(reports) => checked(&reports),
    })
}

/// Describes reports that were checked.
fn checked(reports: &[CheckedReport]) -> Outcome {
    let mut outcome = Outcome::ok();
    for report in reports {
        match report.problem() {
            Some(problem) => outcome.fail(problem),
            // Writing to a String cannot fail.
            None => drop(writeln!(outcome.summary, "{} describes the model", report.path.display())),
        }
    }
    outcome
}

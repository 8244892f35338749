//! The verification of a model before it is published, as text.

use std::fmt::Write;
use std::path::Path;

use onnxport_core::diagnose::{Code, Diagnostic, Severity};
use onnxport_requests::verifying::Checked;

use super::verified;
use crate::format::bold;
use crate::outcome::Outcome;

/// Describes the verification of a model.
pub(crate) fn describe(checked: Checked) -> Outcome {
    let Checked { verification, skipped, found, failures } = checked;
    let mut outcome = Outcome::ok();
    for why in &skipped {
        outcome.put("not_verified", &why.message);
        let help = why.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
        // Writing to a String cannot fail.
        let _ = writeln!(outcome.summary, "{}  {}{help}", bold("not verified"), why.message);
    }
    if let Some((verification, source)) = &verification {
        verified::show(verification, source, &mut outcome);
    }
    for failure in failures {
        outcome.fail(failure);
    }
    outcome.report.diagnostics.splice(0..0, found);
    outcome.refuse();
    outcome
}

/// Returns the note about the output at `path` of a model that failed: it was `kept` under another name, or not.
pub(crate) fn withheld(path: &Path, kept: Option<&Path>) -> Diagnostic {
    let path = path.display();
    let (message, help) = match kept {
        Some(kept) => (format!("the model is kept as `{}`; do not trust it", kept.display()), None),
        None => {
            let help = "use --keep-failed to keep a failed model, or --no-verify to skip the check";
            (format!("`{path}` was not written"), Some(help.to_owned()))
        }
    };
    Diagnostic { severity: Severity::Note, help, ..Diagnostic::error(Code::VERIFY_MISMATCH, message) }
}

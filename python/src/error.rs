//! Errors, as Python exceptions.

use onnxport::Outcome;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

// The stable ABI of 3.10 does not support classes that extend exceptions, so the fields are set on each.
pyo3::create_exception!(
    onnxport._native,
    Error,
    PyException,
    "A failure: `exit` is the exit code of the command, `diagnostics` a list in JSON, `report` all that it prints."
);

/// The exception for a failure.
pub(crate) fn raised(py: Python<'_>, outcome: &Outcome) -> PyErr {
    let error = Error::new_err(outcome.problem());
    let value = error.value(py);
    let fields = value.setattr("exit", outcome.exit as u8);
    let fields = fields.and_then(|()| value.setattr("diagnostics", outcome.diagnostics().to_string()));
    let fields = fields.and_then(|()| value.setattr("report", said(outcome, "")));
    match fields {
        Ok(()) => error,
        Err(other) => other,
    }
}

/// Returns the output of the command `name` with `--json`, and its output without it under `printed`.
pub(crate) fn said(outcome: &Outcome, name: &str) -> String {
    let mut said = outcome.json(name);
    if let Some(object) = said.as_object_mut() {
        object.insert("printed".to_owned(), outcome.printed().into());
    }
    said.to_string()
}

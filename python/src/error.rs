//! What went wrong, as a Python exception.

use onnxport::Outcome;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

// The stable ABI of 3.10 has no classes that extend exceptions, so that the fields are set on each.
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
    let fields = fields.and_then(|()| value.setattr("report", outcome.json("").to_string()));
    match fields {
        Ok(()) => error,
        Err(other) => other,
    }
}

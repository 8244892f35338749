//! Work without the interpreter's lock.

use onnxport::Outcome;
use onnxport_core::host::watch;
use pyo3::prelude::*;

use crate::error::raised;

/// Does `work` on a thread with a large stack, without the lock.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Outcome> + Send + 'static,
) -> PyResult<T> {
    let result = py.detach(|| watch::run(None, work));
    match result {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(outcome)) => Err(raised(py, &outcome)),
        Err(problem) => Err(raised(py, &problem.into())),
    }
}

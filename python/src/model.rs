//! Models that were made.

use std::path::PathBuf;
use std::sync::Arc;

use onnxport::Exported;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::work;

/// A model that was made, in no file yet.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Model {
    exported: Arc<Exported>,
}

impl Model {
    pub(crate) fn new(exported: Arc<Exported>) -> Self {
        Self { exported }
    }
}

#[pymethods]
impl Model {
    /// What is said of the conversion, as `onnxport convert --json` says it.
    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let exported = self.exported.clone();
        work::run(py, None, move |_| Ok(exported.report().json("convert").to_string()))
    }

    /// Writes the model to `path`, and verifies it before it gets its name. Returns what `onnxport convert --json`
    /// prints. `options` are those about writing, and go before those of the conversion.
    #[pyo3(signature = (path, options=String::from("{}"), *, progress=None))]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        options: String,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let exported = self.exported.clone();
        work::run(py, progress, move |watch| {
            Ok(exported.save(&path, &options, watch)?.json("convert").to_string())
        })
    }

    /// The model with its weights as one message, of at most `limit` bytes. `options` are those about writing.
    #[pyo3(signature = (options=String::from("{}"), *, limit=None))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        options: String,
        limit: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let exported = self.exported.clone();
        let bytes = work::run(py, None, move |watch| exported.to_bytes(&options, limit, watch))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The text form of the graph.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        let exported = self.exported.clone();
        work::run(py, None, move |_| Ok(exported.program().converted.model.to_text()))
    }
}

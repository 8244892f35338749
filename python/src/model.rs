//! Converted models.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use onnxport::Exported;
use onnxport_core::tensor::LazyTensor;
use onnxport_core::write;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::weights::{self, Weights};
use crate::work;

/// The name of a weight, its element type, its sizes and its bytes.
type Initializer = (String, String, Vec<u64>, u64);

/// A converted model that is not in a file yet.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Model {
    exported: Arc<Exported>,
    weights: Arc<OnceLock<Weights>>,
}

impl Model {
    pub(crate) fn new(exported: Arc<Exported>) -> Self {
        Self { exported, weights: Arc::default() }
    }
}

/// Writes models with their names into the new folder `folder`, where equal weights are stored once. Returns the output
/// of `onnxport package --json` about the files. `options` are those about files.
#[pyfunction]
#[pyo3(signature = (models, folder, options=String::from("{}"), *, progress=None))]
pub(crate) fn save_package(
    py: Python<'_>,
    models: Vec<(String, PyRef<'_, Model>)>,
    folder: PathBuf,
    options: String,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let models: Vec<_> = models.into_iter().map(|(name, model)| (name, model.exported.clone())).collect();
    work::run(py, progress, move |watch| {
        Ok(Exported::save_package(&models, &folder, &options, watch)?.json("package").to_string())
    })
}

#[pymethods]
impl Model {
    /// The report on the conversion, as `onnxport convert --json` prints it.
    #[getter]
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let exported = self.exported.clone();
        work::run(py, None, move |_| Ok(exported.report().json("convert").to_string()))
    }

    /// Writes the model to `path`, and verifies it before it gets its name. Returns the output of `onnxport
    /// convert --json`. `options` are those about writing, and override those of the conversion.
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

    /// Returns the page about the model as `save` writes it to the file `name`.onnx, and about the report `said`, an
    /// object of `convert --json`. `options` are those of `save`.
    fn page(&self, py: Python<'_>, name: String, said: &str, options: String) -> PyResult<String> {
        let said = serde_json::from_str(said).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let exported = self.exported.clone();
        work::run(py, None, move |_| exported.page(&name, &said, &options))
    }

    /// Returns the model with its weights as one message, of at most `limit` bytes. `options` are those about
    /// writing.
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

    /// Returns the weights that `to_bytes` leaves out without initializers: name, type, shape and size in bytes.
    fn initializers(&self, py: Python<'_>) -> PyResult<Vec<Initializer>> {
        let (exported, weights) = (self.exported.clone(), self.weights.clone());
        work::run(py, None, move |_| {
            let facts = |(name, data): &(String, LazyTensor)| {
                let len = data.byte_len().unwrap_or_default();
                (name.clone(), data.dtype.to_string(), data.shape.clone(), len)
            };
            Ok(weights_of(&exported, &weights).iter().map(facts).collect())
        })
    }

    /// The bytes `offset .. offset + length` of a weight, in the order in which ONNX has them.
    fn read<'py>(
        &self,
        py: Python<'py>,
        name: String,
        offset: u64,
        length: u64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (exported, weights) = (self.exported.clone(), self.weights.clone());
        let bytes = work::run(py, None, move |_| {
            Ok(weights::read(weights_of(&exported, &weights), &name, offset, length)?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

fn weights_of<'a>(exported: &Exported, weights: &'a OnceLock<Weights>) -> &'a Weights {
    weights.get_or_init(|| write::left_out(&exported.program().converted.model))
}

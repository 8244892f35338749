//! `optimize` for a model in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use onnxport_core::write::{self, WriteOptions};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::error::raised;
use crate::plugin::{self, Functions};
use crate::tensor::{Tensor, given};
use crate::weights::{self, Weights};
use crate::work;

/// The name of a weight, the number of its element type in ONNX, its sizes and its bytes.
type Initializer = (String, i32, Vec<u64>, u64);

/// An optimized model that is not in a file.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Optimized {
    model: Arc<onnxport_core::Model>,
    weights: Arc<OnceLock<Weights>>,
}

/// Optimizes the model of `message`. `weights` are the bytes of initializers that state their data in these locations.
/// `options` are those of `onnxport optimize` as a JSON object; `functions` are rules and passes of Python.
#[pyfunction]
#[pyo3(signature = (message, weights, options, *, progress=None, functions=None))]
pub(crate) fn optimize(
    py: Python<'_>,
    message: PyBackedBytes,
    weights: BTreeMap<String, Py<Tensor>>,
    options: String,
    progress: Option<&Bound<'_, PyAny>>,
    functions: Option<Py<Functions>>,
) -> PyResult<Optimized> {
    let named = weights.into_iter().map(|(name, tensor)| (name, Some(tensor))).collect();
    let lent = given(py, named).map_err(|problem| raised(py, &problem.into()))?;
    let lent = lent.into_iter().filter_map(|(name, tensor)| Some((name, tensor?.memory))).collect();
    let model = work::run(py, progress, move |watch| {
        let read = onnxport_core::Model::from_memory(Bytes::from_owner(message), lent)?;
        let (_, model) = plugin::run(functions, || onnxport::optimize(read, &options, watch))?;
        Ok(model)
    })?;
    Ok(Optimized { model: Arc::new(model), weights: Arc::default() })
}

#[pymethods]
impl Optimized {
    /// Returns the message of the model without its weights.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let model = self.model.clone();
        let bytes = work::run(py, None, move |_| {
            let options = WriteOptions { initializers: false, weightless: true, ..WriteOptions::default() };
            let mut bytes = Vec::new();
            write::message(&model, &options, &mut bytes)?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the weights, which the message leaves out: name, number of the type, shape and size in bytes.
    fn initializers(&self, py: Python<'_>) -> PyResult<Vec<Initializer>> {
        let (model, weights) = (self.model.clone(), self.weights.clone());
        work::run(py, None, move |_| {
            let weights = weights.get_or_init(|| write::left_out(&model));
            let facts = weights.iter().map(|(name, data)| {
                let number = data.dtype.onnx();
                (name.clone(), number, data.shape.clone(), data.byte_len().unwrap_or_default())
            });
            Ok(facts.collect())
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
        let (model, weights) = (self.model.clone(), self.weights.clone());
        let bytes = work::run(py, None, move |_| {
            let weights = weights.get_or_init(|| write::left_out(&model));
            Ok(weights::read(weights, &name, offset, length)?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

//! Programs to be converted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use onnxport::Exporting;
use onnxport_core::pt2::Parts;
use onnxport_core::verify::InProcess;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyDict};

use crate::error::raised;
use crate::model::Model;
use crate::plugin::{self, Functions};
use crate::tensor::{Given, Tensor, given};
use crate::work;

/// A program to be converted.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Conversion {
    source: String,
    conversion: onnxport_core::Conversion,
}

#[pymethods]
impl Conversion {
    /// Reads the `.pt2` at `path`. Its weights stay in the file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let source = path.display().to_string();
        let conversion = work::run(py, None, move |_| Ok(onnxport_core::Conversion::open(path)?))?;
        Ok(Self { source, conversion })
    }

    /// Takes a program from memory. Its weights are not copied.
    #[staticmethod]
    #[pyo3(signature = (*, program, weights, constants, dims=BTreeMap::new(), guards=BTreeMap::new(), recorded=None))]
    fn from_parts(
        py: Python<'_>,
        program: PyBackedBytes,
        weights: &Bound<'_, PyDict>,
        constants: &Bound<'_, PyDict>,
        dims: BTreeMap<String, String>,
        guards: BTreeMap<String, String>,
        recorded: Option<PyBackedBytes>,
    ) -> PyResult<Self> {
        // Weights and constants are two tables in an archive too, whose storages are not compared.
        let (weights, constants) = (tensors(weights)?, tensors(constants)?);
        let recorded = recorded.map(|bytes| bytes.to_vec().into());
        let (weights, constants) = (weights.into_iter().collect(), constants.into_iter().collect());
        let parts = Parts { program: program.to_vec(), weights, constants, dims, guards };
        let conversion =
            work::run(py, None, move |_| Ok(onnxport_core::Conversion::from_parts(parts, recorded)?))?;
        Ok(Self { source: "the program".to_owned(), conversion })
    }

    /// Converts the program. `options` are those of `onnxport convert` as a JSON object, `output` is the path to which
    /// the model will be written, if that is known already. `functions` are lowerings, rules and passes of Python.
    #[pyo3(signature = (options, *, output=None, progress=None, functions=None))]
    fn run(
        &self,
        py: Python<'_>,
        options: String,
        output: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
        functions: Option<Py<Functions>>,
    ) -> PyResult<Model> {
        let (source, conversion) = (self.source.clone(), self.conversion.clone());
        let exported = work::run(py, progress, move |watch| {
            plugin::run(functions, || {
                Exporting::new(&options)?.run(conversion, source, output.as_deref(), watch)
            })
        })?;
        Ok(Model::new(Arc::new(exported)))
    }

    /// Verifies the model in a file against the program, which `run` executes: it receives a request, as the script
    /// `REFERENCE` reads it, and returns the answers. `options` are those of `onnxport verify` as a JSON object;
    /// `draws` requests drawn calls besides the recorded one. Returns the output of the command with `--json`.
    #[pyo3(signature = (options, run, *, draws, progress=None))]
    fn verify(
        &self,
        py: Python<'_>,
        options: String,
        run: Py<PyAny>,
        draws: bool,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let conversion = self.conversion.clone();
        let runs = running(run);
        let outcome =
            work::run(py, progress, move |watch| onnxport::verify(conversion, runs, draws, &options, watch))?;
        Ok(outcome.json("verify").to_string())
    }
}

/// Returns a runner of the program: requests go to a Python function, which returns the answers.
fn running(function: Py<PyAny>) -> InProcess {
    InProcess::new(move |request| {
        let call = |py: Python<'_>| {
            let answers = function.bind(py).call1((PyByteArray::new(py, &request),))?;
            answers.extract::<Vec<PyBackedBytes>>()
        };
        let answers = Python::attach(|py| call(py).map_err(|error: PyErr| error.to_string()))?;
        Ok(answers.iter().map(|answer| answer.to_vec()).collect())
    })
}

fn tensors(named: &Bound<'_, PyDict>) -> PyResult<Given> {
    let tensors: Vec<(String, Option<Py<Tensor>>)> =
        named.items().iter().map(|pair| pair.extract()).collect::<PyResult<_>>()?;
    given(named.py(), tensors).map_err(|problem| raised(named.py(), &problem.into()))
}

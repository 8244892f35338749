//! Programs that are to be converted.

use std::path::PathBuf;
use std::sync::Arc;

use onnxport::Export;
use pyo3::prelude::*;

use crate::model::Model;
use crate::work;

/// A program that is to be converted.
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
        let conversion = work::run(py, move || Ok(onnxport_core::Conversion::open(path)?))?;
        Ok(Self { source, conversion })
    }

    /// Converts the program. `options` are those of `onnxport convert` as a JSON object, `output` is the path to which
    /// the model will be written, if that is known already.
    #[pyo3(signature = (options, *, output=None))]
    fn run(&self, py: Python<'_>, options: String, output: Option<PathBuf>) -> PyResult<Model> {
        let (source, conversion) = (self.source.clone(), self.conversion.clone());
        let exported =
            work::run(py, move || Export::new(&options)?.run(conversion, source, output.as_deref()))?;
        Ok(Model::new(Arc::new(exported)))
    }
}

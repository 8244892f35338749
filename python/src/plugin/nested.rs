//! Nested graphs among the arguments of a call: those of `cond`, of loops, and of custom higher-order operators.

use onnxport_sdk::{GraphArg, Res, ResultFact, Value as Lowered};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call;
use super::context::{Context, Emitted};
use super::emitter::Emitter;
use super::{dim, operator, value};

/// A nested graph of the program. Calling it lowers it into the current block, and returns its outputs.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Nested {
    call: u64,
    graph: GraphArg,
}

impl Nested {
    pub(super) fn new(call: u64, graph: GraphArg) -> Self {
        Self { call, graph }
    }

    fn types(&self, py: Python<'_>, choose: fn(Ends) -> Vec<ResultFact>) -> PyResult<Py<PyList>> {
        let facts =
            call::with(self.call, |cx| cx.call()?.graph(self.graph).map(choose).map_err(call::refused))?;
        let types = facts.into_iter().map(|fact| {
            let dims = fact.real_shape().into_iter().map(|extent| dim::to_python(py, self.call, extent));
            Ok((value::dtype(py, fact.dtype)?, PyTuple::new(py, dims.collect::<PyResult<Vec<_>>>()?)?))
        });
        Ok(PyList::new(py, types.collect::<PyResult<Vec<_>>>()?)?.unbind())
    }
}

/// The inputs and outputs of a graph.
type Ends = (Vec<ResultFact>, Vec<ResultFact>);

#[pymethods]
impl Nested {
    /// The inputs: an element type and sizes each, as `op.block` takes them.
    #[getter]
    fn inputs(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        self.types(py, |(inputs, _)| inputs)
    }

    /// The outputs, in the same form.
    #[getter]
    fn outputs(&self, py: Python<'_>) -> PyResult<Py<PyList>> {
        self.types(py, |(_, outputs)| outputs)
    }

    /// Lowers it for these values; returns its output, or a tuple of several.
    #[pyo3(signature = (*values))]
    fn __call__(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let emitter = Emitter::new(self.call);
        let values = values.iter().map(|value| emitter.value(&value)).collect::<PyResult<Vec<_>>>()?;
        let made = call::with(self.call, |cx| {
            let cx = cx.call()?;
            let takes = cx.graph(self.graph).map_err(call::refused)?.0.len();
            if takes != values.len() {
                let message = format!("a nested graph takes {takes} values, and {} are given", values.len());
                return Err(PyTypeError::new_err(message));
            }
            let values: Vec<Lowered> =
                values.iter().map(|value| Context::value_of_call(cx, *value)).collect();
            let made: Res<Vec<Lowered>> = cx.inline(self.graph, &values);
            Ok(made.map_err(call::refused)?.into_iter().map(Emitted::from).collect())
        })?;
        operator::several(py, self.call, made)
    }
}

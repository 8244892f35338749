//! The arguments of a call as values of Python.

use onnxport_sdk::abi::lowering::arg_kind;
use onnxport_sdk::{Arg, DType, FromArg, GraphArg, Lower, Scalar, Str, Value as Emitted};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyList};

use super::call;
use super::nested::Nested;
use super::value::{self, Value};

/// The names of the arguments, and the arguments, in the order of the operator's schema.
pub(super) fn of<'py>(
    py: Python<'py>,
    cx: &Lower<'_>,
    id: u64,
) -> PyResult<(Vec<String>, Vec<Bound<'py, PyAny>>)> {
    let mut names = Vec::new();
    let mut values = Vec::new();
    for (name, arg) in cx.arguments() {
        names.push(name.to_owned());
        values.push(convert(py, cx, id, arg)?);
    }
    Ok((names, values))
}

fn convert<'py, 'h>(py: Python<'py>, cx: &Lower<'h>, id: u64, arg: Arg<'h>) -> PyResult<Bound<'py, PyAny>> {
    let emitted = |value: Emitted| Ok(Bound::new(py, Value::new(id, value.into()))?.into_any());
    match arg.kind() {
        arg_kind::NONE => Ok(py.None().into_bound(py)),
        arg_kind::TENSOR => emitted(own(Emitted::from_arg(cx, arg))?),
        arg_kind::DTYPE => Ok(value::dtype(py, own(DType::from_arg(cx, arg))?)?.into_bound(py)),
        arg_kind::STR
        | arg_kind::DEVICE
        | arg_kind::LAYOUT
        | arg_kind::MEMORY_FORMAT
        | arg_kind::OPERATOR => own(Str::from_arg(cx, arg))?.0.into_bound_py_any(py),
        arg_kind::LIST => {
            let items = arg.items().unwrap_or_default().into_iter().map(|item| convert(py, cx, id, item));
            Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        arg_kind::DICT => {
            let dict = PyDict::new(py);
            for item in arg.items().unwrap_or_default() {
                dict.set_item(item.name(), convert(py, cx, id, item)?)?;
            }
            Ok(dict.into_any())
        }
        arg_kind::GRAPH => Ok(Bound::new(py, Nested::new(id, own(GraphArg::from_arg(cx, arg))?))?.into_any()),
        _ => match own(Scalar::from_arg(cx, arg))? {
            Scalar::Int(n) => n.into_bound_py_any(py),
            Scalar::Float(x) => x.into_bound_py_any(py),
            Scalar::Bool(b) => b.into_bound_py_any(py),
            Scalar::Complex(re, im) => Ok(PyComplex::from_doubles(py, re, im).into_any()),
            Scalar::Sym(value) => emitted(value),
        },
    }
}

fn own<T>(result: onnxport_sdk::Res<T>) -> PyResult<T> {
    result.map_err(call::refused)
}

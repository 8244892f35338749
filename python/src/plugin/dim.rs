//! Symbolic extents.

// For the code that PyO3 generates for methods that our macro lists.
#![allow(unsafe_op_in_unsafe_fn)]
// Python passes `self` to every method.
#![allow(clippy::unused_self)]

use onnxport_sdk::{Dim as Extent, Lower};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use super::call;

/// A size that is an expression of the program, or the result of arithmetic on one. Equal expressions are equal.
/// Arithmetic emits nothing.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Dim {
    call: u64,
    extent: Extent,
}

/// Converts a size to Python: an int, a [`Dim`], or `None` if it is not known.
pub(super) fn to_python(py: Python<'_>, call: u64, extent: Extent) -> PyResult<Py<PyAny>> {
    Ok(match extent {
        Extent::Const(n) => n.into_pyobject(py)?.into_any().unbind(),
        Extent::Expr(_) => Py::new(py, Dim { call, extent })?.into_any(),
        Extent::Unknown => py.None(),
    })
}

/// Reads a Python value as a size; `None` if it is not one.
pub(super) fn read(call: u64, value: &Bound<'_, PyAny>) -> PyResult<Option<Extent>> {
    if value.is_none() {
        return Ok(Some(Extent::Unknown));
    }
    if let Ok(dim) = value.cast::<Dim>() {
        let dim = dim.get();
        if dim.call != call {
            return Err(PyTypeError::new_err("a size belongs to another call"));
        }
        return Ok(Some(dim.extent));
    }
    Ok(value.extract::<i64>().ok().map(Extent::Const))
}

type Operation = fn(&Lower<'_>, Extent, Extent) -> Extent;

impl Dim {
    fn with(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        swapped: bool,
        work: Operation,
    ) -> PyResult<Py<PyAny>> {
        let Some(other) = read(self.call, other)? else { return Ok(py.NotImplemented()) };
        let (a, b) = if swapped { (other, self.extent) } else { (self.extent, other) };
        let result = call::with(self.call, |cx| Ok(work(cx.call()?, a, b)))?;
        to_python(py, self.call, result)
    }
}

macro_rules! arithmetic {
    ($($name:ident $swapped:ident $verb:ident;)*) => {
        #[pymethods]
        impl Dim {
            $(
                fn $name(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    self.with(py, other, false, |cx, a, b| cx.$verb(a, b))
                }

                fn $swapped(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    self.with(py, other, true, |cx, a, b| cx.$verb(a, b))
                }
            )*

            /// The smallest possible value of the size; `None` if it is unbounded.
            #[getter]
            fn min(&self) -> PyResult<Option<i64>> {
                let range = call::with(self.call, |cx| Ok(cx.dim_range(self.extent)))?;
                Ok(Some(range.min).filter(|min| *min != i64::MIN))
            }

            /// The largest possible value of the size; `None` if it is unbounded.
            #[getter]
            fn max(&self) -> PyResult<Option<i64>> {
                let range = call::with(self.call, |cx| Ok(cx.dim_range(self.extent)))?;
                Ok(Some(range.max).filter(|max| *max != i64::MAX))
            }

            fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
                other.cast::<Dim>().is_ok_and(|other| {
                    let other = other.get();
                    (other.call, other.extent) == (self.call, self.extent)
                })
            }

            fn __hash__(&self) -> u64 {
                match self.extent {
                    Extent::Expr(id) => u64::from(id),
                    Extent::Const(_) | Extent::Unknown => 0,
                }
            }

            fn __bool__(&self) -> PyResult<bool> {
                Err(PyTypeError::new_err("a size is not known before the model runs: look at its `min` and `max`"))
            }

            fn __repr__(&self) -> String {
                format!("<Dim {}>", self.__hash__())
            }
        }
    };
}

arithmetic! {
    __add__ __radd__ dim_add;
    __sub__ __rsub__ dim_sub;
    __mul__ __rmul__ dim_mul;
    __floordiv__ __rfloordiv__ dim_div;
    __mod__ __rmod__ dim_mod;
}

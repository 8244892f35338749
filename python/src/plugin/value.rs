//! Values of the model under construction.

// For the code that PyO3 generates for methods that our macro lists.
#![allow(unsafe_op_in_unsafe_fn)]
// Python passes `self` to every method.
#![allow(clippy::unused_self)]

use onnxport_sdk::{DType, Emit, Literal, Term};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use super::call;
use super::context::{Context, Emitted};
use super::dim;
use super::graph::Node;
use super::operand::{self, Operand};

/// A value of the model under construction, or of a rewritten graph. Operators emit nodes: `(x - mean) * 2.0`. A number
/// takes the element type of the other operand.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Value {
    pub(super) call: u64,
    pub(super) value: Emitted,
}

/// The element type as the package's `DType`.
pub(super) fn dtype(py: Python<'_>, dtype: DType) -> PyResult<Py<PyAny>> {
    let class = py.import("onnxport._operators.dtype")?.getattr("DType")?;
    Ok(class.call1((dtype.onnx(),))?.unbind())
}

/// The value, if it is one of the call.
pub(super) fn read(call: u64, value: &Bound<'_, PyAny>) -> PyResult<Option<Emitted>> {
    if let Ok(node) = value.cast::<Node>() {
        return node.get().only_output(call).map(Some);
    }
    let Ok(value) = value.cast::<Value>() else { return Ok(None) };
    let value = value.get();
    if value.call != call {
        return Err(PyTypeError::new_err("a value belongs to another call"));
    }
    Ok(Some(value.value))
}

/// Converts the result of a function: a value, `None`, or a list of the two.
pub(super) fn results(result: &Bound<'_, PyAny>, call: u64) -> PyResult<Vec<Option<Emitted>>> {
    let one = |value: &Bound<'_, PyAny>| match read(call, value)? {
        Some(value) => Ok(Some(value)),
        None if value.is_none() => Ok(None),
        None => {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("values are returned, and this is a {kind}")))
        }
    };
    if result.is_instance_of::<PyList>() || result.is_instance_of::<PyTuple>() {
        return result.try_iter()?.map(|value| one(&value?)).collect();
    }
    Ok(vec![one(result)?])
}

/// The contents of a constant: a number, or lists of numbers.
pub(super) fn contents(py: Python<'_>, literal: &Literal) -> PyResult<Py<PyAny>> {
    let numbers: Option<Vec<Py<PyAny>>> = match (literal.dtype, literal.ints(), literal.floats()) {
        (DType::Bool, Some(ints), _) => Some(
            ints.iter()
                .map(|n| Ok((*n != 0).into_pyobject(py)?.to_owned().into_any().unbind()))
                .collect::<PyResult<_>>()?,
        ),
        (_, Some(ints), _) => {
            Some(ints.iter().map(|n| Ok(n.into_pyobject(py)?.into_any().unbind())).collect::<PyResult<_>>()?)
        }
        (_, None, Some(floats)) => Some(
            floats.iter().map(|x| Ok(x.into_pyobject(py)?.into_any().unbind())).collect::<PyResult<_>>()?,
        ),
        (_, None, None) => None,
    };
    let Some(mut level) = numbers else { return Ok(py.None()) };
    for extent in literal.shape.iter().rev() {
        let Ok(extent) = usize::try_from(*extent) else { return Ok(py.None()) };
        if extent == 0 {
            return Ok(PyList::empty(py).into_any().unbind());
        }
        level = level
            .chunks(extent)
            .map(|part| Ok(PyList::new(py, part)?.into_any().unbind()))
            .collect::<PyResult<_>>()?;
    }
    Ok(level.into_iter().next().unwrap_or_else(|| py.None()))
}

type Binary = fn(&Context<'_>, Term<Emitted>, Term<Emitted>) -> Emitted;

impl Value {
    pub(super) fn new(call: u64, value: Emitted) -> Self {
        Self { call, value }
    }

    /// Runs `work` with the call that the value belongs to.
    fn with<R>(&self, work: impl FnOnce(&Context<'_>, Emitted) -> PyResult<R>) -> PyResult<R> {
        call::with(self.call, |cx| work(cx, self.value))
    }

    fn binary(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        swapped: bool,
        work: Binary,
    ) -> PyResult<Py<PyAny>> {
        let other = match operand::read(self.call, other)? {
            Some(Operand::Value(value)) => Term::Value(value),
            Some(Operand::Number(number)) => Term::Exact(number),
            None => return Ok(py.NotImplemented()),
        };
        let own = Term::Value(self.value);
        let (a, b) = if swapped { (other, own) } else { (own, other) };
        let value = self.with(|cx, _| Ok(work(cx, a, b)))?;
        Ok(Py::new(py, Self::new(self.call, value))?.into_any())
    }

    fn unary(&self, work: fn(&Context<'_>, Emitted) -> Emitted) -> PyResult<Self> {
        self.with(|cx, value| Ok(work(cx, value))).map(|value| Self::new(self.call, value))
    }
}

macro_rules! operators {
    ($(($name:ident $($swapped:ident)?) $verb:ident;)* { $($rest:tt)* }) => {
        #[pymethods]
        impl Value {
            $(
                fn $name(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    self.binary(py, other, false, |cx, a, b| cx.$verb(a, b))
                }

                $(fn $swapped(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
                    self.binary(py, other, true, |cx, a, b| cx.$verb(a, b))
                })?
            )*

            $($rest)*
        }
    };
}

operators! {
    (__add__ __radd__) add;
    (__sub__ __rsub__) sub;
    (__mul__ __rmul__) mul;
    (__truediv__ __rtruediv__) div;
    (__and__ __rand__) and;
    (__or__ __ror__) or;
    (__xor__ __rxor__) xor;
    (__lt__) less;
    (__le__) less_equal;
    (__gt__) greater;
    (__ge__) greater_equal;
    {
        fn __pow__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, modulus: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
            if !modulus.is_none() {
                return Ok(py.NotImplemented());
            }
            self.binary(py, other, false, |cx, a, b| cx.pow(a, b))
        }

        fn __rpow__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, modulus: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
            if !modulus.is_none() {
                return Ok(py.NotImplemented());
            }
            self.binary(py, other, true, |cx, a, b| cx.pow(a, b))
        }

        fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
            let Some(other) = read(self.call, other)? else { return Ok(py.NotImplemented()) };
            let value = self.with(|cx, value| Ok(cx.matmul(value, other)))?;
            Ok(Py::new(py, Self::new(self.call, value))?.into_any())
        }

        fn __neg__(&self) -> PyResult<Self> {
            self.unary(|cx, x| cx.neg(x))
        }

        fn __invert__(&self) -> PyResult<Self> {
            self.unary(|cx, x| cx.not(x))
        }

        fn __abs__(&self) -> PyResult<Self> {
            self.unary(|cx, x| cx.abs(x))
        }

        fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
            other.cast::<Value>().is_ok_and(|other| {
                let other = other.get();
                (other.call, other.value) == (self.call, self.value)
            })
        }

        fn __hash__(&self) -> u64 {
            use std::hash::{DefaultHasher, Hash, Hasher};

            let mut hasher = DefaultHasher::new();
            (self.call, self.value).hash(&mut hasher);
            hasher.finish()
        }

        fn __bool__(&self) -> PyResult<bool> {
            Err(PyTypeError::new_err("a value is not known before the model runs: emit a `Where` or an `If`"))
        }

        /// The element type; `None` if it is not known.
        #[getter]
        fn dtype(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
            let found = self.with(|cx, value| Ok(cx.fact(value).dtype))?;
            found.map(|found| dtype(py, found)).transpose()
        }

        /// The sizes, each a number, a `Dim`, or `None`; `None` if the rank is not known.
        #[getter]
        fn shape<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
            let Some(shape) = self.with(|cx, value| Ok(cx.fact(value).shape))? else { return Ok(None) };
            let dims = shape.into_iter().map(|extent| dim::to_python(py, self.call, extent));
            Ok(Some(PyTuple::new(py, dims.collect::<PyResult<Vec<_>>>()?)?))
        }

        /// The number of axes; `None` if it is not known.
        #[getter]
        fn rank(&self) -> PyResult<Option<usize>> {
            self.with(|cx, value| Ok(cx.fact(value).shape.map(|shape| shape.len())))
        }

        /// The contents of a small constant, a number or lists of numbers; `None` if they are not known. Weights have
        /// none.
        #[getter]
        fn constant(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            let literal = self.with(|cx, value| Ok(cx.literal(value)))?;
            literal.map_or_else(|| Ok(py.None()), |literal| contents(py, &literal))
        }

        /// The elements of a vector of integers, each a number or a `Dim`, as far as they follow from shapes.
        #[getter]
        fn extents<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
            let Some(dims) = self.with(|cx, value| Ok(cx.contents(value)))? else { return Ok(None) };
            let dims = dims.into_iter().map(|extent| dim::to_python(py, self.call, extent));
            Ok(Some(PyTuple::new(py, dims.collect::<PyResult<Vec<_>>>()?)?))
        }

        /// The contents of a constant, or of a weight of at most 1 MiB, which become part of the model.
        fn read(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
            let literal = self.with(|cx, value| Ok(cx.contents_of(value)))?;
            literal.map_or_else(|| Ok(py.None()), |literal| contents(py, &literal))
        }

        /// The name; empty for an unnamed value. Only rules and passes know names.
        #[getter]
        fn name(&self) -> PyResult<String> {
            self.with(|cx, value| Ok(Context::value_of_graph(cx.graph()?, value).name()))
        }

        /// The node that computes the value; `None` for an input or an initializer.
        #[getter]
        fn producer(&self) -> PyResult<Option<Node>> {
            self.with(|cx, value| {
                let made = Context::value_of_graph(cx.graph()?, value).producer();
                Ok(made.map(|(node, _)| Node::new(self.call, node)))
            })
        }

        /// The nodes that read the value, each with the position among its inputs.
        #[getter]
        fn uses(&self) -> PyResult<Vec<(Node, usize)>> {
            self.with(|cx, value| {
                let uses = Context::value_of_graph(cx.graph()?, value).uses();
                Ok(uses.into_iter().map(|(node, index)| (Node::new(self.call, node), index)).collect())
            })
        }

        /// Whether the value is an initializer.
        #[getter]
        fn is_initializer(&self) -> PyResult<bool> {
            self.with(|cx, value| Ok(Context::value_of_graph(cx.graph()?, value).is_initializer()))
        }

        /// Whether the value is an output of the model, or of a body.
        #[getter]
        fn is_returned(&self) -> PyResult<bool> {
            self.with(|cx, value| Ok(Context::value_of_graph(cx.graph()?, value).is_returned()))
        }

        fn __iter__(&self) -> PyResult<()> {
            Err(PyTypeError::new_err("a value is not a sequence: `Split` or `Gather` take it apart"))
        }

        fn __repr__(&self) -> String {
            let text = self.with(|cx, value| {
                let fact = cx.fact(value);
                let dtype = fact.dtype.map_or("?", DType::as_str);
                let dim = |extent: onnxport_sdk::Dim| extent.as_const().map_or_else(|| "?".to_owned(), |n| n.to_string());
                let shape = fact.shape.map(|shape| shape.into_iter().map(dim).collect::<Vec<_>>().join(", "));
                Ok(format!("<Value {dtype}[{}]>", shape.unwrap_or_else(|| "...".to_owned())))
            });
            text.unwrap_or_else(|_| "<Value of a call that is over>".to_owned())
        }
    }
}

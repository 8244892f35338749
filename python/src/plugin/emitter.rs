//! The emitter of lowerings, rules and passes: the verbs of the SDK, ONNX's operators, and the other services of the
//! host.

// The parameters of a method are those of Python, which always passes `self`.
#![allow(clippy::too_many_arguments, clippy::unused_self)]

use onnxport_sdk::{Block as Ended, DType, Dim as Extent, Emit, Lower, Res, Term, Value as Lowered};
use pyo3::exceptions::{PyAttributeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::attribute;
use super::call;
use super::context::{self, Context, Emitted};
use super::dim;
use super::operand::{self, Input, Operand};
use super::operator::{self, Operator};
use super::value::{self, Value};

/// Emits into the model: for the call that is being lowered, the match of a rule, or the graph of a pass.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Emitter {
    pub(super) call: u64,
}

/// A body for an attribute of a node of control flow.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Block {
    pub(super) call: u64,
    block: Ended,
}

/// An attribute of the function around, for the nodes of its body.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Reference {
    pub(super) name: String,
}

impl Block {
    pub(super) fn ended(&self, call: u64) -> PyResult<Ended> {
        if self.call == call {
            Ok(self.block)
        } else {
            Err(PyTypeError::new_err("a block belongs to another call"))
        }
    }
}

pub(super) type Any<'a, 'py> = &'a Bound<'py, PyAny>;

impl Emitter {
    pub(super) fn new(call: u64) -> Self {
        Self { call }
    }

    pub(super) fn with<R>(&self, work: impl FnOnce(&Context<'_>) -> PyResult<R>) -> PyResult<R> {
        call::with(self.call, work)
    }

    /// Emits nodes with a single result.
    pub(super) fn make(&self, work: impl FnOnce(&Context<'_>) -> Res<Emitted>) -> PyResult<Value> {
        let value = self.with(|cx| work(cx).map_err(call::refused))?;
        Ok(Value::new(self.call, value))
    }

    /// Returns a value; numbers and lists become constants of their default type.
    pub(super) fn value(&self, given: Any<'_, '_>) -> PyResult<Emitted> {
        self.with(|cx| {
            Ok(match operand::input(self.call, given)? {
                Input::Absent => return Err(PyTypeError::new_err("expected a value, found `None`")),
                Input::Value(value) => value,
                Input::Numbers(shape, numbers) => {
                    operand::constant(cx, &shape, &numbers, operand::natural(&numbers))
                }
                Input::Extents(elements) => operand::extents(cx, &elements),
                Input::Array(dtype, shape, bytes) => cx.constant(dtype, &shape, &bytes),
            })
        })
    }

    pub(super) fn term(&self, given: Any<'_, '_>) -> PyResult<Term<Emitted>> {
        Ok(match operand::read(self.call, given)? {
            Some(Operand::Value(value)) => Term::Value(value),
            Some(Operand::Number(number)) => Term::Exact(number),
            None => Term::Value(self.value(given)?),
        })
    }

    pub(super) fn optional(&self, given: Option<Any<'_, '_>>) -> PyResult<Option<Emitted>> {
        given.filter(|given| !given.is_none()).map(|given| self.value(given)).transpose()
    }

    fn extent_of(&self, given: Any<'_, '_>) -> PyResult<Extent> {
        let wrong = || PyTypeError::new_err("a size is a number, a `Dim` or `None`");
        dim::read(self.call, given)?.ok_or_else(wrong)
    }

    /// Runs a Python function over values inside the SDK.
    fn body(&self, cx: &Lower<'_>, body: Any<'_, '_>, values: &[Lowered]) -> Res<Vec<Lowered>> {
        let py = body.py();
        let results = || -> PyResult<Vec<Lowered>> {
            let values = values.iter().map(|value| Py::new(py, Value::new(self.call, (*value).into())));
            let values = PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?;
            let results = value::results(&body.call1(values)?, self.call)?;
            let whole: Option<Vec<Lowered>> = context::of_call(cx, &results).into_iter().collect();
            whole.ok_or_else(|| PyTypeError::new_err("a body returned `None` instead of a value"))
        };
        results().map_err(call::passing)
    }
}

pub(super) fn dtype(given: Any<'_, '_>) -> PyResult<DType> {
    let number: i32 =
        given.py().import("onnxport._operators.dtype")?.getattr("number")?.call1((given,))?.extract()?;
    DType::from_onnx(number).ok_or_else(|| PyValueError::new_err(format!("{number} is not an element type")))
}

#[pymethods]
impl Emitter {
    /// The opset to emit.
    #[getter]
    fn opset(&self) -> PyResult<i64> {
        self.with(|cx| Ok(cx.opset()))
    }

    /// The operator and overload: `aten.add.Tensor`.
    #[getter]
    fn target(&self) -> PyResult<String> {
        self.with(|cx| Ok(cx.call()?.target().to_owned()))
    }

    /// The number of results of the call.
    #[getter]
    fn result_count(&self) -> PyResult<usize> {
        self.with(|cx| Ok(cx.call()?.result_count()))
    }

    /// The stated type of a result: its element type and its extents.
    #[pyo3(signature = (index=0))]
    fn result(&self, py: Python<'_>, index: usize) -> PyResult<(Py<PyAny>, Py<PyTuple>)> {
        let fact = self.with(|cx| cx.call()?.result(index).map_err(call::refused))?;
        let dims = fact.shape.into_iter().map(|extent| dim::to_python(py, self.call, extent));
        let dims = PyTuple::new(py, dims.collect::<PyResult<Vec<_>>>()?)?;
        Ok((value::dtype(py, fact.dtype)?, dims.unbind()))
    }

    /// The origin of the call: `node`, `module`, `class`, `file`, `function`, `code`, `line`.
    #[getter]
    fn origin<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let origin = self.with(|cx| cx.call()?.origin().map_err(call::refused))?;
        let dict = PyDict::new(py);
        let texts = [
            ("node", origin.node),
            ("module", origin.module),
            ("class", origin.class),
            ("file", origin.file),
            ("function", origin.function),
            ("code", origin.code),
        ];
        texts.into_iter().try_for_each(|(key, text)| dict.set_item(key, text))?;
        dict.set_item("line", origin.line)?;
        Ok(dict)
    }

    /// A constant: a number, nested lists of numbers, or an array. `dtype` is the element type of numbers.
    #[pyo3(signature = (value, dtype=None))]
    fn constant(&self, value: Any<'_, '_>, dtype: Option<Any<'_, '_>>) -> PyResult<Value> {
        let wanted = dtype.map(self::dtype).transpose()?;
        let made = match (operand::input(self.call, value)?, wanted) {
            (Input::Numbers(shape, numbers), wanted) => {
                let dtype = wanted.unwrap_or_else(|| operand::natural(&numbers));
                self.with(|cx| Ok(operand::constant(cx, &shape, &numbers, dtype)))?
            }
            (Input::Array(dtype, shape, bytes), None) => {
                self.with(|cx| Ok(cx.constant(dtype, &shape, &bytes)))?
            }
            (Input::Array(..), Some(_)) => {
                return Err(PyTypeError::new_err("an array has a type of its own"));
            }
            _ => return Err(PyTypeError::new_err("a constant is a number, lists of numbers, or an array")),
        };
        Ok(Value::new(self.call, made))
    }

    /// Emits a node of another domain's operator, which the model keeps. Its results have no known type, unless the
    /// program states it: for the results of the call.
    #[pyo3(signature = (domain, name, *inputs, outputs=1, version=1, **attributes))]
    fn custom(
        &self,
        py: Python<'_>,
        domain: &str,
        name: &str,
        inputs: &Bound<'_, PyTuple>,
        outputs: usize,
        version: i64,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        if domain.is_empty() || name.is_empty() || version < 1 {
            return Err(PyValueError::new_err(
                "an operator of your own has a domain, a name and a version from 1",
            ));
        }
        let inputs = inputs.iter().map(|input| self.optional(Some(&input))).collect::<PyResult<Vec<_>>>()?;
        let values = self.with(|cx| {
            let attributes = attribute::read(cx, self.call, name, None, attributes)?;
            Ok(operator::emit(cx, (domain, version, name), &inputs, &attributes, outputs))
        })?;
        operator::several(py, self.call, values)
    }

    /// Calls a local function of the model, which `body` states: it takes as many values as are passed, and returns
    /// `outputs` of them. It uses nothing from outside; `refer` names an attribute of the call.
    #[pyo3(signature = (domain, name, *inputs, body, outputs=1, version=1, **attributes))]
    fn function(
        &self,
        py: Python<'_>,
        domain: &str,
        name: &str,
        inputs: &Bound<'_, PyTuple>,
        body: Any<'_, '_>,
        outputs: usize,
        version: i64,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let inputs = inputs.iter().map(|input| self.value(&input)).collect::<PyResult<Vec<_>>>()?;
        let values = self.with(|cx| {
            let attributes = attribute::read(cx, self.call, name, None, attributes)?;
            let cx = cx.call()?;
            let inputs: Vec<Lowered> =
                inputs.iter().map(|value| Context::value_of_call(cx, *value)).collect();
            let node = cx.op_in(domain, version, name).inputs(inputs.iter().copied());
            let node = attribute::of_call(cx, node, &attributes);
            let made = node.body_of(inputs.len(), outputs, |cx, values| self.body(cx, body, values));
            context::either(made).map_err(call::refused)
        })?;
        operator::several(py, self.call, values)
    }

    /// Returns `x` with this known type: for types that the host cannot infer, since the operator is not ONNX's own.
    #[pyo3(signature = (x, dtype, shape=None))]
    fn typed(
        &self,
        x: Any<'_, '_>,
        dtype: Any<'_, '_>,
        shape: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<Value> {
        let (x, dtype) = (self.value(x)?, self::dtype(dtype)?);
        let shape =
            shape.map(|shape| shape.iter().map(|one| self.extent_of(one)).collect::<PyResult<Vec<_>>>());
        let shape = shape.transpose()?;
        self.with(|cx| {
            let Context::Graph(editor, _) = cx else {
                return Err(PyTypeError::new_err("the program states the types of a call's results"));
            };
            editor.set_type(Context::value_of_graph(editor.graph(), x), dtype, shape.as_deref());
            Ok(())
        })?;
        Ok(Value::new(self.call, x))
    }

    /// The attribute `name` of the function around, for an attribute of a node of its body.
    fn refer(&self, name: String) -> Reference {
        Reference { name }
    }

    /// A body for `If`, `Loop` or `Scan`: `body` takes values of the types in `inputs` (an element type and sizes, or
    /// `None`), and returns the outputs.
    #[pyo3(signature = (body, *inputs))]
    fn block(&self, body: Any<'_, '_>, inputs: &Bound<'_, PyTuple>) -> PyResult<Block> {
        let mut types = Vec::new();
        for input in inputs {
            let (element, shape): (Bound<'_, PyAny>, Option<Vec<Bound<'_, PyAny>>>) = input.extract()?;
            let extents = |shape: Vec<Bound<'_, PyAny>>| -> PyResult<Vec<Extent>> {
                shape.iter().map(|extent| self.extent_of(extent)).collect()
            };
            let shape = shape.map(extents).transpose()?;
            types.push((dtype(&element)?, shape));
        }
        let block = self.with(|cx| {
            let made = cx.call()?.block(|cx| {
                let values: Vec<Lowered> =
                    types.iter().map(|(dtype, shape)| cx.block_input(*dtype, shape.as_deref())).collect();
                self.body(cx, body, &values)
            });
            made.map_err(call::refused)
        })?;
        Ok(Block { call: self.call, block })
    }

    /// An operator of ONNX: `op.Add(x, y)`.
    fn __getattr__(&self, name: String) -> PyResult<Operator> {
        if !name.starts_with(|first: char| first.is_ascii_uppercase()) {
            return Err(PyAttributeError::new_err(format!(
                "an emitter has no verb `{name}`; operators begin with a capital"
            )));
        }
        Operator::new(self.call, name)
    }
}

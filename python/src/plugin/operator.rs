//! ONNX's own operators as functions: `op.Add(x, y)`, `op.TopK(x, k, axis=-1)`.

use onnxport_core::ir::opset::{self, Formal, FormalType, OpSchema, TypeTag};
use onnxport_sdk::{DType, Emit, NodeBuilder, Scalar};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::attribute::{self, Attributes};
use super::call;
use super::context::{self, Context, Emitted};
use super::operand::{self, Input};
use super::value::Value;

/// An operator of ONNX, of the version in force at the opset of the model.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Operator {
    call: u64,
    name: String,
}

impl Operator {
    pub(super) fn new(call: u64, name: String) -> PyResult<Self> {
        let (known, opset) =
            call::with(call, |cx| Ok((opset::lookup(&name, cx.opset()).is_some(), cx.opset())))?;
        if !known {
            return Err(PyAttributeError::new_err(format!("ONNX has no operator `{name}` at opset {opset}")));
        }
        Ok(Self { call, name })
    }
}

#[pymethods]
impl Operator {
    /// Emits a node.
    ///
    /// Inputs are in the order of the operator's documentation; `None` leaves one out. A number, a list or an array
    /// becomes a constant, of the type that the operator requires there. Attributes are keywords. `outputs` is the
    /// number of outputs: one unless the operator always has more; several are a tuple.
    #[pyo3(signature = (*inputs, outputs=None, **attributes))]
    fn __call__(
        &self,
        py: Python<'_>,
        inputs: &Bound<'_, PyTuple>,
        outputs: Option<usize>,
        attributes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let values = call::with(self.call, |cx| {
            let schema = opset::lookup(&self.name, cx.opset())
                .ok_or_else(|| PyAttributeError::new_err(format!("unknown operator `{}`", self.name)))?;
            let attributes = attribute::read(cx, self.call, &self.name, Some(schema), attributes)?;
            let inputs = values(cx, self.call, &self.name, schema, inputs)?;
            let count = count(&self.name, schema, outputs)?;
            Ok(emit(cx, ("", 0, &self.name), &inputs, &attributes, count))
        })?;
        several(py, self.call, values)
    }

    fn __repr__(&self) -> String {
        format!("<Operator {}>", self.name)
    }
}

/// Emits a node of any domain.
pub(super) fn emit(
    cx: &Context<'_>,
    (domain, version, name): (&str, i64, &str),
    inputs: &[Option<Emitted>],
    attributes: &Attributes,
    count: usize,
) -> Vec<Emitted> {
    match cx {
        Context::Call(cx) => {
            let inputs = context::of_call(cx, inputs);
            let node = inputs.into_iter().fold(cx.op_in(domain, version, name), NodeBuilder::maybe);
            attribute::of_call(cx, node, attributes).many(count).into_iter().map(Emitted::from).collect()
        }
        Context::Graph(editor, _) => {
            let inputs = Context::replacement(editor.graph(), inputs.to_vec());
            let node = inputs.into_iter().fold(editor.op_in(domain, version, name), NodeBuilder::maybe);
            let node = attribute::of_graph(editor.graph(), node, attributes);
            node.many(count).into_iter().map(Emitted::from).collect()
        }
    }
}

/// One value, or a tuple of several.
pub(super) fn several(py: Python<'_>, call: u64, values: Vec<Emitted>) -> PyResult<Py<PyAny>> {
    let mut made =
        values.into_iter().map(|value| Py::new(py, Value::new(call, value))).collect::<PyResult<Vec<_>>>()?;
    match (made.pop(), made.is_empty()) {
        (Some(single), true) => Ok(single.into_any()),
        (last, _) => {
            made.extend(last);
            Ok(PyTuple::new(py, made)?.into_any().unbind())
        }
    }
}

fn count(name: &str, schema: &OpSchema, asked: Option<usize>) -> PyResult<usize> {
    let (fewest, most) = (usize::from(schema.min_outputs), usize::from(schema.max_outputs));
    let count = asked.unwrap_or(fewest.max(1));
    if count >= fewest && count <= most {
        return Ok(count);
    }
    let most = if schema.max_outputs == u16::MAX { "any number".to_owned() } else { most.to_string() };
    Err(PyTypeError::new_err(format!("`{name}` has {fewest} to {most} outputs, not {count}")))
}

/// Returns the inputs as values: numbers take the type that the operator requires.
fn values(
    cx: &Context<'_>,
    call: u64,
    name: &str,
    schema: &OpSchema,
    given: &Bound<'_, PyTuple>,
) -> PyResult<Vec<Option<Emitted>>> {
    let (count, fewest) = (given.len(), usize::from(schema.min_inputs));
    if count < fewest || count > usize::from(schema.max_inputs) {
        let names: Vec<&str> = schema.inputs.iter().map(|formal| formal.name).collect();
        let message = format!("`{name}` takes the inputs {}, and {count} are given", names.join(", "));
        return Err(PyTypeError::new_err(message));
    }
    let inputs = given.iter().map(|input| operand::input(call, &input)).collect::<PyResult<Vec<_>>>()?;
    // The known types: of each variable, and of the first value.
    let mut known: Vec<Option<DType>> = vec![None; schema.type_vars.len()];
    let mut first = None;
    for (index, input) in inputs.iter().enumerate() {
        let dtype = match input {
            Input::Value(value) => cx.fact(*value).dtype,
            Input::Array(dtype, ..) => Some(*dtype),
            Input::Extents(_) => Some(DType::I64),
            Input::Absent | Input::Numbers(..) => None,
        };
        first = first.or(dtype);
        if let Some(Formal { ty: FormalType::Var(variable), .. }) = opset::formal(schema.inputs, index)
            && let Some(place) = known.get_mut(usize::from(*variable))
        {
            *place = place.or(dtype);
        }
    }
    let wanted = |index: usize, numbers: &[Scalar]| -> Option<DType> {
        let natural = operand::natural(numbers);
        let held = |dtype: &DType| numbers.iter().all(|number| operand::holds(*dtype, number));
        let (allowed, bound) = match &opset::formal(schema.inputs, index)?.ty {
            FormalType::Var(variable) => {
                let variable = usize::from(*variable);
                (schema.type_vars.get(variable)?.allowed, known.get(variable).copied().flatten())
            }
            FormalType::Fixed(allowed) => (*allowed, None),
        };
        let takes = |dtype: &DType| allowed.contains(&TypeTag::Tensor(*dtype));
        let only = match allowed {
            [TypeTag::Tensor(only)] => Some(*only),
            _ => None,
        };
        let beside = first.filter(takes).filter(held);
        bound.or(only).or(beside).or(Some(natural).filter(takes))
    };
    let mut made = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.into_iter().enumerate() {
        made.push(match input {
            Input::Absent => None,
            Input::Value(value) => Some(value),
            Input::Extents(elements) => Some(operand::extents(cx, &elements)),
            Input::Array(dtype, shape, bytes) => Some(cx.constant(dtype, &shape, &bytes)),
            Input::Numbers(shape, numbers) => {
                let unclear = || {
                    PyTypeError::new_err(format!(
                        "input {index} of `{name}` cannot be a number: give a value"
                    ))
                };
                let dtype = wanted(index, &numbers).ok_or_else(unclear)?;
                Some(operand::constant(cx, &shape, &numbers, dtype))
            }
        });
    }
    Ok(made)
}

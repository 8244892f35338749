//! Python values that are accepted as operands.

use onnxport_core::tensor::MAX_RANK;
use onnxport_sdk::{DType, Dim as Extent, Emit, Kind, Scalar};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyTuple};

use super::context::{Context, Emitted};
use super::dim::{self, Dim};
use super::value;

/// A value or a number.
pub(super) enum Operand {
    Value(Emitted),
    Number(Scalar),
}

/// An input of an operator.
pub(super) enum Input {
    Absent,
    Value(Emitted),
    /// Numbers, row-major.
    Numbers(Vec<u64>, Vec<Scalar>),
    /// The elements of a vector of integers, some of which are unknown before the model runs.
    Extents(Vec<Element>),
    /// An array: its type, its sizes, its bytes.
    Array(DType, Vec<u64>, Vec<u8>),
}

/// An element of a vector of integers.
pub(super) enum Element {
    Extent(Extent),
    /// An i64 of shape `[1]`.
    Value(Emitted),
}

impl Element {
    fn number(&self) -> Option<i64> {
        match self {
            Element::Extent(extent) => extent.as_const(),
            Element::Value(_) => None,
        }
    }
}

/// Reads a Python value as a number.
fn number(value: &Bound<'_, PyAny>) -> PyResult<Option<Scalar>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Some(Scalar::Bool(value.extract()?)));
    }
    if value.is_instance_of::<PyInt>() {
        let wide = |_| PyOverflowError::new_err("a number does not fit into an i64: give an array");
        return value.extract().map(|n| Some(Scalar::Int(n))).map_err(wide);
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(Scalar::Float(value.extract()?)));
    }
    Ok(None)
}

/// Reads a value or a number; `None` if it is neither.
pub(super) fn read(call: u64, value: &Bound<'_, PyAny>) -> PyResult<Option<Operand>> {
    if let Some(value) = value::read(call, value)? {
        return Ok(Some(Operand::Value(value)));
    }
    Ok(number(value)?.map(Operand::Number))
}

/// Classifies an input, without emitting anything.
pub(super) fn input(call: u64, given: &Bound<'_, PyAny>) -> PyResult<Input> {
    if given.is_none() {
        return Ok(Input::Absent);
    }
    match read(call, given)? {
        Some(Operand::Value(value)) => return Ok(Input::Value(value)),
        Some(Operand::Number(number)) => return Ok(Input::Numbers(Vec::new(), vec![number])),
        None => {}
    }
    if given.is_instance_of::<Dim>() {
        return Ok(Input::Extents(vec![element(call, given)?]));
    }
    if is_list(given) {
        let items = given.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let symbolic =
            |item: &Bound<'_, PyAny>| item.is_instance_of::<Dim>() || item.is_instance_of::<super::Value>();
        if items.iter().any(symbolic) {
            return Ok(Input::Extents(
                items.iter().map(|item| element(call, item)).collect::<PyResult<_>>()?,
            ));
        }
        let (mut shape, mut numbers) = (Vec::new(), Vec::new());
        nested(given, 0, &mut shape, &mut numbers)?;
        return Ok(Input::Numbers(shape, numbers));
    }
    let parts = given.py().import("onnxport._operators.arrays")?.getattr("parts")?.call1((given,))?;
    let (dtype, shape, bytes): (i32, Vec<u64>, Vec<u8>) = parts.extract()?;
    let dtype =
        DType::from_onnx(dtype).ok_or_else(|| PyTypeError::new_err("an array has a type that ONNX lacks"))?;
    Ok(Input::Array(dtype, shape, bytes))
}

fn is_list(given: &Bound<'_, PyAny>) -> bool {
    given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>()
}

fn element(call: u64, item: &Bound<'_, PyAny>) -> PyResult<Element> {
    if let Some(value) = value::read(call, item)? {
        return Ok(Element::Value(value));
    }
    let extent = if item.is_none() { None } else { dim::read(call, item)? };
    extent.map(Element::Extent).ok_or_else(|| PyTypeError::new_err("a vector of sizes holds something else"))
}

/// Reads nested lists of numbers, all of one form.
fn nested(
    given: &Bound<'_, PyAny>,
    depth: usize,
    shape: &mut Vec<u64>,
    numbers: &mut Vec<Scalar>,
) -> PyResult<()> {
    let uneven = || PyTypeError::new_err("nested lists differ in length");
    if !is_list(given) {
        if depth != shape.len() {
            return Err(uneven());
        }
        let wrong = || PyTypeError::new_err("a list holds something that is not a number");
        numbers.push(number(given)?.ok_or_else(wrong)?);
        return Ok(());
    }
    if depth == MAX_RANK {
        return Err(PyValueError::new_err(format!("lists are nested deeper than {MAX_RANK}")));
    }
    let len = given.len()? as u64;
    match shape.get(depth) {
        None if numbers.is_empty() => shape.push(len),
        Some(known) if *known == len => {}
        _ => return Err(uneven()),
    }
    given.try_iter()?.try_for_each(|item| nested(&item?, depth + 1, shape, numbers))
}

/// Returns the default type of numbers: truth values, i64, or f32.
pub(super) fn natural(numbers: &[Scalar]) -> DType {
    let is_float = |number: &Scalar| matches!(number, Scalar::Float(_));
    if numbers.iter().any(is_float) {
        return DType::F32;
    }
    let all_bool = !numbers.is_empty() && numbers.iter().all(|number| matches!(number, Scalar::Bool(_)));
    if all_bool { DType::Bool } else { DType::I64 }
}

/// Creates a constant of these numbers, which the type must be able to represent.
pub(super) fn constant(cx: &Context<'_>, shape: &[u64], numbers: &[Scalar], dtype: DType) -> Emitted {
    if let Some(odd) = numbers.iter().find(|number| !holds(dtype, number)) {
        let odd = odd.as_f64().unwrap_or_default();
        return cx.fail(format!("{odd} cannot be of type {dtype}"));
    }
    if let Some(bytes) = integers(dtype, numbers) {
        return cx.constant(dtype, shape, &bytes);
    }
    if let ([], [one]) = (shape, numbers) {
        return cx.filled(one, dtype, &[]);
    }
    let numbers: Vec<f64> = numbers.iter().filter_map(Scalar::as_f64).collect();
    cx.numbers_shaped(&numbers, shape, dtype)
}

/// Returns a number as an integer.
fn int(number: &Scalar) -> Option<i128> {
    match *number {
        Scalar::Int(n) => Some(n.into()),
        Scalar::Bool(b) => Some(b.into()),
        Scalar::Float(x) if x.is_finite() && x.fract() == 0.0 => Some(x as i128),
        _ => None,
    }
}

/// Returns the bytes of numbers in an integer type of whole bytes, which must represent them exactly.
fn integers(dtype: DType, numbers: &[Scalar]) -> Option<Vec<u8>> {
    let width = dtype.bits() / 8;
    if dtype.kind() != Kind::Int || width == 0 {
        return None;
    }
    let bytes =
        numbers.iter().map(|number| int(number)?.to_le_bytes().get(..width as usize).map(<[u8]>::to_vec));
    bytes.collect::<Option<Vec<_>>>().map(|bytes| bytes.concat())
}

/// Whether `dtype` has the number: integer types have no fractions.
pub(super) fn holds(dtype: DType, number: &Scalar) -> bool {
    match dtype.kind() {
        Kind::Float => true,
        Kind::Int => {
            let bits = dtype.bits().clamp(1, 64);
            let range = if dtype.as_str().starts_with('i') {
                -1_i128 << (bits - 1)..=(1_i128 << (bits - 1)) - 1
            } else {
                0..=(1_i128 << bits) - 1
            };
            int(number).is_some_and(|number| range.contains(&number))
        }
        Kind::Bool => number.is(0.0) || number.is(1.0),
        _ => false,
    }
}

/// An i64 vector.
pub(super) fn extents(cx: &Context<'_>, elements: &[Element]) -> Emitted {
    let plain: Option<Vec<Extent>> = elements
        .iter()
        .map(|element| match element {
            Element::Extent(extent) => Some(*extent),
            Element::Value(_) => None,
        })
        .collect();
    if let Some(extents) = plain {
        return cx.dims_value(&extents);
    }
    let mut parts = Vec::new();
    for run in elements.chunk_by(|a, b| a.number().is_some() && b.number().is_some()) {
        let numbers: Option<Vec<i64>> = run.iter().map(Element::number).collect();
        match (numbers, run) {
            (Some(numbers), _) => parts.push(cx.ints(&numbers)),
            (None, [Element::Value(value)]) => parts.push(*value),
            (None, others) => {
                parts.extend(others.iter().filter_map(|element| match element {
                    Element::Extent(extent) => Some(cx.dims_value(&[*extent])),
                    Element::Value(_) => None,
                }));
            }
        }
    }
    cx.concat(&parts, 0)
}

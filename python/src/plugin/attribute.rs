//! Attributes, as Python states them.

use onnxport_core::ir::opset::{AttrKind, OpSchema};
use onnxport_sdk::{Attribute, Block as Ended, Editor, Emit, GraphView, Lower, NodeBuilder};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::context::{Context, Emitted};
use super::emitter::{Block, Reference};
use super::graph::Kept;
use super::operand::{self, Input};

/// An attribute.
pub(super) enum Given {
    Plain(Attribute),
    Tensor(Emitted),
    Block(Ended),
    Refer(String),
}

/// Attributes with their names, in the order in which they are stated.
pub(super) type Attributes = Vec<(String, Given)>;

/// Reads attributes. Those of ONNX's own operators have the types of `schema`.
pub(super) fn read(
    cx: &Context<'_>,
    call: u64,
    op: &str,
    schema: Option<&OpSchema>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<Attributes> {
    let mut read = Vec::new();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let kind = match schema {
            None => None,
            Some(schema) => {
                let found = schema.attributes.iter().find(|attribute| attribute.name == name);
                let unknown = || {
                    let names: Vec<&str> = schema.attributes.iter().map(|attribute| attribute.name).collect();
                    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                    PyTypeError::new_err(format!("`{op}` has no attribute `{name}`; it has {known}"))
                };
                Some(found.ok_or_else(unknown)?.kind)
            }
        };
        if value.is_none() {
            continue;
        }
        let wrong = |what: &str| PyTypeError::new_err(format!("the attribute `{name}` of `{op}` {what}"));
        let value = one(cx, call, kind, &value)?.ok_or_else(|| {
            wrong(&kind.map_or_else(
                || "is of no type of ONNX".to_owned(),
                |kind| format!("is of the type {}", kind.as_str()),
            ))
        })?;
        read.push((name, value));
    }
    if let Some(missing) = schema.and_then(|schema| {
        schema.attributes.iter().find(|a| a.required && read.iter().all(|(name, _)| name != a.name))
    }) {
        return Err(PyTypeError::new_err(format!("`{op}` needs the attribute `{}`", missing.name)));
    }
    Ok(read)
}

/// Reads one attribute; `None` if it has another type.
fn one(
    cx: &Context<'_>,
    call: u64,
    kind: Option<AttrKind>,
    value: &Bound<'_, PyAny>,
) -> PyResult<Option<Given>> {
    if let Ok(kept) = value.cast::<Kept>() {
        return Ok(Some(Given::Plain(kept.get().attribute.clone())));
    }
    if let Ok(reference) = value.cast::<Reference>() {
        cx.call()?;
        return Ok(Some(Given::Refer(reference.get().name.clone())));
    }
    if let Ok(block) = value.cast::<Block>() {
        let fits = kind.is_none_or(|kind| kind == AttrKind::Graph);
        return Ok(fits.then(|| block.get().ended(call)).transpose()?.map(Given::Block));
    }
    let kind = match kind {
        Some(kind) => kind,
        None => match guess(value)? {
            Some(kind) => kind,
            None => return Ok(None),
        },
    };
    if kind == AttrKind::Tensor {
        return tensor(cx, call, value).map(|value| value.map(Given::Tensor));
    }
    Ok(of_kind(kind, value)?.map(Given::Plain))
}

/// A number, a text, or a list of them, of this type.
fn of_kind(kind: AttrKind, value: &Bound<'_, PyAny>) -> PyResult<Option<Attribute>> {
    Ok(match kind {
        AttrKind::Int => int(value).map(Attribute::Int),
        AttrKind::Float => value.extract().ok().map(Attribute::Float),
        AttrKind::String => value.extract().ok().map(Attribute::Str),
        AttrKind::Ints => all(value, int)?.map(Attribute::Ints),
        AttrKind::Floats => all(value, |item| item.extract().ok())?.map(Attribute::Floats),
        AttrKind::Strings => all(value, |item| item.extract().ok())?.map(Attribute::Strs),
        _ => None,
    })
}

/// A number, a text, or a list of them; `None` for anything else.
pub(super) fn plain(value: &Bound<'_, PyAny>) -> PyResult<Option<Attribute>> {
    match guess(value)? {
        Some(kind) => of_kind(kind, value),
        None => Ok(None),
    }
}

/// Guesses the kind of a Python value if no signature states it.
fn guess(value: &Bound<'_, PyAny>) -> PyResult<Option<AttrKind>> {
    let single = |value: &Bound<'_, PyAny>| {
        if value.is_instance_of::<PyInt>() || int(value).is_some() {
            Some(AttrKind::Int)
        } else if value.is_instance_of::<PyFloat>() {
            Some(AttrKind::Float)
        } else if value.is_instance_of::<PyString>() {
            Some(AttrKind::String)
        } else {
            None
        }
    };
    if !value.is_instance_of::<PyList>() && !value.is_instance_of::<PyTuple>() {
        return Ok(single(value).or(Some(AttrKind::Tensor)));
    }
    let kinds = value.try_iter()?.map(|item| Ok(single(&item?))).collect::<PyResult<Vec<_>>>()?;
    let every = |wanted: &[AttrKind]| {
        !kinds.is_empty() && kinds.iter().all(|kind| kind.is_some_and(|kind| wanted.contains(&kind)))
    };
    Ok(if every(&[AttrKind::Int]) {
        Some(AttrKind::Ints)
    } else if every(&[AttrKind::Int, AttrKind::Float]) {
        Some(AttrKind::Floats)
    } else if every(&[AttrKind::String]) {
        Some(AttrKind::Strings)
    } else {
        None
    })
}

/// An integer: a number, a truth value, or an element type of PyTorch.
fn int(value: &Bound<'_, PyAny>) -> Option<i64> {
    if value.is_instance_of::<PyInt>() {
        return value.extract().ok();
    }
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyString>() {
        return None;
    }
    let number = value.py().import("onnxport._operators.dtype").ok()?.getattr("number").ok()?;
    number.call1((value,)).ok()?.extract().ok()
}

fn all<T>(
    value: &Bound<'_, PyAny>,
    read: impl Fn(&Bound<'_, PyAny>) -> Option<T>,
) -> PyResult<Option<Vec<T>>> {
    if value.is_instance_of::<PyString>() {
        return Ok(None);
    }
    let Ok(items) = value.try_iter() else { return Ok(None) };
    items.map(|item| Ok(read(&item?))).collect()
}

fn tensor(cx: &Context<'_>, call: u64, value: &Bound<'_, PyAny>) -> PyResult<Option<Emitted>> {
    Ok(match operand::input(call, value)? {
        Input::Value(value) => Some(value),
        Input::Numbers(shape, numbers) => {
            Some(operand::constant(cx, &shape, &numbers, operand::natural(&numbers)))
        }
        Input::Array(dtype, shape, bytes) => Some(cx.constant(dtype, &shape, &bytes)),
        Input::Absent | Input::Extents(_) => None,
    })
}

/// A node of a call with these attributes.
pub(super) fn of_call<'c, 'a, 'h>(
    cx: &Lower<'_>,
    node: NodeBuilder<'c, 'a, Lower<'h>>,
    attributes: &'a Attributes,
) -> NodeBuilder<'c, 'a, Lower<'h>> {
    attributes.iter().fold(node, |node, (name, value)| match value {
        Given::Plain(value) => node.set(name, value.clone()),
        Given::Tensor(value) => node.tensor(name, Context::value_of_call(cx, *value)),
        Given::Block(block) => node.block(name, *block),
        Given::Refer(outer) => node.refer(name, outer),
    })
}

/// Returns a node of a graph with these attributes. It has no bodies and no references: the functions that
/// create those require a call.
pub(super) fn of_graph<'c, 'a, 'h>(
    graph: GraphView<'h>,
    node: NodeBuilder<'c, 'a, Editor<'h>>,
    attributes: &'a Attributes,
) -> NodeBuilder<'c, 'a, Editor<'h>> {
    attributes.iter().fold(node, |node, (name, value)| match value {
        Given::Plain(value) => node.set(name, value.clone()),
        Given::Tensor(value) => node.tensor(name, Context::value_of_graph(graph, *value)),
        Given::Block(_) | Given::Refer(_) => node,
    })
}

/// Converts the value of an attribute to Python: a number, a text, a list, `None`, or a value that can be passed on.
pub(super) fn to_python(py: Python<'_>, attribute: Attribute) -> PyResult<Py<PyAny>> {
    Ok(match attribute {
        Attribute::None => py.None(),
        Attribute::Int(n) => n.into_pyobject(py)?.into_any().unbind(),
        Attribute::Float(x) => x.into_pyobject(py)?.into_any().unbind(),
        Attribute::Str(text) => text.into_pyobject(py)?.into_any().unbind(),
        Attribute::Ints(ints) => PyList::new(py, ints)?.into_any().unbind(),
        Attribute::Floats(floats) => PyList::new(py, floats)?.into_any().unbind(),
        Attribute::Strs(texts) => PyList::new(py, texts)?.into_any().unbind(),
        attribute => Py::new(py, Kept { attribute })?.into_any(),
    })
}

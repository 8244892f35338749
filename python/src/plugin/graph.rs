//! The graph that rules inspect and passes edit: its nodes, their attributes, and the edits.

use onnxport_sdk::{Attribute, GraphView, NodeRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::attribute;
use super::call;
use super::context::{Context, Emitted};
use super::emitter::Any;
use super::value::{self, Value};

/// A node of the graph.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Node {
    call: u64,
    id: u64,
}

/// The value of an attribute that is not a number, a text or a list of them: a tensor, a graph, a reference. Tensors
/// can be given to other nodes.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Kept {
    pub(super) attribute: Attribute,
}

#[pymethods]
impl Kept {
    /// The contents of a tensor of at most 64 KiB, a number or lists of numbers; else `None`.
    #[getter]
    fn constant(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.attribute {
            Attribute::Tensor(literal) => value::contents(py, literal),
            _ => Ok(py.None()),
        }
    }
}

/// Converts a Python value to an attribute: a number, a text, a list of them, or the value of another node.
fn plain(value: Any<'_, '_>) -> PyResult<Attribute> {
    if value.is_none() {
        return Ok(Attribute::None);
    }
    if let Ok(kept) = value.cast::<Kept>() {
        return Ok(kept.get().attribute.clone());
    }
    let plain = attribute::plain(value)?;
    plain.ok_or_else(|| {
        PyTypeError::new_err("an attribute is a number, a text, a list of them, or a node's own")
    })
}

impl Node {
    pub(super) fn new(call: u64, node: NodeRef<'_>) -> Self {
        Self { call, id: node.id() }
    }

    fn with<R>(&self, work: impl FnOnce(NodeRef<'_>) -> PyResult<R>) -> PyResult<R> {
        call::with(self.call, |cx| work(cx.graph()?.node(self.id)))
    }

    /// Returns the only output of a node that is used as a value.
    pub(super) fn only_output(&self, call: u64) -> PyResult<Emitted> {
        if self.call != call {
            return Err(PyTypeError::new_err("a node belongs to another call"));
        }
        self.with(|node| match node.outputs().as_slice() {
            [Some(only)] => Ok((*only).into()),
            _ => Err(PyTypeError::new_err(format!("`{}` has several outputs: take one", node.op()))),
        })
    }

    fn values(&self, values: Vec<Option<onnxport_sdk::ValueRef<'_>>>) -> Vec<Option<Value>> {
        values.into_iter().map(|value| value.map(|value| Value::new(self.call, value.into()))).collect()
    }
}

#[pymethods]
impl Node {
    /// The operator.
    #[getter]
    fn op(&self) -> PyResult<String> {
        self.with(|node| Ok(node.op()))
    }

    /// The domain; empty for ONNX's own operators.
    #[getter]
    fn domain(&self) -> PyResult<String> {
        self.with(|node| Ok(node.domain()))
    }

    /// The inputs; `None` for an optional one that is left out.
    #[getter]
    fn inputs(&self) -> PyResult<Vec<Option<Value>>> {
        self.with(|node| Ok(self.values(node.inputs())))
    }

    /// The outputs; `None` for an optional one that is left out.
    #[getter]
    fn outputs(&self) -> PyResult<Vec<Option<Value>>> {
        self.with(|node| Ok(self.values(node.outputs())))
    }

    /// The output of a node with a single one.
    #[getter]
    fn output(&self) -> PyResult<Value> {
        Ok(Value::new(self.call, self.only_output(self.call)?))
    }

    /// The attributes by their names, as far as the node states them: numbers, texts, lists.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.with(|node| {
            node.attributes()
                .iter()
                .try_for_each(|name| dict.set_item(name, attribute::to_python(py, node.attribute(name))?))
        })?;
        Ok(dict)
    }

    /// The exported operator behind the node, `aten.conv2d.default`; empty if there is none.
    #[getter]
    fn target(&self) -> PyResult<String> {
        self.with(|node| Ok(node.target()))
    }

    /// The path of the node's module; empty for the root.
    #[getter]
    fn module(&self) -> PyResult<String> {
        self.with(|node| Ok(node.module()))
    }

    /// Whether the node is still in the graph.
    #[getter]
    fn exists(&self) -> PyResult<bool> {
        self.with(|node| Ok(node.exists()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Node>().is_ok_and(|other| {
            let other = other.get();
            (other.call, other.id) == (self.call, self.id)
        })
    }

    fn __hash__(&self) -> u64 {
        self.id
    }

    fn __repr__(&self) -> String {
        let op = self.with(|node| Ok(if node.exists() { node.op() } else { "gone".to_owned() }));
        format!("<Node {}>", op.unwrap_or_else(|_| "of a call that is over".to_owned()))
    }
}

/// The graph that a pass edits. New nodes go to the position that `before` or `after` set last.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Graph {
    call: u64,
}

impl Graph {
    pub(super) fn new(call: u64) -> Self {
        Self { call }
    }

    fn with<R>(&self, work: impl FnOnce(GraphView<'_>) -> PyResult<R>) -> PyResult<R> {
        call::with(self.call, |cx| work(cx.graph()?))
    }

    fn value(&self, given: Any<'_, '_>) -> PyResult<Emitted> {
        value::read(self.call, given)?.ok_or_else(|| PyTypeError::new_err("expected a value of the graph"))
    }

    fn id(&self, node: &Bound<'_, Node>) -> PyResult<u64> {
        let node = node.get();
        if node.call == self.call {
            Ok(node.id)
        } else {
            Err(PyTypeError::new_err("a node belongs to another call"))
        }
    }
}

#[pymethods]
impl Graph {
    /// The version of ONNX's operators.
    #[getter]
    fn opset(&self) -> PyResult<i64> {
        self.with(|graph| Ok(graph.opset()))
    }

    /// The version of a domain's operators; 0 if the model does not import it.
    fn opset_of(&self, domain: &str) -> PyResult<i64> {
        self.with(|graph| Ok(graph.opset_of(domain)))
    }

    /// All nodes, those of bodies before the node that contains them.
    #[getter]
    fn nodes(&self) -> PyResult<Vec<Node>> {
        self.with(|graph| Ok(graph.nodes().into_iter().map(|node| Node::new(self.call, node)).collect()))
    }

    /// The inputs of the model.
    #[getter]
    fn inputs(&self) -> PyResult<Vec<Value>> {
        self.with(|graph| {
            Ok(graph.inputs().into_iter().map(|value| Value::new(self.call, value.into())).collect())
        })
    }

    /// The outputs of the model with their public names.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let outputs = self.with(|graph| {
            let named = graph.outputs().into_iter();
            Ok(named.map(|(name, value)| (name, Value::new(self.call, value.into()))).collect::<Vec<_>>())
        })?;
        PyList::new(py, outputs)
    }

    /// Inserts nodes before `node` from now on.
    fn before(&self, node: &Bound<'_, Node>) -> PyResult<()> {
        let node = self.id(node)?;
        call::with(self.call, |cx| {
            cx.edit()?.before(cx.graph()?.node(node));
            Ok(())
        })
    }

    /// Inserts nodes after `node` from now on.
    fn after(&self, node: &Bound<'_, Node>) -> PyResult<()> {
        let node = self.id(node)?;
        call::with(self.call, |cx| {
            cx.edit()?.after(cx.graph()?.node(node));
            Ok(())
        })
    }

    /// Makes all readers of `old` read `new`, outputs of the model included.
    fn replace(&self, old: Any<'_, '_>, new: Any<'_, '_>) -> PyResult<()> {
        let (old, new) = (self.value(old)?, self.value(new)?);
        call::with(self.call, |cx| {
            let graph = cx.graph()?;
            let [old, new] = [old, new].map(|value| Context::value_of_graph(graph, value));
            cx.edit()?.replace_uses(old, new).map_err(call::refused)
        })
    }

    /// Makes input `index` of `node` read `value`; `None` leaves an optional one out.
    fn set_input(&self, node: &Bound<'_, Node>, index: usize, value: Any<'_, '_>) -> PyResult<()> {
        let node = self.id(node)?;
        let value = if value.is_none() { None } else { Some(self.value(value)?) };
        call::with(self.call, |cx| {
            let graph = cx.graph()?;
            let value = value.map(|value| Context::value_of_graph(graph, value));
            cx.edit()?.set_input(graph.node(node), index, value).map_err(call::refused)
        })
    }

    /// Sets an attribute of `node`; `None` removes it.
    fn set_attribute(&self, node: &Bound<'_, Node>, name: &str, value: Any<'_, '_>) -> PyResult<()> {
        let (node, value) = (self.id(node)?, plain(value)?);
        if name.is_empty() {
            return Err(PyValueError::new_err("an attribute has a name"));
        }
        call::with(self.call, |cx| {
            cx.edit()?.set_attribute(cx.graph()?.node(node), name, &value).map_err(call::refused)
        })
    }

    /// Removes `node`, which nothing may read any more.
    fn remove(&self, node: &Bound<'_, Node>) -> PyResult<()> {
        let node = self.id(node)?;
        call::with(self.call, |cx| cx.edit()?.remove(cx.graph()?.node(node)).map_err(call::refused))
    }

    /// Records the change at `node`, or the reason why it was left alone; `explain_rule` shows it.
    fn note(&self, node: &Bound<'_, Node>, message: &str) -> PyResult<()> {
        let node = self.id(node)?;
        call::with(self.call, |cx| {
            cx.edit()?.note(cx.graph()?.node(node), message);
            Ok(())
        })
    }
}

//! The destination of nodes that a Python function emits: the model under construction while a call is lowered, or a
//! graph that a rule or a pass rewrites. The verbs are the same.

use onnxport_sdk::abi::graph::NOTHING;
use onnxport_sdk::{
    DType, Dim, Edit, Editor, Emit, Fact, GraphView, Literal, Lower, Node, Range, Refusal, Res, Scalar, Term,
    Value, ValueRef,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The subject of a Python function.
pub(super) enum Context<'c> {
    /// A call that is being lowered.
    Call(&'c Lower<'c>),
    /// A graph, and its editor in a pass that edits it as a whole.
    Graph(Editor<'c>, Option<&'c Edit<'c>>),
}

/// A value of either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Emitted {
    Call(Value),
    Graph(u64),
}

impl From<Emitted> for Term<Emitted> {
    fn from(value: Emitted) -> Self {
        Term::Value(value)
    }
}

impl From<Value> for Emitted {
    fn from(value: Value) -> Self {
        Emitted::Call(value)
    }
}

impl From<ValueRef<'_>> for Emitted {
    fn from(value: ValueRef<'_>) -> Self {
        Emitted::Graph(value.id())
    }
}

impl<'c> Context<'c> {
    /// Creates the context of a rule's graph.
    pub(super) fn graph_of(graph: GraphView<'c>) -> Self {
        Context::Graph(Editor::over(graph), None)
    }

    /// Creates the context of a graph that a pass edits.
    pub(super) fn editing(edit: &'c Edit<'c>) -> Self {
        Context::Graph(Editor::over(edit.graph()), Some(edit))
    }

    /// Returns the call that is being lowered.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn call(&self) -> PyResult<&'c Lower<'c>> {
        match self {
            Context::Call(cx) => Ok(cx),
            Context::Graph(..) => {
                Err(PyTypeError::new_err("only a lowering can do this: there is no call here"))
            }
        }
    }

    /// The graph.
    ///
    /// # Errors
    /// While a call is lowered: the graph is not there yet.
    pub(super) fn graph(&self) -> PyResult<GraphView<'c>> {
        match self {
            Context::Graph(editor, _) => Ok(editor.graph()),
            Context::Call(_) => Err(PyTypeError::new_err("only rules and passes read the graph")),
        }
    }

    /// Returns the editor of the whole graph.
    ///
    /// # Errors
    /// If no pass runs.
    pub(super) fn edit(&self) -> PyResult<&'c Edit<'c>> {
        match self {
            Context::Graph(_, Some(edit)) => Ok(edit),
            _ => Err(PyTypeError::new_err("only a pass edits the graph as a whole")),
        }
    }

    /// Returns the value as that of a call; a value of another context becomes one that the host refuses.
    pub(super) fn value_of_call(cx: &Lower<'_>, value: Emitted) -> Value {
        match value {
            Emitted::Call(value) => value,
            Emitted::Graph(_) => cx.nothing(),
        }
    }

    /// Returns the value as that of a graph; a value of another context becomes one that the host refuses.
    pub(super) fn value_of_graph<'h>(graph: GraphView<'h>, value: Emitted) -> ValueRef<'h> {
        match value {
            Emitted::Graph(id) => graph.value(id),
            Emitted::Call(_) => graph.value(NOTHING),
        }
    }

    /// The version of ONNX's operators.
    pub(super) fn opset(&self) -> i64 {
        match self {
            Context::Call(cx) => cx.opset(),
            Context::Graph(editor, _) => editor.graph().opset(),
        }
    }

    /// Returns the known elements of a vector of integers.
    pub(super) fn contents(&self, value: Emitted) -> Option<Vec<Dim>> {
        match self {
            Context::Call(cx) => cx.contents(Self::value_of_call(cx, value)),
            Context::Graph(editor, _) => Self::value_of_graph(editor.graph(), value).contents(),
        }
    }

    /// The contents of a constant; while a call is lowered, also of a small weight.
    pub(super) fn contents_of(&self, value: Emitted) -> Option<Literal> {
        match self {
            Context::Call(cx) => cx.contents_of(Self::value_of_call(cx, value)),
            Context::Graph(..) => self.literal(value),
        }
    }

    /// Returns an i64 vector of sizes; symbolic ones are allowed only while a call is lowered.
    pub(super) fn dims_value(&self, dims: &[Dim]) -> Emitted {
        if let Some(ints) = dims.iter().map(|dim| dim.as_const()).collect::<Option<Vec<i64>>>() {
            return self.ints(&ints);
        }
        match self {
            Context::Call(cx) => cx.dims_value(dims).into(),
            Context::Graph(..) => {
                let hint =
                    "take it from a tensor: `op.extent(x, axis)`, or 0 or -1 in the shape of a `Reshape`";
                self.fail(format!("a size that is not a number is not computed here; {hint}"))
            }
        }
    }

    /// The bounds of a size.
    pub(super) fn dim_range(&self, dim: Dim) -> Range {
        match self {
            Context::Call(cx) => cx.dim_range(dim),
            Context::Graph(editor, _) => editor.graph().dim_range(dim),
        }
    }

    /// Takes the first failure of an emitted node, if there was one.
    pub(super) fn take_failure(&self) -> Option<Refusal> {
        match self {
            Context::Call(cx) => cx.take_failure(),
            Context::Graph(editor, _) => editor.graph().take_failure(),
        }
    }

    /// Converts the result of a function to values of the graph.
    pub(super) fn replacement<'h>(
        graph: GraphView<'h>,
        values: Vec<Option<Emitted>>,
    ) -> Vec<Option<ValueRef<'h>>> {
        values.into_iter().map(|value| Some(Self::value_of_graph(graph, value?))).collect()
    }
}

impl Emit for Context<'_> {
    type Value = Emitted;

    fn fact(&self, value: Emitted) -> Fact {
        match self {
            Context::Call(cx) => cx.fact(Self::value_of_call(cx, value)),
            Context::Graph(editor, _) => Self::value_of_graph(editor.graph(), value).fact(),
        }
    }

    fn literal(&self, value: Emitted) -> Option<Literal> {
        match self {
            Context::Call(cx) => cx.literal(Self::value_of_call(cx, value)),
            Context::Graph(editor, _) => Self::value_of_graph(editor.graph(), value).constant(),
        }
    }

    fn constant(&self, dtype: DType, shape: &[u64], bytes: &[u8]) -> Emitted {
        match self {
            Context::Call(cx) => cx.constant(dtype, shape, bytes).into(),
            Context::Graph(editor, _) => editor.constant(dtype, shape, bytes).into(),
        }
    }

    fn number(&self, number: &Scalar, dtype: DType) -> Emitted {
        match self {
            Context::Call(cx) => cx.number(number, dtype).into(),
            Context::Graph(editor, _) => editor.number(number, dtype).into(),
        }
    }

    fn add_node(&self, node: &Node<'_, Emitted>, outputs: &mut [Emitted]) {
        match self {
            Context::Call(cx) => add(*cx, &node.over(|value| Self::value_of_call(cx, value)), outputs),
            Context::Graph(editor, _) => {
                add(editor, &node.over(|value| Self::value_of_graph(editor.graph(), value)), outputs);
            }
        }
    }

    fn nothing(&self) -> Emitted {
        match self {
            Context::Call(cx) => cx.nothing().into(),
            Context::Graph(..) => Emitted::Graph(NOTHING),
        }
    }

    fn fail(&self, message: String) -> Emitted {
        match self {
            Context::Call(cx) => cx.fail(message).into(),
            Context::Graph(editor, _) => editor.fail(message).into(),
        }
    }
}

fn add<E: Emit>(cx: &E, node: &Node<'_, E::Value>, outputs: &mut [Emitted])
where
    E::Value: Into<Emitted>,
{
    let mut made = vec![cx.nothing(); outputs.len()];
    cx.add_node(node, &mut made);
    outputs.iter_mut().zip(made).for_each(|(output, value)| *output = value.into());
}

/// As values of a call.
pub(super) fn of_call(cx: &Lower<'_>, values: &[Option<Emitted>]) -> Vec<Option<Value>> {
    values.iter().map(|value| value.map(|value| Context::value_of_call(cx, value))).collect()
}

/// A result of the SDK with values of either kind.
pub(super) fn either(values: Res<Vec<Value>>) -> Res<Vec<Emitted>> {
    values.map(|values| values.into_iter().map(Emitted::from).collect())
}

//! Adding to a graph: what rules and passes have in common.

use onnxport_abi::abi_stable::std_types::{RSlice, RSliceMut, RStr};

use crate::abi::graph::{AttributeView, GraphContext, NOTHING, NewNode, attribute_kind};
use crate::abi::lowering::{DataView, TypeRecord, arg_kind, attr_kind};
use crate::abi::status;
use crate::graph::{Attribute, GraphView, ValueRef};
use crate::{DType, Dim, Refusal, Res};

type Emit = extern "C" fn(GraphContext, &NewNode<'_>, RSliceMut<'_, u64>) -> u32;
type Constant = extern "C" fn(GraphContext, i32, RSlice<'_, u64>, RSlice<'_, u8>, &mut u64) -> u32;
type View = extern "C" fn(GraphContext, u64, RSlice<'_, u32>, RSlice<'_, u64>, &mut u64) -> u32;
type SetType = extern "C" fn(GraphContext, u64, &TypeRecord<'_>) -> u32;

/// The functions of a host that add to a graph.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub emit: Emit,
    pub constant: Constant,
    pub view: View,
    pub set_type: SetType,
}

/// Adds nodes and constants to a graph.
///
/// Adding never fails in the author's hands: what the host does not take is remembered, and what the
/// rule or pass returns is refused with the reason.
pub struct Editor<'h> {
    graph: GraphView<'h>,
    slots: Slots,
}

impl<'h> Editor<'h> {
    pub(crate) fn new(graph: GraphView<'h>, slots: Slots) -> Self {
        Self { graph, slots }
    }

    /// The graph.
    pub fn graph(&self) -> GraphView<'h> {
        self.graph
    }

    /// Begins a node of ONNX's own operator `op`.
    pub fn op<'a>(&self, op: &'a str) -> NodeSpec<'_, 'h, 'a> {
        self.op_in("", 1, op)
    }

    /// Begins a node of another domain's operator.
    pub fn op_in<'a>(&self, domain: &'a str, version: i64, op: &'a str) -> NodeSpec<'_, 'h, 'a> {
        NodeSpec { editor: self, domain, version, op, inputs: Vec::new(), attributes: Vec::new() }
    }

    /// A constant of these bytes: little-endian, row-major.
    pub fn constant(&self, dtype: DType, shape: &[u64], bytes: &[u8]) -> ValueRef<'h> {
        let mut out = NOTHING;
        let (dims, bytes) = (RSlice::from_slice(shape), RSlice::from_slice(bytes));
        let answer = (self.slots.constant)(self.graph.cx(), dtype.onnx(), dims, bytes, &mut out);
        if answer != status::OK {
            self.graph.fail("the host refused a constant".to_owned());
        }
        self.graph.value(out)
    }

    /// An i64 vector.
    pub fn ints(&self, ints: &[i64]) -> ValueRef<'h> {
        let bytes: Vec<u8> = ints.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.constant(DType::I64, &[ints.len() as u64], &bytes)
    }

    /// A 0-d i64.
    pub fn int(&self, int: i64) -> ValueRef<'h> {
        self.constant(DType::I64, &[], &int.to_le_bytes())
    }

    /// A 0-d f32.
    pub fn float(&self, float: f32) -> ValueRef<'h> {
        self.constant(DType::F32, &[], &float.to_le_bytes())
    }

    /// An initializer that shows the bytes of another one with its axes in the order `axes`, then with the
    /// extents `dims`. Nothing is copied before the model is written; `None` when it would have to be.
    pub fn view(&self, initializer: ValueRef<'h>, axes: &[u32], dims: &[u64]) -> Option<ValueRef<'h>> {
        let mut out = NOTHING;
        let (axes, dims) = (RSlice::from_slice(axes), RSlice::from_slice(dims));
        match (self.slots.view)(self.graph.cx(), initializer.id(), axes, dims, &mut out) {
            status::OK => return Some(self.graph.value(out)),
            status::REFUSED => {}
            _ => self.graph.fail("the host refused a view of an initializer".to_owned()),
        }
        None
    }

    /// States the type of a value that was added and that the host cannot infer, because its operator is
    /// not ONNX's own.
    pub fn set_type(&self, value: ValueRef<'h>, dtype: DType, shape: Option<&[Dim]>) {
        let dims: Vec<_> = shape.unwrap_or_default().iter().map(|dim| dim.record()).collect();
        let ty = TypeRecord {
            kind: arg_kind::TENSOR,
            dtype: dtype.onnx(),
            rank: shape.map_or(-1, |shape| shape.len() as i32),
            dims: RSlice::from_slice(&dims),
        };
        if (self.slots.set_type)(self.graph.cx(), value.id(), &ty) != status::OK {
            self.graph.fail("the host refused the type of a value".to_owned());
        }
    }
}

/// A node that is being described; [`NodeSpec::one`] or [`NodeSpec::many`] adds it.
#[must_use = "a node is added by `one` or `many`"]
pub struct NodeSpec<'e, 'h, 'a> {
    editor: &'e Editor<'h>,
    domain: &'a str,
    version: i64,
    op: &'a str,
    inputs: Vec<u64>,
    attributes: Vec<(&'a str, Attribute)>,
}

impl<'h, 'a> NodeSpec<'_, 'h, 'a> {
    /// Adds an input.
    pub fn input(mut self, value: ValueRef<'h>) -> Self {
        self.inputs.push(value.id());
        self
    }

    /// Adds an optional input, or leaves its place empty.
    pub fn maybe(mut self, value: Option<ValueRef<'h>>) -> Self {
        self.inputs.push(value.map_or(NOTHING, ValueRef::id));
        self
    }

    /// Sets an attribute; [`Attribute::None`] leaves it out.
    pub fn set(mut self, name: &'a str, value: Attribute) -> Self {
        if !value.is_none() {
            self.attributes.push((name, value));
        }
        self
    }

    /// Sets an integer attribute.
    pub fn int(self, name: &'a str, value: i64) -> Self {
        self.set(name, Attribute::Int(value))
    }

    /// Sets a float attribute.
    pub fn float(self, name: &'a str, value: f32) -> Self {
        self.set(name, Attribute::Float(value))
    }

    /// Sets an attribute of integers.
    pub fn ints(self, name: &'a str, value: &[i64]) -> Self {
        self.set(name, Attribute::Ints(value.to_vec()))
    }

    /// Sets a text attribute.
    pub fn str(self, name: &'a str, value: &str) -> Self {
        self.set(name, Attribute::Str(value.to_owned()))
    }

    /// Adds the node and returns its only output, or the first one.
    pub fn one(self) -> ValueRef<'h> {
        let graph = self.editor.graph;
        let mut output = [NOTHING];
        self.emit(&mut output);
        graph.value(output[0])
    }

    /// Adds the node with `count` outputs.
    pub fn many(self, count: usize) -> Vec<ValueRef<'h>> {
        let graph = self.editor.graph;
        let mut outputs = vec![NOTHING; count];
        self.emit(&mut outputs);
        outputs.into_iter().map(|id| graph.value(id)).collect()
    }

    fn emit(mut self, outputs: &mut [u64]) {
        while self.inputs.last() == Some(&NOTHING) {
            self.inputs.pop();
        }
        let texts: Vec<Vec<RStr<'_>>> = self.attributes.iter().map(|(_, value)| texts(value)).collect();
        let attributes: Vec<AttributeView<'_>> = (self.attributes.iter().zip(&texts))
            .map(|((name, value), texts)| attribute_view(name, value, texts))
            .collect();
        let node = NewNode {
            domain: RStr::from_str(self.domain),
            version: self.version,
            op: RStr::from_str(self.op),
            inputs: RSlice::from_slice(&self.inputs),
            attributes: RSlice::from_slice(&attributes),
        };
        let graph = self.editor.graph;
        let outputs = RSliceMut::from_mut_slice(outputs);
        if (self.editor.slots.emit)(graph.cx(), &node, outputs) != status::OK {
            graph.fail(format!("the host refused a node `{}`: an input or attribute is not valid", self.op));
        }
    }
}

/// The texts of an attribute, as they cross.
pub(crate) fn texts(value: &Attribute) -> Vec<RStr<'_>> {
    match value {
        Attribute::Strs(texts) => texts.iter().map(|text| RStr::from_str(text)).collect(),
        _ => Vec::new(),
    }
}

/// An attribute as it crosses; what cannot be made is of kind `BLOCK`, which the host refuses.
pub(crate) fn attribute_view<'a>(
    name: &'a str,
    value: &'a Attribute,
    texts: &'a [RStr<'a>],
) -> AttributeView<'a> {
    let mut view = AttributeView {
        name: RStr::from_str(name),
        kind: attribute_kind::NONE,
        block: NOTHING,
        ints: RSlice::EMPTY,
        floats: RSlice::EMPTY,
        text: RStr::from_str(""),
        texts: RSlice::from_slice(texts),
        tensor: DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY },
    };
    view.kind = match value {
        Attribute::None => attribute_kind::NONE,
        Attribute::Int(int) => {
            view.ints = RSlice::from_slice(std::slice::from_ref(int));
            attr_kind::INT
        }
        Attribute::Float(float) => {
            view.floats = RSlice::from_slice(std::slice::from_ref(float));
            attr_kind::FLOAT
        }
        Attribute::Str(text) => {
            view.text = RStr::from_str(text);
            attr_kind::STR
        }
        Attribute::Ints(ints) => {
            view.ints = RSlice::from_slice(ints);
            attr_kind::INTS
        }
        Attribute::Floats(floats) => {
            view.floats = RSlice::from_slice(floats);
            attr_kind::FLOATS
        }
        Attribute::Strs(_) => attr_kind::STRS,
        Attribute::Tensor(literal) => {
            view.tensor = literal.view();
            attr_kind::TENSOR
        }
        Attribute::LargeTensor(..) | Attribute::Block(_) | Attribute::Reference(_) => attr_kind::BLOCK,
    };
    view
}

/// What an attribute of a replacement can be set to.
pub trait AttributeValue {
    /// The attribute.
    ///
    /// # Errors
    /// When the value could not be computed.
    fn into_attribute(self) -> Res<Attribute>;
}

macro_rules! attribute_values {
    ($($ty:ty, $value:ident => $attribute:expr;)*) => {
        $(impl AttributeValue for $ty {
            fn into_attribute(self) -> Res<Attribute> {
                let $value = self;
                Ok($attribute)
            }
        })*
    };
}

attribute_values! {
    Attribute, value => value;
    &Attribute, value => value.clone();
    i64, value => Attribute::Int(value);
    f32, value => Attribute::Float(value);
    &str, value => Attribute::Str(value.to_owned());
    String, value => Attribute::Str(value);
    Vec<i64>, value => Attribute::Ints(value);
    &[i64], value => Attribute::Ints(value.to_vec());
    Vec<f32>, value => Attribute::Floats(value);
}

impl<const N: usize> AttributeValue for [i64; N] {
    fn into_attribute(self) -> Res<Attribute> {
        Ok(Attribute::Ints(self.to_vec()))
    }
}

impl<T: AttributeValue> AttributeValue for Res<T> {
    fn into_attribute(self) -> Res<Attribute> {
        self.and_then(T::into_attribute)
    }
}

impl<T: AttributeValue> AttributeValue for Option<T> {
    fn into_attribute(self) -> Res<Attribute> {
        self.map_or(Ok(Attribute::None), T::into_attribute)
    }
}

/// `q` after `p`: the permutation that two transposes in a row come to.
///
/// # Errors
/// When they are not permutations of the same axes.
pub fn compose(p: &Attribute, q: &Attribute) -> Res<Vec<i64>> {
    let (Some(p), Some(q)) = (p.ints(), q.ints()) else {
        return Err(Refusal::new("a permutation is not a list of integers"));
    };
    let axis = |q: &i64| usize::try_from(*q).ok().and_then(|q| p.get(q)).copied();
    let composed: Option<Vec<i64>> = q.iter().map(axis).collect();
    composed
        .filter(|c| c.len() == p.len())
        .ok_or_else(|| Refusal::new("the permutations do not fit each other"))
}

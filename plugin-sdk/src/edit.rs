//! Adding to a graph, shared by rules and passes.

use onnxport_abi::{RSlice, RSliceMut, RStr};

use crate::abi::graph::{AttributeView, GraphContext, NOTHING, NewNode, attribute_kind};
use crate::abi::lowering::{DataView, TypeRecord, arg_kind, attr_kind};
use crate::abi::status;
use crate::build::{Attr, Node};
use crate::graph::{Attribute, GraphView, ValueRef};
use crate::{DType, Dim, Emit, Fact, Literal, Refusal, Res};

type AddNode = extern "C" fn(GraphContext, &NewNode<'_>, RSliceMut<'_, u64>) -> u32;
type Constant = extern "C" fn(GraphContext, i32, RSlice<'_, u64>, RSlice<'_, u8>, &mut u64) -> u32;
type View = extern "C" fn(GraphContext, u64, RSlice<'_, u32>, RSlice<'_, u64>, &mut u64) -> u32;
type SetType = extern "C" fn(GraphContext, u64, &TypeRecord<'_>) -> u32;

/// The functions of a host that add to a graph.
#[derive(Clone, Copy)]
pub(crate) struct Slots {
    pub emit: AddNode,
    pub constant: Constant,
    pub view: View,
    pub set_type: SetType,
}

/// Adds nodes and constants to a graph, as [`Emit`] says.
pub struct Editor<'h> {
    graph: GraphView<'h>,
}

impl<'h> Editor<'h> {
    pub(crate) fn new(graph: GraphView<'h>, slots: Slots) -> Self {
        graph.add_with(slots);
        Self { graph }
    }

    /// The editor of the graph of `value`, used by operators on values.
    pub(crate) fn for_value(value: ValueRef<'h>) -> Self {
        Self { graph: value.graph() }
    }

    /// The editor of `graph`, if it may be edited.
    #[doc(hidden)]
    pub fn over(graph: GraphView<'h>) -> Self {
        Self { graph }
    }

    /// The graph.
    pub fn graph(&self) -> GraphView<'h> {
        self.graph
    }

    /// The functions that add; a condition of a rule has none.
    fn slots(&self) -> Option<Slots> {
        let slots = self.graph.slots();
        if slots.is_none() {
            self.graph.fail("a condition adds nothing to the graph".to_owned());
        }
        slots
    }

    /// An initializer that shows the bytes of another one with its axes in the order `axes`, then with the
    /// sizes `dims`. Nothing is copied before the model is written; `None` when it would have to be.
    pub fn view(&self, initializer: ValueRef<'h>, axes: &[u32], dims: &[u64]) -> Option<ValueRef<'h>> {
        let mut out = NOTHING;
        let (axes, dims) = (RSlice::from_slice(axes), RSlice::from_slice(dims));
        match (self.slots()?.view)(self.graph.cx(), initializer.id(), axes, dims, &mut out) {
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
        let done = self.slots().map(|slots| (slots.set_type)(self.graph.cx(), value.id(), &ty));
        if done != Some(status::OK) {
            self.graph.fail("the host refused the type of a value".to_owned());
        }
    }
}

impl<'h> Emit for Editor<'h> {
    type Value = ValueRef<'h>;

    fn fact(&self, value: ValueRef<'h>) -> Fact {
        value.fact()
    }

    fn literal(&self, value: ValueRef<'h>) -> Option<Literal> {
        value.constant()
    }

    fn constant(&self, dtype: DType, shape: &[u64], bytes: &[u8]) -> ValueRef<'h> {
        let mut out = NOTHING;
        let (dims, bytes) = (RSlice::from_slice(shape), RSlice::from_slice(bytes));
        let add = |slots: Slots| (slots.constant)(self.graph.cx(), dtype.onnx(), dims, bytes, &mut out);
        match self.slots().map(add) {
            Some(status::OK) => self.graph.value(out),
            _ => self.fail("the host refused a constant".to_owned()),
        }
    }

    fn add_node(&self, node: &Node<'_, ValueRef<'h>>, outputs: &mut [ValueRef<'h>]) {
        let inputs: Vec<u64> = node.inputs.iter().map(|value| value.map_or(NOTHING, ValueRef::id)).collect();
        let parts: Vec<_> = node.attributes.iter().map(|(_, attr)| (attr.texts(), elements(attr))).collect();
        let attributes: Vec<AttributeView<'_>> = (node.attributes.iter().zip(&parts))
            .map(|((name, attr), (texts, data))| attr.view(name, texts, data.as_ref()))
            .collect();
        let record = NewNode {
            domain: RStr::from_str(node.domain),
            version: node.version.max(1),
            op: RStr::from_str(node.op),
            inputs: RSlice::from_slice(&inputs),
            attributes: RSlice::from_slice(&attributes),
        };
        let mut ids = vec![NOTHING; outputs.len()];
        let sink = RSliceMut::from_mut_slice(&mut ids);
        let done = self.slots().map(|slots| (slots.emit)(self.graph.cx(), &record, sink));
        if done != Some(status::OK) {
            let why = "an input or attribute is not valid";
            self.graph.fail(format!("the host refused a node `{}`: {why}", node.op));
        }
        outputs.iter_mut().zip(ids).for_each(|(output, id)| *output = self.graph.value(id));
    }

    fn nothing(&self) -> ValueRef<'h> {
        self.graph.value(NOTHING)
    }

    fn fail(&self, message: String) -> ValueRef<'h> {
        self.graph.fail(message);
        self.nothing()
    }
}

/// Emits through the editor of a wrapper.
macro_rules! delegate_emit {
    ($name:ident) => {
        impl<'h> crate::Emit for $name<'h> {
            type Value = ValueRef<'h>;

            fn fact(&self, value: ValueRef<'h>) -> crate::Fact {
                self.editor.fact(value)
            }

            fn literal(&self, value: ValueRef<'h>) -> Option<crate::Literal> {
                self.editor.literal(value)
            }

            fn constant(&self, dtype: crate::DType, shape: &[u64], bytes: &[u8]) -> ValueRef<'h> {
                self.editor.constant(dtype, shape, bytes)
            }

            fn add_node(&self, node: &crate::build::Node<'_, ValueRef<'h>>, outputs: &mut [ValueRef<'h>]) {
                self.editor.add_node(node, outputs);
            }

            fn nothing(&self) -> ValueRef<'h> {
                self.editor.nothing()
            }

            fn fail(&self, message: String) -> ValueRef<'h> {
                self.editor.fail(message)
            }
        }
    };
}
pub(crate) use delegate_emit;

/// The elements of an attribute that is a tensor.
fn elements(attr: &Attr<'_, ValueRef<'_>>) -> Option<Literal> {
    match attr {
        Attr::Literal(data) => Some(data.clone()),
        Attr::Tensor(value) => value.constant(),
        _ => None,
    }
}

impl<V> Attr<'_, V> {
    /// The attribute in its form for the host; an invalid one has the kind `BLOCK`, which the host refuses.
    fn view<'a>(
        &'a self,
        name: &'a str,
        texts: &'a [RStr<'a>],
        data: Option<&'a Literal>,
    ) -> AttributeView<'a> {
        let mut view = empty_view(name, texts);
        view.kind = match self {
            Attr::Int(int) => {
                view.ints = RSlice::from_slice(std::slice::from_ref(int));
                attr_kind::INT
            }
            Attr::Float(float) => {
                view.floats = RSlice::from_slice(std::slice::from_ref(float));
                attr_kind::FLOAT
            }
            Attr::Str(text) => {
                view.text = RStr::from_str(text);
                attr_kind::STR
            }
            Attr::Ints(ints) => {
                view.ints = RSlice::from_slice(ints);
                attr_kind::INTS
            }
            Attr::Floats(floats) => {
                view.floats = RSlice::from_slice(floats);
                attr_kind::FLOATS
            }
            Attr::Strs(_) => attr_kind::STRS,
            Attr::Tensor(_) | Attr::Literal(_) => match data {
                Some(data) => {
                    view.tensor = data.view();
                    attr_kind::TENSOR
                }
                None => attr_kind::BLOCK,
            },
            Attr::Block(_) | Attr::Ref(_) | Attr::Foreign => attr_kind::BLOCK,
        };
        view
    }
}

fn empty_view<'a>(name: &'a str, texts: &'a [RStr<'a>]) -> AttributeView<'a> {
    AttributeView {
        name: RStr::from_str(name),
        kind: attribute_kind::NONE,
        block: NOTHING,
        ints: RSlice::EMPTY,
        floats: RSlice::EMPTY,
        text: RStr::from_str(""),
        texts: RSlice::from_slice(texts),
        tensor: DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY },
    }
}

/// Hands `value` over as an attribute called `name`.
pub(crate) fn lend_attribute<R>(
    name: &str,
    value: &Attribute,
    take: impl FnOnce(&AttributeView<'_>) -> R,
) -> R {
    let attr = Attr::<()>::from_attribute(value.clone());
    let texts = attr.as_ref().map(Attr::texts).unwrap_or_default();
    let data = match &attr {
        Some(Attr::Literal(data)) => Some(data),
        _ => None,
    };
    let view = attr.as_ref().map_or_else(|| empty_view(name, &[]), |attr| attr.view(name, &texts, data));
    take(&view)
}

/// A value for an attribute of a replacement.
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

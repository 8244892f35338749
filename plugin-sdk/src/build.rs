//! Emission of nodes.

use std::borrow::Cow;
use std::marker::PhantomData;

use onnxport_abi::{RSlice, RStr};
use smallvec::SmallVec;

use crate::abi::lowering::{ABSENT, AttrRecord, TypeRecord, arg_kind, attr_kind};
use crate::abi::status;
use crate::graph::Attribute;
use crate::op::{Named, Operator};
use crate::{DType, Dim, Emit, Literal, Lower, Res, Value};

/// A block that was ended, for the attribute of a control-flow node.
#[derive(Clone, Copy, Debug)]
pub struct Block(u32);

/// The value of an attribute.
pub(crate) enum Attr<'a, V> {
    Int(i64),
    Float(f32),
    Str(Cow<'a, str>),
    Ints(Cow<'a, [i64]>),
    Floats(Cow<'a, [f32]>),
    Strs(Vec<Cow<'a, str>>),
    Tensor(V),
    Literal(Literal),
    Block(Block),
    Ref(&'a str),
    /// A value that no node can have: a block or weights of another graph.
    Foreign,
}

/// A node that was described.
pub struct Node<'a, V> {
    pub(crate) domain: &'a str,
    pub(crate) version: i64,
    pub(crate) op: &'a str,
    pub(crate) inputs: SmallVec<[Option<V>; 4]>,
    pub(crate) attributes: SmallVec<[(&'a str, Attr<'a, V>); 4]>,
}

// Not methods of `NodeBuilder`, which would be compiled for each operator.
impl<'a, V: Copy> Node<'a, V> {
    fn new(domain: &'a str, version: i64, op: &'a str) -> Self {
        Self { domain, version, op, inputs: SmallVec::new(), attributes: SmallVec::new() }
    }

    fn push(&mut self, input: Option<V>) {
        self.inputs.push(input);
    }

    fn set(&mut self, name: &'a str, value: Attr<'a, V>) {
        self.attributes.push((name, value));
    }

    fn one<E: Emit<Value = V>>(self, cx: &E) -> V {
        let mut output = [cx.nothing()];
        self.emit(cx, &mut output);
        let [output] = output;
        output
    }

    fn emit<E: Emit<Value = V>>(mut self, cx: &E, outputs: &mut [V]) {
        while matches!(self.inputs.last(), Some(None)) {
            self.inputs.pop();
        }
        cx.add_node(&self, outputs);
    }

    /// The same node over other values.
    #[doc(hidden)]
    pub fn over<'s, W>(&'s self, value: impl Fn(V) -> W) -> Node<'s, W> {
        let attribute = |attr: &'s Attr<'a, V>| match attr {
            Attr::Int(int) => Attr::Int(*int),
            Attr::Float(float) => Attr::Float(*float),
            Attr::Str(text) => Attr::Str(Cow::Borrowed(text)),
            Attr::Ints(ints) => Attr::Ints(Cow::Borrowed(ints)),
            Attr::Floats(floats) => Attr::Floats(Cow::Borrowed(floats)),
            Attr::Strs(texts) => Attr::Strs(texts.iter().map(|text| Cow::Borrowed(&**text)).collect()),
            Attr::Tensor(of) => Attr::Tensor(value(*of)),
            Attr::Literal(literal) => Attr::Literal(literal.clone()),
            Attr::Block(block) => Attr::Block(*block),
            Attr::Ref(outer) => Attr::Ref(outer),
            Attr::Foreign => Attr::Foreign,
        };
        Node {
            domain: self.domain,
            version: self.version,
            op: self.op,
            inputs: self.inputs.iter().map(|input| input.map(&value)).collect(),
            attributes: self.attributes.iter().map(|(name, attr)| (*name, attribute(attr))).collect(),
        }
    }
}

/// A node that is being described; [`NodeBuilder::one`] or [`NodeBuilder::many`] emits it.
#[must_use = "a node is emitted by `one` or `many`"]
pub struct NodeBuilder<'c, 'a, E: Emit, O = Named<'a>> {
    pub(crate) cx: &'c E,
    pub(crate) node: Node<'a, E::Value>,
    operator: PhantomData<O>,
}

impl Lower<'_> {
    /// Emits the body of a control-flow node: the values that `body` returns are the block's
    /// outputs. Values of the surrounding blocks may be used inside.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn block(&self, body: impl FnOnce(&Self) -> Res<Vec<Value>>) -> Res<Block> {
        let (host, cx) = (self.host(), self.cx());
        if (host.begin_block)(cx) != status::OK {
            return Err("the host cannot begin a block".into());
        }
        let outputs = body(self);
        let ids: Vec<u32> = outputs.as_ref().map(|o| o.iter().map(|v| v.0).collect()).unwrap_or_default();
        let mut block = 0;
        let answer = (host.end_block)(cx, RSlice::from_slice(&ids), &mut block);
        outputs?;
        if answer != status::OK {
            return Err("the host refused the outputs of a block".into());
        }
        Ok(Block(block))
    }

    /// Adds an input to the block that is being emitted.
    pub fn block_input(&self, dtype: DType, shape: Option<&[Dim]>) -> Value {
        let dims = Self::records(shape.unwrap_or_default());
        let ty = TypeRecord {
            kind: arg_kind::TENSOR,
            dtype: dtype.onnx(),
            rank: shape.map_or(-1, |s| s.len() as i32),
            dims: RSlice::from_slice(&dims),
        };
        let mut out = ABSENT;
        if (self.host().block_input)(self.cx(), &ty, &mut out) != status::OK {
            return self.fail("the host refused an input of a block".to_owned());
        }
        Value(out)
    }
}

impl<'c, 'a, E: Emit, O: Operator<'a>> NodeBuilder<'c, 'a, E, O> {
    #[inline]
    pub(crate) fn new(cx: &'c E, op: O) -> Self {
        Self { cx, node: Node::new(op.domain(), op.version(), op.name()), operator: PhantomData }
    }

    /// Adds an input.
    #[inline]
    pub fn input(self, value: E::Value) -> Self {
        self.maybe(Some(value))
    }

    /// Adds an optional input, or leaves its place empty.
    #[inline]
    pub fn maybe(mut self, value: Option<E::Value>) -> Self {
        self.node.push(value);
        self
    }

    /// Adds inputs.
    pub fn inputs(mut self, values: impl IntoIterator<Item = E::Value>) -> Self {
        self.node.inputs.extend(values.into_iter().map(Some));
        self
    }

    /// Sets an attribute; [`Attribute::None`] leaves it out.
    pub fn set(self, name: &'a str, value: Attribute) -> Self {
        match Attr::from_attribute(value) {
            Some(attr) => self.attribute(name, attr),
            None => self,
        }
    }

    /// Emits the node and returns its only output, or the first one.
    #[inline]
    pub fn one(self) -> E::Value {
        self.node.one(self.cx)
    }

    /// Emits the node with `N` outputs.
    pub fn outs<const N: usize>(self) -> [E::Value; N] {
        let mut outputs = [self.cx.nothing(); N];
        self.node.emit(self.cx, &mut outputs);
        outputs
    }

    /// Emits the node with `count` outputs.
    pub fn many(self, count: usize) -> Vec<E::Value> {
        let mut outputs = vec![self.cx.nothing(); count];
        self.node.emit(self.cx, &mut outputs);
        outputs
    }

    #[inline]
    pub(crate) fn attribute(mut self, name: &'a str, value: Attr<'a, E::Value>) -> Self {
        self.node.set(name, value);
        self
    }
}

/// Attributes by name, which are not checked: [`op`](crate::op) has the operators with theirs.
impl<'a, E: Emit> NodeBuilder<'_, 'a, E> {
    /// Sets an integer attribute.
    pub fn int(self, name: &'a str, value: i64) -> Self {
        self.attribute(name, Attr::Int(value))
    }

    /// Sets a float attribute.
    pub fn float(self, name: &'a str, value: impl Into<f64>) -> Self {
        self.attribute(name, Attr::Float(value.into() as f32))
    }

    /// Sets a text attribute.
    pub fn str(self, name: &'a str, value: &'a str) -> Self {
        self.attribute(name, Attr::Str(value.into()))
    }

    /// Sets an attribute of integers.
    pub fn ints(self, name: &'a str, value: &'a [i64]) -> Self {
        self.attribute(name, Attr::Ints(value.into()))
    }

    /// Sets an attribute of floats.
    pub fn floats(self, name: &'a str, value: &'a [f32]) -> Self {
        self.attribute(name, Attr::Floats(value.into()))
    }

    /// Sets an attribute of texts.
    pub fn strs(self, name: &'a str, value: &'a [&'a str]) -> Self {
        self.attribute(name, Attr::texts_of(value))
    }

    /// Sets a tensor attribute to a constant.
    pub fn tensor(self, name: &'a str, constant: E::Value) -> Self {
        self.attribute(name, Attr::Tensor(constant))
    }
}

/// Methods for nodes of lowerings only.
impl<'a, O: Operator<'a>> NodeBuilder<'_, 'a, Lower<'_>, O> {
    /// Sets an attribute to the attribute `outer` of the enclosing function.
    pub fn refer(self, name: &'a str, outer: &'a str) -> Self {
        self.attribute(name, Attr::Ref(outer))
    }
}

impl<'a> NodeBuilder<'_, 'a, Lower<'_>> {
    /// Sets a graph attribute.
    pub fn block(self, name: &'a str, block: Block) -> Self {
        self.attribute(name, Attr::Block(block))
    }
}

impl<'a, V> Attr<'a, V> {
    pub(crate) fn texts_of(texts: &'a [&'a str]) -> Self {
        Attr::Strs(texts.iter().map(|text| (*text).into()).collect())
    }

    /// The value of an attribute of a graph; none for [`Attribute::None`].
    pub(crate) fn from_attribute(value: Attribute) -> Option<Self> {
        Some(match value {
            Attribute::None => return None,
            Attribute::Int(value) => Attr::Int(value),
            Attribute::Float(value) => Attr::Float(value),
            Attribute::Str(text) => Attr::Str(text.into()),
            Attribute::Ints(values) => Attr::Ints(values.into()),
            Attribute::Floats(values) => Attr::Floats(values.into()),
            Attribute::Strs(texts) => Attr::Strs(texts.into_iter().map(Cow::from).collect()),
            Attribute::Tensor(literal) => Attr::Literal(literal),
            Attribute::LargeTensor(..) | Attribute::Block(_) | Attribute::Reference(_) => Attr::Foreign,
        })
    }

    /// The texts, as they cross.
    pub(crate) fn texts(&self) -> Vec<RStr<'_>> {
        match self {
            Attr::Strs(texts) => texts.iter().map(|text| RStr::from_str(text)).collect(),
            _ => Vec::new(),
        }
    }
}

impl Attr<'_, Value> {
    /// The attribute as it crosses. `constant` is the value of a literal.
    pub(crate) fn record<'r>(
        &'r self,
        name: &'r str,
        texts: &'r [RStr<'r>],
        constant: Option<Value>,
    ) -> AttrRecord<'r> {
        let mut record = AttrRecord {
            name: RStr::from_str(name),
            kind: attr_kind::INT,
            value: 0,
            ints: RSlice::EMPTY,
            floats: RSlice::EMPTY,
            text: RStr::from_str(""),
            texts: RSlice::from_slice(texts),
        };
        record.kind = match self {
            Attr::Int(n) => {
                record.ints = RSlice::from_slice(std::slice::from_ref(n));
                attr_kind::INT
            }
            Attr::Float(x) => {
                record.floats = RSlice::from_slice(std::slice::from_ref(x));
                attr_kind::FLOAT
            }
            Attr::Str(text) => {
                record.text = RStr::from_str(text);
                attr_kind::STR
            }
            Attr::Ints(ints) => {
                record.ints = RSlice::from_slice(ints);
                attr_kind::INTS
            }
            Attr::Floats(floats) => {
                record.floats = RSlice::from_slice(floats);
                attr_kind::FLOATS
            }
            Attr::Strs(_) => attr_kind::STRS,
            Attr::Tensor(value) => {
                record.value = value.0;
                attr_kind::TENSOR
            }
            Attr::Literal(_) => {
                record.value = constant.map_or(ABSENT, |value| value.0);
                attr_kind::TENSOR
            }
            Attr::Block(block) => {
                record.value = block.0;
                attr_kind::BLOCK
            }
            Attr::Ref(outer) => {
                record.text = RStr::from_str(outer);
                attr_kind::REF
            }
            Attr::Foreign => {
                record.value = ABSENT;
                attr_kind::BLOCK
            }
        };
        record
    }
}

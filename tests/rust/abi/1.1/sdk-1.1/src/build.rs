//! Emission of nodes.

use onnxport_abi::abi_stable::std_types::{RSlice, RSliceMut, RStr};
use smallvec::SmallVec;

use crate::abi::lowering::{ABSENT, AttrRecord, NodeRecord, TypeRecord, arg_kind, attr_kind};
use crate::abi::status;
use crate::{DType, Dim, Lower, Value};

/// A block that was ended, for the attribute of a control-flow node.
#[derive(Clone, Copy, Debug)]
pub struct Block(u32);

enum Attr<'a> {
    Int(i64),
    Float(f32),
    Str(&'a str),
    Ints(&'a [i64]),
    Floats(&'a [f32]),
    Strs(Vec<RStr<'a>>),
    Tensor(Value),
    Block(Block),
    Ref(&'a str),
}

/// A node that is being described; [`NodeBuilder::one`] or [`NodeBuilder::many`] emits it.
#[must_use = "a node is emitted by `one` or `many`"]
pub struct NodeBuilder<'c, 'h, 'a> {
    pub(crate) lower: &'c mut Lower<'h>,
    domain: &'a str,
    version: i64,
    op: &'a str,
    pub(crate) inputs: SmallVec<[u32; 4]>,
    attributes: SmallVec<[(&'a str, Attr<'a>); 4]>,
}

impl<'h> Lower<'h> {
    /// Begins a node of ONNX's own operator `op`.
    pub fn op<'c, 'a>(&'c mut self, op: &'a str) -> NodeBuilder<'c, 'h, 'a> {
        self.op_in("", 0, op)
    }

    /// Begins a node of another domain's operator.
    pub fn op_in<'c, 'a>(
        &'c mut self,
        domain: &'a str,
        version: i64,
        op: &'a str,
    ) -> NodeBuilder<'c, 'h, 'a> {
        NodeBuilder { lower: self, domain, version, op, inputs: SmallVec::new(), attributes: SmallVec::new() }
    }

    /// Emits the body of a control-flow node: the values that `body` returns are the block's
    /// outputs. Values of the surrounding blocks may be used inside.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn block(&mut self, body: impl FnOnce(&mut Self) -> crate::Res<Vec<Value>>) -> crate::Res<Block> {
        if (self.host.begin_block)(self.cx) != status::OK {
            return Err("the host cannot begin a block".into());
        }
        let outputs = body(self);
        let ids: Vec<u32> = outputs.as_ref().map(|o| o.iter().map(|v| v.0).collect()).unwrap_or_default();
        let mut block = 0;
        let answer = (self.host.end_block)(self.cx, RSlice::from_slice(&ids), &mut block);
        outputs?;
        if answer != status::OK {
            return Err("the host refused the outputs of a block".into());
        }
        Ok(Block(block))
    }

    /// Adds an input to the block that is being emitted.
    pub fn block_input(&mut self, dtype: DType, shape: Option<&[Dim]>) -> Value {
        let dims = Self::records(shape.unwrap_or_default());
        let ty = TypeRecord {
            kind: arg_kind::TENSOR,
            dtype: dtype.onnx(),
            rank: shape.map_or(-1, |s| s.len() as i32),
            dims: RSlice::from_slice(&dims),
        };
        let mut out = ABSENT;
        if (self.host.block_input)(self.cx, &ty, &mut out) != status::OK {
            self.fail("the host refused an input of a block");
        }
        Value(out)
    }
}

impl<'a> NodeBuilder<'_, '_, 'a> {
    /// Adds an input.
    pub fn input(mut self, value: Value) -> Self {
        self.inputs.push(value.0);
        self
    }

    /// Adds an optional input, or leaves its place empty.
    pub fn maybe(mut self, value: Option<Value>) -> Self {
        self.inputs.push(value.map_or(ABSENT, |v| v.0));
        self
    }

    /// Adds inputs.
    pub fn inputs(mut self, values: impl IntoIterator<Item = Value>) -> Self {
        self.inputs.extend(values.into_iter().map(|v| v.0));
        self
    }

    /// Sets an integer attribute.
    pub fn int(mut self, name: &'a str, value: i64) -> Self {
        self.attributes.push((name, Attr::Int(value)));
        self
    }

    /// Sets a float attribute.
    pub fn float(mut self, name: &'a str, value: f64) -> Self {
        self.attributes.push((name, Attr::Float(value as f32)));
        self
    }

    /// Sets a text attribute.
    pub fn str(mut self, name: &'a str, value: &'a str) -> Self {
        self.attributes.push((name, Attr::Str(value)));
        self
    }

    /// Sets an attribute of integers.
    pub fn ints(mut self, name: &'a str, value: &'a [i64]) -> Self {
        self.attributes.push((name, Attr::Ints(value)));
        self
    }

    /// Sets an attribute of floats.
    pub fn floats(mut self, name: &'a str, value: &'a [f32]) -> Self {
        self.attributes.push((name, Attr::Floats(value)));
        self
    }

    /// Sets an attribute of texts.
    pub fn strs(mut self, name: &'a str, value: &'a [&'a str]) -> Self {
        self.attributes.push((name, Attr::Strs(value.iter().map(|s| RStr::from_str(s)).collect())));
        self
    }

    /// Sets a tensor attribute to a constant.
    pub fn tensor(mut self, name: &'a str, constant: Value) -> Self {
        self.attributes.push((name, Attr::Tensor(constant)));
        self
    }

    /// Sets a graph attribute.
    pub fn block(mut self, name: &'a str, block: Block) -> Self {
        self.attributes.push((name, Attr::Block(block)));
        self
    }

    /// Sets an attribute to what the call of the function around gives for its attribute `outer`.
    pub fn refer(mut self, name: &'a str, outer: &'a str) -> Self {
        self.attributes.push((name, Attr::Ref(outer)));
        self
    }

    /// Emits the node and returns its only output, or the first one.
    pub fn one(self) -> Value {
        let [output] = self.emit::<1>();
        output
    }

    /// Emits the node with `N` outputs.
    pub fn outs<const N: usize>(self) -> [Value; N] {
        self.emit::<N>()
    }

    /// Emits the node with `count` outputs.
    pub fn many(self, count: usize) -> Vec<Value> {
        let mut outputs = vec![ABSENT; count];
        self.emit_into(&mut outputs);
        outputs.into_iter().map(Value).collect()
    }

    fn emit<const N: usize>(self) -> [Value; N] {
        let mut outputs = [ABSENT; N];
        self.emit_into(&mut outputs);
        outputs.map(Value)
    }

    pub(crate) fn records(&self) -> SmallVec<[AttrRecord<'_>; 4]> {
        self.attributes.iter().map(|(name, attr)| record(name, attr)).collect()
    }

    pub(crate) fn record<'r>(&'r self, attributes: &'r [AttrRecord<'r>]) -> NodeRecord<'r> {
        NodeRecord {
            domain: RStr::from_str(self.domain),
            version: self.version,
            op: RStr::from_str(self.op),
            inputs: RSlice::from_slice(&self.inputs),
            attributes: RSlice::from_slice(attributes),
        }
    }

    fn emit_into(mut self, outputs: &mut [u32]) {
        while self.inputs.last() == Some(&ABSENT) {
            self.inputs.pop();
        }
        let attributes = self.records();
        let node = self.record(&attributes);
        let answer = (self.lower.host.emit)(self.lower.cx, &node, RSliceMut::from_mut_slice(outputs));
        drop(attributes);
        if answer != status::OK {
            let why = "one of its inputs or attributes is not valid there";
            self.lower.fail(format!("the host refused a node `{}`: {why}", self.op));
        }
    }
}

fn record<'r>(name: &'r str, attr: &'r Attr<'r>) -> AttrRecord<'r> {
    let mut record = AttrRecord {
        name: RStr::from_str(name),
        kind: attr_kind::INT,
        value: 0,
        ints: RSlice::EMPTY,
        floats: RSlice::EMPTY,
        text: RStr::from_str(""),
        texts: RSlice::EMPTY,
    };
    match attr {
        Attr::Int(n) => record.ints = RSlice::from_slice(std::slice::from_ref(n)),
        Attr::Float(x) => {
            record.kind = attr_kind::FLOAT;
            record.floats = RSlice::from_slice(std::slice::from_ref(x));
        }
        Attr::Str(text) => {
            record.kind = attr_kind::STR;
            record.text = RStr::from_str(text);
        }
        Attr::Ints(ints) => {
            record.kind = attr_kind::INTS;
            record.ints = RSlice::from_slice(ints);
        }
        Attr::Floats(floats) => {
            record.kind = attr_kind::FLOATS;
            record.floats = RSlice::from_slice(floats);
        }
        Attr::Strs(texts) => {
            record.kind = attr_kind::STRS;
            record.texts = RSlice::from_slice(texts);
        }
        Attr::Tensor(value) => {
            record.kind = attr_kind::TENSOR;
            record.value = value.0;
        }
        Attr::Block(block) => {
            record.kind = attr_kind::BLOCK;
            record.value = block.0;
        }
        Attr::Ref(outer) => {
            record.kind = attr_kind::REF;
            record.text = RStr::from_str(outer);
        }
    }
    record
}

//! Nodes that replace a region.

use onnxport_abi::{RSlice, RSliceMut, RStr};

use super::{Blob, Port, Region};
use crate::abi::backend::{EmitRecord, NO_BLOB};
use crate::abi::graph::{AttributeView, NOTHING};
use crate::abi::lowering::{DataView, DimRecord, TypeRecord, arg_kind, attr_kind};
use crate::abi::status;
use crate::{DType, Dim, Fact, Refusal, Res, ValueRef};

/// A node in the making; [`Emit::emit`] ends it.
#[must_use]
pub struct Emit<'r, 'h> {
    region: &'r mut Region<'h>,
    domain: &'static str,
    op: &'static str,
    inputs: Vec<u64>,
    attributes: Vec<(&'static str, AttributeValue)>,
    outputs: Vec<Fact>,
    blob: Option<(&'static str, u32)>,
}

enum AttributeValue {
    Int(i64),
    Float(f32),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Tensor(DType, Vec<u64>, Vec<u8>),
}

impl<'r, 'h> Emit<'r, 'h> {
    pub(super) fn new(region: &'r mut Region<'h>, domain: &'static str, op: &'static str) -> Self {
        Self {
            region,
            domain,
            op,
            inputs: Vec::new(),
            attributes: Vec::new(),
            outputs: Vec::new(),
            blob: None,
        }
    }

    /// Adds an input.
    pub fn input(mut self, value: impl Into<Port>) -> Self {
        self.inputs.push(value.into().0);
        self
    }

    /// Adds inputs.
    pub fn inputs(mut self, values: impl IntoIterator<Item = impl Into<Port>>) -> Self {
        self.inputs.extend(values.into_iter().map(|value| value.into().0));
        self
    }

    /// Leaves an optional input out.
    pub fn no_input(mut self) -> Self {
        self.inputs.push(NOTHING);
        self
    }

    /// An integer attribute.
    pub fn int(self, name: &'static str, value: i64) -> Self {
        self.attribute(name, AttributeValue::Int(value))
    }

    /// A float attribute.
    pub fn float(self, name: &'static str, value: f32) -> Self {
        self.attribute(name, AttributeValue::Float(value))
    }

    /// A text attribute.
    pub fn str(self, name: &'static str, value: impl Into<String>) -> Self {
        self.attribute(name, AttributeValue::Str(value.into()))
    }

    /// Integers.
    pub fn ints(self, name: &'static str, values: &[i64]) -> Self {
        self.attribute(name, AttributeValue::Ints(values.to_vec()))
    }

    /// Floats.
    pub fn floats(self, name: &'static str, values: &[f32]) -> Self {
        self.attribute(name, AttributeValue::Floats(values.to_vec()))
    }

    /// A tensor of little-endian, row-major bytes.
    pub fn tensor(self, name: &'static str, dtype: DType, shape: &[u64], bytes: &[u8]) -> Self {
        self.attribute(name, AttributeValue::Tensor(dtype, shape.to_vec(), bytes.to_vec()))
    }

    /// The blob of the node: the attribute `name` holds it or, with `_file`, `_size` and `_sha256` after
    /// it, says where it is.
    pub fn blob(mut self, name: &'static str, blob: &Blob<'_>) -> Self {
        self.blob = Some((name, blob.number));
        self
    }

    /// Adds an output of this element type and these extents.
    pub fn output(mut self, dtype: DType, shape: &[Dim]) -> Self {
        self.outputs.push(Fact { dtype: Some(dtype), shape: Some(shape.to_vec()) });
        self
    }

    /// Adds outputs of the element types and sizes of these values.
    pub fn outputs_like(mut self, values: &[ValueRef<'_>]) -> Self {
        self.outputs.extend(values.iter().map(|value| value.fact()));
        self
    }

    /// Emits the node and returns its outputs.
    ///
    /// # Errors
    /// When an input may not be used here, an attribute stands twice, or an output has no element type.
    pub fn emit(self) -> Res<Vec<Port>> {
        let views: Vec<AttributeView<'_>> =
            self.attributes.iter().map(|(name, given)| view(name, given)).collect();
        let dims: Vec<Vec<DimRecord>> = self
            .outputs
            .iter()
            .map(|fact| fact.shape.iter().flatten().map(|dim| dim.record()).collect())
            .collect();
        let outputs: Vec<TypeRecord<'_>> = (self.outputs.iter().zip(&dims))
            .map(|(fact, dims)| TypeRecord {
                kind: arg_kind::TENSOR,
                dtype: fact.dtype.map_or(0, DType::onnx),
                rank: fact.shape.as_ref().map_or(-1, |shape| shape.len() as i32),
                dims: RSlice::from_slice(dims),
            })
            .collect();
        let (blob_attribute, blob) = self.blob.unwrap_or(("", NO_BLOB));
        let record = EmitRecord {
            domain: RStr::from_str(self.domain),
            op: RStr::from_str(self.op),
            inputs: RSlice::from_slice(&self.inputs),
            attributes: RSlice::from_slice(&views),
            outputs: RSlice::from_slice(&outputs),
            blob,
            blob_attribute: RStr::from_str(blob_attribute),
        };
        let mut made = vec![0; self.outputs.len()];
        let region = self.region;
        match (region.host.emit)(region.cx, &record, RSliceMut::from_mut_slice(&mut made)) {
            status::OK => Ok(made.into_iter().map(Port).collect()),
            _ => Err(Refusal::new(format!("the host does not accept a node `{}`", self.op))),
        }
    }

    fn attribute(mut self, name: &'static str, given: AttributeValue) -> Self {
        self.attributes.push((name, given));
        self
    }
}

fn view<'a>(name: &'a str, given: &'a AttributeValue) -> AttributeView<'a> {
    let none = DataView { dtype: 0, dims: RSlice::EMPTY, bytes: RSlice::EMPTY };
    let view = AttributeView {
        name: RStr::from_str(name),
        kind: attr_kind::INT,
        block: NOTHING,
        ints: RSlice::EMPTY,
        floats: RSlice::EMPTY,
        text: RStr::from_str(""),
        texts: RSlice::EMPTY,
        tensor: none,
    };
    match given {
        AttributeValue::Int(n) => AttributeView { ints: RSlice::from_slice(std::slice::from_ref(n)), ..view },
        AttributeValue::Float(x) => AttributeView {
            kind: attr_kind::FLOAT,
            floats: RSlice::from_slice(std::slice::from_ref(x)),
            ..view
        },
        AttributeValue::Str(text) => {
            AttributeView { kind: attr_kind::STR, text: RStr::from_str(text), ..view }
        }
        AttributeValue::Ints(ints) => {
            AttributeView { kind: attr_kind::INTS, ints: RSlice::from_slice(ints), ..view }
        }
        AttributeValue::Floats(floats) => {
            AttributeView { kind: attr_kind::FLOATS, floats: RSlice::from_slice(floats), ..view }
        }
        AttributeValue::Tensor(dtype, shape, bytes) => AttributeView {
            kind: attr_kind::TENSOR,
            tensor: DataView {
                dtype: dtype.onnx(),
                dims: RSlice::from_slice(shape),
                bytes: RSlice::from_slice(bytes),
            },
            ..view
        },
    }
}

//! The answer of a backend as bytes: a description in JSON, then the bytes of tensors and blobs.
//!
//! Values are numbered by their ports, and dimensions are texts over the names of symbols, both of which are part of the
//! [key](super::key).

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::blob::Blob;
use super::call::{Addition, Compile, Emitted};
use crate::ir::{Attr, Attribute, Model, Shape, Type, ValueId};
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor};

/// A value that nodes of the answer use.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
enum Port {
    /// An input of the region, by position.
    Input(usize),
    /// A weight, by position.
    Weight(usize),
    /// A value of the answer, by number.
    Made(usize),
}

/// A tensor: its element type, its shape, and the place of its bytes.
#[derive(Debug, Deserialize, Serialize)]
struct Tensor(i32, Vec<u64>, Range<usize>);

#[derive(Debug, Deserialize, Serialize)]
enum Value {
    Int(i64),
    /// The bits.
    Float(u32),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<u32>),
    Strs(Vec<String>),
    Tensor(Tensor),
}

/// The type of an output: the element type, and the dimensions as texts if the rank is known.
#[derive(Debug, Deserialize, Serialize)]
struct Output(i32, Option<Vec<Option<String>>>);

#[derive(Debug, Deserialize, Serialize)]
enum Made {
    Constant(Tensor),
    Node {
        domain: String,
        op: String,
        inputs: Vec<Option<Port>>,
        attributes: Vec<(String, Value)>,
        outputs: Vec<Output>,
        blob: Option<(u32, String)>,
    },
}

#[derive(Debug, Deserialize, Serialize)]
struct Answer {
    /// The key, so that an entry under a wrong name is noticed.
    key: String,
    made: Vec<Made>,
    outputs: Vec<Port>,
    blobs: Vec<(u32, Range<usize>)>,
}

/// Bytes behind the description.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn add(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.0.len();
        self.0.extend_from_slice(bytes);
        start..self.0.len()
    }

    fn tensor(&mut self, data: &LazyTensor) -> Option<Tensor> {
        let bytes = self.add(&data.read()?);
        Some(Tensor(data.dtype.onnx(), data.shape.clone(), bytes))
    }
}

/// The answer in `compile` as bytes. `None` if it has something that another run would not understand.
pub(super) fn save(compile: &Compile, key: &str, model: &mut Model) -> Option<Vec<u8>> {
    let mut bytes = Bytes::default();
    // Values of the answer are numbered in the order in which they were made.
    let mut numbers: Vec<ValueId> = Vec::new();
    let mut made = Vec::new();
    for addition in &compile.made {
        made.push(match addition {
            Addition::Constant(value, data) => {
                numbers.push(*value);
                Made::Constant(bytes.tensor(data)?)
            }
            Addition::Node(node) => {
                let port = |value: &Option<ValueId>| match value {
                    Some(value) => port(compile, &numbers, *value).map(Some),
                    None => Some(None),
                };
                let inputs = node.inputs.iter().map(port).collect::<Option<_>>()?;
                numbers.extend(node.outputs.iter().map(|(value, _)| *value));
                let mut attributes = Vec::new();
                for attribute in &node.attributes {
                    attributes.push((attribute.name.to_string(), value(&attribute.value, &mut bytes)?));
                }
                let outputs = node.outputs.iter().map(|(_, ty)| output(ty, model)).collect::<Option<_>>()?;
                Made::Node {
                    domain: node.domain.clone(),
                    op: node.op.clone(),
                    inputs,
                    attributes,
                    outputs,
                    blob: node.blob.clone(),
                }
            }
        });
    }
    let answer = compile.answer.as_ref()?;
    let outputs = answer.iter().map(|value| port(compile, &numbers, *value)).collect::<Option<_>>()?;
    let mut kept: Vec<(&u32, &Blob)> = compile.blobs.iter().collect();
    kept.sort_by_key(|(number, _)| **number);
    let mut blobs = Vec::new();
    for (number, blob) in kept {
        blobs.push((*number, bytes.add(&blob.bytes().ok()?)));
    }
    let head = serde_json::to_vec(&Answer { key: key.to_owned(), made, outputs, blobs }).ok()?;
    let mut all = (head.len() as u64).to_le_bytes().to_vec();
    all.extend(head);
    all.extend(bytes.0);
    Some(all)
}

/// The answer that [`save`] made into `body`, in `call`. `None` if it does not fit the region.
pub(super) fn restore(body: &[u8], key: &str, model: &mut Model, mut call: Compile) -> Option<Compile> {
    let (length, rest) = body.split_first_chunk::<8>()?;
    let (head, bytes) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let answer: Answer = serde_json::from_slice(head).ok()?;
    if answer.key != key {
        return None;
    }
    let tensor = |Tensor(dtype, shape, place): Tensor| {
        let data = LazyTensor::inline(DType::from_onnx(dtype)?, shape, bytes.get(place.clone())?.to_vec());
        (data.byte_len()? == place.len() as u64).then_some(data)
    };
    let base = model.graph.values.len();
    let mut count = 0;
    let fresh = |count: &mut usize| {
        *count += 1;
        ValueId::new((base + *count - 1) as u32)
    };
    let given = |call: &Compile, port: Port, count: usize| match port {
        Port::Input(at) => call.ports.inputs.get(at).copied(),
        Port::Weight(at) => call.ports.weights.get(at).copied(),
        Port::Made(at) => (at < count).then(|| ValueId::new((base + at) as u32)),
    };
    for one in answer.made {
        let addition = match one {
            Made::Constant(data) => Addition::Constant(fresh(&mut count), tensor(data)?),
            Made::Node { domain, op, inputs, attributes, outputs, blob } => {
                let port = |port: Option<Port>| match port {
                    Some(port) => given(&call, port, count).map(Some),
                    None => Some(None),
                };
                let inputs = inputs.into_iter().map(port).collect::<Option<_>>()?;
                let mut known = Vec::new();
                for (name, value) in attributes {
                    let value = match value {
                        Value::Int(n) => Attr::Int(n),
                        Value::Float(bits) => Attr::Float(f32::from_bits(bits)),
                        Value::Str(text) => Attr::Str(text),
                        Value::Ints(all) => Attr::Ints(all),
                        Value::Floats(all) => Attr::Floats(all.into_iter().map(f32::from_bits).collect()),
                        Value::Strs(all) => Attr::Strs(all),
                        Value::Tensor(data) => Attr::Tensor(tensor(data)?),
                    };
                    known.push(Attribute { name: name.into(), value });
                }
                let mut types = Vec::new();
                for Output(dtype, dims) in outputs {
                    let shape = match dims {
                        None => Shape::Unranked,
                        Some(dims) => Shape::Ranked(
                            dims.into_iter()
                                .map(|dim| dim.map(|text| model.symbols.parse(&text)).transpose().ok())
                                .collect::<Option<_>>()?,
                        ),
                    };
                    types.push((fresh(&mut count), Type::tensor(DType::from_onnx(dtype)?, shape)));
                }
                let blob = blob.filter(|(_, name)| !name.is_empty());
                Addition::Node(Emitted { domain, op, inputs, attributes: known, outputs: types, blob })
            }
        };
        call.made.push(addition);
    }
    let outputs = answer.outputs.into_iter().map(|port| given(&call, port, count));
    call.answer = Some(outputs.collect::<Option<_>>()?);
    for (number, place) in answer.blobs {
        let mut blob = Blob::default();
        blob.write(bytes.get(place)?).ok()?;
        call.blobs.insert(number, blob);
    }
    Some(call)
}

fn port(compile: &Compile, numbers: &[ValueId], value: ValueId) -> Option<Port> {
    let at = |list: &[ValueId]| list.iter().position(|known| *known == value);
    at(&compile.ports.inputs)
        .map(Port::Input)
        .or_else(|| at(&compile.ports.weights).map(Port::Weight))
        .or_else(|| at(numbers).map(Port::Made))
}

fn value(value: &Attr, bytes: &mut Bytes) -> Option<Value> {
    Some(match value {
        Attr::Int(n) => Value::Int(*n),
        Attr::Float(x) => Value::Float(x.to_bits()),
        Attr::Str(text) => Value::Str(text.clone()),
        Attr::Ints(all) => Value::Ints(all.clone()),
        Attr::Floats(all) => Value::Floats(all.iter().map(|x| x.to_bits()).collect()),
        Attr::Strs(all) => Value::Strs(all.clone()),
        Attr::Tensor(data) => Value::Tensor(bytes.tensor(data)?),
        _ => return None,
    })
}

/// `None` for a dimension whose text does not mean the same.
fn output(ty: &Type, model: &mut Model) -> Option<Output> {
    let Type::Tensor { dtype: Some(dtype), shape } = ty else { return None };
    let mut dim = |dim: &Option<Dim>| {
        let Some(dim) = dim else { return Some(None) };
        let text = model.symbols.display(*dim);
        (model.symbols.parse(&text).ok()? == *dim).then_some(Some(text))
    };
    let dims = match shape.dims() {
        Some(dims) => Some(dims.iter().map(&mut dim).collect::<Option<Vec<_>>>()?),
        None => None,
    };
    Some(Output(dtype.onnx(), dims))
}

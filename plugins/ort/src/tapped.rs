//! A model whose intermediate values are outputs as well.
//!
//! The encoding of protocol buffers lets a message be continued by appending to it: a `ModelProto` that holds
//! only a graph with more outputs, behind the bytes of a model, adds these outputs to the model's own
//! (<https://protobuf.dev/programming-guides/encoding/#last-one-wins>). ONNX Runtime infers their types.

use std::path::Path;

use onnxport_sdk::executor::Failure;

/// `ModelProto.graph`, `GraphProto.output` and `ValueInfoProto.name` of `onnx.proto`.
const MODEL_GRAPH: u64 = 7;
const GRAPH_OUTPUT: u64 = 12;
const VALUE_NAME: u64 = 1;

/// The bytes of the model at `path` with `values` as its last outputs.
pub(crate) fn model(path: &Path, values: &[&str]) -> Result<Vec<u8>, Failure> {
    let read = std::fs::read(path);
    let mut model =
        read.map_err(|error| Failure::new(format!("{} cannot be read: {error}", path.display())))?;
    let mut graph = Vec::new();
    for name in values {
        let mut value = Vec::new();
        field(&mut value, VALUE_NAME, name.as_bytes());
        field(&mut graph, GRAPH_OUTPUT, &value);
    }
    if !values.is_empty() {
        field(&mut model, MODEL_GRAPH, &graph);
    }
    Ok(model)
}

/// Appends a field of the wire type of texts, bytes and messages.
fn field(out: &mut Vec<u8>, number: u64, bytes: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

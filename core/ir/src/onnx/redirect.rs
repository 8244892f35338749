//! Lists the names of data files in a model's message, and writes the model with other names.
//!
//! The message is walked as bytes, so a model of any size costs no memory, and all other bytes are copied
//! unchanged.

use std::io::{self, Write};

use super::wire::{next, put_varint, varint_len};

/// The deepest nesting of messages that is followed; protobuf's own readers stop at 100.
const MAX_DEPTH: usize = 100;

/// The messages of `onnx.proto` on the way to a tensor's external data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Model,
    Training,
    Graph,
    Function,
    Node,
    Attribute,
    Sparse,
    Tensor,
    Entry,
}

impl Kind {
    /// Returns the type of the field `number`, if it leads to external data.
    fn field(self, number: u64) -> Option<Self> {
        Some(match (self, number) {
            (Self::Model, 7) | (Self::Training, 1 | 2) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 20) => Self::Training,
            (Self::Model, 25) => Self::Function,
            (Self::Graph, 1) | (Self::Function, 7) => Self::Node,
            (Self::Node, 5) | (Self::Function, 11) => Self::Attribute,
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Self::Sparse,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::Sparse, 1 | 2) => Self::Tensor,
            (Self::Tensor, 13) => Self::Entry,
            _ => return None,
        })
    }
}

/// The file that an entry of external data names, if it is that entry.
fn location(entry: &[u8]) -> Option<&str> {
    let (mut rest, mut key, mut value) = (entry, None, None);
    while !rest.is_empty() {
        let field = next(&mut rest)?;
        match field.number {
            1 => key = field.payload,
            2 => value = field.payload,
            _ => {}
        }
    }
    if key? == b"location" { std::str::from_utf8(value?).ok() } else { None }
}

/// The distinct data files that the model in `bytes` names, in order; `None` when it is damaged.
pub(crate) fn locations(bytes: &[u8]) -> Option<Vec<String>> {
    let mut found = Vec::new();
    list(Kind::Model, bytes, 0, &mut found)?;
    Some(found)
}

fn list(kind: Kind, mut bytes: &[u8], depth: usize, found: &mut Vec<String>) -> Option<()> {
    if kind == Kind::Entry {
        if let Some(name) = location(bytes).filter(|name| !found.iter().any(|f| f == name)) {
            found.push(name.to_owned());
        }
        return Some(());
    }
    if depth > MAX_DEPTH {
        return None;
    }
    while !bytes.is_empty() {
        let field = next(&mut bytes)?;
        if let (Some(inner), Some(payload)) = (kind.field(field.number), field.payload) {
            list(inner, payload, depth.saturating_add(1), found)?;
        }
    }
    Some(())
}

/// Gives a data file another name, or `None` to leave it.
pub(crate) type Rename<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Writes the model in `bytes` with the data files that `rename` knows under their other names.
///
/// # Errors
/// Those of `out`; `InvalidData` when the model is damaged.
pub(crate) fn redirect(bytes: &[u8], rename: Rename<'_>, out: &mut dyn Write) -> io::Result<()> {
    if measure(Kind::Model, bytes, 0, rename).is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the model is damaged"));
    }
    rewrite(Kind::Model, bytes, 0, rename, out)
}

/// The length that a message will have, and whether anything in it changes.
fn measure(kind: Kind, mut bytes: &[u8], depth: usize, rename: Rename<'_>) -> Option<(u64, bool)> {
    if kind == Kind::Entry {
        let other = location(bytes).and_then(rename);
        return Some(other.map_or((bytes.len() as u64, false), |name| (entry(&name).len() as u64, true)));
    }
    if depth > MAX_DEPTH {
        return None;
    }
    let (mut len, mut changed) = (0u64, false);
    while !bytes.is_empty() {
        let field = next(&mut bytes)?;
        let mut written = field.whole.len() as u64;
        if let (Some(inner), Some(payload)) = (kind.field(field.number), field.payload) {
            let (new, differs) = measure(inner, payload, depth.saturating_add(1), rename)?;
            if differs {
                changed = true;
                written = varint_len(field.number << 3).checked_add(varint_len(new))?.checked_add(new)?;
            }
        }
        len = len.checked_add(written)?;
    }
    Some((len, changed))
}

/// Writes a message that [`measure`] has walked.
fn rewrite(
    kind: Kind,
    mut bytes: &[u8],
    depth: usize,
    rename: Rename<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if kind == Kind::Entry {
        let other = location(bytes).and_then(rename);
        return out.write_all(other.map(|name| entry(&name)).as_deref().unwrap_or(bytes));
    }
    while let Some(field) = Some(&mut bytes).filter(|b| !b.is_empty()).and_then(next) {
        let inner = kind.field(field.number).zip(field.payload);
        let inner = inner.and_then(|(inner, payload)| {
            let (len, changed) = measure(inner, payload, depth.saturating_add(1), rename)?;
            changed.then_some((inner, payload, len))
        });
        let Some((inner, payload, len)) = inner else {
            out.write_all(field.whole)?;
            continue;
        };
        let mut head = Vec::new();
        put_varint(&mut head, field.number << 3 | 2);
        put_varint(&mut head, len);
        out.write_all(&head)?;
        rewrite(inner, payload, depth.saturating_add(1), rename, out)?;
    }
    Ok(())
}

/// The entry that names a data file.
fn entry(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, text) in [(1 << 3 | 2, "location"), (2 << 3 | 2, name)] {
        bytes.push(key);
        put_varint(&mut bytes, text.len() as u64);
        bytes.extend_from_slice(text.as_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use onnxport_proto::{
        AttributeProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto,
    };
    use prost::Message;

    use super::*;

    fn tensor(location: &str) -> TensorProto {
        let entry = |key: &str, value: &str| StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value.to_owned()),
        };
        TensorProto {
            name: Some("w".to_owned()),
            external_data: vec![entry("location", location), entry("offset", "0")],
            ..TensorProto::default()
        }
    }

    /// A model with weights in the graph and in a constant of a nested graph.
    fn model(a: &str, b: &str, c: &str) -> ModelProto {
        let constant = AttributeProto { t: Some(tensor(c)), f: Some(1.5), ..AttributeProto::default() };
        let inner = GraphProto {
            node: vec![NodeProto { attribute: vec![constant], ..NodeProto::default() }],
            ..GraphProto::default()
        };
        let branch = AttributeProto { g: Some(inner), ..AttributeProto::default() };
        let graph = GraphProto {
            node: vec![NodeProto { attribute: vec![branch], ..NodeProto::default() }],
            initializer: vec![tensor(a), tensor(b), tensor(a)],
            ..GraphProto::default()
        };
        ModelProto { ir_version: Some(8), graph: Some(graph), ..ModelProto::default() }
    }

    #[test]
    fn names_are_found_and_replaced_wherever_they_stand() {
        let bytes = model("m.data", "other", "m.data").encode_to_vec();
        assert_eq!(locations(&bytes).unwrap(), ["m.data", "other"]);
        let long = "x".repeat(300);
        for name in ["s", &long] {
            let mut out = Vec::new();
            redirect(&bytes, &|old| (old == "m.data").then(|| name.to_owned()), &mut out).unwrap();
            assert_eq!(ModelProto::decode(out.as_slice()).unwrap(), model(name, "other", name));
        }
        let mut out = Vec::new();
        redirect(&bytes, &|_| None, &mut out).unwrap();
        assert_eq!(out, bytes);
    }

    #[test]
    fn damaged_models_are_refused() {
        let bytes = model("a", "b", "c").encode_to_vec();
        // The first field ends after two bytes; the rest is the graph.
        assert!((3..bytes.len()).all(|end| locations(&bytes[..end]).is_none()));
        assert!(redirect(&bytes[..9], &|_| None, &mut Vec::new()).is_err());
        assert_eq!(locations(&[0xff; 40]), None);
    }
}

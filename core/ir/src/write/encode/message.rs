//! An encoded model, without the bytes of its weights.

use std::io::{self, Cursor, Write};

use bytes::Bytes;
use onnxport_proto::tensor_proto::DataLocation;
use onnxport_proto::{ModelProto, TensorProto};
use prost::Message as _;

use super::chunks::Chunks;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::onnx::UNBOUND_LOCATION;
use crate::onnx::wire::{put_varint, varint_len};
use crate::write::plan::{Destination, Plan, Weight};
use crate::write::stream::{self, Meter, Out};
use crate::write::{constants, metadata};

/// The longest protobuf message.
const MAX_MESSAGE: u64 = (1 << 31) - 1;

// Keys of length-delimited fields, `number << 3 | 2`.
const MODEL_GRAPH: u8 = 7 << 3 | 2;
const GRAPH_INITIALIZER: u8 = 5 << 3 | 2;
const TENSOR_RAW_DATA: u8 = 9 << 3 | 2;

/// A model, ready to be written.
///
/// The graph's initializers are separate, so that their bytes stream into the file.
pub(in crate::write) struct Message<'a> {
    model: Vec<u8>,
    graph: Chunks,
    initializers: Vec<Piece<'a>>,
}

/// The declaration of a tensor whose bytes are not in the model; `None` for one whose bytes are, or which is left out.
pub(in crate::write) fn outside(
    weight: &Weight<'_>,
    place: &Destination,
    plan: &Plan,
    data_names: &[String],
) -> Option<TensorProto> {
    let (file, offset, len) = match place {
        Destination::Left | Destination::Inline => return None,
        Destination::Data(extent) => {
            (data_names.get(extent.file).map_or("", String::as_str), extent.offset, extent.len)
        }
        Destination::Pointed(extent) => {
            let file = plan.pointed.get(extent.file);
            (file.map_or("", |f| f.location.as_str()), extent.offset, extent.len)
        }
        Destination::Unbound(len) => (UNBOUND_LOCATION, 0, *len),
    };
    let mut head = constants::head(weight.name, weight.data);
    head.data_location = Some(DataLocation::External as i32);
    head.external_data = vec![
        metadata::entry("location", file),
        metadata::entry("offset", offset.to_string()),
        metadata::entry("length", len.to_string()),
    ];
    Some(head)
}

/// A part of an encoded message, in order.
enum Part<'a> {
    Bytes(&'a [u8]),
    /// The bytes of a weight, and their number.
    Weight(&'a Weight<'a>, u64),
}

/// An initializer: its message and, where they are inline, its bytes.
struct Piece<'a> {
    head: Vec<u8>,
    raw: Option<(Weight<'a>, u64)>,
}

impl Piece<'_> {
    /// The length of the initializer's message.
    fn len(&self) -> u64 {
        let raw = self.raw.map_or(0, |(_, len)| 1 + varint_len(len) + len);
        self.head.len() as u64 + raw
    }
}

impl<'a> Message<'a> {
    /// A model whose graph is `graph` with those of `weights` that are not nested as its initializers, placed as `plan` says.
    /// `model` has no graph, `graph` no initializers.
    pub(in crate::write) fn from_model(
        model: &ModelProto,
        graph: Chunks,
        weights: &[Weight<'a>],
        plan: &Plan,
        data_names: &[String],
    ) -> Self {
        let placed = weights.iter().zip(&plan.places).filter(|(weight, _)| !weight.is_nested);
        let initializers = placed.filter_map(|(weight, place)| {
            let head = match place {
                Destination::Left => return None,
                Destination::Inline => constants::head(weight.name, weight.data),
                _ => outside(weight, place, plan, data_names)?,
            };
            let len = || weight.data.byte_len().unwrap_or(u64::MAX);
            let raw = matches!(place, Destination::Inline).then(|| (*weight, len()));
            Some(Piece { head: constants::described(head, weight.about).encode_to_vec(), raw })
        });
        Message { initializers: initializers.collect(), model: model.encode_to_vec(), graph }
    }

    fn graph_len(&self) -> u64 {
        let parts = self.initializers.iter().map(Piece::len).map(|len| 1 + varint_len(len) + len);
        parts.fold(self.graph.len(), u64::saturating_add)
    }

    /// The length in bytes.
    ///
    /// # Errors
    /// `OP602` when it is more than a protobuf message may have.
    pub(in crate::write) fn len(&self) -> Result<u64, Report> {
        let graph = self.graph_len();
        let len = (self.model.len() as u64 + 1 + varint_len(graph)).saturating_add(graph);
        if len <= MAX_MESSAGE {
            return Ok(len);
        }
        let message = format!("the model takes {len} bytes, more than the 2 GiB of a protobuf message");
        Err(Diagnostic::error(Code::WRITE_SIZE, message).help("write the weights to a data file").into())
    }

    /// Writes the message.
    pub(in crate::write) fn write(&self, out: &mut Out<'_>, meter: &Meter) -> io::Result<()> {
        self.each(|part| match part {
            Part::Bytes(bytes) => {
                out.write_all(bytes)?;
                meter.add(bytes.len() as u64)
            }
            Part::Weight(weight, _) => stream::weight(weight, out, meter),
        })
    }

    /// Returns the message with zeros for the bytes of weights, which take no memory before they are read.
    ///
    /// # Errors
    /// `OP602` as of [`len`](Self::len), or if there is no memory.
    pub(in crate::write) fn outline(&self) -> Result<Bytes, Report> {
        let len = self.len()?;
        let small = || {
            let message = format!("the model takes {len} bytes, more than this system has");
            Diagnostic::error(Code::WRITE_SIZE, message)
        };
        let mut bytes = Cursor::new(vec![0; usize::try_from(len).map_err(|_| small())?]);
        let written = self.each(|part| match part {
            Part::Bytes(part) => bytes.write_all(part),
            Part::Weight(_, len) => {
                bytes.set_position(bytes.position().saturating_add(len));
                Ok(())
            }
        });
        written.map_err(|_| small())?;
        Ok(bytes.into_inner().into())
    }

    /// Passes the parts of the message to `take`.
    fn each(&self, mut take: impl FnMut(Part<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut pending = vec![MODEL_GRAPH];
        put_varint(&mut pending, self.graph_len());
        for bytes in [self.model.as_slice(), &pending].into_iter().chain(self.graph.iter()) {
            take(Part::Bytes(bytes))?;
        }
        pending.clear();
        for part in &self.initializers {
            pending.push(GRAPH_INITIALIZER);
            put_varint(&mut pending, part.len());
            pending.extend_from_slice(&part.head);
            let Some((weight, len)) = part.raw else { continue };
            pending.push(TENSOR_RAW_DATA);
            put_varint(&mut pending, len);
            take(Part::Bytes(&pending))?;
            pending.clear();
            take(Part::Weight(&weight, len))?;
        }
        take(Part::Bytes(&pending))
    }
}

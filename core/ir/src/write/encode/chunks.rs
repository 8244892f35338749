//! Encoded bytes in chunks of bounded size, which grow without the copies that one long vector would need.

use onnxport_proto::{GraphProto, NodeProto, ValueInfoProto};
use prost::Message;
use prost::encoding::message;

use super::block::Sink;

/// The size at which a piece is closed.
const CHUNK: usize = 1 << 20;

/// Bytes in pieces.
#[derive(Default)]
pub(in crate::write) struct Chunks {
    closed: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Chunks {
    /// The message of `graph` as it is.
    pub(in crate::write) fn from_graph(graph: &GraphProto) -> Self {
        Self { closed: Vec::new(), open: graph.encode_to_vec() }
    }

    /// Appends the bytes that `put` writes.
    fn add(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.open);
        if self.open.len() >= CHUNK {
            self.closed.push(std::mem::take(&mut self.open));
            self.open.reserve(CHUNK + CHUNK / 16);
        }
    }

    /// Adds all of `other`.
    fn append(&mut self, other: Self) {
        self.closed.push(std::mem::take(&mut self.open));
        self.closed.extend(other.closed);
        self.open = other.open;
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.iter().map(|piece| piece.len() as u64).sum()
    }

    /// The pieces in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.closed.iter().chain([&self.open]).map(Vec::as_slice)
    }
}

/// A graph whose nodes and declarations are encoded one at a time.
#[derive(Default)]
pub(super) struct Encoded {
    nodes: Chunks,
    infos: Chunks,
}

impl Sink for Encoded {
    fn node(&mut self, node: NodeProto) {
        self.nodes.add(|bytes| message::encode(1, &node, bytes));
    }

    fn info(&mut self, info: ValueInfoProto) {
        self.infos.add(|bytes| message::encode(13, &info, bytes));
    }
}

impl Encoded {
    /// Returns the graph, with `rest` for all but its nodes and declarations; fields are in the order of their
    /// numbers.
    pub(super) fn with(self, mut rest: GraphProto) -> Chunks {
        let behind = GraphProto {
            quantization_annotation: std::mem::take(&mut rest.quantization_annotation),
            sparse_initializer: std::mem::take(&mut rest.sparse_initializer),
            metadata_props: std::mem::take(&mut rest.metadata_props),
            ..GraphProto::default()
        };
        let mut graph = self.nodes;
        graph.append(Chunks::from_graph(&rest));
        graph.append(self.infos);
        graph.append(Chunks::from_graph(&behind));
        graph
    }
}

//! A region that is to be compiled.

use crate::lent::Lent;
use std::io;

use onnxport_abi::{RSlice, RStr};

use super::Emit;
use crate::abi::backend::{BackendHost, RegionView};
use crate::abi::graph::GraphContext;
use crate::abi::status;
use crate::{DType, GraphView, NodeRef, Refusal, Res, ValueRef};

/// A value that a replacement may use: an input or a weight of the region, a constant, an output of a
/// node that was emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(pub(super) u64);

impl From<ValueRef<'_>> for Port {
    fn from(value: ValueRef<'_>) -> Self {
        Self(value.id())
    }
}

/// A region, during [`Backend::compile`](super::Backend::compile).
pub struct Region<'h> {
    pub(super) host: &'h BackendHost,
    pub(super) cx: GraphContext,
    graph: GraphView<'h>,
    name: String,
    nodes: Vec<NodeRef<'h>>,
    inputs: Vec<ValueRef<'h>>,
    outputs: Vec<ValueRef<'h>>,
    weights: Vec<ValueRef<'h>>,
    blobs: u32,
    pub(super) domain: &'static str,
}

impl<'h> Region<'h> {
    pub(super) fn new(
        host: &'h BackendHost,
        cx: GraphContext,
        graph: GraphView<'h>,
        domain: &'static str,
    ) -> Res<Self> {
        let mut view = RegionView {
            name: RStr::from_str(""),
            nodes: RSlice::EMPTY,
            inputs: RSlice::EMPTY,
            outputs: RSlice::EMPTY,
            weights: RSlice::EMPTY,
        };
        if (host.region)(cx, &mut view) != status::OK {
            return Err(Refusal::new("the host states no region"));
        }
        let values = |ids: RSlice<'_, u64>| ids.lent().iter().map(|id| graph.value(*id)).collect();
        Ok(Self {
            host,
            cx,
            graph,
            name: view.name.lent().to_owned(),
            nodes: view.nodes.lent().iter().map(|id| graph.node(*id)).collect(),
            inputs: values(view.inputs),
            outputs: values(view.outputs),
            weights: values(view.weights),
            blobs: 0,
            domain,
        })
    }

    /// A name that no other region of the model has, `npu_0`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The model.
    pub fn graph(&self) -> GraphView<'h> {
        self.graph
    }

    /// The nodes, in an order in which each comes after those that it needs.
    pub fn nodes(&self) -> Vec<NodeRef<'h>> {
        self.nodes.clone()
    }

    /// Values from outside, in the order of their first use.
    pub fn inputs(&self) -> Vec<ValueRef<'h>> {
        self.inputs.clone()
    }

    /// Values that are used outside, in the order of the nodes.
    pub fn outputs(&self) -> Vec<ValueRef<'h>> {
        self.outputs.clone()
    }

    /// Initializers, in the order of their first use; [`ValueRef::read`] reads their bytes in parts. Given
    /// as inputs to a node they stay where the model has them; weights that nothing uses any more go.
    pub fn weights(&self) -> Vec<ValueRef<'h>> {
        self.weights.clone()
    }

    /// A constant of these bytes: little-endian, row-major.
    ///
    /// # Errors
    /// When the bytes do not fit the extents.
    pub fn constant(&mut self, dtype: DType, shape: &[u64], bytes: &[u8]) -> Res<Port> {
        let mut out = 0;
        let dims = RSlice::from_slice(shape);
        let answer = (self.host.constant)(self.cx, dtype.onnx(), dims, RSlice::from_slice(bytes), &mut out);
        if answer == status::OK { Ok(Port(out)) } else { Err("the host refuses a constant".into()) }
    }

    /// A new blob, empty so far.
    pub fn blob(&mut self) -> Blob<'h> {
        let blob = Blob { host: self.host, cx: self.cx, number: self.blobs };
        self.blobs += 1;
        // A blob to which nothing is written exists all the same.
        (self.host.blob)(self.cx, blob.number, RSlice::EMPTY);
        blob
    }

    /// A node of the backend's own domain.
    pub fn own(&mut self, op: &'static str) -> Emit<'_, 'h> {
        Emit::new(self, self.domain, op)
    }

    /// A node of ONNX's own domain.
    pub fn onnx(&mut self, op: &'static str) -> Emit<'_, 'h> {
        Emit::new(self, "", op)
    }

    /// States in a sentence why `node` cannot be in a region. If [`compile`](super::Backend::compile) then returns an error, the
    /// host compiles what remains of the region.
    pub fn refuse(&mut self, node: NodeRef<'_>, reason: &str) {
        // Nothing depends on the answer: a node of another region is ignored.
        (self.host.refuse_node)(self.cx, node.id(), RStr::from_str(reason));
    }

    /// Ends the region: `outputs` stand for [`Region::outputs`], one each and in that order.
    ///
    /// # Errors
    /// When one is a value that the replacement may not use. The conversion fails.
    pub fn replace(&mut self, outputs: &[Port]) -> Res<()> {
        let ids: Vec<u64> = outputs.iter().map(|port| port.0).collect();
        match (self.host.finish)(self.cx, RSlice::from_slice(&ids)) {
            status::OK => Ok(()),
            _ => Err("the host does not accept the outputs".into()),
        }
    }
}

/// Bytes that only the backend's runtime understands. Large ones go to disk as they are written.
#[derive(Clone, Copy)]
pub struct Blob<'h> {
    host: &'h BackendHost,
    cx: GraphContext,
    pub(super) number: u32,
}

impl Blob<'_> {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// When the disk does not take them.
    pub fn append(&mut self, bytes: &[u8]) -> Res<()> {
        match (self.host.blob)(self.cx, self.number, RSlice::from_slice(bytes)) {
            status::OK => Ok(()),
            _ => Err("the host does not take the bytes of a blob".into()),
        }
    }
}

impl io::Write for Blob<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(|refusal| io::Error::other(refusal.message))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! Taking and refusing nodes.

use onnxport_abi::abi_stable::std_types::{RSlice, RStr};

use crate::abi::backend::{BackendHost, claim_flags};
use crate::abi::graph::GraphContext;
use crate::abi::status;
use crate::{GraphView, NodeRef, Refusal, Res};

/// The nodes that a backend may claim, during [`Backend::claim`](super::Backend::claim).
pub struct Claim<'h> {
    pub(super) host: &'h BackendHost,
    pub(super) cx: GraphContext,
    pub(super) graph: GraphView<'h>,
}

impl<'h> Claim<'h> {
    /// The model.
    pub fn graph(&self) -> GraphView<'h> {
        self.graph
    }

    /// The nodes that the profile covers and that no earlier backend took, by block and in order.
    pub fn offered(&self) -> Vec<NodeRef<'h>> {
        let mut ids = RSlice::EMPTY;
        let answer = (self.host.offered)(self.cx, &mut ids);
        if answer != status::OK {
            return Vec::new();
        }
        ids.iter().map(|id| self.graph.node(*id)).collect()
    }

    /// Claims a node.
    ///
    /// # Errors
    /// When it was not offered, or claimed before. The conversion fails.
    pub fn take(&mut self, node: NodeRef<'h>) -> Res<()> {
        self.claim(&[node], 0)
    }

    /// Claims nodes that come into one region or into none. The host drops the claim when they lie in
    /// different blocks, or when a path leaves them and comes back.
    ///
    /// # Errors
    /// When one was not offered, claimed before, or stands twice. The conversion fails.
    pub fn take_together(&mut self, nodes: &[NodeRef<'h>]) -> Res<()> {
        self.claim(nodes, claim_flags::TOGETHER)
    }

    /// Says in a sentence why a node is not claimed. Equal sentences are counted.
    pub fn refuse(&mut self, node: NodeRef<'h>, reason: &str) {
        (self.host.refuse_node)(self.cx, node.id(), RStr::from_str(reason));
    }

    fn claim(&self, nodes: &[NodeRef<'h>], flags: u32) -> Res<()> {
        let ids: Vec<u64> = nodes.iter().map(|node| node.id()).collect();
        match (self.host.claim)(self.cx, RSlice::from_slice(&ids), flags) {
            status::OK => Ok(()),
            _ => Err(Refusal::new("the host does not accept a claim")),
        }
    }
}

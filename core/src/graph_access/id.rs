//! Ids as they cross: `kind` in 2 bits, `epoch` in 30, the index in 32.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::ir::{BlockId, NodeId, ValueId};

/// The kind of object that an id names. No kind is 0, so that no id equals `NOTHING`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Value = 1,
    Node = 2,
    Block = 3,
}

const EPOCH_BITS: u32 = 30;
const INDEX_BITS: u32 = 32;

/// The number of a call. Numbers wrap around after 2^30 calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(u32);

impl Epoch {
    /// The number of the next call of this process.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed) & ((1 << EPOCH_BITS) - 1))
    }

    fn seal(self, kind: Kind, index: u32) -> u64 {
        (kind as u64) << (EPOCH_BITS + INDEX_BITS) | u64::from(self.0) << INDEX_BITS | u64::from(index)
    }

    /// Returns the index in `id`, if it was issued in this call for an object of this kind.
    pub(super) fn open(self, id: u64, kind: Kind) -> Option<u32> {
        (id == self.seal(kind, id as u32)).then_some(id as u32)
    }

    /// The id of a value.
    pub(crate) fn value(self, value: ValueId) -> u64 {
        self.seal(Kind::Value, value.raw())
    }

    /// The id of a node.
    pub(crate) fn node(self, node: NodeId) -> u64 {
        self.seal(Kind::Node, node.raw())
    }

    /// The id of a block.
    pub(crate) fn block(self, block: BlockId) -> u64 {
        self.seal(Kind::Block, block.raw())
    }
}

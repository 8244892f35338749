//! Decides when two tensors are the same, so that one stored copy serves both.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::{LazyTensor, Source, Unbound};

impl LazyTensor {
    /// Whether both tensors are the same view of the same bytes after the same transforms, so that one
    /// copy serves both.
    pub fn same_bytes(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.offset == other.offset
            && self.strides == other.strides
            && match (&self.source, &other.source) {
                (
                    Source::Mapped { file: f, offset: o, len: l },
                    Source::Mapped { file: g, offset: p, len: m },
                ) => f.same(g) && o == p && l == m,
                (Source::Lent(a), Source::Lent(b)) => a.same(b),
                (Source::Inline(a), Source::Inline(b)) => a == b,
                (Source::Unbound(a), Source::Unbound(b)) => a.same(b),
                (Source::Produced(a), Source::Produced(b)) => a.same(b),
                (Source::Derived(a), Source::Derived(b)) => {
                    a.transform == b.transform && a.input.same_bytes(&b.input)
                }
                (Source::Joined(a), Source::Joined(b)) => Arc::ptr_eq(a, b) || a.same(b),
                _ => false,
            }
    }

    /// Equal for tensors of [`same_bytes`](Self::same_bytes), and cheap: bytes in memory are hashed,
    /// others are not read.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = FxHasher::default();
        self.hash_into(&mut hash);
        hash.finish()
    }

    /// Whether one stored copy serves both: the same dense range of a file or of lent memory, whatever shape it is given,
    /// or [`same_bytes`](Self::same_bytes).
    pub fn same_stored(&self, other: &Self) -> bool {
        match (&self.source, &other.source, self.dense_range(), other.dense_range()) {
            (
                Source::Mapped { file, offset, .. },
                Source::Mapped { file: other, offset: at, .. },
                Some(a),
                Some(b),
            ) => {
                let starts = [offset.checked_add(a.start), at.checked_add(b.start)];
                file.same(other)
                    && starts[0].is_some()
                    && starts[0] == starts[1]
                    && a.end - a.start == b.end - b.start
            }
            (Source::Lent(memory), Source::Lent(other), Some(a), Some(b)) => memory.same(other) && a == b,
            _ => self.same_bytes(other),
        }
    }

    /// Equal for tensors of [`same_stored`](Self::same_stored), and as cheap as
    /// [`fingerprint`](Self::fingerprint).
    pub fn stored_fingerprint(&self) -> u64 {
        let mut hash = FxHasher::default();
        hash.write_u64(self.byte_len().unwrap_or(0));
        match (&self.source, self.dense_range()) {
            (Source::Mapped { offset, .. }, Some(range)) => {
                hash.write_u64(offset.saturating_add(range.start));
            }
            (Source::Mapped { offset, .. }, None) => {
                hash.write_u64(*offset);
                hash.write_u64(self.offset);
                self.strides.iter().flatten().for_each(|s| hash.write_u64(*s));
            }
            (Source::Lent(memory), Some(range)) => {
                hash.write_usize(memory.id());
                hash.write_u64(range.start);
            }
            (Source::Lent(memory), None) => {
                hash.write_usize(memory.id());
                hash.write_u64(self.offset);
                self.strides.iter().flatten().for_each(|s| hash.write_u64(*s));
            }
            (Source::Inline(bytes), _) => hash.write(bytes),
            (Source::Unbound(unbound), _) => place(unbound, &mut hash),
            (Source::Produced(_) | Source::Derived(_) | Source::Joined(_), _) => {
                hash.write_u64(self.fingerprint());
            }
        }
        hash.finish()
    }

    fn hash_into(&self, hash: &mut FxHasher) {
        hash.write_i32(self.dtype.onnx());
        self.shape.iter().for_each(|d| hash.write_u64(*d));
        hash.write_u64(self.offset);
        self.strides.iter().flatten().for_each(|s| hash.write_u64(*s));
        match &self.source {
            Source::Mapped { offset, len, .. } => {
                hash.write_u64(*offset);
                hash.write_u64(*len);
            }
            Source::Lent(memory) => hash.write_usize(memory.id()),
            Source::Inline(bytes) => hash.write(bytes),
            Source::Unbound(unbound) => place(unbound, hash),
            Source::Produced(producer) => hash.write_u64(producer.len()),
            Source::Derived(derived) => derived.input.hash_into(hash),
            Source::Joined(joined) => {
                joined.operation().hash(hash);
                joined.inputs().iter().for_each(|input| input.hash_into(hash));
            }
        }
    }
}

/// Hashes where a tensor lies in a storage that has no bytes yet: many may show parts of one.
fn place(unbound: &Unbound, hash: &mut FxHasher) {
    hash.write(unbound.storage.as_bytes());
    hash.write_u64(unbound.offset);
    unbound.strides.iter().flatten().for_each(|s| hash.write_u64(*s));
}

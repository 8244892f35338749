//! Tensors whose bytes stay where they are until they are written.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::{DType, MappedFile};

/// Where the bytes of a tensor come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A range of a mapped file, `offset..offset + len` in bytes.
    Mapped {
        /// The file.
        file: MappedFile,
        /// The first byte.
        offset: u64,
        /// The number of bytes of the whole storage.
        len: u64,
    },
    /// Small bytes held in memory.
    Inline(Bytes),
    /// Bytes that nobody has given yet.
    Unbound(Arc<Unbound>),
}

/// A tensor of a program whose bytes are still to be given: see `core/src/weights`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unbound {
    /// The fully qualified name.
    pub name: String,
    /// Which memory it shows: tensors of equal storages share it, as far as the program tells.
    pub storage: String,
    /// The element type that the program states.
    pub dtype: DType,
    /// The extents that the program states, outermost first.
    pub shape: Vec<u64>,
}

impl Source {
    /// The bytes of the whole source; none for one that is still to be given.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Source::Mapped { file, offset, len } => {
                let start = *offset as usize;
                file.bytes().get(start..start.saturating_add(*len as usize)).unwrap_or_default()
            }
            Source::Inline(bytes) => bytes,
            Source::Unbound(_) => &[],
        }
    }
}

/// A tensor of known type and shape over a [`Source`], possibly as a strided view.
///
/// Nothing is read before [`LazyTensor::read`] or the writer asks for it.
#[derive(Clone, Debug)]
pub struct LazyTensor {
    /// Element type.
    pub dtype: DType,
    /// Extent of every axis, outermost first.
    pub shape: Vec<u64>,
    /// Where the bytes are.
    pub source: Source,
    /// Elements to skip from the start of the source.
    pub offset: u64,
    /// Elements to step per axis; `None` means dense, row-major.
    pub strides: Option<Vec<u64>>,
}

impl LazyTensor {
    /// A dense tensor over bytes in memory, little-endian, row-major.
    pub fn inline(dtype: DType, shape: Vec<u64>, bytes: impl Into<Bytes>) -> Self {
        Self { dtype, shape, source: Source::Inline(bytes.into()), offset: 0, strides: None }
    }

    /// What is still to be given, if the tensor has no bytes yet.
    pub fn unbound(&self) -> Option<&Unbound> {
        match &self.source {
            Source::Unbound(unbound) => Some(unbound),
            Source::Mapped { .. } | Source::Inline(_) => None,
        }
    }

    /// The number of elements, or `None` on overflow.
    pub fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))
    }

    /// The number of bytes of the dense form, or `None` on overflow.
    pub fn byte_len(&self) -> Option<u64> {
        self.dtype.byte_len(self.elements()?)
    }

    /// The dense bytes as a range of the source, when the view is dense.
    pub fn dense_range(&self) -> Option<std::ops::Range<u64>> {
        if self.strides.is_some() {
            return None;
        }
        let start = self.dtype.byte_len(self.offset)?;
        Some(start..start.checked_add(self.byte_len()?)?)
    }

    /// The dense bytes, borrowed from the source when the view allows it.
    ///
    /// Returns `None` when the source is shorter than the view claims.
    pub fn read(&self) -> Option<Cow<'_, [u8]>> {
        let bytes = self.source.bytes();
        if let Some(range) = self.dense_range() {
            return bytes.get(range.start as usize..range.end as usize).map(Cow::Borrowed);
        }
        let strides = self.strides.as_ref()?;
        let size = (self.dtype.bits() / 8) as usize;
        let mut out = Vec::with_capacity(usize::try_from(self.byte_len()?).ok()?);
        let mut index = vec![0u64; self.shape.len()];
        for _ in 0..self.elements()? {
            let at = index
                .iter()
                .zip(strides)
                .try_fold(self.offset, |at, (i, s)| at.checked_add(i.checked_mul(*s)?))?;
            let start = (at as usize).checked_mul(size)?;
            out.extend_from_slice(bytes.get(start..start.checked_add(size)?)?);
            for (i, extent) in index.iter_mut().zip(&self.shape).rev() {
                *i += 1;
                if *i < *extent {
                    break;
                }
                *i = 0;
            }
        }
        Some(Cow::Owned(out))
    }

    /// Whether both tensors show the same bytes of one file or of one storage that is still to be
    /// given. Bytes in memory are those of one tensor.
    pub fn overlaps(&self, other: &Self) -> bool {
        let same = match (&self.source, &other.source) {
            (Source::Mapped { file: f, .. }, Source::Mapped { file: g, .. }) => f.same(g),
            (Source::Unbound(f), Source::Unbound(g)) => f.storage == g.storage,
            _ => false,
        };
        let ranges = (self.stored_range(), other.stored_range());
        same && matches!(ranges, (Some(a), Some(b)) if a.start < b.end && b.start < a.end)
    }

    /// The bytes from the first element to the last: of the file, or of a storage without bytes.
    fn stored_range(&self) -> Option<std::ops::Range<u64>> {
        let offset = match &self.source {
            Source::Mapped { offset, .. } => *offset,
            Source::Unbound(_) => 0,
            Source::Inline(_) => return None,
        };
        let elements = match &self.strides {
            None => self.elements()?,
            Some(_) if self.shape.contains(&0) => 0,
            Some(strides) => {
                let last = self.shape.iter().zip(strides).map(|(extent, stride)| (extent - 1) * stride);
                last.sum::<u64>() + 1
            }
        };
        let start = offset.checked_add(self.dtype.byte_len(self.offset)?)?;
        Some(start..start.checked_add(self.dtype.byte_len(elements)?)?)
    }

    /// Whether both tensors are the same view of the same bytes, so that one copy serves both.
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
                (Source::Inline(a), Source::Inline(b)) => a == b,
                (Source::Unbound(a), Source::Unbound(b)) => a.storage == b.storage,
                _ => false,
            }
    }
}

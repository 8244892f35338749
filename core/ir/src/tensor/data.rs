//! Tensors whose bytes stay where they are until they are written.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::joined::Joined;
use super::transform::Derived;
use super::{DType, LentMemory, MappedFile, Producer};

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
    /// All of a memory that another owner lends.
    Lent(LentMemory),
    /// Small bytes held in memory.
    Inline(Bytes),
    /// Bytes that nobody has given yet.
    Unbound(Arc<Unbound>),
    /// Bytes that a producer makes when they are asked for.
    Produced(Producer),
    /// The elements of a view after transforms: see [`LazyTensor::then`].
    Derived(Arc<Derived>),
    /// The elements of several tensors: see [`LazyTensor::concat`] and [`LazyTensor::binary`].
    Joined(Arc<Joined>),
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
    /// The sizes that the program states, outermost first.
    pub shape: Vec<u64>,
    /// Elements to skip from the start of the storage.
    pub offset: u64,
    /// Elements to step per axis in the storage; `None` means dense, row-major.
    pub strides: Option<Vec<u64>>,
}

/// Memory that several tensors can view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory<'a> {
    /// A file, by [`MappedFile::id`].
    File(usize),
    /// A memory that is lent, by [`LentMemory::id`].
    Lent(usize),
    /// A storage that is still to be given, by name.
    Storage(&'a str),
}

/// The number of elements of a tensor with these sizes, or `None` on overflow. Next to a size of 0
/// the others may be as large as they like.
pub fn count(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d))
}

impl Unbound {
    /// Returns a dense tensor like the one that will be bound; its storage and offset only identify tied tensors.
    pub fn into_tensor(self) -> LazyTensor {
        let (dtype, shape) = (self.dtype, self.shape.clone());
        LazyTensor { dtype, shape, source: Source::Unbound(Arc::new(self)), offset: 0, strides: None }
    }

    /// Whether both show the same elements of one storage.
    pub fn same(&self, other: &Self) -> bool {
        let view = |u: &Self| (u.dtype, u.offset, u.strides.clone());
        self.storage == other.storage && self.shape == other.shape && view(self) == view(other)
    }
}

impl Source {
    /// The bytes of the whole source, where they lie in memory or in a mapped file; none otherwise.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Source::Mapped { file, offset, len } => {
                let start = *offset as usize;
                file.bytes().get(start..start.saturating_add(*len as usize)).unwrap_or_default()
            }
            Source::Lent(memory) => memory.bytes(),
            Source::Inline(bytes) => bytes,
            Source::Unbound(_) | Source::Produced(_) | Source::Derived(_) | Source::Joined(_) => &[],
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
    /// Size of every axis, outermost first.
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

    /// Returns the leaves of the graph of transforms; a tensor that is read twice occurs twice.
    pub fn leaves(&self) -> Vec<&Self> {
        let (mut leaves, mut left) = (Vec::new(), vec![self]);
        while let Some(tensor) = left.pop() {
            match &tensor.source {
                Source::Derived(derived) => left.push(&derived.input),
                Source::Joined(joined) => left.extend(joined.inputs().iter().rev()),
                _ => leaves.push(tensor),
            }
        }
        leaves
    }

    /// Returns the first unbound tensor that the bytes depend on, if any.
    pub fn unbound(&self) -> Option<&Unbound> {
        match &self.source {
            Source::Unbound(unbound) => Some(unbound),
            Source::Mapped { .. } | Source::Lent(_) | Source::Inline(_) | Source::Produced(_) => None,
            Source::Derived(derived) => derived.input.unbound(),
            Source::Joined(joined) => joined.inputs().iter().find_map(Self::unbound),
        }
    }

    /// The files that the bytes come from, transformed or not; one may come several times.
    pub fn files(&self) -> impl Iterator<Item = &MappedFile> {
        self.leaves().into_iter().filter_map(|leaf| match &leaf.source {
            Source::Mapped { file, .. } => Some(file),
            _ => None,
        })
    }

    /// The ranges of files that it is made from.
    pub fn file_ranges(&self) -> impl Iterator<Item = (&MappedFile, Range<u64>)> {
        self.leaves().into_iter().filter_map(|leaf| match &leaf.source {
            Source::Mapped { file, offset, len } => Some((file, *offset..offset.saturating_add(*len))),
            _ => None,
        })
    }

    /// A complex tensor as pairs of reals in a last axis of size 2, over the same bytes.
    #[must_use]
    pub fn pairs(&self) -> Self {
        let mut real = self.clone();
        real.dtype = if self.dtype == DType::C64 { DType::F32 } else { DType::F64 };
        real.shape.push(2);
        real.offset = real.offset.saturating_mul(2);
        if let Some(strides) = &mut real.strides {
            for stride in strides.iter_mut() {
                *stride = stride.saturating_mul(2);
            }
            strides.push(1);
        }
        real
    }

    /// The number of elements, or `None` on overflow.
    pub fn elements(&self) -> Option<u64> {
        count(&self.shape)
    }

    /// The number of bytes of the dense form, or `None` on overflow.
    pub fn byte_len(&self) -> Option<u64> {
        self.dtype.byte_len(self.elements()?)
    }

    /// The dense bytes as a range of the source, when the view is dense and starts at a byte.
    pub fn dense_range(&self) -> Option<Range<u64>> {
        if self.strides.is_some() {
            return None;
        }
        // Packed elements may start within a byte.
        let skipped = self.offset.checked_mul(u64::from(self.dtype.bits()))?;
        let start = skipped.is_multiple_of(8).then_some(skipped / 8)?;
        Some(start..start.checked_add(self.byte_len()?)?)
    }

    /// The dense bytes, borrowed from the source when the view allows it; for small tensors.
    ///
    /// Returns `None` if they are unavailable: the source is shorter than the view, a transform refuses a value, or
    /// a view repeats its elements beyond the available memory.
    pub fn read(&self) -> Option<Cow<'_, [u8]>> {
        if let (
            Source::Mapped { .. } | Source::Lent(_) | Source::Inline(_) | Source::Unbound(_),
            Some(range),
        ) = (&self.source, self.dense_range())
        {
            if range.is_empty() {
                return Some(Cow::Borrowed(&[]));
            }
            let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
            return self.source.bytes().get(range).map(Cow::Borrowed);
        }
        let len = self.byte_len()?;
        let mut out = Vec::new();
        // A few bytes of a file can be repeated to any size.
        self.check().ok()?;
        out.try_reserve_exact(usize::try_from(len).ok()?).ok()?;
        self.stream(0..len, usize::MAX, &mut |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .ok()?;
        Some(Cow::Owned(out))
    }

    /// Whether both tensors show the same bytes of one file, of one memory that is lent, or of one storage that is
    /// still to be given. Other bytes in memory are those of one tensor.
    pub fn overlaps(&self, other: &Self) -> bool {
        let others = other.memories();
        let meet = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        self.memories().iter().any(|(a, x)| others.iter().any(|(b, y)| a == b && meet(x, y)))
    }

    /// Returns the memory that other tensors may view as well, each with the byte range from the first element to
    /// the last. Bytes in memory that is not lent belong to one tensor.
    pub fn memories(&self) -> Vec<(Memory<'_>, Range<u64>)> {
        self.leaves().into_iter().filter_map(Self::memory).collect()
    }

    fn memory(&self) -> Option<(Memory<'_>, Range<u64>)> {
        let (memory, first) = match &self.source {
            Source::Mapped { file, offset, .. } => (Memory::File(file.id()), *offset),
            Source::Lent(memory) => (Memory::Lent(memory.id()), 0),
            Source::Unbound(unbound) => (Memory::Storage(&unbound.storage), 0),
            _ => return None,
        };
        let reach = self.reach()?;
        Some((memory, first.checked_add(reach.start)?..first.checked_add(reach.end)?))
    }

    /// Returns the byte range of the source from the first element to the last, gaps included; `None` for an empty
    /// tensor and for one computed from several tensors.
    pub fn reach(&self) -> Option<Range<u64>> {
        let (dtype, shape, skipped, strides) = match &self.source {
            Source::Unbound(u) => (u.dtype, &u.shape, u.offset, &u.strides),
            Source::Derived(derived) => return derived.input.reach(),
            Source::Joined(_) => return None,
            _ => (self.dtype, &self.shape, self.offset, &self.strides),
        };
        let elements = match strides {
            _ if shape.contains(&0) => 0,
            None => count(shape)?,
            Some(strides) => {
                let mut axes = shape.iter().zip(strides);
                let last = axes.try_fold(0u64, |at, (extent, stride)| {
                    at.checked_add(extent.saturating_sub(1).checked_mul(*stride)?)
                });
                last?.checked_add(1)?
            }
        };
        let start = dtype.byte_len(skipped)?;
        Some(start..start.checked_add(dtype.byte_len(elements)?)?)
    }
}

//! Summaries of lazy tensors: those of programs, of weight files, and of models that are not written yet.

use std::collections::HashMap;
use std::ops::Range;

use super::entries::Entries;
use super::sharing::{self, Span};
use super::{
    DestinationSummary, PartSummary, ProblemSummary, SourceSummary, TensorKind, TensorSummary, ViewSummary,
    WeightTable,
};
use crate::tensor::{Error, LazyTensor, MappedFile, Source};

/// The address space of tensors in memory; those of files follow.
const MEMORY: usize = 0;

/// A table under construction.
#[derive(Default)]
pub struct Drafts<'a> {
    tensors: Vec<TensorSummary>,
    spans: Vec<Option<Span>>,
    entries: Entries,
    files: Vec<MappedFile>,
    /// The first tensor of every view, by fingerprint and then by number.
    views: HashMap<u64, Vec<usize>>,
    seen: Vec<&'a LazyTensor>,
    /// The spaces of sources without addresses, by name.
    others: HashMap<String, usize>,
}

impl<'a> Drafts<'a> {
    /// Adds a tensor, and where it goes.
    pub fn push(
        &mut self,
        name: &str,
        kind: TensorKind,
        tensor: &'a LazyTensor,
        place: Option<DestinationSummary>,
    ) {
        let (base, transforms) = tensor.transforms();
        let problem = match tensor.check() {
            Err(Error::Unbound(_)) | Ok(()) => None,
            Err(error) => Some(ProblemSummary {
                code: error.code().to_string(),
                message: format!("cannot be read: {error}"),
            }),
        };
        let source = self.source(base);
        let view = self.view(tensor);
        let span = self.span(base, view);
        self.spans.push(span);
        self.tensors.push(TensorSummary {
            name: name.to_owned(),
            kind,
            dtype: tensor.dtype.to_string(),
            shape: Some(tensor.shape.clone()),
            bytes: tensor.byte_len().unwrap_or(0),
            source,
            view: elements(base),
            transforms: transforms.iter().map(|transform| transform.describe()).collect(),
            shared: None,
            place,
            problem,
        });
    }

    /// The table.
    pub fn into_table(self) -> WeightTable {
        sharing::table(self.tensors, &self.spans)
    }

    fn source(&mut self, base: &LazyTensor) -> SourceSummary {
        match &base.source {
            Source::Mapped { file, offset, len } => SourceSummary::File {
                file: file.path().to_owned(),
                entry: self.entries.name(file, *offset, *len),
                offset: *offset,
                length: *len,
                aligned: first_byte(base, *offset)
                    .is_some_and(|first| first.is_multiple_of(u64::from(base.dtype.bits() / 8).max(1))),
            },
            Source::Lent(_) | Source::Inline(_) => {
                SourceSummary::Memory { length: base.source.bytes().len() as u64 }
            }
            Source::Produced(producer) => {
                SourceSummary::Made { by: producer.describe(), length: producer.len() }
            }
            Source::Unbound(unbound) => SourceSummary::Unbound { tensor: unbound.name.clone() },
            Source::Joined(joined) => SourceSummary::Joined {
                by: joined.describe(),
                inputs: joined.inputs().iter().map(|input| self.part(input)).collect(),
            },
            Source::Derived(_) => SourceSummary::Nowhere,
        }
    }

    fn part(&mut self, tensor: &LazyTensor) -> PartSummary {
        let (base, transforms) = tensor.transforms();
        PartSummary {
            dtype: tensor.dtype.to_string(),
            shape: tensor.shape.clone(),
            source: self.source(base),
            view: elements(base),
            transforms: transforms.iter().map(|transform| transform.describe()).collect(),
        }
    }

    /// The number of the elements that `tensor` shows.
    fn view(&mut self, tensor: &'a LazyTensor) -> usize {
        let number = self.seen.len();
        self.seen.push(tensor);
        let alike = self.views.entry(tensor.stored_fingerprint()).or_default();
        let same = |at: &&usize| self.seen.get(**at).is_some_and(|other| is_one(other, tensor));
        if let Some(first) = alike.iter().find(same) {
            return *first;
        }
        alike.push(number);
        number
    }

    fn span(&mut self, base: &LazyTensor, view: usize) -> Option<Span> {
        let reach = match &base.source {
            Source::Joined(_) => 0..base.byte_len()?,
            _ => base.reach()?,
        };
        let (space, storage) = match &base.source {
            Source::Mapped { file, offset, len } => {
                let number = self.files.iter().rposition(|known| known.same(file)).unwrap_or_else(|| {
                    self.files.push(file.clone());
                    self.files.len() - 1
                });
                // Even numbers from 2 on are files, odd ones have no addresses.
                (2 * number + 2, *offset..offset.checked_add(*len)?)
            }
            Source::Lent(_) | Source::Inline(_) => {
                let bytes = base.source.bytes();
                let start = bytes.as_ptr() as u64;
                (MEMORY, start..start.checked_add(bytes.len() as u64)?)
            }
            Source::Unbound(unbound) => (self.other(&unbound.storage), 0..u64::MAX),
            Source::Produced(_) | Source::Joined(_) => (self.other(&format!("view {view}")), 0..u64::MAX),
            Source::Derived(_) => return None,
        };
        let reach = shifted(&reach, storage.start)?;
        (base.byte_len() != Some(0)).then_some(Span { space, storage, reach, view })
    }

    fn other(&mut self, name: &str) -> usize {
        let next = 2 * self.others.len() + 1;
        *self.others.entry(name.to_owned()).or_insert(next)
    }
}

fn shifted(range: &Range<u64>, by: u64) -> Option<Range<u64>> {
    Some(range.start.checked_add(by)?..range.end.checked_add(by)?)
}

/// Whether both show the same elements of the same memory; equal bytes at two addresses are two tensors.
fn is_one(a: &LazyTensor, b: &LazyTensor) -> bool {
    let place = |tensor: &LazyTensor| match &tensor.transforms().0.source {
        Source::Inline(bytes) => Some((bytes.as_ptr(), bytes.len())),
        _ => None,
    };
    place(a) == place(b) && a.same_stored(b)
}

fn first_byte(base: &LazyTensor, offset: u64) -> Option<u64> {
    offset.checked_add(base.reach()?.start)
}

/// The elements of its source that `base` shows.
fn elements(base: &LazyTensor) -> ViewSummary {
    let (offset, strides, all) = match &base.source {
        Source::Unbound(unbound) => (unbound.offset, &unbound.strides, None),
        Source::Mapped { len, .. } => (base.offset, &base.strides, Some(*len)),
        Source::Lent(_) | Source::Inline(_) => {
            (base.offset, &base.strides, Some(base.source.bytes().len() as u64))
        }
        Source::Produced(producer) => (base.offset, &base.strides, Some(producer.len())),
        Source::Derived(_) | Source::Joined(_) => (base.offset, &base.strides, None),
    };
    match strides {
        Some(strides) => ViewSummary::Strided { offset, strides: strides.clone() },
        None if offset == 0 && all.is_none_or(|all| base.byte_len() == Some(all)) => ViewSummary::Dense,
        None => ViewSummary::Slice { offset },
    }
}

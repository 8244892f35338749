//! Concatenation of tensors.

use std::ops::Range;

use super::super::strides::Layout;
use super::super::{LazyTensor, Source};
use super::{Joined, Operation, empty, is_joinable};

impl LazyTensor {
    /// `inputs` one behind the other along `axis`. Neighbours that are one view of one source, as the parts
    /// of a weight that was split, become that view.
    ///
    /// `None` when there are none, their types or their sizes along other axes differ, their elements are
    /// packed, or the graph of transforms becomes too large.
    pub fn concat(inputs: &[Self], axis: usize) -> Option<Self> {
        let first = inputs.first()?;
        let mut shape = first.shape.clone();
        *shape.get_mut(axis)? = 0;
        for input in inputs {
            let mut others = input.shape.clone();
            let extent = std::mem::take(others.get_mut(axis)?);
            let total = shape.get_mut(axis)?;
            let before = std::mem::take(total);
            if input.dtype != first.dtype || others != shape || !is_joinable(input) {
                return None;
            }
            *shape.get_mut(axis)? = before.checked_add(extent)?;
        }
        let mut parts: Vec<Self> = Vec::with_capacity(inputs.len());
        let mut push = |part: &Self| match parts.last_mut() {
            _ if part.shape.contains(&0) => {}
            Some(last) => match together(last, part, axis) {
                Some(both) => *last = both,
                None => parts.push(part.clone()),
            },
            None => parts.push(part.clone()),
        };
        for input in inputs {
            match &input.source {
                // Parts of parts are parts.
                Source::Joined(joined)
                    if joined.operation == (Operation::Concat { axis }) && joined.shape == input.shape =>
                {
                    joined.inputs.iter().for_each(&mut push);
                }
                _ => push(input),
            }
        }
        match <[Self; 1]>::try_from(parts) {
            Ok([only]) => Some(only),
            Err(parts) if parts.is_empty() => Some(empty(first.dtype, shape)),
            Err(parts) => Joined::from_inputs(Operation::Concat { axis }, parts, shape),
        }
    }

    /// The tensors whose bytes follow each other in the dense form of this one: itself, or those that it
    /// is concatenated of along its outermost axis.
    pub fn parts(&self) -> Vec<&Self> {
        let Source::Joined(joined) = &self.source else { return vec![self] };
        match joined.operation {
            Operation::Concat { axis } if joined.shape.iter().take(axis).all(|extent| *extent == 1) => {
                joined.inputs.iter().flat_map(Self::parts).collect()
            }
            _ => vec![self],
        }
    }
}

/// Both as one view of one source, if they are that.
fn together(a: &LazyTensor, b: &LazyTensor, axis: usize) -> Option<LazyTensor> {
    let same = match (&a.source, &b.source) {
        (Source::Mapped { file: f, offset: o, len: l }, Source::Mapped { file: g, offset: p, len: m }) => {
            f.same(g) && o == p && l == m
        }
        (Source::Lent(a), Source::Lent(b)) => a.same(b),
        (Source::Inline(a), Source::Inline(b)) => a.as_ptr() == b.as_ptr() && a.len() == b.len(),
        _ => false,
    };
    let (strides, others) = (a.strides()?, b.strides()?);
    let mut axes = strides.iter().zip(&others).zip(a.shape.iter().zip(&b.shape)).enumerate();
    let alike = axes.all(|(at, ((own, other), (extent, _)))| own == other || at != axis && *extent == 1);
    let (extent, stride) = (*a.shape.get(axis)?, *strides.get(axis)?);
    if !same || !alike || a.offset.checked_add(extent.checked_mul(stride)?)? != b.offset {
        return None;
    }
    let mut shape = a.shape.clone();
    *shape.get_mut(axis)? += b.shape.get(axis)?;
    Some(a.laid_out(Layout { shape, strides, offset: a.offset }))
}

/// Where the elements of an input of a concatenation go.
#[derive(Clone, Copy, Debug)]
pub(in crate::tensor) struct Span {
    /// Elements of the result from one row of all inputs to the next.
    row: u64,
    /// Elements of a row before the input's.
    start: u64,
    /// Elements of a row that are the input's.
    pub(in crate::tensor) len: u64,
}

impl Span {
    /// Where the elements of each of `inputs` go.
    pub(in crate::tensor) fn all(joined: &Joined, axis: usize) -> impl Iterator<Item = (&LazyTensor, Self)> {
        // The result is no larger than the size computed at construction.
        let inner = move |shape: &[u64]| shape.iter().skip(axis).product::<u64>();
        let row = inner(&joined.shape);
        joined.inputs.iter().scan(0, move |start, input| {
            let span = Self { row, start: *start, len: inner(&input.shape) };
            *start += span.len;
            Some((input, span))
        })
    }

    /// The elements of the input that lie in `range` of the result: all of them follow each other.
    pub(in crate::tensor) fn inside(&self, range: &Range<u64>) -> Range<u64> {
        let until = |end: u64| {
            let (rows, rest) = (end / self.row, end % self.row);
            rows * self.len + rest.saturating_sub(self.start).min(self.len)
        };
        until(range.start)..until(range.end)
    }

    /// The most elements of the input that lie in `elements` of the result.
    pub(in crate::tensor) fn most(&self, elements: u64) -> u64 {
        let rows = (elements / self.row).saturating_add(2);
        elements.min(rows.saturating_mul(self.len))
    }

    /// Puts elements `from` of the input, whose bytes are given, into those of the result from `first` on.
    pub(in crate::tensor) fn put(
        &self,
        from: Range<u64>,
        bytes: &[u8],
        size: usize,
        first: u64,
        out: &mut [u8],
    ) {
        let (mut at, mut bytes) = (from.start, bytes);
        while at < from.end {
            let (row, column) = (at / self.len, at % self.len);
            let run = (self.len - column).min(from.end - at);
            let place = (row * self.row + self.start + column - first) as usize * size;
            let (head, rest) = bytes.split_at((run as usize * size).min(bytes.len()));
            if let Some(place) = out.get_mut(place..place + head.len()) {
                place.copy_from_slice(head);
            }
            (at, bytes) = (at + run, rest);
        }
    }
}

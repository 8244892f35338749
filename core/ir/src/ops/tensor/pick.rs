//! Moving elements without looking at them.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use std::sync::Arc;

use super::{Data, Tensor, elements};
use crate::ops::Res;
use crate::ops::error::invalid;

/// The next element: its tensor, and the index in it.
type Next<'a> = dyn FnMut() -> Option<(usize, usize)> + 'a;

impl Tensor {
    /// The tensor whose elements are those at `places`, in order.
    ///
    /// # Errors
    /// When a place is beyond the end, or there are more or fewer than `shape` says.
    pub fn pick(&self, shape: Vec<usize>, places: impl IntoIterator<Item = usize>) -> Res<Self> {
        Self::mix(shape, &[self], places.into_iter().map(|at| (0, at)))
    }

    /// The tensor whose elements are picked out of several of one type: which one, and the place in it.
    ///
    /// # Errors
    /// When the types differ, a place is beyond the end, or there are more or fewer than `shape` says.
    pub fn mix(
        shape: Vec<usize>,
        from: &[&Self],
        places: impl IntoIterator<Item = (usize, usize)>,
    ) -> Res<Self> {
        let mut places = places.into_iter();
        Self::mixed(shape, from, &mut || places.next())
    }

    /// Compiled once, however many operators move elements.
    fn mixed(shape: Vec<usize>, from: &[&Self], next: &mut Next<'_>) -> Res<Self> {
        let Some(first) = from.first() else { return invalid!("there is nothing to pick from") };
        if let Some(other) = from.iter().find(|t| t.dtype != first.dtype) {
            return invalid!("{} and {} do not make one tensor", first.dtype, other.dtype);
        }
        let Some(count) = elements(&shape) else { return invalid!("the shape {shape:?} is too large") };
        let data = if let Data::Text(_) = first.data {
            let sources: Vec<&[String]> = from.iter().map(|t| t.texts()).collect::<Res<_>>()?;
            let text = |(which, at): (usize, usize)| sources.get(which)?.get(at).cloned();
            std::iter::from_fn(next)
                .map(text)
                .collect::<Option<Vec<String>>>()
                .map(|t| (t.len(), Data::Text(Arc::from(t))))
        } else {
            let sources: Vec<&[u8]> = from.iter().map(|t| t.raw_bytes()).collect();
            let bytes = match Self::width(first.dtype) {
                1 => copy::<1>(count, &sources, next),
                2 => copy::<2>(count, &sources, next),
                4 => copy::<4>(count, &sources, next),
                8 => copy::<8>(count, &sources, next),
                _ => copy::<16>(count, &sources, next),
            };
            bytes.map(|b| (b.len() / Self::width(first.dtype), Data::Bytes(b.into())))
        };
        match data {
            Some((len, data)) if len == count => Ok(Self { dtype: first.dtype, shape, data }),
            Some((len, _)) => invalid!("{len} elements do not make the shape {shape:?}"),
            None => invalid!("an index is beyond the end"),
        }
    }

    pub(super) fn raw_bytes(&self) -> &[u8] {
        match &self.data {
            Data::Bytes(bytes) => bytes,
            Data::Text(_) => &[],
        }
    }
}

fn copy<const N: usize>(count: usize, sources: &[&[u8]], next: &mut Next<'_>) -> Option<Vec<u8>> {
    let sources: Vec<&[[u8; N]]> = sources.iter().map(|s| s.as_chunks::<N>().0).collect();
    let mut out: Vec<[u8; N]> = Vec::with_capacity(count);
    while let Some((which, at)) = next() {
        out.push(*sources.get(which)?.get(at)?);
    }
    Some(out.into_flattened())
}

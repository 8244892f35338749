//! The algebra of views: what moves no byte. Nothing here reads.

use std::sync::Arc;

use super::data::count;
use super::{Derived, Error, LazyTensor, Source};

/// PyTorch's own limit of axes.
pub const MAX_RANK: usize = 64;

impl LazyTensor {
    /// A tensor of one value everywhere: `element` are its little-endian bytes.
    pub fn fill(dtype: super::DType, shape: Vec<u64>, element: &[u8]) -> Self {
        let strides = Some(vec![0; shape.len()]);
        Self { shape, strides, ..Self::inline(dtype, Vec::new(), element.to_vec()) }
    }

    /// The elements to step per axis, spelled out; `None` when they overflow.
    pub fn strides(&self) -> Option<Vec<u64>> {
        match &self.strides {
            Some(strides) => Some(strides.clone()),
            None => row_major(&self.shape),
        }
    }

    /// Axis `i` of the result is axis `axes[i]` of this tensor.
    ///
    /// `None` when `axes` is no permutation, or behind a transform that is bound to the order.
    pub fn permute(&self, axes: &[usize]) -> Option<Self> {
        let mut seen = vec![false; self.shape.len()];
        for axis in axes {
            if std::mem::replace(seen.get_mut(*axis)?, true) {
                return None;
            }
        }
        if axes.len() != seen.len() {
            return None;
        }
        self.view(
            |strides| Some((pick(&self.shape, axes)?, pick(&strides, axes)?, 0)),
            |input| input.permute(axes),
        )
    }

    /// Every `step`-th element of `start..end` along `axis`.
    ///
    /// `None` when the range is not inside of the axis, `step` is 0, or behind a transform that is
    /// bound to the extents.
    pub fn slice(&self, axis: usize, start: u64, end: u64, step: u64) -> Option<Self> {
        let extent = *self.shape.get(axis)?;
        if start > end || end > extent || step == 0 {
            return None;
        }
        self.view(
            |mut strides| {
                let mut shape = self.shape.clone();
                *shape.get_mut(axis)? = (end - start).div_ceil(step);
                let stride = strides.get_mut(axis)?;
                let skipped = if shape.contains(&0) { 0 } else { start.checked_mul(*stride)? };
                *stride = stride.checked_mul(step)?;
                Some((shape, strides, skipped))
            },
            |input| input.slice(axis, start, end, step),
        )
    }

    /// Repeats axes of extent 1, and adds leading ones, up to `shape`.
    ///
    /// `None` when the shapes do not broadcast so, or behind a transform that is bound to them.
    pub fn expand(&self, shape: &[u64]) -> Option<Self> {
        let added = shape.len().checked_sub(self.shape.len())?;
        self.view(
            |strides| {
                let mut expanded = vec![0; added];
                for ((own, stride), wanted) in self.shape.iter().zip(strides).zip(shape.get(added..)?) {
                    expanded.push(match own {
                        own if own == wanted => stride,
                        1 => 0,
                        _ => return None,
                    });
                }
                Some((shape.to_vec(), expanded, 0))
            },
            |input| input.expand(shape),
        )
    }

    /// The same elements in the same order, in another shape; `None` when the strides do not allow it.
    pub fn reshape(&self, shape: &[u64]) -> Option<Self> {
        if count(shape)? != self.elements()? {
            return None;
        }
        if self.strides.is_none() {
            // The order is all that counts, transforms or not.
            return Some(Self { shape: shape.to_vec(), ..self.clone() });
        }
        self.view(
            |strides| Some((shape.to_vec(), split(&self.shape, &strides, shape)?, 0)),
            |input| input.reshape(shape),
        )
    }

    /// Whether a view of it is read at the cost of what the view shows: its bytes can be reached at any
    /// place, and no transform is bound to an order.
    pub(super) fn is_open(&self) -> bool {
        let (base, transforms) = self.transforms();
        matches!(base.source, Source::Mapped { .. } | Source::Inline(_))
            && transforms.iter().all(|transform| transform.is_elementwise())
    }

    /// Applies a change of shape, strides and offset, or hands it on to what an elementwise transform
    /// takes: there it changes as much, and the view stays in front of the transforms.
    fn view(
        &self,
        change: impl FnOnce(Vec<u64>) -> Option<(Vec<u64>, Vec<u64>, u64)>,
        inner: impl FnOnce(&Self) -> Option<Self>,
    ) -> Option<Self> {
        if let Source::Derived(derived) = &self.source {
            let plain = self.strides.is_none() && self.offset == 0 && self.shape == derived.input.shape;
            if !plain || !derived.transform.is_elementwise() {
                return None;
            }
            let input = inner(&derived.input)?;
            let shape = input.shape.clone();
            let source = Source::Derived(Arc::new(Derived { input, transform: derived.transform.clone() }));
            return Some(Self { dtype: self.dtype, shape, source, offset: 0, strides: None });
        }
        if !self.dtype.bits().is_multiple_of(8) {
            return None;
        }
        let (shape, strides, skipped) = change(self.strides()?)?;
        if shape.len() > MAX_RANK {
            return None;
        }
        let strides = (!is_row_major(&shape, &strides)).then_some(strides);
        let offset = self.offset.checked_add(skipped)?;
        Some(Self { dtype: self.dtype, shape, source: self.source.clone(), offset, strides })
    }

    /// Checks that every element lies inside of the source, once for all that follows.
    ///
    /// # Errors
    /// What cannot be read: see [`Error`].
    pub fn check(&self) -> Result<(), Error> {
        let total = self.elements().and_then(|n| self.dtype.byte_len(n)).ok_or(Error::Short)?;
        let available = match &self.source {
            Source::Mapped { file, offset, len } => {
                let inside = file.bytes().len() as u64;
                if offset.checked_add(*len).is_none_or(|end| end > inside) {
                    return Err(Error::Short);
                }
                *len
            }
            Source::Inline(bytes) => bytes.len() as u64,
            Source::Produced(producer) => producer.len(),
            Source::Unbound(unbound) => return Err(Error::Unbound(unbound.name.clone())),
            Source::Derived(derived) => {
                if self.strides.is_some() || self.offset != 0 {
                    return Err(Error::View("it lies behind a transform"));
                }
                derived.check()?;
                let made = derived.output().and_then(|(dtype, shape)| dtype.byte_len(count(&shape)?));
                return if made == Some(total) { Ok(()) } else { Err(Error::Short) };
            }
        };
        if total == 0 {
            return Ok(());
        }
        let bits = u64::from(self.dtype.bits());
        let starts_at_byte = self.offset.checked_mul(bits).is_some_and(|start| start.is_multiple_of(8));
        if !bits.is_multiple_of(8) && (self.strides.is_some() || !starts_at_byte) {
            return Err(Error::View("its packed elements do not start at bytes"));
        }
        if self.shape.len() > MAX_RANK || self.strides.as_ref().is_some_and(|s| s.len() != self.shape.len()) {
            return Err(Error::View("it has a stride too many or too few"));
        }
        let last = match &self.strides {
            None => self.elements().and_then(|n| self.offset.checked_add(n)),
            Some(strides) => self
                .shape
                .iter()
                .zip(strides)
                .try_fold(self.offset, |at, (extent, stride)| {
                    at.checked_add(extent.saturating_sub(1).checked_mul(*stride)?)
                })
                .and_then(|last| last.checked_add(1)),
        };
        match last.and_then(|last| self.dtype.byte_len(last)) {
            Some(end) if end <= available => Ok(()),
            _ => Err(Error::Short),
        }
    }
}

fn pick(items: &[u64], axes: &[usize]) -> Option<Vec<u64>> {
    axes.iter().map(|axis| items.get(*axis).copied()).collect()
}

/// The strides of a dense row-major tensor; `None` on overflow.
fn row_major(shape: &[u64]) -> Option<Vec<u64>> {
    let mut strides = vec![1; shape.len()];
    let mut step = 1u64;
    for (stride, extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.checked_mul((*extent).max(1))?;
    }
    Some(strides)
}

/// Whether the strides are those of a dense row-major tensor. The stride of an axis with one element
/// means nothing, and none means anything where there are no elements.
fn is_row_major(shape: &[u64], strides: &[u64]) -> bool {
    let mut expected = 1u64;
    shape.contains(&0)
        || shape.iter().zip(strides).rev().all(|(extent, stride)| {
            let fits = *extent == 1 || *stride == expected;
            expected = expected.saturating_mul(*extent);
            fits
        })
}

/// The strides with which `shape` shows the elements of `old` in the same order, if there are any: the
/// extents of both are cut into the shortest groups of equal product, and the old axes of a group must
/// follow each other without gaps.
fn split(old: &[u64], old_strides: &[u64], shape: &[u64]) -> Option<Vec<u64>> {
    if shape.contains(&0) {
        return row_major(shape);
    }
    // Axes of one element are in nobody's way.
    let kept: Vec<(u64, u64)> =
        old.iter().zip(old_strides).filter(|(d, _)| **d != 1).map(|(d, s)| (*d, *s)).collect();
    let mut strides = vec![0; shape.len()];
    let (mut i, mut j) = (0, 0);
    while i < kept.len() {
        let (start, first) = (i, j);
        let (mut ours, mut theirs) = (kept.get(i)?.0, *shape.get(j)?);
        (i, j) = (i + 1, j + 1);
        while ours != theirs {
            if ours < theirs {
                ours = ours.checked_mul(kept.get(i)?.0)?;
                i += 1;
            } else {
                theirs = theirs.checked_mul(*shape.get(j)?)?;
                j += 1;
            }
        }
        let group = kept.get(start..i)?;
        let gapless = group.windows(2).all(|pair| match pair {
            [(_, outer), (extent, inner)] => extent.checked_mul(*inner) == Some(*outer),
            _ => true,
        });
        if !gapless {
            return None;
        }
        let mut step = group.last()?.1;
        for axis in (first..j).rev() {
            *strides.get_mut(axis)? = step;
            step = step.checked_mul(*shape.get(axis)?)?;
        }
    }
    // What is left of the new shape are ones.
    Some(strides)
}

//! Views of tensors: changes that move no bytes. Nothing here reads.

use std::sync::Arc;

use super::data::count;
use super::strides::{self, Layout, View};
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
            None => strides::dense(&self.shape),
        }
    }

    /// Axis `i` of the result is axis `axes[i]` of this tensor.
    ///
    /// `None` if `axes` is not a permutation, or after a transform that requires an order.
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
        self.view(View::Permute(axes))
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
        self.view(View::Slice { axis, start, end, step })
    }

    /// Repeats axes of size 1, and adds leading ones, up to `shape`.
    ///
    /// `None` when the shapes do not broadcast so, or behind a transform that is bound to them.
    pub fn expand(&self, shape: &[u64]) -> Option<Self> {
        self.view(View::Expand(shape))
    }

    /// The same elements in the same order, in another shape; `None` when the strides do not allow it.
    pub fn reshape(&self, shape: &[u64]) -> Option<Self> {
        if count(shape)? != self.elements()? {
            return None;
        }
        if self.strides.is_none() {
            // The order is all that counts, whatever makes the elements. In front of it other views stay
            // possible.
            let made = matches!(self.source, Source::Derived(_) | Source::Joined(_));
            let inside = made.then(|| self.view(View::Reshape(shape))).flatten();
            return inside.or_else(|| Some(Self { shape: shape.to_vec(), ..self.clone() }));
        }
        self.view(View::Reshape(shape))
    }

    /// Whether reading a view of it costs only as much as the view is large: the source has random access, and no
    /// transform requires an order.
    pub(super) fn is_open(&self) -> bool {
        match &self.source {
            Source::Mapped { .. } | Source::Lent(_) | Source::Inline(_) => true,
            Source::Unbound(_) | Source::Produced(_) => false,
            Source::Derived(derived) => derived.transform.is_elementwise() && derived.input.is_open(),
            Source::Joined(joined) => joined.inputs().iter().all(Self::is_open),
        }
    }

    /// Applies a view, or moves it in front of an elementwise transform, where it has the same effect.
    fn view(&self, view: View<'_>) -> Option<Self> {
        let plain = |shape: &[u64]| self.strides.is_none() && self.offset == 0 && self.shape == shape;
        match &self.source {
            Source::Derived(derived) => {
                if !plain(&derived.input.shape) || !derived.transform.is_elementwise() {
                    return None;
                }
                let input = derived.input.view(view)?;
                let shape = input.shape.clone();
                let transform = derived.transform.clone();
                let source = Source::Derived(Arc::new(Derived { input, transform }));
                Some(Self { dtype: self.dtype, shape, source, offset: 0, strides: None })
            }
            Source::Joined(joined) => plain(joined.shape()).then(|| joined.view(view)).flatten(),
            _ if !self.dtype.bits().is_multiple_of(8) => None,
            _ => {
                let layout =
                    Layout { shape: self.shape.clone(), strides: self.strides()?, offset: self.offset };
                Some(self.laid_out(layout.apply(view)?))
            }
        }
    }

    /// The same source in another layout.
    pub(super) fn laid_out(&self, layout: Layout) -> Self {
        let dense = layout.is_row_major();
        let Layout { shape, strides, offset } = layout;
        let (dtype, source) = (self.dtype, self.source.clone());
        Self { dtype, shape, source, offset, strides: (!dense).then_some(strides) }
    }

    /// Checks once that every element lies inside of the source.
    ///
    /// # Errors
    /// The part that cannot be read: see [`Error`].
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
            Source::Lent(_) | Source::Inline(_) => self.source.bytes().len() as u64,
            Source::Produced(producer) => producer.len(),
            Source::Unbound(unbound) => return Err(Error::Unbound(unbound.name.clone())),
            Source::Derived(_) | Source::Joined(_) if self.strides.is_some() || self.offset != 0 => {
                return Err(Error::View("it is a view of a transform"));
            }
            Source::Derived(derived) => {
                derived.check()?;
                let made = derived.output().and_then(|(dtype, shape)| dtype.byte_len(count(&shape)?));
                return if made == Some(total) { Ok(()) } else { Err(Error::Short) };
            }
            Source::Joined(joined) => {
                joined.check()?;
                let made = count(joined.shape()).and_then(|elements| joined.dtype().byte_len(elements));
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

//! The algebra of strides: which elements of a storage a view contains, in which order.
//!
//! It is generic over numbers and symbolic dimensions: [`Extents`] is the arithmetic that it needs.

use super::MAX_RANK;
use super::data::count;
use crate::sym::{Dim, Symbols};

/// Arithmetic on sizes and strides.
pub trait Extents {
    /// A size or a stride.
    type Extent: Copy;

    /// The number one.
    fn one(&self) -> Self::Extent;

    /// `a * b`; `None` when it overflows.
    fn mul(&mut self, a: Self::Extent, b: Self::Extent) -> Option<Self::Extent>;

    /// Whether `a` is `b`; `None` when that depends on the values of symbols.
    fn equal(&mut self, a: Self::Extent, b: Self::Extent) -> Option<bool>;

    /// Whether `a` is less than `b`; `None` when that depends on the values of symbols.
    fn less(&mut self, a: Self::Extent, b: Self::Extent) -> Option<bool>;

    /// Whether `a` is one, whatever the values of symbols.
    fn is_one(&mut self, a: Self::Extent) -> bool {
        let one = self.one();
        self.equal(a, one) == Some(true)
    }
}

/// The strides with which `shape` shows the elements of `old` in the same order. `None` when that
/// overflows or depends on the values of symbols; `Some(None)` when there are none, and the elements would
/// have to be copied.
///
/// This is `computeStride_impl` of `ATen/TensorUtils.cpp`, for tensors that have elements: the old axes are
/// cut into the longest runs that step evenly, and each run is to be the product of new axes.
pub fn regroup<E: Extents>(
    extents: &mut E,
    old: &[(E::Extent, E::Extent)],
    shape: &[E::Extent],
) -> Option<Option<Vec<E::Extent>>> {
    let one = extents.one();
    let mut strides = vec![one; shape.len()];
    let mut left = shape.iter().zip(&mut strides).rev().peekable();
    let mut base = old.last().map_or(one, |(_, stride)| *stride);
    let (mut own, mut new) = (one, one);
    let mut axes = old.iter().rev().peekable();
    while let Some((extent, _)) = axes.next() {
        own = extents.mul(own, *extent)?;
        let outer = axes.peek().map(|(extent, stride)| (*extent, *stride));
        if let Some((extent, stride)) = outer {
            let even = extents.mul(own, base)?;
            if extents.is_one(extent) || extents.equal(stride, even)? {
                continue;
            }
        }
        while let Some((extent, place)) = left.peek_mut() {
            if !extents.is_one(**extent) {
                if extents.equal(new, own)? {
                    break;
                }
                if !extents.less(new, own)? {
                    return Some(None);
                }
            }
            **place = extents.mul(new, base)?;
            new = extents.mul(new, **extent)?;
            left.next();
        }
        if !extents.equal(new, own)? {
            return Some(None);
        }
        if let Some((_, stride)) = outer {
            (base, own, new) = (stride, one, one);
        }
    }
    // Without an axis there is one element, and only ones can show it.
    let rest = left.all(|(extent, _)| extents.is_one(*extent));
    Some(rest.then_some(strides))
}

/// The strides of a dense row-major tensor; `None` on overflow.
pub fn row_major<E: Extents>(extents: &mut E, shape: &[E::Extent]) -> Option<Vec<E::Extent>> {
    let mut step = extents.one();
    let mut strides = vec![step; shape.len()];
    let inner = shape.get(1..).unwrap_or_default();
    for (stride, extent) in strides.iter_mut().zip(inner).rev() {
        step = extents.mul(step, *extent)?;
        *stride = step;
    }
    Some(strides)
}

/// Numbers.
pub(super) struct Numbers;

impl Extents for Numbers {
    type Extent = u64;

    fn one(&self) -> u64 {
        1
    }

    fn mul(&mut self, a: u64, b: u64) -> Option<u64> {
        a.checked_mul(b)
    }

    fn equal(&mut self, a: u64, b: u64) -> Option<bool> {
        Some(a == b)
    }

    fn less(&mut self, a: u64, b: u64) -> Option<bool> {
        Some(a < b)
    }
}

impl Extents for Symbols {
    type Extent = Dim;

    fn one(&self) -> Dim {
        Dim::Const(1)
    }

    fn mul(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        Some(Symbols::mul(self, a, b))
    }

    fn equal(&mut self, a: Dim, b: Dim) -> Option<bool> {
        let difference = self.sub(a, b);
        let range = self.range(difference);
        match difference {
            Dim::Const(n) => Some(n == 0),
            Dim::Expr(_) if range.contains(0) => None,
            Dim::Expr(_) => Some(false),
        }
    }

    fn less(&mut self, a: Dim, b: Dim) -> Option<bool> {
        let difference = self.sub(a, b);
        let range = self.range(difference);
        match (range.min, range.max) {
            (_, Some(max)) if max < 0 => Some(true),
            (Some(min), _) if min >= 0 => Some(false),
            _ => None,
        }
    }
}

/// A change of a tensor's view, which moves no bytes.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    /// Axis `i` of the result is axis `axes[i]`.
    Permute(&'a [usize]),
    /// Every `step`-th element of `start..end` along `axis`.
    Slice { axis: usize, start: u64, end: u64, step: u64 },
    /// Axes of size 1 are repeated, and leading ones added.
    Expand(&'a [u64]),
    /// The same elements in the same order.
    Reshape(&'a [u64]),
}

/// Sizes, the elements to step along each, and those to skip before the first one.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) shape: Vec<u64>,
    pub(super) strides: Vec<u64>,
    pub(super) offset: u64,
}

impl Layout {
    /// Applies `view`; `None` if it does not fit, would need a copy, or overflows.
    pub(super) fn apply(mut self, view: View<'_>) -> Option<Self> {
        match view {
            View::Permute(axes) => {
                (self.shape, self.strides) = (pick(&self.shape, axes)?, pick(&self.strides, axes)?);
            }
            View::Slice { axis, start, end, step } => {
                *self.shape.get_mut(axis)? = (end - start).div_ceil(step);
                let stride = self.strides.get_mut(axis)?;
                let skipped = if self.shape.contains(&0) { 0 } else { start.checked_mul(*stride)? };
                self.offset = self.offset.checked_add(skipped)?;
                *stride = stride.checked_mul(step)?;
            }
            View::Expand(shape) => {
                let added = shape.len().checked_sub(self.shape.len())?;
                let mut strides = vec![0; added];
                for ((own, stride), wanted) in self.shape.iter().zip(self.strides).zip(shape.get(added..)?) {
                    strides.push(match own {
                        own if own == wanted => stride,
                        1 => 0,
                        _ => return None,
                    });
                }
                (self.shape, self.strides) = (shape.to_vec(), strides);
            }
            View::Reshape(shape) => {
                self.strides = split(&self.shape, &self.strides, shape)?;
                self.shape = shape.to_vec();
            }
        }
        (self.shape.len() <= MAX_RANK).then_some(self)
    }

    /// Whether it is dense and row-major. The stride of an axis of size 1 is irrelevant, and so are all strides
    /// of an empty tensor.
    pub(super) fn is_row_major(&self) -> bool {
        let mut expected = 1u64;
        self.shape.contains(&0)
            || self.shape.iter().zip(&self.strides).rev().all(|(extent, stride)| {
                let fits = *extent == 1 || *stride == expected;
                expected = expected.saturating_mul(*extent);
                fits
            })
    }
}

/// The strides of a dense row-major tensor of numbers; `None` on overflow.
pub(super) fn dense(shape: &[u64]) -> Option<Vec<u64>> {
    let positive: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
    count(&positive)?;
    row_major(&mut Numbers, &positive)
}

pub(super) fn pick(items: &[u64], axes: &[usize]) -> Option<Vec<u64>> {
    axes.iter().map(|axis| items.get(*axis).copied()).collect()
}

/// The strides with which `shape` shows the elements of `old` in the same order, if there are any.
fn split(old: &[u64], strides: &[u64], shape: &[u64]) -> Option<Vec<u64>> {
    if count(shape)? != count(old)? {
        return None;
    }
    if shape.contains(&0) {
        return dense(shape);
    }
    // Axes of one element are in nobody's way.
    let kept: Vec<(u64, u64)> =
        old.iter().zip(strides).filter(|(extent, _)| **extent != 1).map(|(d, s)| (*d, *s)).collect();
    regroup(&mut Numbers, &kept, shape)?
}

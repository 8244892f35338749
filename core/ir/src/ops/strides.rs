//! Walks over tensors: strides, broadcasting, positions.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::Res;
use super::error::invalid;

/// The elements to step per axis of a dense, row-major tensor.
pub fn dense(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1isize;
    for (stride, extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(*extent as isize);
    }
    strides
}

/// The product of sizes; of a shape that fits nowhere, the largest number.
pub fn volume(shape: &[usize]) -> usize {
    shape.iter().fold(1, |n, d| n.saturating_mul(*d))
}

/// The shape that all of these broadcast to, by NumPy's rules.
pub fn broadcast<'a>(shapes: impl IntoIterator<Item = &'a [usize]>) -> Res<Vec<usize>> {
    let mut out: Vec<usize> = Vec::new();
    for shape in shapes {
        if shape.len() > out.len() {
            let more = shape.len() - out.len();
            out.splice(0..0, std::iter::repeat_n(1, more));
        }
        let skip = out.len() - shape.len();
        for (have, extent) in out.iter_mut().skip(skip).zip(shape) {
            if *have == 1 {
                *have = *extent;
            } else if *extent != 1 && extent != have {
                return invalid!("the sizes {have} and {extent} do not broadcast");
            }
        }
    }
    Ok(out)
}

/// Where the elements of a tensor of shape `from` lie in a walk over `to`, which it broadcasts to.
pub fn expand(from: &[usize], to: &[usize]) -> Walk {
    let skip = to.len().saturating_sub(from.len());
    let mut strides = vec![0; to.len()];
    for ((stride, step), extent) in strides.iter_mut().skip(skip).zip(dense(from)).zip(from) {
        *stride = if *extent == 1 { 0 } else { step };
    }
    Walk::new(to, &strides, 0)
}

/// Places in a tensor, in the row-major order of the shape that is walked.
#[derive(Clone, Debug)]
pub struct Walk {
    axes: Vec<Axis>,
    at: isize,
    left: usize,
}

#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    stride: isize,
    index: usize,
}

impl Walk {
    /// A walk over `shape` that starts at `offset` and steps by `strides`.
    pub fn new(shape: &[usize], strides: &[isize], offset: isize) -> Self {
        let left = volume(shape);
        let mut axes: Vec<Axis> = Vec::with_capacity(shape.len());
        for (extent, stride) in shape.iter().zip(strides) {
            match axes.last_mut() {
                _ if *extent == 1 => {}
                // Axes that lie one behind the other are one axis.
                Some(outer) if outer.stride == stride.saturating_mul(*extent as isize) => {
                    outer.extent = outer.extent.saturating_mul(*extent);
                    outer.stride = *stride;
                }
                _ => axes.push(Axis { extent: *extent, stride: *stride, index: 0 }),
            }
        }
        Self { axes, at: offset, left }
    }
}

impl Iterator for Walk {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.at;
        for axis in self.axes.iter_mut().rev() {
            axis.index += 1;
            self.at += axis.stride;
            if axis.index < axis.extent {
                break;
            }
            self.at -= axis.stride * axis.extent as isize;
            axis.index = 0;
        }
        Some(here as usize)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// A tensor cut at one axis: `outer` × `extent` × `inner` elements.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// The product of the sizes in front of the axis.
    pub outer: usize,
    /// The size of the axis.
    pub extent: usize,
    /// The product of the sizes behind the axis.
    pub inner: usize,
}

impl Cut {
    /// Cuts `shape` at `axis`.
    pub fn at(shape: &[usize], axis: usize) -> Self {
        let (outer, rest) = shape.split_at(axis.min(shape.len()));
        let (extent, inner) = rest.split_first().map_or((1, &[][..]), |(e, i)| (*e, i));
        Self { outer: volume(outer), extent, inner: volume(inner) }
    }

    /// Every line along the axis: its first place; the step between positions is `inner`.
    pub fn lines(self) -> impl Iterator<Item = usize> {
        (0..self.outer).flat_map(move |o| (0..self.inner).map(move |i| o * self.extent * self.inner + i))
    }

    /// The positions of the line that starts at `first`.
    pub fn line(self, first: usize) -> impl DoubleEndedIterator<Item = usize> + Clone {
        (0..self.extent).map(move |k| first + k * self.inner)
    }
}

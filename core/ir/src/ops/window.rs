//! Windows that slide over spatial axes, for convolutions and pools.

use super::Res;
use super::call::{Call, sizes};
use super::error::invalid;
use super::strides::{dense, volume};

/// The attributes of a sliding window, one entry per spatial axis.
#[derive(Clone, Debug)]
pub struct Window {
    /// Sizes of the kernel.
    pub kernel: Vec<usize>,
    /// Steps between positions of the output.
    pub strides: Vec<usize>,
    /// Steps between positions of the kernel.
    pub dilations: Vec<usize>,
    /// Pads in front.
    pub before: Vec<i64>,
    /// Pads behind.
    pub after: Vec<i64>,
    /// As many pads as make the output `ceil(input / stride)`; an odd one stands in front when this is `true`.
    pub same: Option<bool>,
}

impl Window {
    /// The window that a node states.
    pub fn for_kernel(c: &Call<'_>, kernel: Vec<usize>) -> Res<Self> {
        let rank = kernel.len();
        let list = |name: &str| -> Res<Vec<usize>> {
            match c.ints(name) {
                None => Ok(vec![1; rank]),
                Some(items) if items.len() == rank && items.iter().all(|n| *n > 0) => sizes(items),
                Some(items) => invalid!("the attribute `{name}` is {items:?} for {rank} axes"),
            }
        };
        let pads = c.ints("pads").map_or_else(|| vec![0; rank.saturating_mul(2)], <[i64]>::to_vec);
        if pads.len() != rank.saturating_mul(2) || kernel.contains(&0) {
            return invalid!("{} pads and the kernel {kernel:?} do not fit", pads.len());
        }
        let (before, after) = pads.split_at(rank);
        let mut window = Self {
            strides: list("strides")?,
            dilations: list("dilations")?,
            before: before.to_vec(),
            after: after.to_vec(),
            same: None,
            kernel,
        };
        // `Col2Im` has no such attribute.
        match c.text_if_any("auto_pad").unwrap_or("NOTSET") {
            "NOTSET" => {}
            "VALID" => (window.before, window.after) = (vec![0; rank], vec![0; rank]),
            "SAME_UPPER" => window.same = Some(false),
            "SAME_LOWER" => window.same = Some(true),
            other => return invalid!("unknown padding `{other}`"),
        }
        Ok(window)
    }

    /// The span of the dilated kernel along `axis`; the largest number where it does not fit.
    pub fn reach(&self, axis: usize) -> i64 {
        let gaps = (self.kernel[axis] as i64).saturating_sub(1);
        gaps.saturating_mul(self.dilations[axis] as i64).saturating_add(1)
    }

    /// The size that windows at `places` positions along `axis` cover; saturates.
    pub(super) fn covered(&self, axis: usize, places: usize) -> i64 {
        let steps = (places as i64).saturating_sub(1);
        steps.saturating_mul(self.strides[axis] as i64).saturating_add(self.reach(axis))
    }

    /// The sizes of the output over an input of these sizes; pads that follow from it are set.
    pub fn slide(&mut self, input: &[usize], ceil: bool) -> Res<Vec<usize>> {
        if input.len() != self.kernel.len() {
            return invalid!("a kernel of {} axes does not slide over {}", self.kernel.len(), input.len());
        }
        let mut out = Vec::with_capacity(input.len());
        for (axis, extent) in input.iter().enumerate() {
            let (extent, stride) = (*extent as i64, self.strides[axis] as i64);
            let Some(count) = self.places(axis, extent, stride, ceil) else {
                return invalid!(
                    "the window and the pads of an axis of size {extent} do not fit into 64 bits"
                );
            };
            let Ok(count) = usize::try_from(count) else {
                let reach = self.reach(axis);
                return invalid!(
                    "the window of {reach} is longer than spatial axis {axis}, of size {extent}"
                );
            };
            out.push(count);
        }
        Ok(out)
    }

    /// The number of positions along `axis`, unless it does not fit; sets the pads that follow from it.
    fn places(&mut self, axis: usize, extent: i64, stride: i64, ceil: bool) -> Option<i64> {
        if let Some(front) = self.same {
            let count = extent.checked_add(stride)?.checked_sub(1)?.checked_div(stride)?;
            let covered = count.checked_sub(1)?.checked_mul(stride)?.checked_add(self.reach(axis))?;
            let total = covered.checked_sub(extent)?.max(0);
            let less = total.div_euclid(2);
            let more = total.checked_sub(less)?;
            (self.before[axis], self.after[axis]) = if front { (more, less) } else { (less, more) };
            return Some(count);
        }
        let start = extent.checked_add(self.before[axis])?;
        let span = start.checked_add(self.after[axis])?.checked_sub(self.reach(axis))?;
        let count = span.checked_div_euclid(stride)?.checked_add(1)?;
        // A last window that would start in the padding behind does not count.
        let is_partial = ceil && span.checked_rem_euclid(stride)? != 0 && count.checked_mul(stride)? < start;
        if is_partial { count.checked_add(1) } else { Some(count) }
    }

    /// For each position in the kernel, the pairs of a place in the output and the place in the input that lies under it.
    pub fn taps(&self, c: &Call<'_>, input: &[usize], output: &[usize]) -> Res<Vec<Vec<(usize, usize)>>> {
        c.count(&[volume(&self.kernel), volume(output)])?;
        let strides = dense(input);
        let coordinates = |shape: &[usize]| {
            let places = dense(shape);
            let shape = shape.to_vec();
            move |at: usize| -> Vec<i64> {
                places
                    .iter()
                    .zip(&shape)
                    .map(|(step, extent)| {
                        let place = at.checked_div(*step as usize).unwrap_or(at);
                        place.checked_rem(*extent).unwrap_or(0) as i64
                    })
                    .collect()
            }
        };
        let (tap, place) = (coordinates(&self.kernel), coordinates(output));
        let places: Vec<Vec<i64>> = (0..volume(output)).map(&place).collect();
        let under = |tap: &[i64], out: &[i64]| -> Option<usize> {
            let mut at = 0usize;
            for axis in 0..tap.len() {
                let moved = tap[axis].checked_mul(self.dilations[axis] as i64)?;
                let here = out[axis].checked_mul(self.strides[axis] as i64)?;
                let here = here.checked_sub(self.before[axis])?.checked_add(moved)?;
                let here = usize::try_from(here).ok().filter(|h| *h < input[axis])?;
                at = at.checked_add(here.checked_mul(strides[axis] as usize)?)?;
            }
            Some(at)
        };
        Ok((0..volume(&self.kernel))
            .map(|index| {
                let tap = tap(index);
                places.iter().enumerate().filter_map(|(at, out)| Some((at, under(&tap, out)?))).collect()
            })
            .collect())
    }
}

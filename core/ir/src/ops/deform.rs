//! Convolutions whose positions move, and columns put back into an image.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one, sizes};
use super::error::invalid;
use super::strides::{dense, volume};
use super::window::Window;
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("Col2Im").infer(infer::col2im).eval(col2im),
    Op::new("DeformConv").infer(|cx| super::conv::infer::conv(cx, 1)).eval(deform_conv),
];

/// Each element is added to the place of the image that its column was taken from.
fn col2im(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let x = c.tensor(0)?;
    let (image, block) = (sizes(&c.longs(1)?.unwrap_or_default())?, sizes(&c.longs(2)?.unwrap_or_default())?);
    let mut window = Window::for_kernel(c, block)?;
    let blocks = window.slide(&image, false)?;
    c.count(&blocks)?;
    let (places, count) = (volume(&window.kernel), volume(&blocks));
    let &[batch, rows, columns] = x.shape() else { return invalid!("{} are not columns", x.describe()) };
    if columns != count || !rows.is_multiple_of(places) {
        return invalid!("{} are not {count} columns of blocks of {places} positions", x.describe());
    }
    let shape: Vec<usize> = [batch, rows / places].into_iter().chain(image.iter().copied()).collect();
    let mut out = vec![0.0; c.count(&shape)?];
    c.spend(x.len() as u64)?;
    let taps = window.taps(c, &image, &blocks)?;
    let items = x.floats()?;
    let size = volume(&image);
    for (row, line) in items.chunks(columns.max(1)).enumerate() {
        let (channel, tap) = (row / places, row % places);
        for (column, at) in taps.get(tap).into_iter().flatten() {
            if let (Some(slot), Some(item)) = (out.get_mut(channel * size + at), line.get(*column)) {
                *slot += item;
            }
        }
    }
    one(Tensor::of_numbers(x.dtype(), shape, out)?)
}

/// The element of `image` at a point between positions; outside there are zeros.
fn between(image: &[f64], spatial: &[usize], steps: &[isize], point: &[f64]) -> f64 {
    let mut sources = vec![(0usize, 1.0)];
    for ((extent, step), at) in spatial.iter().zip(steps).zip(point) {
        let low = at.floor();
        let taps = [(low, 1.0 - (at - low)), (low + 1.0, at - low)];
        let inside =
            taps.iter().filter(|(place, weight)| *weight != 0.0 && *place >= 0.0 && *place < *extent as f64);
        let inside: Vec<(usize, f64)> =
            inside.map(|(place, w)| (*place as usize * *step as usize, *w)).collect();
        sources = sources
            .iter()
            .flat_map(|(base, weight)| inside.iter().map(move |(at, w)| (base + at, weight * w)))
            .collect();
    }
    sources.iter().map(|(at, weight)| image.get(*at).copied().unwrap_or(0.0) * weight).sum()
}

fn deform_conv(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, weight, offset) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let ([batch, channels, spatial @ ..], [filters, depth, kernel @ ..]) = (x.shape(), weight.shape()) else {
        return invalid!("{} and {} have no channels", x.describe(), weight.describe());
    };
    let (batch, channels, filters, depth, rank) = (*batch, *channels, *filters, *depth, spatial.len());
    let count = |name: &str| match usize::try_from(c.int(name)?) {
        Ok(n) if n > 0 && channels.is_multiple_of(n) => Ok(n),
        _ => invalid!("{channels} channels do not make {} groups", c.int(name)?),
    };
    let (groups, movers) = (count("group")?, count("offset_group")?);
    if !filters.is_multiple_of(groups) || channels / groups != depth {
        return invalid!(
            "a weight {} does not fit {channels} channels in {groups} groups",
            weight.describe()
        );
    }
    let mut window = Window::for_kernel(c, kernel.to_vec())?;
    let field = window.slide(spatial, false)?;
    let (taps, places) = (volume(kernel), volume(&field));
    let of = |parts: usize| -> Vec<usize> {
        [batch, movers.saturating_mul(taps).saturating_mul(parts)].iter().chain(&field).copied().collect()
    };
    let mask = c.optional(4)?;
    if offset.shape() != of(rank) || mask.is_some_and(|mask| mask.shape() != of(1)) {
        return invalid!("offsets {} do not fit a field of {field:?}", offset.describe());
    }
    let shape: Vec<usize> = [batch, filters].into_iter().chain(field.iter().copied()).collect();
    let mut out = vec![0.0; c.count(&shape)?];
    if out.is_empty() {
        return one(Tensor::of_floats(x.dtype(), shape, out)?);
    }
    c.spend((out.len() as u64 + (channels << rank.min(16)) as u64).saturating_mul((depth * taps) as u64))?;
    let (items, weights, offsets) = (x.floats()?, weight.floats()?, offset.floats()?);
    let mask = mask.map(Tensor::floats).transpose()?;
    let bias = c.optional(3)?.map(Tensor::floats).transpose()?;
    let (size, steps) = (volume(spatial), dense(spatial));
    let (tap_steps, place_steps) = (dense(kernel), dense(&field));
    for sample in 0..batch {
        for place in 0..places {
            // The values of every channel in the moved window.
            let mut seen = vec![0.0; channels * taps];
            for (index, slot) in seen.iter_mut().enumerate() {
                let (channel, tap) = (index / taps, index % taps);
                let mover = sample * movers + channel / (channels / movers);
                let point: Vec<f64> = (0..rank)
                    .map(|axis| {
                        let within = |at: usize, steps: &[isize], extents: &[usize]| {
                            (at / steps[axis] as usize % extents[axis]) as i64
                        };
                        let base = within(place, &place_steps, &field) * window.strides[axis] as i64
                            - window.before[axis]
                            + within(tap, &tap_steps, kernel) * window.dilations[axis] as i64;
                        base as f64 + offsets[((mover * taps + tap) * rank + axis) * places + place]
                    })
                    .collect();
                let from = (sample * channels + channel) * size;
                let value =
                    between(items.get(from..from + size).unwrap_or_default(), spatial, &steps, &point);
                *slot = value * mask.as_ref().map_or(1.0, |mask| mask[(mover * taps + tap) * places + place]);
            }
            for filter in 0..filters {
                let group = filter / (filters / groups);
                let image = seen.iter().skip(group * depth * taps).take(depth * taps);
                let own = weights.iter().skip(filter * depth * taps);
                let sum: f64 = image.zip(own).map(|(x, w)| x * w).sum();
                let bias = bias.as_ref().and_then(|b| b.get(filter)).copied().unwrap_or(0.0);
                out[(sample * filters + filter) * places + place] = sum + bias;
            }
        }
    }
    one(Tensor::of_floats(x.dtype(), shape, out)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::sym::Dim;

    /// `Col2Im`.
    pub(super) fn col2im(cx: &mut Cx<'_>) -> Option<Shapes> {
        let [n, columns, _] = cx.dims(0)? else { return None };
        let image = cx.shape_from(1)?;
        let channels = match (columns, cx.contents(2)) {
            (Some(columns), Some(block)) => {
                let area = cx.symbols.product(block);
                (area != Dim::Const(0)).then(|| cx.symbols.floor_div(*columns, area))
            }
            _ => None,
        };
        one([*n, channels].into_iter().chain(image))
    }
}

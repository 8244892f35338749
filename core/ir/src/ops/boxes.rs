//! Boxes in images: pooling over them, and selecting them.

#![expect(clippy::arithmetic_side_effects, reason = "indices into tensors whose sizes were counted")]

use super::call::{Call, one};
use super::error::invalid;
use super::pointwise::larger;
use super::{Op, Res, Tensor, Value};

pub(super) const OPS: &[Op] = &[
    Op::new("MaxRoiPool").infer(infer::max_roi_pool).eval(max_roi_pool),
    Op::new("NonMaxSuppression").infer(infer::non_max_suppression).eval(non_max_suppression),
    Op::new("RoiAlign").infer(infer::roi_align).eval(roi_align),
];

/// The sizes of an image, with its channels.
fn image(x: &Tensor) -> Res<[usize; 4]> {
    match *x.shape() {
        [n, channels, height, width] => Ok([n, channels, height, width]),
        _ => invalid!("{} is not a batch of images", x.describe()),
    }
}

/// The number of the image that a box lies in.
fn sample(number: f64, batch: usize) -> Res<usize> {
    if number >= 0.0 && number < batch as f64 {
        Ok(number as usize)
    } else {
        invalid!("image {number} does not exist")
    }
}

/// The four positions around a point, with their weights; none when it lies outside.
fn around(y: f64, x: f64, height: usize, width: usize) -> Vec<(usize, f64)> {
    let (h, w) = (height as f64, width as f64);
    if height == 0 || width == 0 || !(-1.0..=h).contains(&y) || !(-1.0..=w).contains(&x) {
        return Vec::new();
    }
    let split = |at: f64, last: usize| {
        let at = at.max(0.0);
        let low = (at as usize).min(last);
        if low == last { (last, last, 0.0) } else { (low, low + 1, at - low as f64) }
    };
    let ((top, bottom, ly), (left, right, lx)) = (split(y, height - 1), split(x, width - 1));
    let (hy, hx) = (1.0 - ly, 1.0 - lx);
    vec![
        (top * width + left, hy * hx),
        (top * width + right, hy * lx),
        (bottom * width + left, ly * hx),
        (bottom * width + right, ly * lx),
    ]
}

/// The mean of points in each bin of a box, or the largest weighted neighbour of any of them, as the tests
/// of the `onnx` package and ONNX Runtime take for `max`.
fn roi_align(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, rois, images) = (c.tensor(0)?, c.tensor(1)?, c.longs(2)?.unwrap_or_default());
    let [batch, channels, height, width] = image(x)?;
    let extent = |name: &str| match usize::try_from(c.int(name)?) {
        Ok(n) if n > 0 => Ok(n),
        _ => invalid!("the attribute `{name}` is not positive"),
    };
    let (rows, columns) = (extent("output_height")?, extent("output_width")?);
    if rois.shape() != [images.len(), 4] {
        return invalid!("boxes {} do not fit {} images", rois.describe(), images.len());
    }
    let (scale, ratio) = (c.float("spatial_scale")?, c.int("sampling_ratio")?);
    // Before opset 16 there is no such attribute.
    let shifted = match c.text_if_any("coordinate_transformation_mode").unwrap_or("output_half_pixel") {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => return invalid!("unknown coordinate transformation `{other}`"),
    };
    let max = match c.text("mode")? {
        "avg" => false,
        "max" => true,
        other => return invalid!("unknown mode `{other}`"),
    };
    let shape = vec![images.len(), channels, rows, columns];
    let mut out = vec![0.0; c.count(&shape)?];
    if out.is_empty() {
        return one(Tensor::of_floats(x.dtype(), shape, out)?);
    }
    let items = x.floats()?;
    for (index, (roi, number)) in rois.floats()?.chunks(4).zip(&images).enumerate() {
        let number = sample(*number as f64, batch)?;
        let corner =
            |at: usize| roi.get(at).copied().unwrap_or(0.0) * scale - if shifted { 0.5 } else { 0.0 };
        // Of a box, the start of an axis, the size of a bin, and the points along it.
        let bins = |start: f64, end: f64, count: usize| -> Res<(f64, f64, usize)> {
            let length = if shifted { end - start } else { (end - start).max(1.0) };
            let bin = length / count as f64;
            let points = if ratio > 0 { ratio as f64 } else { bin.ceil().max(0.0) };
            if points < 1e6 {
                Ok((start, bin, points as usize))
            } else {
                invalid!("a box of size {length} is too large")
            }
        };
        let (left, across, xs) = bins(corner(0), corner(2), columns)?;
        let (top, down, ys) = bins(corner(1), corner(3), rows)?;
        let points = c.count(&[ys, xs, 4])? as u64;
        c.spend(((rows * columns * channels) as u64).saturating_mul(points))?;
        for cell in 0..rows * columns {
            let (row, column) = ((cell / columns) as f64, (cell % columns) as f64);
            let mut points = Vec::with_capacity(ys * xs);
            for iy in 0..ys {
                let y = top + (row + (iy as f64 + 0.5) / ys as f64) * down;
                for ix in 0..xs {
                    points.push(around(
                        y,
                        left + (column + (ix as f64 + 0.5) / xs as f64) * across,
                        height,
                        width,
                    ));
                }
            }
            for channel in 0..channels {
                let from = (number * channels + channel) * height * width;
                let plane = items.get(from..from + height * width).unwrap_or_default();
                let parts = |point: &Vec<(usize, f64)>| {
                    let weighted: Vec<f64> = point.iter().map(|(at, weight)| plane[*at] * weight).collect();
                    if weighted.is_empty() { vec![0.0] } else { weighted }
                };
                out[(index * channels + channel) * rows * columns + cell] = if max {
                    points.iter().flat_map(parts).reduce(larger).unwrap_or(0.0)
                } else {
                    points.iter().flat_map(parts).sum::<f64>() / points.len().max(1) as f64
                };
            }
        }
    }
    one(Tensor::of_floats(x.dtype(), shape, out)?)
}

/// The largest element in each bin of a box with integer corners; 0 in an empty one.
fn max_roi_pool(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (x, rois) = (c.tensor(0)?, c.tensor(1)?);
    let [batch, channels, height, width] = image(x)?;
    let (Some(&[rows, columns]), [count, 5]) = (c.ints("pooled_shape"), rois.shape()) else {
        return invalid!("boxes {} are not pooled", rois.describe());
    };
    let (Ok(rows @ 1..), Ok(columns @ 1..)) = (usize::try_from(rows), usize::try_from(columns)) else {
        return invalid!("the pooled shape is {rows} by {columns}");
    };
    let scale = c.float("spatial_scale")?;
    let shape = vec![*count, channels, rows, columns];
    let mut out = vec![0.0; c.count(&shape)?];
    if out.is_empty() {
        return one(Tensor::of_floats(x.dtype(), shape, out)?);
    }
    c.spend((*count as u64).saturating_mul(4 * (x.len() / batch.max(1)) as u64))?;
    let items = x.floats()?;
    for (index, roi) in rois.floats()?.chunks(5).enumerate() {
        let [number, corners @ ..] = roi else { continue };
        let number = sample(*number, batch)?;
        let at = |i: usize| corners.get(i).map_or(0.0, |x| (x * scale).round());
        // The positions of bin `i` of `n` along an axis.
        let bin = |start: f64, end: f64, i: usize, n: usize, extent: usize| {
            let size = (end - start + 1.0).max(1.0) / n as f64;
            let edge = |x: f64| (x + start).clamp(0.0, extent as f64) as usize;
            edge((i as f64 * size).floor())..edge(((i + 1) as f64 * size).ceil())
        };
        for cell in 0..channels * rows * columns {
            let (channel, row, column) = (cell / (rows * columns), cell / columns % rows, cell % columns);
            let ys = bin(at(1), at(3), row, rows, height);
            let xs = bin(at(0), at(2), column, columns, width);
            let plane = (number * channels + channel) * height * width;
            let places = ys.flat_map(|y| xs.clone().map(move |x| plane + y * width + x));
            out[index * channels * rows * columns + cell] =
                places.filter_map(|at| items.get(at).copied()).reduce(larger).unwrap_or(0.0);
        }
    }
    one(Tensor::of_floats(x.dtype(), shape, out)?)
}

/// The corners of a box in order: top, left, bottom, right.
fn corners(row: &[f64], centred: bool) -> [f64; 4] {
    let [a, b, c, d] = *row else { return [0.0; 4] };
    if centred {
        [b - d / 2.0, a - c / 2.0, b + d / 2.0, a + c / 2.0]
    } else {
        [a.min(c), b.min(d), a.max(c), b.max(d)]
    }
}

/// The intersection of two boxes over their union.
fn overlap(a: &[f64; 4], b: &[f64; 4]) -> f64 {
    let area = |r: &[f64; 4]| (r[2] - r[0]) * (r[3] - r[1]);
    let height = (a[2].min(b[2]) - a[0].max(b[0])).max(0.0);
    let width = (a[3].min(b[3]) - a[1].max(b[1])).max(0.0);
    let both = height * width;
    if area(a) <= 0.0 || area(b) <= 0.0 { 0.0 } else { both / (area(a) + area(b) - both) }
}

/// By falling score, of equal ones the first; a score has to be above the threshold, as in ONNX Runtime.
fn non_max_suppression(c: &mut Call<'_>) -> Res<Vec<Value>> {
    let (boxes, scores) = (c.tensor(0)?, c.tensor(1)?);
    let (&[batch, count, 4], &[samples, classes, scored]) = (boxes.shape(), scores.shape()) else {
        return invalid!("{} and {} are not boxes and scores", boxes.describe(), scores.describe());
    };
    if batch != samples || count != scored {
        return invalid!("boxes {} do not fit scores {}", boxes.describe(), scores.describe());
    }
    let most = usize::try_from(c.long(2)?.unwrap_or(0)).unwrap_or(0);
    let (limit, threshold) = (c.number(3)?.unwrap_or(0.0), c.number(4)?);
    let centred = c.flag("center_point_box");
    let boxes: Vec<[f64; 4]> = boxes.floats()?.chunks(4).map(|row| corners(row, centred)).collect();
    let mut found = Vec::new();
    for (class, scores) in scores.floats()?.chunks(count.max(1)).enumerate().take(batch * classes) {
        let (sample, class) = (class / classes, class % classes);
        let mut order: Vec<usize> =
            (0..count).filter(|i| threshold.is_none_or(|t| scores.get(*i).is_some_and(|s| *s > t))).collect();
        c.spend(count as u64 * 8)?;
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let mut kept: Vec<usize> = Vec::new();
        for candidate in order {
            if kept.len() >= most {
                break;
            }
            c.spend(kept.len() as u64)?;
            let own = &boxes[sample * count + candidate];
            if kept.iter().all(|k| overlap(own, &boxes[sample * count + k]) <= limit) {
                kept.push(candidate);
                found.extend([sample as i64, class as i64, candidate as i64]);
            }
        }
    }
    c.count(&[found.len()])?;
    one(Tensor::of_longs(vec![found.len() / 3, 3], found)?)
}

#[deny(clippy::arithmetic_side_effects)]
mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::sym::Dim;

    /// `MaxRoiPool`: the channels of a window for each region.
    pub(super) fn max_roi_pool(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 4)?;
        cx.rank(1, 2)?;
        let (Some([height, width]), channels) = (cx.node.ints("pooled_shape"), cx.dim(0, 1)) else {
            return None;
        };
        one([cx.dim(1, 0), channels, Some(Dim::Const(*height)), Some(Dim::Const(*width))])
    }

    /// `RoiAlign`.
    pub(super) fn roi_align(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 4)?;
        cx.rank(1, 2)?;
        cx.rank(2, 1)?;
        cx.equal(cx.dim(1, 1), Some(Dim::Const(4)), "a region has four numbers")?;
        cx.equal(cx.dim(1, 0), cx.dim(2, 0), "there are not as many batch indices as regions")?;
        let rois = cx.dim(1, 0).or_else(|| cx.dim(2, 0));
        let size = |name: &str| Some(Dim::Const(cx.int(name)?));
        one([rois, cx.dim(0, 1), size("output_height"), size("output_width")])
    }

    /// `NonMaxSuppression`.
    pub(super) fn non_max_suppression(cx: &mut Cx<'_>) -> Option<Shapes> {
        cx.rank(0, 3)?;
        cx.rank(1, 3)?;
        cx.equal(cx.dim(0, 2), Some(Dim::Const(4)), "a box has four numbers")?;
        cx.equal(cx.dim(0, 0), cx.dim(1, 0), "the batches differ")?;
        cx.equal(cx.dim(0, 1), cx.dim(1, 2), "there are not as many scores as boxes")?;
        one([None, Some(Dim::Const(3))])
    }
}

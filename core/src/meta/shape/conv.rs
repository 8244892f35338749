//! Shapes of convolutions and of pooling windows.

use super::resize::leading;
use super::{Cx, Extent, Meta, Stop, contradiction, extents, traced};
use crate::program::{Arg, TensorType};
use crate::sym::Dim;

/// The window along one axis.
#[derive(Clone, Copy)]
struct Window {
    size: Dim,
    stride: Dim,
    padding: Dim,
    dilation: Dim,
}

impl Window {
    /// Returns how often it fits into `extent`; rounded up, it may start in the padding before an end.
    fn count(self, cx: &Cx<'_>, extent: Dim, up: bool) -> Extent {
        let dims = [extent, self.size, self.stride, self.padding, self.dilation];
        traced(cx.judge, dims, |[extent, size, stride, padding, dilation]| {
            let reach = dilation.checked_mul(size.checked_sub(1)?)?.checked_add(1)?;
            let room = extent.checked_add(padding.checked_mul(2)?)?.checked_sub(reach)?;
            let rounding = if up { stride.checked_sub(1)? } else { 0 };
            let count = room.checked_add(rounding)?.checked_div_euclid(stride)?.checked_add(1)?;
            let last = count.checked_sub(1)?.checked_mul(stride)?;
            Some(if up && last >= extent.checked_add(padding)? { count.checked_sub(1)? } else { count })
        })
    }

    /// Returns the size that `count` windows cover: the size of a transposed convolution.
    fn cover(self, cx: &Cx<'_>, count: Dim, added: Dim) -> Extent {
        let dims = [count, self.size, self.stride, self.padding, self.dilation, added];
        traced(cx.judge, dims, |[count, size, stride, padding, dilation, added]| {
            let reach = dilation.checked_mul(size.checked_sub(1)?)?;
            let steps = count.checked_sub(1)?.checked_mul(stride)?;
            steps.checked_sub(padding.checked_mul(2)?)?.checked_add(reach)?.checked_add(added)?.checked_add(1)
        })
    }
}

/// Input and weight of a convolution.
struct Conv<'a> {
    input: &'a TensorType,
    weight: &'a TensorType,
    spatial: usize,
}

impl<'a> Conv<'a> {
    fn from_call(cx: &Cx<'a>, spatial: usize) -> Meta<Self> {
        let (input, weight) = (cx.operand(0)?, cx.operand(1)?);
        if weight.shape.len().checked_sub(2) != Some(spatial) {
            return contradiction(format!("its weight has {} axes", weight.shape.len()));
        }
        Ok(Self { input, weight, spatial })
    }

    /// Returns the batch, if any, then `channels`, then the result of `size` for each spatial axis.
    fn result(
        &self,
        cx: &mut Cx<'_>,
        channels: Extent,
        size: impl Fn(&Cx<'_>, usize, Dim) -> Extent,
    ) -> Meta<Vec<Extent>> {
        let head = leading(&self.input.shape, self.spatial)?;
        let mut result = extents(head.split_last().map_or(&[], |(_, batch)| batch));
        result.push(channels);
        let axes = self.input.shape.iter().skip(head.len()).enumerate();
        result.extend(axes.map(|(i, dim)| size(cx, i, *dim)));
        Ok(result)
    }

    /// The axis of channels of the input.
    fn channels(&self) -> Meta<Dim> {
        leading(&self.input.shape, self.spatial)?.last().copied().ok_or(Stop::Unknown)
    }

    fn weight(&self, axis: usize) -> Dim {
        super::extent_of(&self.weight.shape, axis)
    }
}

/// `conv(spatial, stride, padding, dilation, groups)`.
pub(super) fn conv(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let spatial = usize::try_from(cx.int(0)?).map_err(|_| Stop::Unknown)?;
    forward(cx, spatial, 1)
}

/// `conv_transpose(spatial, stride, padding, dilation, groups, output_padding)`.
pub(super) fn transpose(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let spatial = usize::try_from(cx.int(0)?).map_err(|_| Stop::Unknown)?;
    backward(cx, spatial, 1)
}

/// `convolution(stride, padding, dilation, groups, output_padding, transposed)`.
pub(super) fn convolution(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let spatial = cx.operand(1)?.shape.len().saturating_sub(2);
    if cx.flag(5) { backward(cx, spatial, 0) } else { forward(cx, spatial, 0) }
}

/// Returns the positions of stride, padding, dilation, groups and output padding among the term's arguments.
fn places(first: usize) -> [usize; 5] {
    [0, 1, 2, 3, 4].map(|at| first.saturating_add(at))
}

/// The term's arguments from `first` on are stride, padding, dilation and groups, `?` if they are not stated.
fn forward(cx: &mut Cx<'_>, spatial: usize, first: usize) -> Meta<Vec<Extent>> {
    let conv = Conv::from_call(cx, spatial)?;
    let [stride, padding, dilation, groups, _] = places(first);
    let (stride, dilation) = (cx.spread(stride, spatial)?, cx.spread(dilation, spatial)?);
    if !cx.is_none(groups) {
        let groups = cx.dim(groups)?;
        let taken = cx.judge.symbols.mul(conv.weight(1), groups);
        let given = conv.channels()?;
        cx.agree(given, taken, "the channels of the input and of the weight")?;
    }
    let channels = Extent::Dim(conv.weight(0));
    let padding = match cx.arg(padding)?.as_ref() {
        Arg::Str(same) if same == "same" => {
            return conv.result(cx, channels, |_, _, dim| Extent::Dim(dim));
        }
        Arg::Str(_) => vec![Dim::Const(0); spatial],
        _ => cx.spread(padding, spatial)?,
    };
    let windows = windows(&conv.weight.shape, &stride, &padding, &dilation);
    conv.result(cx, channels, |cx, i, dim| {
        windows.get(i).map_or(Extent::Unknown, |w| w.count(cx, dim, false))
    })
}

/// Like [`forward`], with the output padding at the end.
fn backward(cx: &mut Cx<'_>, spatial: usize, first: usize) -> Meta<Vec<Extent>> {
    let conv = Conv::from_call(cx, spatial)?;
    let [stride, padding, dilation, groups, added] = places(first);
    let (stride, dilation) = (cx.spread(stride, spatial)?, cx.spread(dilation, spatial)?);
    let (padding, added) = (cx.spread(padding, spatial)?, cx.spread(added, spatial)?);
    let given = conv.channels()?;
    cx.agree(given, conv.weight(0), "the channels of the input and of the weight")?;
    let groups = cx.dim(groups)?;
    let channels = Extent::Dim(cx.judge.symbols.mul(conv.weight(1), groups));
    let windows = windows(&conv.weight.shape, &stride, &padding, &dilation);
    conv.result(cx, channels, |cx, i, dim| match (windows.get(i), added.get(i)) {
        (Some(window), Some(added)) => window.cover(cx, dim, *added),
        _ => Extent::Unknown,
    })
}

/// Returns the number of windows of an image; the term's arguments are kernel, dilation, padding and stride.
pub(super) fn windows_of(cx: &Cx<'_>, image: [Dim; 2]) -> Meta<Extent> {
    let [kernel, dilation, padding, stride] =
        [cx.spread(0, 2)?, cx.spread(1, 2)?, cx.spread(2, 2)?, cx.spread(3, 2)?];
    let windows = kernel.iter().zip(&dilation).zip(padding.iter().zip(&stride));
    let mut count = Some(1i64);
    for (dim, ((size, dilation), (padding, stride))) in image.into_iter().zip(windows) {
        let window = Window { size: *size, stride: *stride, padding: *padding, dilation: *dilation };
        count = match window.count(cx, dim, false) {
            Extent::Traced(n) => count.and_then(|count| count.checked_mul(n)),
            _ => None,
        };
    }
    Ok(count.map_or(Extent::Unknown, Extent::Traced))
}

fn windows(weight: &[Dim], stride: &[Dim], padding: &[Dim], dilation: &[Dim]) -> Vec<Window> {
    let sizes = weight.iter().skip(2).zip(stride).zip(padding).zip(dilation);
    sizes
        .map(|(((size, stride), padding), dilation)| Window {
            size: *size,
            stride: *stride,
            padding: *padding,
            dilation: *dilation,
        })
        .collect()
}

/// `pool(spatial, kernel, stride, padding, dilation, ceil)`: without strides, windows lie side by side.
pub(super) fn pool(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let spatial = usize::try_from(cx.int(0)?).map_err(|_| Stop::Unknown)?;
    let shape = &cx.operand(0)?.shape;
    let head = leading(shape, spatial)?;
    let kernel = cx.spread(1, spatial)?;
    let stride = match cx.dims(2)?.as_slice() {
        [] => kernel.clone(),
        _ => cx.spread(2, spatial)?,
    };
    let (padding, dilation, up) = (cx.spread(3, spatial)?, cx.spread(4, spatial)?, cx.flag(5));
    let mut result = extents(head);
    let windows = kernel.iter().zip(&stride).zip(padding.iter().zip(&dilation));
    for (dim, ((size, stride), (padding, dilation))) in shape.iter().skip(head.len()).zip(windows) {
        let window = Window { size: *size, stride: *stride, padding: *padding, dilation: *dilation };
        result.push(window.count(cx, *dim, up));
    }
    Ok(result)
}

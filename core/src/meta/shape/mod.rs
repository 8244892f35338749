//! The shapes of results, by the mechanisms that facts name.

mod along;
mod axis;
mod conv;
mod join;
mod lists;
mod matmul;
mod reduce;
mod resize;
mod slice;
mod split;
mod view;

use self::along::Spectrum;
use super::cx::{Cx, Meta, Stop, contradiction, extents};
use super::judge::{Extent, Judge};
use crate::sym::Dim;

/// The shapes of one result.
pub(super) enum Shapes {
    /// A tensor.
    One(Vec<Extent>),
    /// A list of tensors.
    List(Vec<Vec<Extent>>),
}

/// The shapes by the mechanism called `name`.
pub(super) fn infer(cx: &mut Cx<'_>, name: &str) -> Meta<Shapes> {
    let list = match name {
        "split" => split::split(cx)?,
        "split_sizes" => split::sizes(cx)?,
        "split_at" => split::at(cx)?,
        "chunk" => split::chunk(cx)?,
        "sections" => split::sections(cx)?,
        "unbind" => split::unbind(cx)?,
        "each" => lists::each(cx)?,
        "broadcast_each" => lists::broadcast_each(cx)?,
        "meshgrid" => lists::meshgrid(cx)?,
        "positions_by_axis" => lists::positions_by_axis(cx)?,
        "atleast" => return lists::atleast(cx),
        _ => return one(cx, name).map(Shapes::One),
    };
    Ok(Shapes::List(list))
}

fn one(cx: &mut Cx<'_>, name: &str) -> Meta<Vec<Extent>> {
    match name {
        "same" => Ok(extents(&cx.tensor(0)?.shape)),
        "scalar" => Ok(Vec::new()),
        "axes" => axes(cx),
        "broadcast" => join::broadcast(cx),
        "cat" => join::cat(cx),
        "stack" => join::stack(cx),
        "reduce" => reduce::reduce(cx),
        "reduce_of" => reduce::of_operands(cx),
        "with" => axis::replaced(cx),
        "drop" => axis::dropped(cx),
        "item" => lists::item(cx),
        "topk" => reduce::top(cx),
        "glu" => reduce::glu(cx),
        "sizes" => Ok(extents(&cx.dims(0)?)),
        "expand" => view::expand(cx),
        "broadcast_in_dim" => view::broadcast_in_dim(cx),
        "reshape" => view::reshape(cx),
        "flatten" => view::flatten(cx),
        "unflatten" => view::unflatten(cx),
        "split_dim" => view::split_dim(cx),
        "bits" => axis::bits(cx),
        "squeeze" => view::squeeze(cx),
        "unsqueeze" => view::unsqueeze(cx),
        "permute" => view::permute(cx),
        "swap" => view::swap(cx),
        "move" => view::moved(cx),
        "rot90" => axis::rot90(cx),
        "reverse" => Ok(extents(&cx.operand(0)?.shape).into_iter().rev().collect()),
        "as_real" => {
            let mut shape = extents(&cx.operand(0)?.shape);
            shape.push(Extent::Dim(Dim::Const(2)));
            Ok(shape)
        }
        "as_complex" => view::as_complex(cx),
        "select" => slice::select(cx),
        "slice" => slice::slice(cx),
        "narrow" => slice::narrow(cx),
        "slice_backward" => slice::slice_backward(cx),
        "select_backward" => slice::select_backward(cx),
        "diagonal" => slice::diagonal(cx),
        "diag" => axis::diag(cx),
        "diagflat" => axis::diagflat(cx),
        "diag_embed" => axis::diag_embed(cx),
        "windows" => slice::windows(cx),
        "embedding" => slice::embedding(cx),
        "index_select" => slice::index_select(cx),
        "index" => slice::index(cx),
        "one_hot" => slice::one_hot(cx),
        "positions" => lists::positions(cx),
        "cartesian" => lists::cartesian(cx),
        "combinations" => lists::combinations(cx),
        "pairs" => lists::pairs(cx),
        "hstack" => lists::hstack(cx),
        "vstack" => lists::vstack(cx),
        "dstack" => lists::dstack(cx),
        "column_stack" => lists::column_stack(cx),
        "block_diag" => lists::block_diag(cx),
        "repeat" => resize::repeat(cx),
        "tile" => resize::tile(cx),
        "pad" => resize::pad(cx),
        "resize" => resize::resize(cx),
        "pixel_shuffle" => resize::shuffle(cx),
        "pixel_unshuffle" => resize::unshuffle(cx),
        "matmul" | "product" => matmul::matmul(cx),
        "outer" => matmul::outer(cx),
        "inner" => matmul::inner(cx),
        "tensordot" => matmul::tensordot(cx),
        "chain" => matmul::chain(cx),
        "kron" => matmul::kron(cx),
        "grouped_matmul" => matmul::grouped(cx),
        "linear" => matmul::linear(cx),
        "einsum" => matmul::einsum(cx),
        "attention" => matmul::attention(cx),
        "cdist" => matmul::cdist(cx),
        "conv" => conv::conv(cx),
        "conv_transpose" => conv::transpose(cx),
        "convolution" => conv::convolution(cx),
        "pool" => conv::pool(cx),
        "im2col" => axis::im2col(cx),
        "col2im" => axis::col2im(cx),
        "sampled" => axis::sampled(cx),
        "grid" => axis::grid(cx),
        "recurrent" => axis::recurrent(cx),
        "vander" => axis::vander(cx),
        "stft" => axis::stft(cx),
        "istft" => axis::istft(cx),
        "along" => along::along(cx),
        "interleave" => along::interleave(cx),
        "diff" => along::diff(cx),
        "range" => range(cx),
        "fft" => along::transform(cx, Spectrum::Whole),
        "rfft" => along::transform(cx, Spectrum::Half),
        "irfft" => along::transform(cx, Spectrum::Signal),
        "loss" => along::loss(cx),
        "class_loss" => along::class_loss(cx),
        _ => Err(Stop::Unknown),
    }
}

/// `axes(x:0,size,?)`: each size separately: that of an argument's axis, a number, or an unknown one.
fn axes(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    (0..cx.term.len()).map(|i| extent(cx, i)).collect()
}

/// The term's argument `i` as an extent: `x:0` is that of an axis, and one below 0 counts from the last; `?` and `None`
/// are unknown.
fn extent(cx: &Cx<'_>, i: usize) -> Meta<Extent> {
    match cx.name(i).split_once(':') {
        Some((name, axis)) => {
            let shape = &cx.named(name)?.shape;
            let axis: i64 = axis.parse().map_err(|_| Stop::Unknown)?;
            let place = if axis < 0 { axis.saturating_add(shape.len() as i64) } else { axis };
            let dim = usize::try_from(place).ok().and_then(|place| shape.get(place));
            dim.map(|dim| Extent::Dim(*dim)).ok_or(Stop::Unknown)
        }
        None if cx.is_none(i) => Ok(Extent::Unknown),
        None => cx.dim(i).map(Extent::Dim),
    }
}

/// `range(start, end, step)`: the integers from `start` up to `end`, which is not among them.
fn range(cx: &mut Cx<'_>) -> Meta<Vec<Extent>> {
    let [start, end, step] = [cx.dim(0)?, cx.dim(1)?, cx.dim(2)?];
    let count = match step {
        Dim::Const(1) => Extent::Dim(cx.judge.symbols.sub(end, start)),
        _ => traced(cx.judge, [start, end, step], |[start, end, step]| {
            // In the direction of the step, so that the count is rounded up.
            let (span, step) = match step.signum() {
                -1 => (start.checked_sub(end)?, step.checked_neg()?),
                _ => (end.checked_sub(start)?, step),
            };
            let rest = span.checked_rem(step)?;
            span.checked_div(step)?.checked_add(i64::from(rest > 0))
        }),
    };
    match count {
        Extent::Unknown => Err(Stop::Unknown),
        known => Ok(vec![known]),
    }
}

/// The sizes with `axis` replaced.
fn with(shape: &[Dim], axis: usize, extent: Extent) -> Vec<Extent> {
    let mut shape = extents(shape);
    if let Some(place) = shape.get_mut(axis) {
        *place = extent;
    }
    shape
}

/// The size of `axis`; a tensor without axes counts as one element.
fn extent_of(shape: &[Dim], axis: usize) -> Dim {
    shape.get(axis).copied().unwrap_or(Dim::Const(1))
}

/// Returns the result of `f` for the values at the traced sizes.
fn traced<const N: usize>(judge: &Judge, dims: [Dim; N], f: impl FnOnce([i64; N]) -> Option<i64>) -> Extent {
    let mut values = [0; N];
    for (value, dim) in values.iter_mut().zip(dims) {
        match judge.traced(dim) {
            Some(n) => *value = n,
            None => return Extent::Unknown,
        }
    }
    f(values).map_or(Extent::Unknown, Extent::Traced)
}

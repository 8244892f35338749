//! Convolutions and pools.

use smallvec::{SmallVec, smallvec};

use super::cx::{Cx, Dims, Shapes, one};
use crate::ir::Shape;
use crate::sym::Dim;

/// The attributes that convolutions and pools share, one entry per spatial axis.
struct Window {
    kernel: SmallVec<[Option<i64>; 3]>,
    strides: SmallVec<[i64; 3]>,
    dilations: SmallVec<[i64; 3]>,
    pads: Pads,
}

enum Pads {
    Given(SmallVec<[(i64, i64); 3]>),
    /// As many as make the output `ceil(input / stride)`.
    Same,
}

impl Window {
    fn of(cx: &Cx<'_>, kernel: SmallVec<[Option<i64>; 3]>) -> Option<Self> {
        let rank = kernel.len();
        let list = |name: &str| -> Option<SmallVec<[i64; 3]>> {
            match cx.node.ints(name) {
                None => Some(smallvec![1; rank]),
                Some(items) if items.len() == rank && items.iter().all(|n| *n > 0) => Some(items.into()),
                Some(_) => None,
            }
        };
        let pads = match cx.text("auto_pad") {
            None | Some("NOTSET") => match cx.node.ints("pads") {
                None => Pads::Given(smallvec![(0, 0); rank]),
                Some(p) if p.len() == 2 * rank => {
                    Pads::Given((0..rank).map(|i| (p[i], p[i + rank])).collect())
                }
                Some(_) => return None,
            },
            Some("VALID") => Pads::Given(smallvec![(0, 0); rank]),
            Some(_) => Pads::Same,
        };
        Some(Self { kernel, strides: list("strides")?, dilations: list("dilations")?, pads })
    }

    /// The span of the dilated kernel.
    fn reach(&self, axis: usize) -> Option<i64> {
        self.kernel[axis]?.checked_sub(1)?.checked_mul(self.dilations[axis])?.checked_add(1)
    }

    /// The extent of the output along `axis`.
    fn slide(&self, cx: &mut Cx<'_>, axis: usize, dim: Option<Dim>, ceil: bool) -> Option<Dim> {
        let (dim, stride) = (dim?, self.strides[axis]);
        let Pads::Given(pads) = &self.pads else {
            let rounded = cx.plus(dim, stride - 1);
            return Some(cx.symbols.floor_div(rounded, Dim::Const(stride)));
        };
        let (before, after) = pads[axis];
        let padded = before.checked_add(after)?.checked_sub(self.reach(axis)?)?;
        let span = cx.plus(dim, padded);
        let floor = cx.symbols.floor_div(span, Dim::Const(stride));
        let floor = cx.plus(floor, 1);
        if !ceil || stride == 1 {
            return Some(floor);
        }
        // Implementations differ on whether a last window that starts in the padding counts.
        let rounded = cx.plus(span, stride - 1);
        let up = cx.symbols.floor_div(rounded, Dim::Const(stride));
        let (up, Dim::Const(n)) = (cx.plus(up, 1).as_const()?, dim) else { return None };
        let starts_inside = (up - 1).checked_mul(stride)? < n.checked_add(before)?;
        (starts_inside || floor == Dim::Const(up)).then_some(Dim::Const(up))
    }
}

/// The kernel: the attribute, else the spatial extents of the weight.
fn kernel(cx: &Cx<'_>, weight: &[Option<Dim>]) -> SmallVec<[Option<i64>; 3]> {
    match cx.node.ints("kernel_shape") {
        Some(k) => k.iter().map(|n| Some(*n)).collect(),
        None => weight.iter().skip(2).map(|d| d.and_then(Dim::as_const)).collect(),
    }
}

/// Convolutions with the weight at input `weight`.
pub(super) fn conv(cx: &mut Cx<'_>, weight: usize) -> Option<Shapes> {
    let [n, _, spatial @ ..] = cx.dims(0)? else { return None };
    let weight = cx.dims(weight)?;
    let kernel = kernel(cx, weight);
    if kernel.len() != spatial.len() {
        return None;
    }
    let window = Window::of(cx, kernel)?;
    let mut out: Dims = smallvec![*n, weight.first().copied().flatten()];
    for (axis, dim) in spatial.iter().enumerate() {
        out.push(window.slide(cx, axis, *dim, false));
    }
    one(out)
}

/// `ConvTranspose`.
pub(super) fn conv_transpose(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [n, _, spatial @ ..] = cx.dims(0)? else { return None };
    let weight = cx.dims(1)?;
    let kernel = kernel(cx, weight);
    let rank = spatial.len();
    if kernel.len() != rank {
        return None;
    }
    let window = Window::of(cx, kernel)?;
    let group = Dim::Const(cx.int("group", 1));
    let channels = weight.get(1).copied().flatten().map(|c| cx.symbols.mul(c, group));
    let mut out: Dims = smallvec![*n, channels];
    let extra = cx.node.ints("output_padding").filter(|p| p.len() == rank);
    for (axis, dim) in spatial.iter().enumerate() {
        let given = cx.node.ints("output_shape").and_then(|s| s.get(axis + s.len().checked_sub(rank)?));
        out.push(match (given, dim, &window.pads) {
            (Some(given), ..) => Some(Dim::Const(*given)),
            (None, Some(dim), Pads::Same) => Some(cx.symbols.mul(*dim, Dim::Const(window.strides[axis]))),
            (None, Some(dim), Pads::Given(pads)) => window.reach(axis).map(|reach| {
                let steps = cx.plus(*dim, -1);
                let steps = cx.symbols.mul(steps, Dim::Const(window.strides[axis]));
                let rest = reach.saturating_add(extra.map_or(0, |p| p[axis]));
                cx.plus(steps, rest.saturating_sub(pads[axis].0).saturating_sub(pads[axis].1))
            }),
            (None, None, _) => None,
        });
    }
    one(out)
}

/// `MaxPool`, `AveragePool` and `LpPool`; the indices of `MaxPool` have the shape of the output.
pub(super) fn pool(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
    let kernel: SmallVec<[Option<i64>; 3]> = kernel(cx, &[]);
    if kernel.len() != spatial.len() {
        return None;
    }
    let window = Window::of(cx, kernel)?;
    let ceil = cx.int("ceil_mode", 0) != 0;
    let mut out: Dims = smallvec![*n, *c];
    for (axis, dim) in spatial.iter().enumerate() {
        out.push(window.slide(cx, axis, *dim, ceil));
    }
    Some(smallvec![Shape::Ranked(out.clone()), Shape::Ranked(out)])
}

/// The pools over all spatial axes.
pub(super) fn global_pool(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [n, c, spatial @ ..] = cx.dims(0)? else { return None };
    one([*n, *c].into_iter().chain(spatial.iter().map(|_| Some(Dim::Const(1)))))
}

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

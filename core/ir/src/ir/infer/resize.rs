//! Resampling of images.

use smallvec::SmallVec;

use super::cx::{Cx, Dims, Shapes, one};
use crate::sym::Dim;

/// `Resize`.
pub(super) fn resize(cx: &mut Cx<'_>) -> Option<Shapes> {
    let dims = cx.dims(0)?;
    let axes: SmallVec<[usize; 4]> = match cx.node.ints("axes") {
        Some(axes) => axes.iter().map(|a| super::cx::axis(*a, dims.len())).collect::<Option<_>>()?,
        None => (0..dims.len()).collect(),
    };
    let stretch = cx.text("keep_aspect_ratio_policy").is_none_or(|p| p == "stretch");
    let sizes = cx.contents(3).filter(|s| stretch && s.len() == axes.len());
    let scales = cx.floats(2).filter(|s| cx.input(3).is_none() && s.len() == axes.len());
    let mut out: Dims = dims.into();
    for (index, at) in axes.iter().enumerate() {
        out[*at] = match (&sizes, &scales) {
            (Some(sizes), _) => Some(sizes[index]),
            (None, Some(scales)) => dims[*at].and_then(|d| scaled(cx, d, scales[index])),
            (None, None) => None,
        };
    }
    one(out)
}

/// `floor(dim * scale)`, where both leave no doubt.
fn scaled(cx: &mut Cx<'_>, dim: Dim, scale: f32) -> Option<Dim> {
    if scale.fract() == 0.0 && (1.0..65536.0).contains(&scale) {
        return Some(cx.symbols.mul(dim, Dim::Const(scale as i64)));
    }
    let n = dim.as_const().filter(|n| (0..1 << 24).contains(n))?;
    // In single and in double precision, as implementations do either.
    let (single, double) = ((n as f32 * scale).floor() as i64, (n as f64 * f64::from(scale)).floor() as i64);
    (single == double && (0..1 << 48).contains(&double)).then_some(Dim::Const(double))
}

/// `RoiAlign`.
pub(super) fn roi_align(cx: &mut Cx<'_>) -> Option<Shapes> {
    let rois = cx.dim(1, 0).or_else(|| cx.dim(2, 0));
    let size = |name: &str| Some(Dim::Const(cx.int(name, 1)));
    one([rois, cx.dim(0, 1), size("output_height"), size("output_width")])
}

/// `GridSample`.
pub(super) fn grid_sample(cx: &mut Cx<'_>) -> Option<Shapes> {
    let [_, spatial @ .., _] = cx.dims(1)? else { return None };
    one([cx.dim(0, 0), cx.dim(0, 1)].into_iter().chain(spatial.iter().copied()))
}

/// `AffineGrid`.
pub(super) fn affine_grid(cx: &mut Cx<'_>) -> Option<Shapes> {
    let size = cx.shape_from(1)?;
    let [n, _, spatial @ ..] = size.as_slice() else { return None };
    let axes = Some(Dim::Const(spatial.len() as i64));
    one([*n].into_iter().chain(spatial.iter().copied()).chain([axes]))
}

/// `CenterCropPad`.
pub(super) fn center_crop_pad(cx: &mut Cx<'_>) -> Option<Shapes> {
    let mut out: Dims = cx.dims(0)?.into();
    let axes: SmallVec<[usize; 4]> = match cx.node.ints("axes") {
        Some(axes) => axes.iter().map(|a| super::cx::axis(*a, out.len())).collect::<Option<_>>()?,
        None => (0..out.len()).collect(),
    };
    let shape = cx.contents(1);
    for (index, at) in axes.into_iter().enumerate() {
        out[at] = shape.as_ref().and_then(|s| s.get(index).copied());
    }
    one(out)
}

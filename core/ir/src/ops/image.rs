//! Images: resampling, and grids of places in them.

use super::Op;

pub(super) const OPS: &[Op] = &[
    Op::new("AffineGrid").infer(infer::affine_grid),
    Op::new("Col2Im").infer(infer::col2im),
    Op::new("GridSample").infer(infer::grid_sample),
    Op::new("Resize").infer(infer::resize),
];

mod infer {
    //! Shapes.

    use smallvec::SmallVec;

    use crate::ops::infer::cx::{Cx, Dims, Shapes, axis, one};
    use crate::sym::{Dim};

    /// `Resize`.
    pub(super) fn resize(cx: &mut Cx<'_>) -> Option<Shapes> {
        let dims = cx.dims(0)?;
        let axes: SmallVec<[usize; 4]> = match cx.node.ints("axes") {
            Some(axes) => axes.iter().map(|a| axis(*a, dims.len())).collect::<Option<_>>()?,
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

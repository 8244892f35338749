//! Boxes in images.

use super::Op;

pub(super) const OPS: &[Op] = &[
    Op::new("NonMaxSuppression").infer(infer::non_max_suppression),
    Op::new("RoiAlign").infer(infer::roi_align),
];

mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::sym::{Dim};

    /// `RoiAlign`.
    pub(super) fn roi_align(cx: &mut Cx<'_>) -> Option<Shapes> {
        let rois = cx.dim(1, 0).or_else(|| cx.dim(2, 0));
        let size = |name: &str| Some(Dim::Const(cx.int(name, 1)));
        one([rois, cx.dim(0, 1), size("output_height"), size("output_width")])
    }

    /// `NonMaxSuppression`.
    pub(super) fn non_max_suppression(_: &mut Cx<'_>) -> Option<Shapes> {
        one([None, Some(Dim::Const(3))])
    }
}

//! Numbers drawn at random.

use super::infer::broadcast;
use super::Op;

pub(super) const OPS: &[Op] = &[
    Op::new("Bernoulli").infer(broadcast::same),
    Op::new("Multinomial").infer(infer::multinomial),
    Op::new("RandomNormal").infer(infer::random),
    Op::new("RandomNormalLike").infer(broadcast::same),
    Op::new("RandomUniform").infer(infer::random),
    Op::new("RandomUniformLike").infer(broadcast::same),
];

mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Shapes, one};
    use crate::sym::{Dim};

    /// `RandomNormal` and `RandomUniform`.
    pub(super) fn random(cx: &mut Cx<'_>) -> Option<Shapes> {
        one(cx.node.ints("shape")?.iter().map(|d| Some(Dim::Const(*d))))
    }

    /// `Multinomial`.
    pub(super) fn multinomial(cx: &mut Cx<'_>) -> Option<Shapes> {
        one([cx.dim(0, 0), Some(Dim::Const(cx.int("sample_size", 1)))])
    }
}

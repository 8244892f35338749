//! Signals.

use super::Op;

pub(super) const OPS: &[Op] = &[
    Op::new("BlackmanWindow").infer(infer::window),
    Op::new("DFT").infer(infer::dft),
    Op::new("HammingWindow").infer(infer::window),
    Op::new("HannWindow").infer(infer::window),
];

mod infer {
    //! Shapes.

    use crate::ops::infer::cx::{Cx, Dims, Shapes, axis, one};
    use crate::sym::{Dim};

    /// `DFT`; the axis is an attribute before opset 20 and an input from then on.
    pub(super) fn dft(cx: &mut Cx<'_>) -> Option<Shapes> {
        let mut out: Dims = cx.dims(0)?.into();
        let inverse = cx.int("inverse", 0) != 0;
        let one_sided = cx.int("onesided", 0) != 0;
        let rank = out.len();
        let at = match (cx.input(2), cx.node.int("axis")) {
            (Some(_), _) => axis(cx.ints(2)?.first().copied()?, rank)?,
            (None, Some(at)) => axis(at, rank)?,
            // The default differs between the versions but names the same axis of a rank-3 input.
            (None, None) if rank == 3 => 1,
            (None, None) => return one(out.iter().map(|_| None)),
        };
        let length = match cx.input(1) {
            Some(_) => cx.contents(1).filter(|c| c.len() == 1).map(|c| c[0]),
            None => out[at],
        };
        if inverse && one_sided {
            return one(out.iter().map(|_| None));
        }
        out[at] = match (length, one_sided) {
            (Some(length), true) => {
                let half = cx.symbols.floor_div(length, Dim::Const(2));
                Some(cx.plus(half, 1))
            }
            (length, _) => length,
        };
        *out.last_mut()? = Some(Dim::Const(2));
        one(out)
    }

    /// The window functions.
    pub(super) fn window(cx: &mut Cx<'_>) -> Option<Shapes> {
        one([cx.contents(0).filter(|c| c.len() == 1).map(|c| c[0])])
    }
}

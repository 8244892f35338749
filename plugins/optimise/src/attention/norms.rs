//! Forms of a norm that runtimes know.

use onnxport_sdk::prelude::*;

rules! {
    /// Replaces a multiplication by the reciprocal of a square root by a division by the root, which is rounded once
    /// instead of twice: results differ by at most one and a half units in the last place. Runtimes recognize
    /// normalizations in this form.
    quotient_by_root (class = bounded(ulps = 2)): Mul(x, Reciprocal(root @ Sqrt(_))) => Div(x, root);
}

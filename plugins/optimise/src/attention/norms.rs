//! Forms of a norm that runtimes know.

use onnxport_sdk::prelude::*;

rules! {
    /// A product with the reciprocal of a root is a quotient, which is rounded once instead of twice: it differs by
    /// one and a half units in the last place at most. Runtimes recognise a norm by it.
    quotient_by_root (class = bounded(ulps = 2)): Mul(x, Reciprocal(root @ Sqrt(_))) => Div(x, root);
}

//! Complex numbers: pairs of reals in a last axis of size 2.
//!
//! Linear and multilinear operators need no code here: their lowerings for reals say `parts` or `multilinear`.

mod arithmetic;
mod create;
mod functions;
mod matrices;
mod number;
mod parts;

pub(crate) use arithmetic::with_zeros;
pub(crate) use number::Complex;

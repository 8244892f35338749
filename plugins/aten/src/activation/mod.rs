//! Activation functions.

mod backward;
mod gated;
mod linear;
mod smooth;

pub(crate) use smooth::log_one_plus_exp;

//! Operators that work element by element.

pub(crate) mod arithmetic;
mod bessel;
mod choose;
pub(crate) mod compare;
pub(crate) mod division;
mod gamma;
mod logic;
mod polynomials;
mod rounding;
mod special;
mod unary;

pub(crate) use choose::is_below;
pub(crate) use unary::{atan2_of, log1p_of};

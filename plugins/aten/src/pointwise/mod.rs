//! Operators that work element by element.

pub(crate) mod arithmetic;
mod bessel;
mod binary;
mod choose;
pub(crate) mod compare;
mod cylinder;
pub(crate) mod division;
mod gamma;
mod incomplete;
mod logic;
mod polynomials;
mod rounding;
mod special;
mod tables;
mod unary;

pub(crate) use choose::is_below;
pub(crate) use unary::{atan2_of, log1p_of};

//! Operators that work element by element.

pub(crate) mod arithmetic;
mod bessel;
mod choose;
pub(crate) mod compare;
mod complex;
pub(crate) mod division;
mod gamma;
mod logic;
mod polynomials;
mod rounding;
mod special;
mod unary;

//! Operators that work element by element.

mod arithmetic;
mod unary;

//! Operators that move, repeat or drop elements without computing with them.

mod diagonal;
mod expand;
mod flip;
mod join;
mod pad;
mod permute;
mod repeat;
mod shape;
mod shuffle;
mod slice;
mod split;
mod strided;
mod window;

pub(crate) use expand::expand_to;
pub(crate) use flip::flipped;
pub(crate) use permute::permuted;

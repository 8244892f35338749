//! Attention as decoders write it. Products of matrices are computed in other groups, and a rounding less is made, so
//! that results differ in the last digits.

mod foreign;
mod fused;
mod groups;
mod masks;
mod multihead;
mod norms;

//! The text form of programs: readable, stable, and complete but for the bytes of tensors.
//!
//! ```text
//! torch "2.15.0" schema 8 20
//! symbol s77 2..100 hint 3
//! tensor fc1.weight: f32[4, 4]
//! graph {
//!   input %p_fc1_weight: f32[4, 4] = parameter fc1.weight
//!   input %x: f32[s77, 4] = user
//!   %linear: f32[s77, 4] = aten.linear.default(input=%x, weight=%p_fc1_weight) @ fc1 at "model.py":12
//!   output %linear = user
//! }
//! ```
//!
//! A tensor's strides follow its shape in braces when they are not row-major. Origins are shortened to
//! the module and the deepest line of the user's code. `#` starts a comment.

mod parse;
mod print;

use super::Program;
use crate::sym::{Dim, Symbols};
use crate::tensor::strides;
pub use crate::text::TextError;
pub use parse::template::{Condition, Template};

impl Program {
    /// The text form; reads back with [`Program::parse`].
    pub fn to_text(&self) -> String {
        print::program(self)
    }

    /// Reads the text form. Tensors get no data.
    ///
    /// # Errors
    /// [`TextError`] for malformed text, and for values that are undefined or defined twice.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        parse::program(text)
    }
}

impl Template {
    /// Parses all decompositions of a text.
    ///
    /// # Errors
    /// [`TextError`] for malformed text, and for values that are undefined or defined twice.
    pub fn parse(text: &str) -> Result<Vec<Self>, TextError> {
        parse::template::templates(text)
    }
}

/// The strides of a dense row-major tensor; like PyTorch, an empty axis counts as one element.
pub fn row_major(symbols: &mut Symbols, shape: &[Dim]) -> Vec<Dim> {
    let positive = |dim: &Dim| match dim {
        Dim::Const(n) => Dim::Const((*n).max(1)),
        dim @ Dim::Expr(_) => *dim,
    };
    let shape: Vec<Dim> = shape.iter().map(positive).collect();
    strides::row_major(symbols, &shape).unwrap_or_default()
}

#[cfg(test)]
mod tests;

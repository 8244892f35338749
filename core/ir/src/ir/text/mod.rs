//! The text form of models: readable, stable, and complete but for the bytes of large tensors.
//!
//! ```text
//! opset 20
//! symbol s0 2..100
//! graph {
//!   constant %fc1.weight: f32[16, 8] = ...
//!   constant %0: i64[2] = [0, -1]
//!   input %x: f32[s0, 2, 4]
//!   %1: f32[s0, 8] = Reshape(%x, %0) @ view (aten.view.default) in fc1 at "model.py":12
//!   %2: f32[s0, 16] = Gemm(%1, %fc1.weight, _) {transB = 1}
//!   output %2 as y
//! }
//! ```
//!
//! An imported model starts with `read ir 10 note(…)`; notes hold the metadata of its parts, see
//! [`Notes`](super::Notes).
//!
//! A value without a name has a number. `_` is an absent input or output, `?` an unknown size or
//! element type; a type without brackets has no known rank. Tensors of more than 256 bytes are
//! `...` and read back without data. `#` starts a comment.

mod attribute;
mod literal;
mod note;
mod parse;
mod print;

#[cfg(test)]
mod tests;

use super::Model;
pub use crate::text::TextError;

/// Tensors of more bytes are left out.
const MAX_LITERAL_BYTES: u64 = 256;

impl Model {
    /// The text form; reads back with [`Model::parse`].
    pub fn to_text(&self) -> String {
        print::model(self)
    }

    /// A type of this model as the text form has it: `f32[batch, 3]`.
    pub fn type_text(&self, ty: &super::Type) -> String {
        print::type_text(self, ty)
    }

    /// Reads the text form.
    ///
    /// # Errors
    /// [`TextError`] for malformed text, and for values that are undefined or defined twice.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        parse::model(text)
    }
}

//! The shared syntax of the text forms of programs and models: words, quoted names, symbols, element types,
//! sizes, source lines and the positions of errors.

mod lex;
mod read;
mod write;

use std::fmt;

pub use crate::quote::quote;
pub use lex::Lexer;
pub use read::Reader;
pub use write::{is_word, name, symbols};

/// Why a text cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The problem at that position.
    pub message: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for TextError {}

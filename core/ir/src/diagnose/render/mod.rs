//! Diagnostics for readers: text for terminals, Markdown for reviews, JSON for tools.

mod group;
mod json;
mod markdown;
mod text;

pub use json::{DiagnosticJson, json};
pub use markdown::markdown;
pub use text::{Palette, printable, text};

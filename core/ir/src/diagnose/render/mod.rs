//! Diagnostics for readers: text for terminals, Markdown for reviews, JSON for tools.

mod group;
mod json;
mod markdown;
mod records;
mod sarif;
mod text;

pub use json::{DiagnosticJson, SuggestionJson, json};
pub use markdown::markdown;
pub use records::report;
pub use sarif::sarif;
pub use text::{Palette, printable, text};

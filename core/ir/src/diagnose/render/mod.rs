//! Diagnostics for readers: text for terminals, Markdown for reviews, JSON for tools.

mod escape;
mod group;
mod json;
mod markdown;
mod records;
mod sarif;
mod text;

pub use escape::{json_text, one_line, printable};
pub use json::{DiagnosticJson, LineJson, SuggestionJson, json};
pub use markdown::markdown;
pub use records::report;
pub use sarif::sarif;
pub use text::{Palette, text};

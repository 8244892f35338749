//! Writers shared by both text forms.

use std::borrow::Cow;
use std::fmt::Write;

use crate::quote::quote;
use crate::sym::Symbols;

/// Whether `text` can stand without quotes.
pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        && !matches!(text, "as" | "at" | "nonpersistent" | "none")
}

/// `text`, in quotes where it needs them.
pub fn name(text: &str) -> Cow<'_, str> {
    if is_word(text) { Cow::Borrowed(text) } else { Cow::Owned(quote(text)) }
}

/// Writes a line for every symbol with known properties: `symbol s0 2..100 hint 3`.
pub fn symbols(symbols: &Symbols) -> String {
    let mut out = String::new();
    for (_, symbol) in symbols.iter() {
        let bound = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
        let range = symbol.range;
        if range.min.is_none() && range.max.is_none() && symbol.hint.is_none() {
            continue;
        }
        let hint = symbol.hint.map(|h| format!(" hint {h}")).unwrap_or_default();
        let (text, min, max) = (name(&symbol.name), bound(range.min), bound(range.max));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "symbol {text} {min}..{max}{hint}");
    }
    out
}

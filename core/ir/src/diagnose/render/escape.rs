//! Escapes text from files and plugins for display.
//!
//! Names can contain characters that move the cursor of a terminal, start an escape sequence, change the direction
//! of text, or begin a line that looks like ours. Such characters are shown as `\\u{202e}`.

use std::borrow::Cow;

/// Text of several lines: line breaks and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, is_harmful, |c| c.escape_default().to_string())
}

/// Text that is a part of a line, such as a name: line breaks and tabs are shown as `\\n` and `\\t`.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let breaks = |c| is_harmful(c) || matches!(c, '\n' | '\t');
    replaced(text, breaks, |c| c.escape_default().to_string())
}

/// A document in JSON with the same values, in which such characters are `\\u` sequences.
pub fn json_text(document: &str) -> Cow<'_, str> {
    // All of them are in the basic plane.
    replaced(document, is_harmful, |c| format!("\\u{:04x}", u32::from(c)))
}

fn replaced(text: &str, is_bad: impl Fn(char) -> bool, shown: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(&is_bad) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|c| if is_bad(c) { shown(c) } else { c.to_string() }).collect::<String>().into()
}

fn is_harmful(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Marks, embeddings, overrides and isolates of directions; separators of lines and paragraphs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let text = "a\n\tb\u{1b}[31m\u{202e}c\u{2066}\u{85}\u{e9}";
        assert_eq!(printable(text), "a\n\tb\\u{1b}[31m\\u{202e}c\\u{2066}\\u{85}\u{e9}");
        assert_eq!(one_line("a\n\tb\u{2069}"), "a\\n\\tb\\u{2069}");
        let document = serde_json::json!({ "name": text }).to_string();
        let escaped = json_text(&document);
        assert!(!escaped.contains(is_harmful), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap()["name"], text);
    }
}

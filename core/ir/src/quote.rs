//! Quoted strings, as in the text forms and in expressions.

use std::fmt::Write;

/// `text` in quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Reads a string after its opening quote; returns its value, and the length up to and with the closing quote.
///
/// # Errors
/// The position of the error, and its reason.
pub(crate) fn unquote(text: &str) -> Result<(String, usize), (usize, &'static str)> {
    let mut out = String::new();
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let plain = rest.find(['"', '\\']).unwrap_or(rest.len());
        out.push_str(&rest[..plain]);
        at += plain;
        let mut next = rest[plain..].chars();
        match (next.next(), next.next()) {
            (Some('"'), _) => return Ok((out, at + 1)),
            (Some('\\'), Some('n')) => out.push('\n'),
            (Some('\\'), Some('u')) => {
                let (c, len) = code_point(&rest[plain + 2..]).ok_or((at + 2, "not a code point"))?;
                out.push(c);
                at += len;
            }
            (Some('\\'), Some(c @ ('"' | '\\'))) => out.push(c),
            _ => return Err((text.len().min(at + 1), "the quoted text does not close")),
        }
        at += 2;
    }
}

/// `{1f}`, the rest of `\u{1f}`, and its length.
fn code_point(text: &str) -> Option<(char, usize)> {
    let (digits, _) = text.strip_prefix('{')?.split_once('}')?;
    let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
    Some((c, digits.len() + 2))
}

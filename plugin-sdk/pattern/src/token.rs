//! The tokens of patterns, and their reading from a text.

use crate::Error;

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token itself.
    pub kind: Kind,
    /// Its position, for errors: in bytes where it was read from a text.
    pub at: usize,
}

/// The kinds of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word: letters, digits and `_`.
    Word(String),
    /// A number without a sign.
    Number(String),
    /// A text in quotes, without them.
    Text(String),
    /// Any other character.
    Symbol(char),
}

/// Reads the tokens of `text`. A `#` begins a comment.
///
/// # Errors
/// A text in quotes that does not end, or has an unknown escape.
pub fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &text[at..];
        let (kind, len) = match first {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '#' => {
                at += rest.find('\n').unwrap_or(rest.len());
                continue;
            }
            '"' => {
                let (value, len) = unquote(&rest[1..]).map_err(|message| Error::new(at, message))?;
                (Kind::Text(value), len + 1)
            }
            c if c.is_ascii_digit() => {
                let len = number(rest);
                (Kind::Number(rest[..len].to_owned()), len)
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Kind::Word(rest[..len].to_owned()), len)
            }
            c => (Kind::Symbol(c), c.len_utf8()),
        };
        found.push(Token { kind, at });
        at += len;
    }
    Ok(found)
}

/// The length of the number at the start of `text`: `3`, `1.5`, `1e-7`.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut len = 0;
    while len < bytes.len() {
        let part = match bytes[len] {
            b'.' => is_digit(len + 1),
            b'+' | b'-' => matches!(bytes[len - 1], b'e' | b'E') && is_digit(len + 1),
            byte => byte.is_ascii_alphanumeric(),
        };
        if !part {
            break;
        }
        len += 1;
    }
    len
}

/// Reads a text after its opening quote; returns it, and the length up to and with the closing quote.
fn unquote(text: &str) -> Result<(String, usize), &'static str> {
    let mut out = String::new();
    let mut rest = text.char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '"' => return Ok((out, at + 1)),
            '\\' => match rest.next() {
                Some((_, 'n')) => out.push('\n'),
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                Some((_, 'u')) => {
                    let digits: String = rest.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    let code =
                        digits.strip_prefix('{').and_then(|digits| u32::from_str_radix(digits, 16).ok());
                    out.push(code.and_then(char::from_u32).ok_or("not a code point")?);
                }
                _ => return Err("the quoted text has an unknown escape"),
            },
            c => out.push(c),
        }
    }
    Err("the quoted text does not close")
}

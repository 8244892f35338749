//! The tokens of the text form.

use super::TextError;
use crate::quote::unquote;

/// A cursor over the text that skips white space and comments.
#[derive(Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// A cursor at the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// An error at the cursor.
    pub fn fail<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        let before = self.text.get(..self.at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Err(TextError { line, column, message: message.into() })
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// The next character that is not white space.
    pub fn peek(&mut self) -> Option<char> {
        self.space();
        self.rest().chars().next()
    }

    /// Skips `token` if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Skips `token`, which must come next.
    pub fn expect(&mut self, token: &str) -> Result<(), TextError> {
        if self.eat(token) { Ok(()) } else { self.fail(format!("expected `{token}`")) }
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The next word without consuming it; empty when something else comes next.
    pub fn peek_word(&mut self) -> &'a str {
        self.space();
        let start = self.at;
        let word = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        self.at = start;
        word
    }

    /// A word: letters, digits, `_` and `.`.
    pub fn word(&mut self) -> Result<&'a str, TextError> {
        let word = self.peek_word();
        if word.is_empty() {
            return self.fail("expected a word");
        }
        self.at += word.len();
        Ok(word)
    }

    /// Skips the whole word `keyword` if it comes next.
    pub fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.peek_word() == keyword;
        if found {
            self.at += keyword.len();
        }
        found
    }

    /// A word or a quoted text.
    pub fn name(&mut self) -> Result<String, TextError> {
        if self.peek() == Some('"') { self.quoted() } else { self.word().map(str::to_owned) }
    }

    /// A text in double quotes, with its escapes.
    pub fn quoted(&mut self) -> Result<String, TextError> {
        self.expect("\"")?;
        match unquote(self.rest()) {
            Ok((text, len)) => {
                self.at += len;
                Ok(text)
            }
            Err((at, why)) => {
                self.at += at;
                self.fail(why)
            }
        }
    }

    /// A plain integer, without the dots of a range.
    pub fn int<T: std::str::FromStr>(&mut self) -> Result<T, TextError> {
        self.space();
        let start = self.at;
        if self.rest().starts_with('-') {
            self.at += 1;
        }
        self.take(|c| c.is_ascii_digit());
        match self.text[start..self.at].parse() {
            Ok(n) => Ok(n),
            Err(_) => self.fail("expected an integer"),
        }
    }

    /// The text of a number: `3`, `-1.5e-7`, `-inf`.
    pub fn number(&mut self) -> &'a str {
        self.space();
        self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
    }

    /// The text of an expression, up to a `,` or closing bracket that is not inside parentheses.
    pub fn expression(&mut self) -> &'a str {
        self.space();
        let rest = self.rest();
        let mut depth = 0usize;
        let (mut quoted, mut escaped) = (false, false);
        let end = rest.find(|c| match c {
            _ if escaped => {
                escaped = false;
                false
            }
            '\\' if quoted => {
                escaped = true;
                false
            }
            '"' => {
                quoted = !quoted;
                false
            }
            _ if quoted => false,
            '(' => {
                depth += 1;
                false
            }
            ')' if depth > 0 => {
                depth -= 1;
                false
            }
            ',' => depth == 0,
            ')' | ']' | '}' | '\n' => true,
            _ => false,
        });
        let end = end.unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}

//! Reading expressions: our own text (`2*s0 + 1`) and the sympy constructor text of exported
//! programs (`Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))`).

#![expect(clippy::arithmetic_side_effects, reason = "positions in a text, and a depth that is bounded")]

use std::fmt;

use super::{Dim, Symbols};
use crate::quote::unquote;

/// Expressions nested deeper than this are refused.
const MAX_DEPTH: usize = 200;

/// Why a text is not an integer expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The byte at which reading stopped.
    pub at: usize,
    /// The problem at that position.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.at)
    }
}

impl std::error::Error for ParseError {}

impl Symbols {
    /// Reads an integer expression in either spelling.
    ///
    /// # Errors
    /// [`ParseError`] for malformed text and for functions that have no integer meaning here
    /// (a true division, a comparison).
    pub fn parse(&mut self, text: &str) -> Result<Dim, ParseError> {
        let mut reader = Reader { text: text.as_bytes(), at: 0, symbols: self, depth: 0 };
        let dim = reader.sum()?;
        reader.space();
        if reader.at < text.len() {
            return reader.fail("unexpected text");
        }
        Ok(dim)
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    symbols: &'a mut Symbols,
    depth: usize,
}

impl Reader<'_> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { at: self.at, message: message.into() })
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Returns the unread input.
    fn rest(&self) -> &[u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), ParseError> {
        if self.eat(token) { Ok(()) } else { self.fail(format!("expected `{token}`")) }
    }

    fn sum(&mut self) -> Result<Dim, ParseError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail("the expression is nested too deeply");
        }
        let mut left = self.product()?;
        loop {
            if self.eat("+") {
                let right = self.product()?;
                left = self.symbols.add(left, right);
            } else if self.eat("-") {
                let right = self.product()?;
                left = self.symbols.sub(left, right);
            } else {
                self.depth -= 1;
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Result<Dim, ParseError> {
        let mut left = self.unary()?;
        loop {
            if self.eat("//") {
                let right = self.unary()?;
                left = self.symbols.floor_div(left, right);
            } else if self.eat("%") {
                let right = self.unary()?;
                left = self.symbols.modulo(left, right);
            } else if self.eat("**") {
                let right = self.unary()?;
                left = self.power(left, right)?;
            } else if self.eat("*") {
                let right = self.unary()?;
                left = self.symbols.mul(left, right);
            } else {
                return Ok(left);
            }
        }
    }

    fn unary(&mut self) -> Result<Dim, ParseError> {
        if self.eat("-") {
            self.space();
            if self.rest().first().is_some_and(u8::is_ascii_digit) {
                // With its sign: the smallest integer has no positive counterpart.
                let word = self.word();
                return self.number(&format!("-{word}"));
            }
            let dim = self.unary_operand()?;
            return Ok(self.symbols.mul(dim, Dim::Const(-1)));
        }
        self.unary_operand()
    }

    fn unary_operand(&mut self) -> Result<Dim, ParseError> {
        self.space();
        if self.eat("(") {
            let dim = self.sum()?;
            self.expect(")")?;
            return Ok(dim);
        }
        if self.text.get(self.at) == Some(&b'"') {
            return self.quoted();
        }
        let word = self.word();
        let Some(first) = word.bytes().next() else {
            return self.fail("expected a number, a symbol or a function");
        };
        if first.is_ascii_digit() {
            return self.number(&word);
        }
        if self.eat("(") { self.call(&word) } else { Ok(self.symbols.symbol(&word)) }
    }

    fn word(&mut self) -> String {
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.';
        let word: String = self.rest().iter().copied().take_while(is_word).map(char::from).collect();
        self.at += word.len();
        word
    }

    fn number(&mut self, word: &str) -> Result<Dim, ParseError> {
        match word.parse() {
            Ok(n) => Ok(Dim::Const(n)),
            Err(_) => self.fail(format!("`{word}` is not a 64-bit integer")),
        }
    }

    /// Reads a quoted symbol, whose name is not an identifier.
    fn quoted(&mut self) -> Result<Dim, ParseError> {
        let rest = self.text.get(self.at + 1..).and_then(|rest| std::str::from_utf8(rest).ok());
        match unquote(rest.unwrap_or_default()) {
            Ok((name, len)) => {
                self.at += 1 + len;
                Ok(self.symbols.symbol(&name))
            }
            Err((_, why)) => self.fail(why),
        }
    }

    fn call(&mut self, name: &str) -> Result<Dim, ParseError> {
        let name = name.rsplit('.').next().unwrap_or(name);
        if name == "Symbol" {
            return self.sympy_symbol();
        }
        let mut operands = Vec::new();
        while !self.eat(")") {
            if !operands.is_empty() {
                self.expect(",")?;
            }
            if self.eat("evaluate=") || self.eat("evaluate =") {
                let _ = self.unary_operand()?;
                continue;
            }
            operands.push(self.sum()?);
        }
        let symbols = &mut *self.symbols;
        match (name, operands.as_slice()) {
            ("Integer", [n]) => Ok(*n),
            ("One", []) => Ok(Dim::Const(1)),
            ("Zero", []) => Ok(Dim::Const(0)),
            ("NegativeOne", []) => Ok(Dim::Const(-1)),
            ("Add", all) => Ok(all.iter().fold(Dim::Const(0), |a, b| symbols.add(a, *b))),
            ("Mul", all) => Ok(all.iter().fold(Dim::Const(1), |a, b| symbols.mul(a, *b))),
            ("Min" | "min", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| symbols.min(a, *b))),
            ("Max" | "max", [first, rest @ ..]) => Ok(rest.iter().fold(*first, |a, b| symbols.max(a, *b))),
            ("FloorDiv" | "CleanDiv", [a, b]) => Ok(symbols.floor_div(*a, *b)),
            ("CeilDiv", [a, b]) => {
                let negative = symbols.mul(*a, Dim::Const(-1));
                let floor = symbols.floor_div(negative, *b);
                Ok(symbols.mul(floor, Dim::Const(-1)))
            }
            ("Mod" | "PythonMod", [a, b]) => Ok(symbols.modulo(*a, *b)),
            ("ModularIndexing", [a, b, c]) => {
                let quotient = symbols.floor_div(*a, *b);
                Ok(symbols.modulo(quotient, *c))
            }
            ("Pow" | "PowByNatural", [a, b]) => self.power(*a, *b),
            ("Identity" | "TruncToInt" | "ToInt", [a]) => Ok(*a),
            _ => self.fail(format!("`{name}` of {} operands is not an integer function", operands.len())),
        }
    }

    /// `Symbol('s77', positive=True, integer=True)` after its opening parenthesis.
    fn sympy_symbol(&mut self) -> Result<Dim, ParseError> {
        self.space();
        let quote = match self.text.get(self.at) {
            Some(q @ (b'\'' | b'"')) => *q,
            _ => return self.fail("expected a quoted symbol"),
        };
        let mut parts = self.rest().splitn(3, |b| *b == quote).skip(1);
        let (Some(name), Some(_)) = (parts.next(), parts.next()) else {
            return self.fail("the symbol's quote does not close");
        };
        let end = 1 + name.len();
        let Some(close) = self.rest().iter().skip(end).position(|b| *b == b')') else {
            return self.fail("the symbol's parenthesis does not close");
        };
        let name = String::from_utf8_lossy(name).into_owned();
        self.at += end + close + 1;
        Ok(self.symbols.symbol(&name))
    }

    fn power(&mut self, base: Dim, exponent: Dim) -> Result<Dim, ParseError> {
        match exponent {
            Dim::Const(n @ 0..=8) => Ok((0..n).fold(Dim::Const(1), |p, _| self.symbols.mul(p, base))),
            _ => self.fail("only small constant powers are integers here"),
        }
    }
}

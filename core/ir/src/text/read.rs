//! Parsers shared by both text forms.

use super::{Lexer, TextError};
use crate::diagnose::Frame;
use crate::state::StateKind;
use crate::sym::{Dim, Range, Symbols};
use crate::tensor::DType;

/// Blocks, graphs and lists nested deeper than this are refused.
const MAX_DEPTH: usize = 64;

/// A reader of a text form.
pub trait Reader<'a>: Sized {
    /// The cursor.
    fn lexer(&mut self) -> &mut Lexer<'a>;

    /// The symbols of the text.
    fn symbols(&mut self) -> &mut Symbols;

    /// How deep the nesting is.
    fn depth(&mut self) -> &mut usize;

    /// Reads a nested construct; `what` names it in the error about excessive nesting.
    fn nested<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&mut Self) -> Result<T, TextError>,
    ) -> Result<T, TextError> {
        *self.depth() += 1;
        if *self.depth() > MAX_DEPTH {
            return self.lexer().fail(format!("{what} are nested too deeply"));
        }
        let found = read(self)?;
        *self.depth() -= 1;
        Ok(found)
    }

    /// Items between commas, up to and with `end`.
    fn list<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, TextError>,
    ) -> Result<Vec<T>, TextError> {
        let mut items = Vec::new();
        while !self.lexer().eat(end) {
            if !items.is_empty() {
                self.lexer().expect(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The rest of `symbol s0 2..100 hint 3`.
    fn symbol(&mut self) -> Result<(), TextError> {
        let name = self.lexer().name()?;
        let min = self.bound()?;
        self.lexer().expect("..")?;
        let max = self.bound()?;
        let hint = if self.lexer().keyword("hint") { Some(self.lexer().int()?) } else { None };
        self.symbols().symbol(&name);
        if let Some(id) = self.symbols().find(&name) {
            let symbol = self.symbols().get_mut(id);
            symbol.range = Range { min, max };
            symbol.hint = hint;
        }
        Ok(())
    }

    /// An integer, or nothing.
    fn bound(&mut self) -> Result<Option<i64>, TextError> {
        let is_int = self.lexer().peek().is_some_and(|c| c.is_ascii_digit() || c == '-');
        if is_int { self.lexer().int().map(Some) } else { Ok(None) }
    }

    /// An element type.
    fn dtype(&mut self) -> Result<DType, TextError> {
        let word = self.lexer().word()?;
        match word.parse() {
            Ok(dtype) => Ok(dtype),
            Err(()) => self.lexer().fail(format!("`{word}` is not an element type")),
        }
    }

    /// An extent: a number, a symbol or an expression.
    fn dim(&mut self) -> Result<Dim, TextError> {
        let text = self.lexer().expression();
        match self.symbols().parse(text) {
            Ok(dim) => Ok(dim),
            Err(error) => self.lexer().fail(format!("`{text}`: {error}")),
        }
    }

    /// `buffer`, `parameter` or `input`.
    fn state_kind(&mut self) -> Result<StateKind, TextError> {
        let word = self.lexer().word()?;
        match word.parse() {
            Ok(kind) => Ok(kind),
            Err(()) => self.lexer().fail(format!("`{word}` is not a kind of state")),
        }
    }

    /// `"model.py":12`.
    fn frame(&mut self) -> Result<Frame, TextError> {
        let file = self.lexer().quoted()?;
        self.lexer().expect(":")?;
        let line = self.lexer().int()?;
        Ok(Frame { file, line, function: String::new(), code: String::new() })
    }
}

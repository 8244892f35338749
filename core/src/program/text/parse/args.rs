//! Reading the arguments of calls.

use super::super::TextError;
use super::{Parser, Scope};
use crate::Name;
use crate::program::{Arg, NamedArg, Subgraph};
use crate::text::Reader;

impl Parser<'_> {
    pub(super) fn named_arg(&mut self, scope: &mut Scope) -> Result<NamedArg, TextError> {
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '_';
        let name = if self.lexer.peek() == Some('"') {
            let text = self.lexer.quoted()?;
            if !self.lexer.eat("=") {
                return Ok(NamedArg { name: Name::new(), arg: Arg::Str(text.into()) });
            }
            text
        } else if self.lexer.peek_word().starts_with(is_name) {
            let word = self.lexer.word()?;
            if !self.lexer.eat("=") {
                return Ok(NamedArg { name: Name::new(), arg: self.word_arg(word)? });
            }
            word.to_owned()
        } else {
            String::new()
        };
        Ok(NamedArg { name: name.into(), arg: self.arg(scope)? })
    }

    pub(super) fn arg(&mut self, scope: &mut Scope) -> Result<Arg, TextError> {
        self.nested("arguments", |p| p.nested_arg(scope))
    }

    fn nested_arg(&mut self, scope: &mut Scope) -> Result<Arg, TextError> {
        Ok(match self.lexer.peek() {
            Some('%') => Arg::Value(self.val(scope)?),
            Some('"') => Arg::Str(self.lexer.quoted()?.into()),
            Some('[') => {
                self.lexer.expect("[")?;
                Arg::List(self.list("]", |p| p.arg(scope))?)
            }
            Some('{') => {
                self.lexer.expect("{")?;
                let items = self.list("}", |p| {
                    let key = p.lexer.quoted()?;
                    p.lexer.expect(":")?;
                    Ok((key.into(), p.arg(scope)?))
                })?;
                Arg::Dict(items.into())
            }
            Some(c) if c.is_ascii_alphabetic() => {
                let word = self.lexer.word()?;
                self.word_arg(word)?
            }
            _ => {
                let text = self.lexer.number();
                match (text.parse(), text.parse()) {
                    (Ok(n), _) => Arg::Int(n),
                    (_, Ok(x)) => Arg::Float(x),
                    _ => return self.lexer.fail("expected an argument"),
                }
            }
        })
    }

    /// Parses the argument that starts with `word`.
    fn word_arg(&mut self, word: &str) -> Result<Arg, TextError> {
        Ok(match word {
            "none" => Arg::None,
            "true" => Arg::Bool(true),
            "false" => Arg::Bool(false),
            "inf" => Arg::Float(f64::INFINITY),
            "NaN" => Arg::Float(f64::NAN),
            "complex" => {
                self.lexer.expect("(")?;
                let parts: Vec<f64> = self.list(")", |p| match p.lexer.number().parse() {
                    Ok(x) => Ok(x),
                    Err(_) => p.lexer.fail("expected a number"),
                })?;
                match parts.as_slice() {
                    [re, im] => Arg::Complex(*re, *im),
                    _ => return self.lexer.fail("a complex number has two parts"),
                }
            }
            "dtype" => {
                self.lexer.expect("(")?;
                let code = self.lexer.int()?;
                self.lexer.expect(")")?;
                Arg::UnknownDType(code)
            }
            "device" => Arg::Device(self.wrapped()?.into()),
            "layout" => Arg::Layout(self.wrapped()?.into()),
            "format" => Arg::MemoryFormat(self.wrapped()?.into()),
            "op" => Arg::Operator(self.wrapped()?.into()),
            "graph" => {
                let name = self.lexer.name()?;
                Arg::Graph(Box::new(Subgraph { name, body: self.body(None)? }))
            }
            _ => match word.parse() {
                Ok(dtype) => Arg::DType(dtype),
                Err(()) => return self.lexer.fail(format!("`{word}` is not an argument")),
            },
        })
    }

    pub(super) fn wrapped(&mut self) -> Result<String, TextError> {
        self.lexer.expect("(")?;
        let text = self.lexer.quoted()?;
        self.lexer.expect(")")?;
        Ok(text)
    }
}

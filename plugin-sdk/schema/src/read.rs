//! The grammar of a schema line.

use std::fmt;

use crate::{Alias, Default, Facts, Schema, SchemaArg, SchemaReturn, SchemaType, target_of};

/// Why a line is not a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The byte of the line.
    pub at: usize,
    /// The expected syntax.
    pub message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.message, self.at)
    }
}

impl std::error::Error for SchemaError {}

pub(crate) fn schema<D: From<Default>>(line: &str) -> Result<Schema<D>, SchemaError> {
    Reader { text: line, at: 0 }.schema()
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, SchemaError> {
        Err(SchemaError { at: self.at, message: message.into() })
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), SchemaError> {
        if self.eat(token) { Ok(()) } else { self.fail(format!("expected `{token}`")) }
    }

    /// The longest run of characters for which `is_part` holds.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(&mut self) -> &'a str {
        self.space();
        self.take(|c| c.is_alphanumeric() || c == '_')
    }

    /// Items up to `close`, separated by commas.
    fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, SchemaError>,
    ) -> Result<Vec<T>, SchemaError> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            self.space();
            if !self.eat(",") && !self.rest().starts_with(close) {
                return self.fail(format!("expected `,` or `{close}`"));
            }
        }
        Ok(items)
    }

    fn schema<D: From<Default>>(&mut self) -> Result<Schema<D>, SchemaError> {
        let target = target_of(self.take(|c| c != '(').trim());
        self.expect("(")?;
        let mut kwarg_only = false;
        let args = self.list(")", |reader| {
            if reader.eat("*") {
                kwarg_only = true;
                return Ok(None);
            }
            reader.arg(kwarg_only).map(Some)
        })?;
        self.expect("->")?;
        let returns = if self.eat("(") { self.list(")", Self::ret)? } else { vec![self.ret()?] };
        self.space();
        if !self.rest().is_empty() {
            return self.fail("unexpected text");
        }
        Ok(Schema { target, args: args.into_iter().flatten().collect(), returns, facts: Facts::default() })
    }

    fn arg<D: From<Default>>(&mut self, kwarg_only: bool) -> Result<SchemaArg<D>, SchemaError> {
        let (ty, alias) = self.ty()?;
        let name = self.word().to_owned();
        if name.is_empty() {
            return self.fail("expected the name of an argument");
        }
        let default = if self.eat("=") { Some(self.default(&ty)?.into()) } else { None };
        Ok(SchemaArg { name, ty, kwarg_only, default, alias })
    }

    fn ret(&mut self) -> Result<SchemaReturn, SchemaError> {
        let (ty, alias) = self.ty()?;
        let name = Some(self.word().to_owned()).filter(|n| !n.is_empty());
        Ok(SchemaReturn { name, ty, alias })
    }

    fn ty(&mut self) -> Result<(SchemaType, Option<Alias>), SchemaError> {
        self.space();
        let mut ty = match self.take(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            "" => return self.fail("expected a type"),
            "Tensor" => SchemaType::Tensor,
            "int" => SchemaType::Int,
            "SymInt" => SchemaType::SymInt,
            "float" | "SymFloat" => SchemaType::Float,
            "bool" | "SymBool" => SchemaType::Bool,
            "complex" => SchemaType::Complex,
            "Scalar" => SchemaType::Scalar,
            "str" => SchemaType::Str,
            "ScalarType" => SchemaType::DType,
            "Layout" => SchemaType::Layout,
            "Device" => SchemaType::Device,
            "MemoryFormat" => SchemaType::MemoryFormat,
            "Generator" => SchemaType::Generator,
            other => SchemaType::Other(other.to_owned()),
        };
        let mut alias = None;
        loop {
            if self.rest().starts_with('(') {
                alias = self.alias()?.or(alias);
            } else if self.rest().starts_with('?') {
                self.at += 1;
                ty = SchemaType::Optional(Box::new(ty));
            } else if self.rest().starts_with('[') {
                self.at += 1;
                let size = self.take(|c| c.is_ascii_digit()).parse().ok();
                self.expect("]")?;
                ty = SchemaType::List(Box::new(ty), size);
            } else {
                return Ok((ty, alias));
            }
        }
    }

    /// `(a)`, `(a!)`, `(a -> *)`, `(a! -> b|c)`; the parts of `Dict(str, Tensor)` name no set.
    fn alias(&mut self) -> Result<Option<Alias>, SchemaError> {
        self.expect("(")?;
        let text = self.take(|c| c != ')');
        self.expect(")")?;
        let before = text.split("->").next().unwrap_or_default().trim();
        let set = before.trim_end_matches('!');
        let plain = !set.is_empty() && set.chars().all(|c| c.is_alphanumeric() || c == '*' || c == '|');
        Ok(plain.then(|| Alias { set: set.to_owned(), write: before.ends_with('!') }))
    }

    fn default(&mut self, ty: &SchemaType) -> Result<Default, SchemaError> {
        let inner = match ty {
            SchemaType::Optional(inner) => inner.as_ref(),
            other => other,
        };
        if let SchemaType::List(element, size) = inner {
            if self.eat("[") {
                return self.list("]", |reader| reader.default(element)).map(Default::List);
            }
            return Ok(match self.default(element)? {
                Default::None => Default::None,
                item => Default::List(vec![item; size.unwrap_or(1).min(64) as usize]),
            });
        }
        for quote in ["\"", "'"] {
            if self.eat(quote) {
                let text = self.take(|c| !quote.contains(c)).to_owned();
                self.expect(quote)?;
                return Ok(Default::Str(text));
            }
        }
        self.space();
        let word = self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+'));
        Ok(match (word, inner) {
            ("None", _) => Default::None,
            ("True", _) => Default::Bool(true),
            ("False", _) => Default::Bool(false),
            (_, SchemaType::MemoryFormat) => Default::MemoryFormat(format!("torch.{word}")),
            (_, SchemaType::Layout) => Default::Layout(format!("torch.{word}")),
            (_, SchemaType::Device) => Default::Device(word.to_owned()),
            (_, SchemaType::Float) => Default::Float(self.number(word)?),
            // Hand-written schemas spell reductions by name.
            ("Mean", _) => Default::Int(1),
            ("Sum", _) => Default::Int(2),
            _ => match word.parse() {
                Ok(n) => Default::Int(n),
                Err(_) => Default::Float(self.number(word)?),
            },
        })
    }

    fn number(&self, word: &str) -> Result<f64, SchemaError> {
        word.parse().or_else(|_| self.fail(format!("`{word}` is not a number")))
    }
}

//! Types in text form: `f32[n, 2*n + 1]`, `symint(n)`, `symfloat`, `symbool`, `none`.

use super::sym::Symbols;
use crate::abi::lowering::{arg_kind, dim_op};
use crate::{DType, Dim};

/// What the program states about an argument or a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    Tensor(DType, Vec<Dim>),
    SymInt(Dim),
    SymFloat,
    SymBool,
    None,
}

impl Type {
    /// The number of [`arg_kind`].
    pub(super) fn kind(&self) -> u32 {
        match self {
            Self::Tensor(..) => arg_kind::TENSOR,
            Self::SymInt(_) => arg_kind::SYM_INT,
            Self::SymFloat => arg_kind::SYM_FLOAT,
            Self::SymBool => arg_kind::SYM_BOOL,
            Self::None => arg_kind::NONE,
        }
    }

    /// The element type and extents of the value that stands for it: a complex tensor is a pair of
    /// reals in a last axis, a symbolic number has the shape `[1]`.
    pub(super) fn real(&self) -> Option<(DType, Vec<Dim>)> {
        Some(match self {
            Self::Tensor(dtype, dims) => match dtype {
                DType::C64 | DType::C128 => {
                    let real = if *dtype == DType::C64 { DType::F32 } else { DType::F64 };
                    (real, dims.iter().copied().chain([Dim::Const(2)]).collect())
                }
                _ => (*dtype, dims.clone()),
            },
            Self::SymInt(_) => (DType::I64, vec![Dim::Const(1)]),
            Self::SymFloat => (DType::F64, vec![Dim::Const(1)]),
            Self::SymBool => (DType::Bool, vec![Dim::Const(1)]),
            Self::None => return None,
        })
    }

    pub(super) fn parse(text: &str, symbols: &mut Symbols) -> Result<Self, String> {
        let mut reader = Reader { text, at: 0, symbols };
        let parsed = reader.ty().filter(|_| reader.rest().is_empty());
        parsed.ok_or_else(|| {
            format!("`{text}` is not a type such as `f32[n, 3]` or `symint(n)`, near `{}`", reader.rest())
        })
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    symbols: &'a mut Symbols,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text[self.at..].trim_start()
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest();
        let found = rest.starts_with(token);
        if found {
            self.at = self.text.len() - rest.len() + token.len();
        }
        found
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at = self.text.len() - rest.len() + end;
        &rest[..end]
    }

    fn ty(&mut self) -> Option<Type> {
        match self.word() {
            "symint" => {
                let dim = self.eat("(").then(|| self.sum())??;
                self.eat(")").then_some(Type::SymInt(dim))
            }
            "symfloat" => Some(Type::SymFloat),
            "symbool" => Some(Type::SymBool),
            "none" => Some(Type::None),
            dtype => {
                let dtype = dtype.parse().ok()?;
                let mut dims = Vec::new();
                if !self.eat("[") {
                    return None;
                }
                while !self.eat("]") {
                    if !dims.is_empty() && !self.eat(",") {
                        return None;
                    }
                    dims.push(self.sum()?);
                }
                Some(Type::Tensor(dtype, dims))
            }
        }
    }

    fn sum(&mut self) -> Option<Dim> {
        let mut total = self.product()?;
        loop {
            let op = if self.eat("+") {
                dim_op::ADD
            } else if self.eat("-") {
                dim_op::SUB
            } else {
                return Some(total);
            };
            let term = self.product()?;
            total = self.symbols.apply(op, total, term);
        }
    }

    fn product(&mut self) -> Option<Dim> {
        let mut total = self.atom()?;
        loop {
            let op = if self.eat("//") {
                dim_op::FLOOR_DIV
            } else if self.eat("*") {
                dim_op::MUL
            } else if self.eat("%") {
                dim_op::MOD
            } else {
                return Some(total);
            };
            let factor = self.atom()?;
            total = self.symbols.apply(op, total, factor);
        }
    }

    fn atom(&mut self) -> Option<Dim> {
        if self.eat("(") {
            let inner = self.sum()?;
            return self.eat(")").then_some(inner);
        }
        if self.eat("?") {
            return Some(Dim::Unknown);
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().ok().map(Dim::Const);
        }
        (!word.is_empty()).then(|| self.symbols.symbol(word))
    }
}

//! The text of an expression, as `dim_param` and the text forms spell it: `2*s0 + 1`, `s0//4`.

use std::fmt::{self, Write};

use super::{Dim, Expr, ExprId, Symbols, Term};
use crate::quote::quote;

impl Symbols {
    /// The text of `dim`; reads back with [`Symbols::parse`].
    pub fn display(&self, dim: Dim) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = Writer { symbols: self, quoted: false }.write(&mut out, dim);
        out
    }

    /// Returns `dim` as the text forms write it: as [`display`](Self::display), with quotes around names that are
    /// not identifiers.
    pub fn quoted(&self, dim: Dim) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = Writer { symbols: self, quoted: true }.write(&mut out, dim);
        out
    }
}

/// Writes expressions.
#[derive(Clone, Copy)]
struct Writer<'a> {
    symbols: &'a Symbols,
    /// Whether to quote names that are not identifiers.
    quoted: bool,
}

impl Writer<'_> {
    fn text(self, dim: Dim) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out, dim);
        out
    }

    fn symbol(self, out: &mut String, name: &str) -> fmt::Result {
        let is_word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if is_word || !self.quoted { out.write_str(name) } else { out.write_str(&quote(name)) }
    }

    fn write(self, out: &mut String, dim: Dim) -> fmt::Result {
        let id = match dim {
            Dim::Const(n) => return write!(out, "{n}"),
            Dim::Expr(id) => id,
        };
        match self.symbols.expr(id) {
            Expr::Sym(sym) => self.symbol(out, &self.symbols.get(*sym).name),
            Expr::Opaque(n) => write!(out, "unknown{n}"),
            Expr::Sum(terms) => self.write_sum(out, terms),
            Expr::FloorDiv(a, b) => self.write_binary(out, *a, "//", *b),
            Expr::Mod(a, b) => self.write_binary(out, *a, "%", *b),
            Expr::Min(operands) => self.write_call(out, "min", operands),
            Expr::Max(operands) => self.write_call(out, "max", operands),
        }
    }

    fn write_sum(self, out: &mut String, terms: &[Term]) -> fmt::Result {
        // Symbols first, the constant last, as people write it. Sorting by text keeps the text
        // independent of the order in which expressions were first met.
        let (constant, rest): (Vec<_>, Vec<_>) = terms.iter().partition(|t| t.factors.is_empty());
        let mut rest: Vec<(Vec<String>, &Term)> = rest.into_iter().map(|t| (self.factors(t), t)).collect();
        rest.sort();
        let constant = constant.into_iter().map(|t| (Vec::new(), t));
        for (i, (factors, term)) in rest.into_iter().chain(constant).enumerate() {
            let magnitude = term.coefficient.unsigned_abs();
            match (i, term.coefficient < 0) {
                (0, true) => out.write_str("-")?,
                (0, false) => {}
                (_, true) => out.write_str(" - ")?,
                (_, false) => out.write_str(" + ")?,
            }
            if magnitude != 1 || factors.is_empty() {
                write!(out, "{magnitude}")?;
                if !factors.is_empty() {
                    out.write_char('*')?;
                }
            }
            out.write_str(&factors.join("*"))?;
        }
        Ok(())
    }

    fn factors(self, term: &Term) -> Vec<String> {
        let mut factors: Vec<String> = term.factors.iter().map(|f| self.atom(*f)).collect();
        factors.sort_unstable();
        factors
    }

    fn atom(self, id: ExprId) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_atom(&mut out, id);
        out
    }

    fn write_atom(self, out: &mut String, id: ExprId) -> fmt::Result {
        let bare =
            matches!(self.symbols.expr(id), Expr::Sym(_) | Expr::Min(_) | Expr::Max(_) | Expr::Opaque(_));
        if bare {
            return self.write(out, Dim::Expr(id));
        }
        out.write_char('(')?;
        self.write(out, Dim::Expr(id))?;
        out.write_char(')')
    }

    fn write_binary(self, out: &mut String, a: Dim, op: &str, b: Dim) -> fmt::Result {
        for (dim, after) in [(a, op), (b, "")] {
            match dim {
                Dim::Const(n) if n < 0 => write!(out, "({n})")?,
                Dim::Const(n) => write!(out, "{n}")?,
                Dim::Expr(id) => self.write_atom(out, id)?,
            }
            out.write_str(after)?;
        }
        Ok(())
    }

    fn write_call(self, out: &mut String, name: &str, operands: &[Dim]) -> fmt::Result {
        let mut texts: Vec<String> = operands.iter().map(|dim| self.text(*dim)).collect();
        texts.sort_unstable();
        write!(out, "{name}({})", texts.join(", "))
    }
}

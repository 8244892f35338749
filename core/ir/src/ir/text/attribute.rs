//! Reading the values of attributes and of constants.

use super::parse::Parser;
use super::{TextError, literal};
use crate::ir::{Attr, BlockId, Shape};
use crate::tensor::{DType, LazyTensor};
use crate::text::Reader;

impl Parser<'_> {
    pub(super) fn attribute(&mut self, block: BlockId) -> Result<Attr, TextError> {
        match self.lexer.peek() {
            Some('{') => {
                let inner = self.graph.add_block(block);
                self.block(inner, false)?;
                return Ok(Attr::Block(inner));
            }
            Some('"') => return self.lexer.quoted().map(Attr::Str),
            Some('[') => return self.items(),
            _ => {}
        }
        for (word, empty) in [
            ("ints", Attr::Ints(Vec::new())),
            ("floats", Attr::Floats(Vec::new())),
            ("strs", Attr::Strs(Vec::new())),
        ] {
            if self.lexer.keyword(word) {
                self.lexer.expect("[")?;
                self.lexer.expect("]")?;
                return Ok(empty);
            }
        }
        if self.lexer.keyword("tensor") {
            return self.tensor().map(Attr::Tensor);
        }
        if self.lexer.keyword("ref") {
            return self.lexer.name().map(Attr::Ref);
        }
        self.scalar()
    }

    fn scalar(&mut self) -> Result<Attr, TextError> {
        let text = self.lexer.number();
        if let Ok(n) = text.parse() {
            return Ok(Attr::Int(n));
        }
        match text.parse() {
            Ok(n) => Ok(Attr::Float(n)),
            Err(_) => self.lexer.fail(format!("`{text}` is not a value")),
        }
    }

    /// A list of at least one element.
    fn items(&mut self) -> Result<Attr, TextError> {
        self.lexer.expect("[")?;
        if self.lexer.peek() == Some('"') {
            return self.list("]", |p| p.lexer.quoted()).map(Attr::Strs);
        }
        let items = self.list("]", Self::scalar)?;
        let ints: Option<Vec<i64>> =
            items.iter().map(|i| if let Attr::Int(n) = i { Some(*n) } else { None }).collect();
        let floats = items.iter().map(|i| if let Attr::Float(n) = i { Some(*n) } else { None }).collect();
        match (ints, floats) {
            (Some(ints), _) => Ok(Attr::Ints(ints)),
            (None, Some(floats)) => Ok(Attr::Floats(floats)),
            (None, None) => self.lexer.fail("integers and floats in one list"),
        }
    }

    /// A tensor with its type: `f32[2] [1.0, 2.0]`.
    pub(super) fn tensor(&mut self) -> Result<LazyTensor, TextError> {
        let ty = self.ty()?;
        match (ty.dtype(), ty.shape().and_then(extents)) {
            (Some(dtype), Some(shape)) => self.elements(dtype, shape),
            _ => self.lexer.fail("a tensor needs an element type and constant extents"),
        }
    }

    pub(super) fn elements(&mut self, dtype: DType, shape: Vec<u64>) -> Result<LazyTensor, TextError> {
        let mut bytes = Vec::new();
        if self.lexer.eat("...") {
            return Ok(LazyTensor::inline(dtype, shape, bytes));
        }
        if self.lexer.keyword("hex") {
            let text = self.lexer.quoted()?;
            match literal::unhex(&text) {
                Some(read) => bytes = read,
                None => return self.lexer.fail("not hexadecimal"),
            }
        } else {
            self.lexer.expect("[")?;
            self.list("]", |p| {
                let text = p.lexer.number();
                match literal::parse(dtype, text, &mut bytes) {
                    Some(()) => Ok(()),
                    None => p.lexer.fail(format!("`{text}` is not of type {dtype}")),
                }
            })?;
        }
        let data = LazyTensor::inline(dtype, shape, bytes);
        if data.byte_len() != Some(data.source.bytes().len() as u64) {
            return self.lexer.fail("the number of elements does not fit the shape");
        }
        Ok(data)
    }
}

/// The extents of a shape in which all are constants.
pub(super) fn extents(shape: &Shape) -> Option<Vec<u64>> {
    shape.dims()?.iter().map(|d| u64::try_from(d.as_ref()?.as_const()?).ok()).collect()
}

//! Reading the values of attributes and of constants.

use super::parse::Parser;
use super::{TextError, literal};
use crate::ir::opset::AttrKind;
use crate::ir::{Attr, BlockId, Constant, DenseTensor, Literal, Shape, SparseTensor, TextTensor};
use crate::tensor::data::count;
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
            return Ok(match self.any()? {
                Constant::Dense(data) => Attr::Tensor(data),
                Constant::Literal(Literal::Text(text)) => Attr::Text(text),
                Constant::Literal(Literal::Sparse(sparse)) => Attr::Sparse(sparse),
            });
        }
        if self.lexer.keyword("ref") {
            let outer = self.lexer.name()?;
            let kind = if self.lexer.eat(":") { Some(self.kind()?) } else { None };
            return Ok(Attr::Ref(outer, kind));
        }
        if let Some(found) = self.rare(block)? {
            return Ok(found);
        }
        self.scalar()
    }

    /// Attributes that few operators have.
    fn rare(&mut self, block: BlockId) -> Result<Option<Attr>, TextError> {
        Ok(Some(match self.lexer.peek_word() {
            "bytes" if self.lexer.keyword("bytes") => {
                if self.lexer.eat("[") {
                    Attr::BytesList(self.list("]", Self::bytes)?)
                } else {
                    Attr::Bytes(self.bytes()?)
                }
            }
            "sparse" if self.lexer.keyword("sparse") => Attr::Sparse(self.sparse()?),
            "type" if self.lexer.keyword("type") => Attr::Type(self.ty()?),
            "tensors" if self.lexer.keyword("tensors") => Attr::Tensors(self.group(Self::either)?),
            "sparses" if self.lexer.keyword("sparses") => Attr::Sparses(self.group(Self::sparse)?),
            "types" if self.lexer.keyword("types") => Attr::Types(self.group(Self::ty)?),
            "blocks" if self.lexer.keyword("blocks") => Attr::Blocks(self.group(|p| {
                let inner = p.graph.add_block(block);
                p.block(inner, false)?;
                Ok(inner)
            })?),
            _ => return Ok(None),
        }))
    }

    fn group<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T, TextError>) -> Result<Vec<T>, TextError> {
        self.lexer.expect("[")?;
        self.list("]", item)
    }

    fn bytes(&mut self) -> Result<bytes::Bytes, TextError> {
        let text = self.lexer.quoted()?;
        match literal::unhex(&text) {
            Some(bytes) => Ok(bytes.into()),
            None => self.lexer.fail("not hexadecimal"),
        }
    }

    fn kind(&mut self) -> Result<AttrKind, TextError> {
        let word = self.lexer.word()?;
        match AttrKind::ALL.iter().find(|kind| kind.as_str() == word) {
            Some(kind) => Ok(*kind),
            None => self.lexer.fail(format!("`{word}` is not a kind of attribute")),
        }
    }

    /// A constant with its type: `f32[2] [1.0, 2.0]`, `string[1] ["a"]`, `sparse f32[9] …`.
    pub(super) fn any(&mut self) -> Result<Constant, TextError> {
        if self.lexer.keyword("sparse") {
            return self.sparse().map(|sparse| Constant::Literal(Literal::Sparse(sparse)));
        }
        Ok(match self.either()? {
            DenseTensor::Numbers(data) => Constant::Dense(data),
            DenseTensor::Text(text) => Constant::Literal(Literal::Text(text)),
        })
    }

    /// A dense tensor with its type.
    fn either(&mut self) -> Result<DenseTensor, TextError> {
        let (dtype, shape) = self.sized()?;
        if dtype == DType::String {
            return self.texts(shape).map(DenseTensor::Text);
        }
        self.elements(dtype, shape).map(DenseTensor::Numbers)
    }

    fn sparse(&mut self) -> Result<SparseTensor, TextError> {
        let (dtype, shape) = self.sized()?;
        self.stored(dtype, shape)
    }

    /// Reads the stored part of a sparse tensor: `f32[2] [1.0, 2.0] at i64[2] [0, 7]`.
    pub(super) fn stored(&mut self, dtype: DType, shape: Vec<u64>) -> Result<SparseTensor, TextError> {
        let values = self.tensor()?;
        if values.dtype != dtype {
            return self.lexer.fail(format!("the values are not of type {dtype}"));
        }
        if !self.lexer.keyword("at") {
            return self.lexer.fail("expected `at`");
        }
        Ok(SparseTensor { shape, values, indices: self.tensor()? })
    }

    /// Texts: `["a", hex "ff"]`.
    pub(super) fn texts(&mut self, shape: Vec<u64>) -> Result<TextTensor, TextError> {
        self.lexer.expect("[")?;
        let items = self.list("]", |p| {
            if p.lexer.keyword("hex") { p.bytes() } else { p.lexer.quoted().map(bytes::Bytes::from) }
        })?;
        if count(&shape) != Some(items.len() as u64) {
            return self.lexer.fail("the number of texts does not fit the shape");
        }
        Ok(TextTensor { shape, items })
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
        let (dtype, shape) = self.sized()?;
        self.elements(dtype, shape)
    }

    /// The type of a constant.
    fn sized(&mut self) -> Result<(DType, Vec<u64>), TextError> {
        let ty = self.ty()?;
        match (ty.dtype(), ty.shape().and_then(extents)) {
            (Some(dtype), Some(shape)) => Ok((dtype, shape)),
            _ => self.lexer.fail("a tensor needs an element type and constant sizes"),
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

/// The sizes of a shape in which all are constants.
pub(super) fn extents(shape: &Shape) -> Option<Vec<u64>> {
    shape.dims()?.iter().map(|d| u64::try_from(d.as_ref()?.as_const()?).ok()).collect()
}

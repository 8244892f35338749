//! Reading the text form.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::TextError;
use super::attribute::extents;
use crate::diagnose::{Origin, OriginId};
use crate::ir::{
    Attribute, BlockId, Def, Function, Graph, Initializer, Model, OpsetImport, Shape, State, Type, ValueId,
};
use crate::sym::Symbols;
use crate::tensor::DType;
use crate::text::{Lexer, Reader};

pub(super) fn model(text: &str) -> Result<Model, TextError> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        model: Model::default(),
        origins: FxHashMap::default(),
        graph: Graph::default(),
        values: FxHashMap::default(),
        depth: 0,
    };
    parser.header()?;
    let main = parser.graph.main();
    parser.block(main, true)?;
    parser.model.graph = std::mem::take(&mut parser.graph);
    while parser.lexer.keyword("function") {
        parser.function()?;
    }
    if parser.lexer.peek().is_some() {
        return parser.lexer.fail("unexpected text after the graph");
    }
    Ok(parser.model)
}

pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    model: Model,
    /// By the text that they were read from.
    origins: FxHashMap<Origin, OriginId>,
    /// The graph under construction.
    pub(super) graph: Graph,
    /// The values in sight; numbers are kept as they are spelled, names after a `%`.
    values: FxHashMap<String, ValueId>,
    depth: usize,
}

impl<'a> Reader<'a> for Parser<'a> {
    fn lexer(&mut self) -> &mut Lexer<'a> {
        &mut self.lexer
    }

    fn symbols(&mut self) -> &mut Symbols {
        &mut self.model.symbols
    }

    fn depth(&mut self) -> &mut usize {
        &mut self.depth
    }
}

type Defined = Vec<String>;

impl Parser<'_> {
    fn header(&mut self) -> Result<(), TextError> {
        loop {
            match self.lexer.word()? {
                "opset" => {
                    let is_number = self.lexer.peek().is_some_and(|c| c.is_ascii_digit());
                    let domain = if is_number { String::new() } else { self.lexer.name()? };
                    let version = self.lexer.int()?;
                    self.model.opsets.push(OpsetImport { domain, version });
                }
                "symbol" => self.symbol()?,
                "metadata" => {
                    let entry = (self.lexer.name()?, self.lexer.quoted()?);
                    self.model.metadata.push(entry);
                }
                "graph" => return Ok(()),
                word => return self.lexer.fail(format!("`{word}` is not part of a header")),
            }
        }
    }

    fn function(&mut self) -> Result<(), TextError> {
        let domain = self.lexer.name()?;
        self.lexer.expect("::")?;
        let name = self.lexer.name()?;
        self.lexer.expect("(")?;
        let attributes = self.list(")", |p| p.lexer.name())?;
        self.values.clear();
        let main = self.graph.main();
        self.block(main, false)?;
        let graph = std::mem::take(&mut self.graph);
        self.model.functions.push(Function { domain, name, attributes, graph });
        Ok(())
    }

    /// A block from its opening brace on.
    pub(super) fn block(&mut self, block: BlockId, is_model: bool) -> Result<(), TextError> {
        self.nested("blocks", |p| p.lines(block, is_model))
    }

    fn lines(&mut self, block: BlockId, is_model: bool) -> Result<(), TextError> {
        self.lexer.expect("{")?;
        let mut defined = Defined::new();
        while !self.lexer.eat("}") {
            if self.lexer.peek() != Some('%') && self.lexer.keyword("constant") {
                self.constant(&mut defined)?;
            } else if self.lexer.keyword("input") {
                let (name, ty) = self.definition()?;
                let value = self.graph.add_input(block, None, ty);
                self.bind(&mut defined, name, value)?;
            } else if self.lexer.keyword("output") {
                let value = self.value()?;
                self.graph.add_output(block, value);
                if is_model && self.lexer.keyword("as") {
                    let name = self.lexer.name()?;
                    self.model.output_names.push(name);
                }
            } else if is_model && self.lexer.keyword("state") {
                self.state()?;
            } else {
                self.node(block, &mut defined)?;
            }
        }
        for name in defined {
            self.values.remove(&name);
        }
        Ok(())
    }

    fn constant(&mut self, defined: &mut Defined) -> Result<(), TextError> {
        let (name, ty) = self.definition()?;
        let (Some(dtype), Some(shape)) = (ty.dtype(), ty.shape().and_then(extents)) else {
            return self.lexer.fail("a constant needs an element type and constant extents");
        };
        self.lexer.expect("=")?;
        let data = self.elements(dtype, shape)?;
        let value = self.graph.values.push(crate::ir::ValueInfo {
            name: None,
            ty,
            def: Def::Initializer(self.graph.initializers.len() as u32),
            uses: SmallVec::new(),
        });
        self.graph.initializers.push(Initializer { value, data, weight: false });
        self.bind(defined, name, value)
    }

    fn state(&mut self) -> Result<(), TextError> {
        let kind = self.state_kind()?;
        let name = self.lexer.name()?;
        let input = self.value()?;
        self.lexer.expect("->")?;
        let output = self.lexer.int()?;
        let initial = if self.lexer.eat("=") { Some(self.tensor()?) } else { None };
        self.model.states.push(State { input, output, kind, name, initial });
        Ok(())
    }

    fn node(&mut self, block: BlockId, defined: &mut Defined) -> Result<(), TextError> {
        let mut results: Vec<Option<(String, Type)>> = Vec::new();
        while !self.lexer.eat("=") {
            if !results.is_empty() {
                self.lexer.expect(",")?;
            }
            results.push(if self.lexer.keyword("_") { None } else { Some(self.definition()?) });
        }
        let mut op = self.lexer.name()?;
        let mut domain = String::new();
        if self.lexer.eat("::") {
            domain = std::mem::replace(&mut op, self.lexer.name()?);
        }
        self.lexer.expect("(")?;
        let inputs = self.list(")", |p| if p.lexer.keyword("_") { Ok(None) } else { p.value().map(Some) })?;
        let attributes = if self.lexer.eat("{") {
            self.list("}", |p| {
                let name = p.lexer.name()?;
                p.lexer.expect("=")?;
                Ok(Attribute { name, value: p.attribute(block)? })
            })?
        } else {
            Vec::new()
        };
        let origin = if self.lexer.eat("@") { Some(self.origin()?) } else { None };
        let node = self.graph.append(block, &domain, &op, inputs, attributes, results.len(), origin);
        for (index, result) in results.into_iter().enumerate() {
            let Some(value) = self.graph.nodes[node].outputs[index] else { continue };
            if let Some((name, ty)) = result {
                self.graph.values[value].ty = ty;
                self.bind(defined, name, value)?;
            } else {
                self.graph.nodes[node].outputs[index] = None;
                self.graph.values[value].def = Def::Gone;
            }
        }
        Ok(())
    }

    fn origin(&mut self) -> Result<OriginId, TextError> {
        let mut origin = Origin { node: self.lexer.name()?, ..Origin::default() };
        if self.lexer.eat("(") {
            origin.target = self.lexer.name()?;
            self.lexer.expect(")")?;
        }
        if self.lexer.keyword("in") {
            origin.module = self.lexer.name()?;
        }
        if self.lexer.keyword("at") {
            origin.frames = [self.frame()?].into();
        }
        if let Some(known) = self.origins.get(&origin) {
            return Ok(*known);
        }
        let id = self.model.origins.push(origin.clone());
        self.origins.insert(origin, id);
        Ok(id)
    }

    /// The key under which a value is known: its number, or `%` and its name.
    fn key(&mut self) -> Result<String, TextError> {
        self.lexer.expect("%")?;
        if self.lexer.peek().is_some_and(|c| c.is_ascii_digit()) {
            return self.lexer.int::<u32>().map(|n| n.to_string());
        }
        Ok(format!("%{}", self.lexer.name()?))
    }

    fn value(&mut self) -> Result<ValueId, TextError> {
        let key = self.key()?;
        match self.values.get(&key) {
            Some(value) => Ok(*value),
            None => self.lexer.fail(format!("`{key}` is not defined")),
        }
    }

    fn definition(&mut self) -> Result<(String, Type), TextError> {
        let key = self.key()?;
        let ty = if self.lexer.eat(":") { self.ty()? } else { Type::Unknown };
        Ok((key, ty))
    }

    fn bind(&mut self, defined: &mut Defined, key: String, value: ValueId) -> Result<(), TextError> {
        self.graph.values[value].name = key.strip_prefix('%').map(str::to_owned);
        if self.values.insert(key.clone(), value).is_some() {
            return self.lexer.fail(format!("`{key}` is defined twice"));
        }
        defined.push(key);
        Ok(())
    }

    pub(super) fn ty(&mut self) -> Result<Type, TextError> {
        if self.lexer.keyword("seq") {
            return match self.element()? {
                Some(dtype) => Ok(Type::Sequence(dtype)),
                None => self.lexer.fail("a sequence needs an element type"),
            };
        }
        let dtype = self.element()?;
        if !self.lexer.eat("[") {
            return Ok(Type::Tensor { dtype, shape: Shape::Unranked });
        }
        let dims = self.list("]", |p| if p.lexer.eat("?") { Ok(None) } else { p.dim().map(Some) })?;
        Ok(Type::Tensor { dtype, shape: Shape::Ranked(dims.into()) })
    }

    fn element(&mut self) -> Result<Option<DType>, TextError> {
        if self.lexer.eat("?") { Ok(None) } else { self.dtype().map(Some) }
    }
}

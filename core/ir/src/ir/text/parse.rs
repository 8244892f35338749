//! Reading the text form.

use rustc_hash::FxHashMap;

use super::TextError;
use super::attribute::extents;
use crate::diagnose::{CallSite, Origin, OriginId};
use crate::ir::{
    Attribute, BlockId, Def, DefaultValue, Function, Graph, Literal, Model, ModelOrigin, OpsetImport, Shape,
    State, Type, ValueId, ValueNote,
};
use crate::name::Name;
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

/// The text of a definition of a value.
struct Definition {
    key: String,
    ty: Type,
    note: Option<Box<ValueNote>>,
}

impl Parser<'_> {
    fn header(&mut self) -> Result<(), TextError> {
        loop {
            match self.lexer.word()? {
                "opset" => {
                    let opset = self.opset()?;
                    self.model.opsets.push(opset);
                }
                "read" => self.model.origin = ModelOrigin::Imported(Box::new(self.read_header()?)),
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
        let overload = self.overload()?;
        self.lexer.expect("(")?;
        let main = self.graph.main();
        let (mut attributes, mut defaults) = (Vec::new(), Vec::new());
        self.list(")", |p| {
            let name = p.lexer.name()?;
            if p.lexer.eat("=") {
                defaults.push(Attribute { name: name.into(), value: p.attribute(main)? });
            } else {
                attributes.push(name);
            }
            Ok(())
        })?;
        let mut opsets = Vec::new();
        while self.lexer.keyword("opset") {
            opsets.push(self.opset()?);
        }
        let about = self.function_note()?;
        self.values.clear();
        self.block(main, false)?;
        let graph = std::mem::take(&mut self.graph);
        let function = Function { domain, name, overload, attributes, defaults, opsets, about, graph };
        self.model.functions.push(function);
        Ok(())
    }

    /// The rest of `opset 20` or `opset com.microsoft 1`.
    fn opset(&mut self) -> Result<OpsetImport, TextError> {
        let is_number = self.lexer.peek().is_some_and(|c| c.is_ascii_digit());
        let domain = if is_number { String::new() } else { self.lexer.name()? };
        Ok(OpsetImport { domain, version: self.lexer.int()? })
    }

    fn overload(&mut self) -> Result<String, TextError> {
        if self.lexer.keyword("overload") { self.lexer.quoted() } else { Ok(String::new()) }
    }

    /// A block from its opening brace on.
    pub(super) fn block(&mut self, block: BlockId, is_model: bool) -> Result<(), TextError> {
        self.nested("blocks", |p| p.lines(block, is_model))
    }

    fn lines(&mut self, block: BlockId, is_model: bool) -> Result<(), TextError> {
        self.lexer.expect("{")?;
        let mut defined = Defined::new();
        if let Some(note) = self.block_note()? {
            self.graph.notes.blocks.insert(block, note);
        }
        while !self.lexer.eat("}") {
            if self.lexer.peek() != Some('%') && self.lexer.keyword("constant") {
                self.constant(block, &mut defined)?;
            } else if self.lexer.keyword("input") {
                let Definition { key, ty, note } = self.definition()?;
                let value = self.graph.add_input(block, None, ty);
                self.bind(&mut defined, key, value)?;
                self.say(value, note);
                if self.lexer.eat("=") {
                    let data = self.any()?;
                    self.graph.defaults.push(DefaultValue { value, data });
                }
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

    fn constant(&mut self, block: BlockId, defined: &mut Defined) -> Result<(), TextError> {
        let Definition { key, ty, note } = self.definition()?;
        let (Some(dtype), Some(shape)) = (ty.dtype(), ty.shape().and_then(extents)) else {
            return self.lexer.fail("a constant needs an element type and constant sizes");
        };
        self.lexer.expect("=")?;
        let value = if self.lexer.keyword("sparse") {
            let data = self.stored(dtype, shape)?;
            self.graph.add_literal(block, None, Literal::Sparse(data))
        } else if dtype == DType::String {
            let data = self.texts(shape)?;
            self.graph.add_literal(block, None, Literal::Text(data))
        } else {
            let data = self.elements(dtype, shape)?;
            let value = self.graph.add_initializer(None, data);
            if let Some(initializer) = self.graph.initializers.last_mut() {
                initializer.block = block;
            }
            value
        };
        self.graph.values[value].ty = ty;
        self.bind(defined, key, value)?;
        self.say(value, note);
        Ok(())
    }

    /// Records the note of a value.
    fn say(&mut self, value: ValueId, note: Option<Box<ValueNote>>) {
        if let Some(note) = note {
            self.graph.notes.values.insert(value, *note);
        }
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
        let mut results: Vec<Option<Definition>> = Vec::new();
        let has_results = !self.lexer.keyword("none");
        while !self.lexer.eat("=") {
            if !has_results {
                self.lexer.expect("=")?;
            }
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
        let overload = self.overload()?;
        self.lexer.expect("(")?;
        let inputs = self.list(")", |p| if p.lexer.keyword("_") { Ok(None) } else { p.value().map(Some) })?;
        let attributes = if self.lexer.eat("{") {
            self.list("}", |p| {
                let name = p.lexer.name()?;
                p.lexer.expect("=")?;
                Ok(Attribute { name: name.into(), value: p.attribute(block)? })
            })?
        } else {
            Vec::new()
        };
        let note = self.node_note()?;
        let origin = if self.lexer.eat("@") { Some(self.origin()?) } else { None };
        let node = self.graph.append(block, &domain, &op, inputs, attributes, results.len(), origin);
        self.graph.nodes[node].overload = overload.into();
        if let Some(note) = note {
            self.graph.notes.nodes.insert(node, *note);
        }
        for (index, result) in results.into_iter().enumerate() {
            let Some(slot) = self.graph.nodes[node].outputs.get_mut(index) else { continue };
            let Some(value) = *slot else { continue };
            if let Some(Definition { key, ty, note }) = result {
                self.graph.values[value].ty = ty;
                self.bind(defined, key, value)?;
                self.say(value, note);
            } else {
                *slot = None;
                self.graph.values[value].def = Def::Gone;
            }
        }
        Ok(())
    }

    fn origin(&mut self) -> Result<OriginId, TextError> {
        let mut origin = Origin::new(self.lexer.name()?, CallSite::default());
        if self.lexer.eat("(") {
            origin.target = self.lexer.name()?.into();
            self.lexer.expect(")")?;
        }
        if self.lexer.keyword("in") {
            origin.module = self.lexer.name()?.into();
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

    fn definition(&mut self) -> Result<Definition, TextError> {
        let key = self.key()?;
        let ty = if self.lexer.eat(":") { self.ty()? } else { Type::Unknown };
        Ok(Definition { key, ty, note: self.value_note()? })
    }

    fn bind(&mut self, defined: &mut Defined, key: String, value: ValueId) -> Result<(), TextError> {
        self.graph.values[value].name = key.strip_prefix('%').map(Name::from);
        if self.values.insert(key.clone(), value).is_some() {
            return self.lexer.fail(format!("`{key}` is defined twice"));
        }
        defined.push(key);
        Ok(())
    }

    pub(super) fn ty(&mut self) -> Result<Type, TextError> {
        self.nested("types", Self::any_type)
    }

    fn any_type(&mut self) -> Result<Type, TextError> {
        if self.lexer.keyword("seq") {
            return Ok(Type::Sequence(Box::new(self.ty()?)));
        }
        if self.lexer.keyword("optional") {
            return Ok(Type::Optional(Box::new(self.ty()?)));
        }
        if self.lexer.keyword("map") {
            return Ok(Type::Map(self.dtype()?, Box::new(self.ty()?)));
        }
        if self.lexer.keyword("opaque") {
            return Ok(Type::Opaque { domain: self.lexer.quoted()?, name: self.lexer.quoted()? });
        }
        if self.lexer.keyword("unknown") {
            return Ok(Type::Unknown);
        }
        if self.lexer.keyword("sparse") {
            let (dtype, shape) = self.tensor_type()?;
            return Ok(Type::SparseTensor { dtype, shape });
        }
        let (dtype, shape) = self.tensor_type()?;
        Ok(Type::Tensor { dtype, shape })
    }

    fn tensor_type(&mut self) -> Result<(Option<DType>, Shape), TextError> {
        let dtype = self.element()?;
        if !self.lexer.eat("[") {
            return Ok((dtype, Shape::Unranked));
        }
        let dims = self.list("]", |p| if p.lexer.eat("?") { Ok(None) } else { p.dim().map(Some) })?;
        Ok((dtype, Shape::Ranked(dims.into())))
    }

    fn element(&mut self) -> Result<Option<DType>, TextError> {
        if self.lexer.eat("?") { Ok(None) } else { self.dtype().map(Some) }
    }
}

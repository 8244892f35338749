//! Reading the text form.

mod args;
pub(crate) mod template;

use rustc_hash::FxHashMap;

use super::super::{
    Arg, Body, Call, InputKind, InputSpec, Output, OutputKind, OutputSpec, Outputs, Program, Signature,
    TensorType, Val, Value, ValueType,
};
use super::{TextError, row_major};
use crate::diagnose::{CallSite, Origin, OriginId};
use crate::sym::Symbols;
use crate::tensor::LazyTensor;
use crate::text::{Lexer, Reader};

pub(super) fn program(text: &str) -> Result<Program, TextError> {
    let mut parser = Parser { lexer: Lexer::new(text), program: Program::default(), depth: 0, open: false };
    parser.header()?;
    let mut signature = std::mem::take(&mut parser.program.signature);
    parser.program.body = parser.body(Some(&mut signature))?;
    parser.program.signature = signature;
    if parser.lexer.peek().is_some() {
        return parser.lexer.fail("unexpected text after the graph");
    }
    Ok(parser.program)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    program: Program,
    depth: usize,
    /// Whether results need no type.
    open: bool,
}

impl<'a> Reader<'a> for Parser<'a> {
    fn lexer(&mut self) -> &mut Lexer<'a> {
        &mut self.lexer
    }

    fn symbols(&mut self) -> &mut Symbols {
        &mut self.program.symbols
    }

    fn depth(&mut self) -> &mut usize {
        &mut self.depth
    }
}

/// A body under construction.
#[derive(Default)]
struct Scope {
    body: Body,
    names: FxHashMap<String, Val>,
}

impl Parser<'_> {
    fn header(&mut self) -> Result<(), TextError> {
        loop {
            match self.lexer.word()? {
                "torch" => {
                    self.program.producer.torch = self.lexer.quoted()?;
                    if self.lexer.keyword("schema") {
                        self.program.producer.schema = (self.lexer.int()?, self.lexer.int()?);
                    }
                }
                "symbol" => self.symbol()?,
                "guard" => {
                    let guard = self.lexer.quoted()?;
                    self.program.guards.push(guard.into());
                }
                "tensor" => {
                    let name = self.lexer.name()?;
                    self.lexer.expect(":")?;
                    let dtype = self.dtype()?;
                    self.lexer.expect("[")?;
                    let shape = self.list("]", |p| p.lexer.int())?;
                    self.program.tensors.insert(name, LazyTensor::inline(dtype, shape, Vec::new()));
                }
                "in_spec" => self.program.signature.in_spec = Some(self.lexer.quoted()?),
                "out_spec" => self.program.signature.out_spec = Some(self.lexer.quoted()?),
                "graph" => return Ok(()),
                word => return self.lexer.fail(format!("`{word}` is not part of a header")),
            }
        }
    }

    /// A body from its opening brace on.
    fn body(&mut self, signature: Option<&mut Signature>) -> Result<Body, TextError> {
        self.nested("graphs", |p| p.lines(Scope::default(), signature))
    }

    fn lines(&mut self, mut scope: Scope, mut signature: Option<&mut Signature>) -> Result<Body, TextError> {
        self.lexer.expect("{")?;
        while !self.lexer.eat("}") {
            if self.lexer.keyword("input") {
                let arg = match self.lexer.peek() {
                    Some('%') => Arg::Value(self.definition(&mut scope)?),
                    _ => self.arg(&mut scope)?,
                };
                if let Some(signature) = signature.as_deref_mut() {
                    signature.inputs.push(self.input_spec(&scope, &arg)?);
                }
                scope.body.inputs.push(arg);
            } else if self.lexer.keyword("output") {
                let arg = self.arg(&mut scope)?;
                scope.body.outputs.push(arg);
                if let Some(signature) = signature.as_deref_mut() {
                    let kind = self.output_kind(&scope)?;
                    signature.outputs.push(OutputSpec { kind });
                }
            } else {
                let call = self.call(&mut scope)?;
                scope.body.calls.push(call);
            }
        }
        Ok(scope.body)
    }

    fn input_spec(&mut self, scope: &Scope, arg: &Arg) -> Result<InputSpec, TextError> {
        self.lexer.expect("=")?;
        let kind = match self.lexer.word()? {
            "user" => InputKind::User,
            "constant" => InputKind::Constant,
            "parameter" => InputKind::Parameter(self.lexer.name()?),
            "buffer" => InputKind::Buffer {
                name: self.lexer.name()?,
                persistent: !self.lexer.keyword("nonpersistent"),
            },
            "tensor_constant" => InputKind::TensorConstant(self.lexer.name()?),
            "custom_object" => InputKind::CustomObject(self.lexer.name()?),
            "token" => InputKind::Token,
            word => return self.lexer.fail(format!("`{word}` is not a kind of input")),
        };
        let name = if self.lexer.keyword("as") {
            self.lexer.name()?
        } else {
            arg.as_value().map(|v| scope.body.values[v].name.to_string()).unwrap_or_default()
        };
        Ok(InputSpec { name, kind })
    }

    fn output_kind(&mut self, scope: &Scope) -> Result<OutputKind, TextError> {
        self.lexer.expect("=")?;
        Ok(match self.lexer.word()? {
            "user" => OutputKind::User,
            "loss" => OutputKind::Loss,
            "token" => OutputKind::Token,
            "gradient" => OutputKind::Gradient(self.lexer.name()?),
            "state" => {
                let kind = self.state_kind()?;
                let name = self.lexer.name()?;
                if !self.lexer.keyword("of") {
                    return self.lexer.fail("expected `of`");
                }
                OutputKind::State { kind, name, input: self.val(scope)? }
            }
            word => return self.lexer.fail(format!("`{word}` is not a kind of output")),
        })
    }

    fn call(&mut self, scope: &mut Scope) -> Result<Call, TextError> {
        let mut outputs = Outputs::new();
        // Values are defined after the arguments are read, so that a call cannot use its own results.
        let mut defined = Vec::new();
        while matches!(self.lexer.peek(), Some('%' | '[')) || self.lexer.peek_word() == "none" {
            let output = if self.lexer.keyword("none") {
                Output::None
            } else if self.lexer.eat("[") {
                Output::List(self.list("]", |p| {
                    if p.lexer.keyword("none") { Ok(None) } else { p.result(scope, &mut defined).map(Some) }
                })?)
            } else {
                Output::Value(self.result(scope, &mut defined)?)
            };
            outputs.push(output);
            if !self.lexer.eat(",") {
                self.lexer.expect("=")?;
                break;
            }
        }
        let target =
            if self.lexer.keyword("call") { self.lexer.quoted()? } else { self.lexer.word()?.to_owned() };
        self.lexer.expect("(")?;
        let args = self.list(")", |p| p.named_arg(scope))?;
        let node = defined.first().map_or("", |(name, _)| name.as_str()).to_owned();
        let origin = self.origin(node, &target)?;
        for (name, val) in defined {
            self.bind(scope, name, val)?;
        }
        Ok(Call { target: target.into(), args, outputs, origin })
    }

    fn origin(&mut self, node: String, target: &str) -> Result<OriginId, TextError> {
        let mut origin = Origin::new(node, CallSite { target: target.into(), ..CallSite::default() });
        if self.lexer.eat("@") {
            if self.lexer.peek_word() != "at" {
                origin.module = self.lexer.name()?.into();
            }
            if self.lexer.keyword("at") {
                origin.frames = [self.frame()?].into();
            }
        }
        Ok(self.program.origins.push(origin))
    }

    fn val(&mut self, scope: &Scope) -> Result<Val, TextError> {
        self.lexer.expect("%")?;
        let name = self.lexer.name()?;
        match scope.names.get(&name) {
            Some(val) => Ok(*val),
            None => self.lexer.fail(format!("`%{name}` is not defined")),
        }
    }

    /// `%name: type`, visible from here on.
    fn definition(&mut self, scope: &mut Scope) -> Result<Val, TextError> {
        let mut defined = Vec::new();
        let val = self.result(scope, &mut defined)?;
        for (name, val) in defined {
            self.bind(scope, name, val)?;
        }
        Ok(val)
    }

    fn result(&mut self, scope: &mut Scope, defined: &mut Vec<(String, Val)>) -> Result<Val, TextError> {
        self.lexer.expect("%")?;
        let name = self.lexer.name()?;
        let ty = if self.open && self.lexer.peek() != Some(':') {
            template::OPEN
        } else {
            self.lexer.expect(":")?;
            self.value_type()?
        };
        let val = scope.body.values.push(Value { name: name.as_str().into(), ty });
        defined.push((name, val));
        Ok(val)
    }

    fn bind(&self, scope: &mut Scope, name: String, val: Val) -> Result<(), TextError> {
        if scope.names.contains_key(&name) {
            return self.lexer.fail(format!("`%{name}` is defined twice"));
        }
        scope.names.insert(name, val);
        Ok(())
    }

    fn value_type(&mut self) -> Result<ValueType, TextError> {
        let word = self.lexer.peek_word();
        Ok(match word {
            "symfloat" | "symbool" | "token" | "symint" | "custom" => {
                self.lexer.word()?;
                match word {
                    "symfloat" => ValueType::SymFloat,
                    "symbool" => ValueType::SymBool,
                    "token" => ValueType::Token,
                    "custom" => ValueType::Custom(self.wrapped()?.into()),
                    _ => {
                        self.lexer.expect("(")?;
                        let dim = self.dim()?;
                        self.lexer.expect(")")?;
                        ValueType::SymInt(dim)
                    }
                }
            }
            _ => {
                let dtype = self.dtype()?;
                self.lexer.expect("[")?;
                let shape = self.list("]", Self::dim)?;
                let strides = if self.lexer.eat("{") {
                    self.list("}", Self::dim)?
                } else {
                    row_major(&mut self.program.symbols, &shape)
                };
                TensorType { dtype, shape, strides }.into()
            }
        })
    }
}

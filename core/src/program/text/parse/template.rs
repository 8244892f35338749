//! Reading decompositions: bodies over parameters, whose values have no types yet.

use super::{Parser, Scope};
use crate::program::text::TextError;
use crate::program::{Arg, Body, Val, Value, ValueType};
use crate::text::{Lexer, Reader};

/// A program for the calls of an operator that fulfil its conditions.
#[derive(Clone, Debug)]
pub struct Template {
    /// The operator and overload, `aten.softplus.default`.
    pub target: String,
    /// The names of the arguments that it takes, each with the value that stands for it.
    pub parameters: Vec<(String, Val)>,
    /// What must hold of a call.
    pub conditions: Vec<Condition>,
    /// The calls. Values have no types; parameters may be anything that an argument can be.
    pub body: Body,
}

/// What must hold of a call, by the position of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The argument is this.
    Is(usize, Arg),
    /// The argument is not this.
    IsNot(usize, Arg),
    /// The argument is a tensor of this rank.
    Rank(usize, usize),
}

/// What a value without a type is, until the template is used.
pub(crate) const OPEN: ValueType = ValueType::Token;

/// Reads `decomposition aten.op.overload(a, b) when a is 1 and b is not none { … }`, as many as there are.
pub(in crate::program) fn templates(text: &str) -> Result<Vec<Template>, TextError> {
    let mut parser =
        Parser { lexer: Lexer::new(text), program: crate::program::Program::default(), depth: 0, open: true };
    let mut found = Vec::new();
    while parser.lexer.peek().is_some() {
        found.push(parser.template()?);
    }
    Ok(found)
}

impl Parser<'_> {
    fn template(&mut self) -> Result<Template, TextError> {
        if !self.lexer.keyword("decomposition") {
            return self.lexer.fail("expected `decomposition`");
        }
        let target = self.lexer.word()?.to_owned();
        self.lexer.expect("(")?;
        let names: Vec<String> = self.list(")", |p| p.lexer.name())?;
        let mut scope = Scope::default();
        let mut parameters = Vec::with_capacity(names.len());
        for name in names {
            let val = scope.body.values.push(Value { name: name.as_str().into(), ty: OPEN });
            self.bind(&mut scope, name.clone(), val)?;
            parameters.push((name, val));
        }
        let mut conditions = Vec::new();
        let mut more = self.lexer.keyword("when");
        while more {
            let condition = self.condition(&parameters, &mut scope)?;
            conditions.push(condition);
            more = self.lexer.keyword("and");
        }
        let body = self.nested("graphs", |p| p.lines(scope, None))?;
        Ok(Template { target, parameters, conditions, body })
    }

    /// `rank(x) is 2`, `dim is none`, `dim is not none`.
    fn condition(&mut self, parameters: &[(String, Val)], scope: &mut Scope) -> Result<Condition, TextError> {
        let word = self.lexer.word()?.to_owned();
        let ranked = word == "rank" && self.lexer.eat("(");
        let name = if ranked { self.lexer.name()? } else { word };
        let Some(at) = parameters.iter().position(|(parameter, _)| *parameter == name) else {
            return self.lexer.fail(format!("there is no parameter `{name}`"));
        };
        if ranked {
            self.lexer.expect(")")?;
        }
        if !self.lexer.keyword("is") {
            return self.lexer.fail("expected `is`");
        }
        if ranked {
            return Ok(Condition::Rank(at, self.lexer.int()?));
        }
        let negated = self.lexer.keyword("not");
        let arg = self.arg(scope)?;
        Ok(if negated { Condition::IsNot(at, arg) } else { Condition::Is(at, arg) })
    }
}

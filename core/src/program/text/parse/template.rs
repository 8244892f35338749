//! Reading decompositions: bodies over parameters, whose values have no types yet.

use super::{Parser, Scope};
use crate::program::text::TextError;
use crate::program::{Arg, Body, Val, Value, ValueType};
use crate::tensor::DType;
use crate::text::{Lexer, Reader};

/// A program that replaces the calls of an operator that meet its conditions.
#[derive(Clone, Debug)]
pub struct Template {
    /// Whether it spells out writes of the operator that its schema does not declare.
    pub writes: bool,
    /// The operator and overload, `aten.softplus.default`.
    pub target: String,
    /// The names of the arguments that it takes, each with the value that is bound to it.
    pub parameters: Vec<(String, Val)>,
    /// The conditions on a call.
    pub conditions: Vec<Condition>,
    /// The calls. Values have no types; parameters may be any kind of argument.
    pub body: Body,
}

/// A condition on a call, by the position of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The argument is this.
    Is(usize, Arg),
    /// The argument is not this.
    IsNot(usize, Arg),
    /// The argument is a tensor of this rank.
    Rank(usize, usize),
    /// The argument is a tensor of one of these element types.
    DType(usize, Vec<DType>),
    /// Both arguments are tensors of one shape.
    Shape(usize, usize),
    /// An axis of a tensor has the size of one of another tensor: positions of parameters, each with its axis.
    Size([(usize, usize); 2]),
}

/// The type of a value that has none until the template is used.
pub(crate) const OPEN: ValueType = ValueType::Token;

/// Parses all programs of the form `decomposition aten.op.overload(a, b) when a is 1 and b is not none { … }`; one
/// that spells out hidden writes begins with `writes` instead.
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
        let writes = self.lexer.keyword("writes");
        if !writes && !self.lexer.keyword("decomposition") {
            return self.lexer.fail("expected `decomposition` or `writes`");
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
        Ok(Template { writes, target, parameters, conditions, body })
    }

    /// `rank(x) is 2`, `dtype(x) is f32 or f64`, `shape(x) is shape(y)`, `size(x, 0) is size(y, 1)`, `dim is none`,
    /// `dim is not none`.
    fn condition(&mut self, parameters: &[(String, Val)], scope: &mut Scope) -> Result<Condition, TextError> {
        let word = self.lexer.word()?.to_owned();
        if matches!(word.as_str(), "rank" | "dtype" | "shape" | "size") && self.lexer.eat("(") {
            return self.asked(&word, parameters);
        }
        let at = self.position(&word, parameters)?;
        self.is()?;
        let negated = self.lexer.keyword("not");
        let arg = self.arg(scope)?;
        Ok(if negated { Condition::IsNot(at, arg) } else { Condition::Is(at, arg) })
    }

    /// Parses a condition on a tensor, from its name on.
    fn asked(&mut self, what: &str, parameters: &[(String, Val)]) -> Result<Condition, TextError> {
        let (at, axis) = self.place(what, parameters)?;
        self.is()?;
        match what {
            "rank" => return Ok(Condition::Rank(at, self.lexer.int()?)),
            "dtype" => {
                let mut dtypes = vec![self.dtype()?];
                while self.lexer.keyword("or") {
                    dtypes.push(self.dtype()?);
                }
                return Ok(Condition::DType(at, dtypes));
            }
            _ => {}
        }
        if !self.lexer.keyword(what) || !self.lexer.eat("(") {
            return self.lexer.fail(format!("expected `{what}` of another tensor"));
        }
        let (other, other_axis) = self.place(what, parameters)?;
        if what == "shape" {
            return Ok(Condition::Shape(at, other));
        }
        Ok(Condition::Size([(at, axis), (other, other_axis)]))
    }

    /// A tensor, for `size` with an axis, and the closing parenthesis.
    fn place(&mut self, what: &str, parameters: &[(String, Val)]) -> Result<(usize, usize), TextError> {
        let name = self.lexer.name()?;
        let at = self.position(&name, parameters)?;
        let mut axis = 0;
        if what == "size" {
            self.lexer.expect(",")?;
            axis = self.lexer.int()?;
        }
        self.lexer.expect(")")?;
        Ok((at, axis))
    }

    fn position(&self, name: &str, parameters: &[(String, Val)]) -> Result<usize, TextError> {
        match parameters.iter().position(|(parameter, _)| parameter == name) {
            Some(at) => Ok(at),
            None => self.lexer.fail(format!("unknown parameter `{name}`")),
        }
    }

    fn is(&mut self) -> Result<(), TextError> {
        if self.lexer.keyword("is") { Ok(()) } else { self.lexer.fail("expected `is`") }
    }
}

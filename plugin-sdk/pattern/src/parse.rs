//! The parser.

use crate::{Attribute, Dim, Kind, Name, Node, Number, Operand, Pattern, Term, Token, Value};

/// Patterns nest no deeper than this.
const MAX_DEPTH: usize = 64;

/// The modifiers in front of an operator.
const MODIFIERS: [&str; 4] = ["shared", "maybe", "commutative", "ordered"];

/// The reason why a pattern cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The position of the token, as [`Token::at`] has it; `None` at the end of the pattern.
    pub at: Option<usize>,
    /// The defect, in words.
    pub message: String,
}

impl Error {
    /// An error at a position.
    pub fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at: Some(at), message: message.into() }
    }
}

type Read<T> = Result<T, Error>;

/// Parses a pattern, to the last token.
///
/// # Errors
/// The first token that does not fit, and the reason.
pub fn parse(tokens: &[Token]) -> Read<Pattern> {
    let mut parser = Parser { tokens, depth: 0 };
    let pattern = parser.pattern()?;
    if parser.tokens.is_empty() { Ok(pattern) } else { parser.fail("expected the end of the pattern") }
}

struct Parser<'a> {
    /// The tokens that are left.
    tokens: &'a [Token],
    depth: usize,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(Error { at: self.tokens.first().map(|token| token.at), message: message.into() })
    }

    /// The kind of a token ahead.
    fn ahead(&self, by: usize) -> Option<&'a Kind> {
        self.tokens.get(by).map(|token| &token.kind)
    }

    fn skip(&mut self, count: usize) {
        self.tokens = self.tokens.get(count..).unwrap_or_default();
    }

    fn is_symbol(&self, by: usize, symbol: char) -> bool {
        self.ahead(by) == Some(&Kind::Symbol(symbol))
    }

    fn word_ahead(&self, by: usize) -> Option<&'a str> {
        match self.ahead(by) {
            Some(Kind::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Skips the symbols of `text` if they come next.
    fn eat(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(by, symbol)| self.is_symbol(by, symbol));
        if found {
            self.skip(text.len());
        }
        found
    }

    fn expect(&mut self, text: &str) -> Read<()> {
        if self.eat(text) { Ok(()) } else { self.fail(format!("expected `{text}`")) }
    }

    fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.word_ahead(0) == Some(keyword);
        if found {
            self.skip(1);
        }
        found
    }

    fn name(&mut self) -> Read<Name> {
        match self.tokens.first() {
            Some(Token { kind: Kind::Word(text), at }) => {
                self.skip(1);
                Ok(Name { text: text.clone(), at: *at })
            }
            _ => self.fail("expected a name"),
        }
    }

    fn pattern(&mut self) -> Read<Pattern> {
        let mut parts = Vec::new();
        while self.keyword("let") {
            let name = self.name()?;
            self.expect("=")?;
            parts.push((name, self.operand()?));
            self.expect(";")?;
        }
        let start = self.tokens;
        let roots = if self.eat("(") { self.group()? } else { vec![self.operand()?] };
        let is_root = |root: &Operand| match &root.term {
            Term::Node(_) | Term::Either(_) => true,
            Term::Name { name, constant, .. } => {
                !constant && parts.iter().any(|(part, _)| part.text == name.text)
            }
            Term::Any { .. } | Term::Number(_) => false,
        };
        if roots.iter().all(is_root) {
            return Ok(Pattern { parts, roots });
        }
        self.tokens = start;
        self.fail("a root is an operator")
    }

    /// Parses the rest after `(`: several roots, or alternatives, which are one.
    fn group(&mut self) -> Read<Vec<Operand>> {
        let first = self.operand()?;
        if self.is_symbol(0, '|') {
            let term = self.either(first)?;
            return Ok(vec![Operand { term, shape: None }]);
        }
        let mut roots = vec![first];
        while self.eat(",") {
            if !self.is_symbol(0, ')') {
                roots.push(self.operand()?);
            }
        }
        self.expect(")")?;
        Ok(roots)
    }

    /// The alternatives from `first` on, up to the `)`.
    fn either(&mut self, first: Operand) -> Read<Term> {
        let mut terms = vec![first];
        while self.eat("|") {
            terms.push(self.operand()?);
        }
        self.expect(")")?;
        Ok(Term::Either(terms))
    }

    fn operand(&mut self) -> Read<Operand> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.fail(format!("nested deeper than {MAX_DEPTH}"));
        }
        let term = self.term()?;
        let shape = if self.eat(":") { Some(self.shape()?) } else { None };
        self.depth -= 1;
        Ok(Operand { term, shape })
    }

    fn term(&mut self) -> Read<Term> {
        match self.ahead(0) {
            Some(Kind::Symbol('(')) => {
                self.skip(1);
                let first = self.operand()?;
                return self.either(first);
            }
            Some(Kind::Symbol('-') | Kind::Number(_)) => return self.number().map(Term::Number),
            Some(Kind::Text(_)) => return self.node(),
            Some(Kind::Word(word)) if MODIFIERS.contains(&word.as_str()) => return self.node(),
            _ => {}
        }
        if self.is_symbol(1, '(') || self.is_symbol(1, '@') {
            return self.node();
        }
        if self.keyword("_") {
            return Ok(Term::Any { optional: self.eat("?") });
        }
        let constant = self.keyword("const");
        let name = self.name()?;
        let output = if constant { None } else { self.output()? };
        Ok(Term::Name { name, constant, output, optional: self.eat("?") })
    }

    /// `.1`, if it comes next.
    fn output(&mut self) -> Read<Option<u32>> {
        if self.is_symbol(1, '.') || !self.eat(".") {
            return Ok(None);
        }
        self.integer().map(Some)
    }

    fn node(&mut self) -> Read<Term> {
        let mut name = None;
        if self.is_symbol(1, '@') {
            name = Some(self.name()?);
            self.skip(1);
        }
        let (mut shared, mut maybe, mut commutative) = (false, false, None);
        // A modifier stands before an operator or a domain.
        while !self.is_symbol(1, '(') && matches!(self.ahead(0), Some(Kind::Word(_))) {
            match self.word_ahead(0) {
                Some("shared") => shared = true,
                Some("maybe") => maybe = true,
                Some("commutative") => commutative = Some(true),
                Some("ordered") => commutative = Some(false),
                _ => return self.fail("expected `shared`, `maybe`, `commutative`, `ordered` or an operator"),
            }
            self.skip(1);
        }
        let mut domain = None;
        if let Some(Kind::Text(text)) = self.ahead(0) {
            domain = Some(text.clone());
            self.skip(1);
            self.expect("::")?;
        }
        let op = self.name()?;
        let (operands, attributes) = (Vec::new(), Vec::new());
        let mut node = Node {
            name,
            shared,
            maybe,
            commutative,
            domain,
            op,
            operands,
            attributes,
            open: false,
            output: None,
        };
        self.expect("(")?;
        self.arguments(&mut node)?;
        node.output = self.output()?;
        let wrong = |message: &str| Err(Error::new(node.op.at, message));
        match node.operands.len() {
            0 if node.maybe => wrong("an operator that may be missing has an operand"),
            0 | 1 if node.commutative == Some(true) => wrong("a commutative operator has two operands"),
            _ => Ok(Term::Node(Box::new(node))),
        }
    }

    /// Parses operands, then attributes, then `..`, up to the `)`.
    fn arguments(&mut self, node: &mut Node) -> Read<()> {
        while !self.eat(")") {
            if node.open {
                return self.fail("`..` must be last");
            }
            if self.eat("..") {
                node.open = true;
            } else if self.word_ahead(0).is_some() && self.is_symbol(1, '=') {
                node.attributes.push(self.attribute()?);
            } else if node.attributes.is_empty() {
                node.operands.push(self.operand()?);
            } else {
                return self.fail("operands must come before attributes");
            }
            if !self.eat(",") {
                return self.expect(")");
            }
        }
        Ok(())
    }

    fn attribute(&mut self) -> Read<Attribute> {
        let name = self.name()?;
        self.expect("=")?;
        let value = match self.ahead(0) {
            Some(Kind::Text(text)) => {
                self.skip(1);
                Value::Str(text.clone())
            }
            Some(Kind::Symbol('[')) => self.list()?,
            Some(Kind::Symbol('-') | Kind::Number(_)) => {
                let number = self.number()?;
                match number.text.parse() {
                    Ok(int) if number.tolerance.is_none() => Value::Int(int),
                    _ => Value::Float(number),
                }
            }
            _ => Value::Capture(self.name()?),
        };
        Ok(Attribute { name, value, optional: self.eat("?") })
    }

    fn list(&mut self) -> Read<Value> {
        self.expect("[")?;
        let mut texts = Vec::new();
        while !self.eat("]") {
            texts.push(self.signed()?);
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        let ints: Option<Vec<i64>> = texts.iter().map(|text| text.parse().ok()).collect();
        let floats: Option<Vec<f32>> = texts.iter().map(|text| text.parse().ok()).collect();
        match (ints, floats) {
            (Some(ints), _) => Ok(Value::Ints(ints)),
            (None, Some(floats)) => Ok(Value::Floats(floats)),
            (None, None) => self.fail("expected a list of numbers"),
        }
    }

    fn number(&mut self) -> Read<Number> {
        let text = self.signed()?;
        let tolerance = if self.eat("~") { Some(self.signed()?) } else { None };
        Ok(Number { text, tolerance })
    }

    /// The text of a number with its sign.
    fn signed(&mut self) -> Read<String> {
        let negative = self.is_symbol(0, '-');
        let number = match self.ahead(usize::from(negative)) {
            Some(Kind::Number(text)) if text.parse::<f64>().is_ok() => text,
            Some(Kind::Word(word)) if negative && word == "inf" => word,
            _ => return self.fail("expected a number"),
        };
        self.skip(1 + usize::from(negative));
        Ok(format!("{}{number}", if negative { "-" } else { "" }))
    }

    fn integer<T: std::str::FromStr>(&mut self) -> Read<T> {
        let found = match self.ahead(0) {
            Some(Kind::Number(text)) => text.parse().ok(),
            _ => None,
        };
        match found {
            Some(integer) => {
                self.skip(1);
                Ok(integer)
            }
            None => self.fail("expected an integer"),
        }
    }

    fn shape(&mut self) -> Read<Vec<Dim>> {
        self.expect("[")?;
        let mut dims = Vec::new();
        while !self.eat("]") {
            let dim = match self.ahead(0) {
                Some(Kind::Symbol('.')) => {
                    self.expect("..")?;
                    Dim::Rest
                }
                Some(Kind::Number(_)) => Dim::Number(self.integer()?),
                _ if self.keyword("_") => Dim::Any,
                _ => Dim::Variable(self.name()?),
            };
            if dim == Dim::Rest && dims.contains(&dim) {
                return self.fail("a shape has at most one `..`");
            }
            dims.push(dim);
            if !self.eat(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(dims)
    }
}

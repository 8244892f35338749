//! The patterns of `rules/1`: a text, read into terms. `docs/optimizer-plugins.md` has the grammar.

use onnxport_abi::rules::RuleText;
use rustc_hash::FxHashMap;

use super::pattern::{
    Attribute, AttributeWants, DimTerm, Kind, NodeTerm, Number, OpClass, Pattern, Requested, Term, TermId,
};
use crate::incoming::Known;
use crate::ops::{Traits, traits_of};
use crate::text::{Lexer, TextError};

/// Patterns nest no deeper than this.
const MAX_DEPTH: usize = 64;

/// Reads the pattern of a rule, and the names that the rule asks for.
///
/// # Errors
/// The defect of the pattern, in words.
pub(super) fn compile(rule: &RuleText) -> Result<Pattern, String> {
    let (mut pattern, names) = parse(rule.pattern.known())?;
    let position = |known: &[String], name: &str| known.iter().position(|other| other == name);
    let missing = |name: &str| format!("its pattern has no `{name}`");
    let all = |asked: &[onnxport_abi::RStr<'static>],
               find: &dyn Fn(&str) -> Option<usize>|
     -> Result<Vec<usize>, String> {
        asked.iter().map(|name| find(name.known()).ok_or_else(|| missing(name.known()))).collect()
    };
    let wanted: Result<Requested, String> = (|| {
        Ok(Requested {
            nodes: all(rule.nodes.known(), &|name| names.get(name).copied())?,
            values: all(rule.values.known(), &|name| position(&pattern.values, name))?,
            dims: all(rule.dims.known(), &|name| position(&pattern.dims, name))?,
            captures: all(rule.attributes.known(), &|name| position(&pattern.captures, name))?,
        })
    })();
    pattern.wanted = wanted?;
    Ok(pattern)
}

/// Parses a pattern; returns the named terms as well.
pub(crate) fn parse(text: &str) -> Result<(Pattern, FxHashMap<String, TermId>), String> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        pattern: Pattern { defaults: true, ..Pattern::default() },
        names: FxHashMap::default(),
        depth: 0,
    };
    parser.pattern().map_err(|error| format!("its pattern, {error}"))?;
    Ok((parser.pattern, parser.names))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    pattern: Pattern,
    /// The named terms.
    names: FxHashMap<String, TermId>,
    depth: usize,
}

type Read<T> = Result<T, TextError>;

impl Parser<'_> {
    fn pattern(&mut self) -> Read<()> {
        while self.lexer.keyword("let") {
            let name = self.identifier()?;
            self.lexer.expect("=")?;
            let term = self.operand()?;
            self.lexer.expect(";")?;
            self.name(name, term)?;
        }
        let roots = if self.lexer.eat("(") { self.group()? } else { vec![self.operand()?] };
        for root in roots {
            let makes = |term: &Term| matches!(term.kind, Kind::Node(_) | Kind::Either(_) | Kind::Output(..));
            if !self.pattern.terms.get(root).is_some_and(makes) {
                return self.lexer.fail("a root is an operator");
            }
            self.pattern.roots.push(root);
        }
        match self.lexer.peek() {
            None => Ok(()),
            Some(_) => self.lexer.fail("expected the end of the pattern"),
        }
    }

    /// Parses the rest after `(`: several roots, or alternatives, which are one.
    fn group(&mut self) -> Read<Vec<TermId>> {
        let first = self.operand()?;
        if self.lexer.peek() == Some('|') {
            return Ok(vec![self.either(first)?]);
        }
        let mut roots = vec![first];
        while self.lexer.eat(",") {
            if self.lexer.peek() != Some(')') {
                roots.push(self.operand()?);
            }
        }
        self.lexer.expect(")")?;
        Ok(roots)
    }

    /// The alternatives from `first` on, up to the `)`.
    fn either(&mut self, first: TermId) -> Read<TermId> {
        let mut terms = vec![first];
        while self.lexer.eat("|") {
            terms.push(self.operand()?);
        }
        self.lexer.expect(")")?;
        let only = terms.first().copied().filter(|_| terms.len() == 1);
        Ok(only.unwrap_or_else(|| self.add(Kind::Either(terms))))
    }

    fn operand(&mut self) -> Read<TermId> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.lexer.fail(format!("nested deeper than {MAX_DEPTH}"));
        }
        let term = self.term()?;
        if self.lexer.eat(":") {
            let shape = self.shape()?;
            if let Some(term) = self.pattern.terms.get_mut(term) {
                term.shape = Some(shape);
            }
        }
        self.depth -= 1;
        Ok(term)
    }

    fn term(&mut self) -> Read<TermId> {
        match self.lexer.peek() {
            Some('(') => {
                self.lexer.expect("(")?;
                let first = self.operand()?;
                return self.either(first);
            }
            Some('"') => return self.node(Flags::default()),
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let number = self.number()?;
                return Ok(self.add(Kind::Number(number)));
            }
            _ => {}
        }
        let word = self.identifier()?;
        if self.lexer.eat("@") {
            let term = self.term()?;
            self.name(word, term)?;
            return Ok(term);
        }
        match word.as_str() {
            "_" => {
                let term = self.add(Kind::Any);
                return Ok(self.question(term));
            }
            "const" => {
                let name = self.identifier()?;
                let variable = index(&mut self.pattern.values, name);
                let term = self.add(Kind::Constant(variable));
                return Ok(self.question(term));
            }
            "shared" | "maybe" | "commutative" | "ordered" => return self.node(Flags::from_word(&word)),
            _ => {}
        }
        match self.lexer.peek() {
            Some('(') => self.node_of(String::new(), word, Flags::default()),
            _ => match self.names.get(&word).copied() {
                Some(term) => self.reference(term),
                None => {
                    let variable = index(&mut self.pattern.values, word);
                    let term = self.add(Kind::Value(variable));
                    Ok(self.question(term))
                }
            },
        }
    }

    /// A named term once more, or another output of its node.
    fn reference(&mut self, term: TermId) -> Read<TermId> {
        if !self.lexer.eat(".") {
            return Ok(term);
        }
        let output = self.lexer.int()?;
        Ok(self.add(Kind::Output(term, output)))
    }

    fn question(&mut self, term: TermId) -> TermId {
        if self.lexer.eat("?")
            && let Some(term) = self.pattern.terms.get_mut(term)
        {
            term.optional = true;
        }
        term
    }

    /// Parses an operator after at least one keyword, or one of another domain.
    fn node(&mut self, mut flags: Flags) -> Read<TermId> {
        loop {
            if self.lexer.peek() == Some('"') {
                let domain = self.lexer.quoted()?;
                self.lexer.expect("::")?;
                let op = self.identifier()?;
                return self.node_of(domain, op, flags);
            }
            let word = self.identifier()?;
            if self.lexer.peek() == Some('(') {
                return self.node_of(String::new(), word, flags);
            }
            let more = Flags::from_word(&word);
            if more == Flags::default() {
                return self.lexer.fail("expected an operator");
            }
            flags = flags.and(more);
        }
    }

    fn node_of(&mut self, domain: String, op: String, flags: Flags) -> Read<TermId> {
        let class = if domain.is_empty() { OpClass::from_word(&op) } else { None };
        let commutes = || domain.is_empty() && traits_of("", &op).has(Traits::COMMUTATIVE);
        let mut node = NodeTerm {
            commutative: flags.commutative.unwrap_or_else(commutes),
            domain,
            op,
            class,
            operands: Vec::new(),
            attributes: Vec::new(),
            output: 0,
            open: class.is_some(),
            shared: flags.shared,
        };
        self.lexer.expect("(")?;
        while !self.lexer.eat(")") {
            if self.lexer.eat("..") {
                node.open = true;
            } else if let Some(name) = self.attribute_name() {
                let attribute = self.attribute(name)?;
                node.attributes.push(attribute);
            } else {
                node.operands.push(self.operand()?);
            }
            if !self.lexer.eat(",") {
                self.lexer.expect(")")?;
                break;
            }
        }
        if self.lexer.eat(".") {
            node.output = self.lexer.int()?;
        }
        if class.is_some_and(|class| class.is_empty(node.operands.len())) {
            let word = &node.op;
            return self.lexer.fail(format!("`{word}` has no operator of {} operands", node.operands.len()));
        }
        if flags.commutative == Some(true) && node.operands.len() < 2 {
            return self.lexer.fail("a commutative operator has two operands");
        }
        node.commutative &= node.operands.len() >= 2;
        let inner = node.operands.first().copied();
        let term = self.add(Kind::Node(node));
        match (flags.maybe, inner) {
            (false, _) => Ok(term),
            (true, Some(inner)) => Ok(self.add(Kind::Either(vec![term, inner]))),
            (true, None) => self.lexer.fail("an operator that may be missing has an operand"),
        }
    }

    /// Parses the name of an attribute with its `=`, if that comes next.
    fn attribute_name(&mut self) -> Option<String> {
        let word = self.lexer.peek_word().to_owned();
        let mut ahead = self.lexer.clone();
        (!word.is_empty() && ahead.eat(&word) && ahead.eat("=")).then(|| {
            self.lexer = ahead;
            word
        })
    }

    fn attribute(&mut self, name: String) -> Read<Attribute> {
        let wants = match self.lexer.peek() {
            Some('"') => AttributeWants::Str(self.lexer.quoted()?),
            Some('[') => self.list()?,
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let text = self.lexer.number();
                match text.parse() {
                    Ok(int) if self.lexer.peek() != Some('~') => AttributeWants::Int(int),
                    _ => AttributeWants::Float(self.tolerance(text)?),
                }
            }
            _ => {
                let variable = self.identifier()?;
                AttributeWants::Capture(index(&mut self.pattern.captures, variable))
            }
        };
        Ok(Attribute { name, wants, optional: self.lexer.eat("?") })
    }

    fn list(&mut self) -> Read<AttributeWants> {
        self.lexer.expect("[")?;
        let mut texts = Vec::new();
        while !self.lexer.eat("]") {
            texts.push(self.lexer.number());
            if !self.lexer.eat(",") {
                self.lexer.expect("]")?;
                break;
            }
        }
        let ints: Option<Vec<i64>> = texts.iter().map(|text| text.parse().ok()).collect();
        let floats: Option<Vec<f32>> = texts.iter().map(|text| text.parse().ok()).collect();
        match (ints, floats) {
            (Some(ints), _) => Ok(AttributeWants::Ints(ints)),
            (None, Some(floats)) => Ok(AttributeWants::Floats(floats)),
            (None, None) => self.lexer.fail("expected a list of numbers"),
        }
    }

    fn number(&mut self) -> Read<Number> {
        let text = self.lexer.number();
        self.tolerance(text)
    }

    /// Parses the number `text`, with the optional tolerance after it.
    fn tolerance(&mut self, text: &str) -> Read<Number> {
        let Ok(value) = text.parse() else { return self.lexer.fail("expected a number") };
        let mut tolerance = 0.0;
        if self.lexer.eat("~") {
            match self.lexer.number().parse() {
                Ok(stated) => tolerance = stated,
                Err(_) => return self.lexer.fail("expected a tolerance"),
            }
        }
        Ok(Number { value, tolerance })
    }

    fn shape(&mut self) -> Read<Vec<DimTerm>> {
        self.lexer.expect("[")?;
        let mut dims = Vec::new();
        while !self.lexer.eat("]") {
            let dim = match self.lexer.peek() {
                _ if self.lexer.eat("..") => DimTerm::Rest,
                Some(c) if c.is_ascii_digit() => DimTerm::Number(self.lexer.int()?),
                _ => match self.identifier()? {
                    any if any == "_" => DimTerm::Any,
                    name => DimTerm::Variable(index(&mut self.pattern.dims, name)),
                },
            };
            if dim == DimTerm::Rest && dims.contains(&dim) {
                return self.lexer.fail("`..` stands once in a shape");
            }
            dims.push(dim);
            if !self.lexer.eat(",") {
                self.lexer.expect("]")?;
                break;
            }
        }
        Ok(dims)
    }

    fn add(&mut self, kind: Kind) -> TermId {
        self.pattern.terms.push(Term { kind, optional: false, shape: None });
        self.pattern.terms.len() - 1
    }

    fn name(&mut self, name: String, term: TermId) -> Read<()> {
        if self.pattern.values.contains(&name) || self.names.contains_key(&name) {
            return self.lexer.fail(format!("`{name}` stands for two things"));
        }
        self.names.insert(name, term);
        Ok(())
    }

    /// A word without dots.
    fn identifier(&mut self) -> Read<String> {
        let word = self.lexer.peek_word();
        let word = word.split('.').next().unwrap_or_default().to_owned();
        if word.is_empty() || !self.lexer.eat(&word) {
            return self.lexer.fail("expected a name");
        }
        Ok(word)
    }
}

/// Modifiers in front of an operator.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    shared: bool,
    maybe: bool,
    /// Whether the first two operands may come in either order, if stated.
    commutative: Option<bool>,
}

impl Flags {
    fn from_word(word: &str) -> Self {
        let commutative = match word {
            "commutative" => Some(true),
            "ordered" => Some(false),
            _ => None,
        };
        Self { shared: word == "shared", maybe: word == "maybe", commutative }
    }

    fn and(self, other: Self) -> Self {
        Self {
            shared: self.shared || other.shared,
            maybe: self.maybe || other.maybe,
            commutative: self.commutative.or(other.commutative),
        }
    }
}

/// Returns the position of `name`, which is added if it is new.
fn index(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

//! The patterns of `rules/1`: texts, read into terms. `onnxport-pattern` has their grammar.

use onnxport_abi::rules::RuleText;
use onnxport_pattern as syntax;
use rustc_hash::FxHashMap;

use super::pattern::{
    Attribute, AttributeWants, DimTerm, Kind, NodeTerm, Number, OpClass, Pattern, Requested, Term, TermId,
};
use crate::incoming::Validated;
use crate::ops::{Traits, traits_of};

/// Reads the pattern of a rule, and the names that the rule asks for.
///
/// # Errors
/// The defect of the pattern, in words.
pub(super) fn compile(rule: &RuleText) -> Result<Pattern, String> {
    let (mut pattern, names) = parse(rule.pattern.validated())?;
    let position = |known: &[String], name: &str| known.iter().position(|other| other == name);
    let missing = |name: &str| format!("its pattern has no `{name}`");
    let all = |asked: &[onnxport_abi::RStr<'static>],
               find: &dyn Fn(&str) -> Option<usize>|
     -> Result<Vec<usize>, String> {
        asked.iter().map(|name| find(name.validated()).ok_or_else(|| missing(name.validated()))).collect()
    };
    let wanted: Result<Requested, String> = (|| {
        Ok(Requested {
            nodes: all(rule.nodes.validated(), &|name| names.get(name).copied())?,
            values: all(rule.values.validated(), &|name| position(&pattern.values, name))?,
            dims: all(rule.dims.validated(), &|name| position(&pattern.dims, name))?,
            captures: all(rule.attributes.validated(), &|name| position(&pattern.captures, name))?,
        })
    })();
    pattern.wanted = wanted?;
    Ok(pattern)
}

/// Parses a pattern; returns the named terms as well.
pub(crate) fn parse(text: &str) -> Result<(Pattern, FxHashMap<String, TermId>), String> {
    let mut reader =
        Reader { pattern: Pattern { defaults: true, ..Pattern::default() }, names: FxHashMap::default() };
    let read = syntax::tokens(text).and_then(|tokens| syntax::parse(&tokens));
    match read.and_then(|pattern| reader.pattern(&pattern)) {
        Ok(()) => Ok((reader.pattern, reader.names)),
        Err(syntax::Error { at, message }) => {
            let before = text.get(..at.unwrap_or(text.len())).unwrap_or(text);
            Err(format!("its pattern, column {}: {message}", before.chars().count() + 1))
        }
    }
}

/// Makes terms of a pattern's syntax.
struct Reader {
    pattern: Pattern,
    /// The named terms.
    names: FxHashMap<String, TermId>,
}

type Read<T> = Result<T, syntax::Error>;

impl Reader {
    fn pattern(&mut self, pattern: &syntax::Pattern) -> Read<()> {
        for (name, part) in &pattern.parts {
            let term = self.operand(part)?;
            self.name(name, term)?;
        }
        for root in &pattern.roots {
            let root = self.operand(root)?;
            self.pattern.roots.push(root);
        }
        Ok(())
    }

    fn operand(&mut self, operand: &syntax::Operand) -> Read<TermId> {
        let id = self.term(&operand.term)?;
        if let (Some(shape), Some(term)) = (&operand.shape, self.pattern.terms.get_mut(id)) {
            term.shape = Some(shape.iter().map(|dim| extent(&mut self.pattern.dims, dim)).collect());
        }
        Ok(id)
    }

    fn term(&mut self, term: &syntax::Term) -> Read<TermId> {
        match term {
            syntax::Term::Any { optional } => Ok(self.add(Kind::Any, *optional)),
            syntax::Term::Number(number) => Ok(self.add(Kind::Number(Number::from(number)), false)),
            syntax::Term::Node(node) => self.node(node),
            syntax::Term::Either(terms) => {
                let terms = terms.iter().map(|term| self.operand(term)).collect::<Read<Vec<_>>>()?;
                match terms.as_slice() {
                    [only] => Ok(*only),
                    _ => Ok(self.add(Kind::Either(terms), false)),
                }
            }
            syntax::Term::Name { name, constant: true, optional, .. } => {
                let variable = index(&mut self.pattern.values, &name.text);
                Ok(self.add(Kind::Constant(variable), *optional))
            }
            syntax::Term::Name { name, optional, output, .. } => match (self.names.get(&name.text), output) {
                (Some(known), None) => Ok(*known),
                (Some(known), Some(output)) => Ok(self.add(Kind::Output(*known, *output), *optional)),
                (None, Some(_)) => {
                    Err(syntax::Error::new(name.at, format!("the pattern has no part `{name}` before")))
                }
                (None, None) => {
                    let variable = index(&mut self.pattern.values, &name.text);
                    Ok(self.add(Kind::Value(variable), *optional))
                }
            },
        }
    }

    fn node(&mut self, node: &syntax::Node) -> Read<TermId> {
        let (domain, op) = (node.domain.clone().unwrap_or_default(), node.op.text.clone());
        let class = if domain.is_empty() { OpClass::from_word(&op) } else { None };
        if class.is_some_and(|class| class.is_empty(node.operands.len())) {
            let why = format!("`{op}` has no operator of {} operands", node.operands.len());
            return Err(syntax::Error::new(node.op.at, why));
        }
        let commutes = || domain.is_empty() && traits_of("", &op).has(Traits::COMMUTATIVE);
        let commutative = node.commutative.unwrap_or_else(commutes) && node.operands.len() >= 2;
        let operands = node.operands.iter().map(|operand| self.operand(operand)).collect::<Read<Vec<_>>>()?;
        let attributes = node.attributes.iter().map(|attribute| Attribute {
            name: attribute.name.text.clone(),
            wants: self.wants(&attribute.value),
            optional: attribute.optional,
        });
        let attributes = attributes.collect();
        let inner = operands.first().copied();
        let term = self.add(
            Kind::Node(NodeTerm {
                domain,
                op,
                class,
                operands,
                attributes,
                output: node.output.unwrap_or(0),
                commutative,
                open: node.open || class.is_some(),
                shared: node.shared,
            }),
            false,
        );
        let term = match inner {
            Some(inner) if node.maybe => self.add(Kind::Either(vec![term, inner]), false),
            _ => term,
        };
        node.name.iter().try_for_each(|name| self.name(name, term))?;
        Ok(term)
    }

    fn wants(&mut self, value: &syntax::Value) -> AttributeWants {
        match value {
            syntax::Value::Capture(name) => {
                AttributeWants::Capture(index(&mut self.pattern.captures, &name.text))
            }
            syntax::Value::Int(int) => AttributeWants::Int(*int),
            syntax::Value::Float(number) => AttributeWants::Float(Number::from(number)),
            syntax::Value::Str(text) => AttributeWants::Str(text.clone()),
            syntax::Value::Ints(ints) => AttributeWants::Ints(ints.clone()),
            syntax::Value::Floats(floats) => AttributeWants::Floats(floats.clone()),
        }
    }

    fn add(&mut self, kind: Kind, optional: bool) -> TermId {
        self.pattern.terms.push(Term { kind, optional, shape: None });
        self.pattern.terms.len() - 1
    }

    fn name(&mut self, name: &syntax::Name, term: TermId) -> Read<()> {
        if self.pattern.values.contains(&name.text) || self.names.contains_key(&name.text) {
            return Err(syntax::Error::new(name.at, format!("`{name}` is defined twice")));
        }
        self.names.insert(name.text.clone(), term);
        Ok(())
    }
}

impl From<&syntax::Number> for Number {
    fn from(number: &syntax::Number) -> Self {
        Self { value: number.value(), tolerance: number.tolerance() }
    }
}

fn extent(names: &mut Vec<String>, dim: &syntax::Dim) -> DimTerm {
    match dim {
        syntax::Dim::Any => DimTerm::Any,
        syntax::Dim::Rest => DimTerm::Rest,
        syntax::Dim::Number(number) => DimTerm::Number(i64::try_from(*number).unwrap_or(i64::MAX)),
        syntax::Dim::Variable(name) => DimTerm::Variable(index(names, &name.text)),
    }
}

/// Returns the position of `name`, which is added if it is new.
fn index(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

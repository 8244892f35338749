//! Patterns: terms that stand for values, and the roots among them.
//!
//! [`super::text`] reads them from the text of `rules/1`.

/// What is looked for in a graph.
#[derive(Debug, Default)]
pub(crate) struct Pattern {
    pub(crate) terms: Vec<Term>,
    /// The terms whose nodes the patch replaces. The first is where matching begins.
    pub(crate) roots: Vec<TermId>,
    /// The names of the variables that stand for values, extents and attributes.
    pub(crate) values: Vec<String>,
    pub(crate) dims: Vec<String>,
    pub(crate) captures: Vec<String>,
    /// What the rule asks for by name.
    pub(crate) wanted: Wanted,
    /// Whether an attribute that is not given equals its default.
    pub(crate) defaults: bool,
}

/// The position of a term among those of its pattern.
pub(crate) type TermId = usize;

/// What a plugin is told of a match, in this order.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) nodes: Vec<TermId>,
    pub(crate) values: Vec<usize>,
    pub(crate) dims: Vec<usize>,
    pub(crate) captures: Vec<usize>,
}

/// What a value must be.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) kind: Kind,
    /// Whether the input may be left out.
    pub(crate) optional: bool,
    pub(crate) shape: Option<Vec<DimTerm>>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Any,
    /// What the variable stands for, everywhere in the pattern.
    Value(usize),
    /// The same, and an initializer.
    Constant(usize),
    /// A small constant that is this number throughout.
    Number(Number),
    /// What a node makes.
    Node(NodeTerm),
    /// Another output of the node of a term.
    Output(TermId, u32),
    /// The first of these that fits.
    Either(Vec<TermId>),
}

/// A number, and how far from it another one may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    pub(crate) tolerance: f64,
}

impl Number {
    /// Whether `found`, of a type that rounds numbers by `round`, is this one.
    pub(crate) fn is(self, found: f64, round: impl Fn(f64) -> f64) -> bool {
        let rounded = round(self.value);
        // What a type cannot hold is not its 0, nor its infinity.
        let held = (rounded == 0.0) == (self.value == 0.0) && rounded.is_finite() == self.value.is_finite();
        held && found == rounded || (found - self.value).abs() <= self.tolerance
    }
}

#[derive(Debug)]
pub(crate) struct NodeTerm {
    pub(crate) domain: String,
    pub(crate) op: String,
    pub(crate) operands: Vec<TermId>,
    pub(crate) attributes: Vec<Attribute>,
    /// The output that the value is.
    pub(crate) output: u32,
    /// The first two operands may stand in either order.
    pub(crate) commutative: bool,
    /// There may be further inputs and attributes.
    pub(crate) open: bool,
    /// Others may read what it makes.
    pub(crate) shared: bool,
}

/// An extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DimTerm {
    Any,
    Number(i64),
    /// A known extent that the variable stands for, everywhere in the pattern.
    Variable(usize),
    /// Any number of axes.
    Rest,
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) wants: AttributeWants,
    /// Whether it may be absent whatever its default is.
    pub(crate) optional: bool,
}

/// What an attribute must be.
#[derive(Debug)]
pub(crate) enum AttributeWants {
    Capture(usize),
    Int(i64),
    Float(Number),
    Str(String),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
}

impl Pattern {
    /// The operators that a root can be: of the first root, all alternatives.
    pub(crate) fn root_ops(&self) -> Vec<&str> {
        let mut ops = Vec::new();
        let mut waiting: Vec<TermId> = self.roots.first().copied().into_iter().collect();
        while let Some(Term { kind, .. }) = waiting.pop().and_then(|id| self.terms.get(id)) {
            match kind {
                Kind::Node(node) if !ops.contains(&node.op.as_str()) => ops.push(&node.op),
                Kind::Either(terms) => waiting.extend(terms),
                Kind::Output(term, _) => waiting.push(*term),
                _ => {}
            }
        }
        ops
    }

    /// The operator of a term, for messages.
    pub(crate) fn op(&self, term: TermId) -> &str {
        match self.terms.get(term).map(|term| &term.kind) {
            Some(Kind::Node(node)) => &node.op,
            Some(Kind::Output(of, _)) if *of < term => self.op(*of),
            Some(Kind::Either(terms)) => terms.iter().find(|t| **t < term).map_or("?", |t| self.op(*t)),
            _ => "?",
        }
    }
}

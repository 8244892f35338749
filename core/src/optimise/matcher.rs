//! The matcher: whether a pattern fits at a node, and if not, why.

use crate::ir::{Attr, Def, Graph, NodeId, ValueId};
use crate::rules::pattern::{Attribute, AttributeWants, Operand, Pattern, Wants};
use crate::tensor::{DType, LazyTensor};

/// Constants of at most this many bytes are compared with a number.
const MAX_NUMBERS: u64 = 64 << 10;

/// A place where a pattern fits.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// One per node of the pattern; `None` below an optional input that is left out.
    pub(super) nodes: Vec<Option<NodeId>>,
    /// One per variable that stands for a value; `None` where an optional input is left out.
    pub(super) values: Vec<Option<ValueId>>,
}

/// Why a pattern does not fit, and how much of it did.
#[derive(Debug)]
pub(super) struct Mismatch {
    depth: usize,
    why: Why,
}

#[derive(Debug)]
enum Why {
    /// This pattern node is something else: an operator, or no node at all.
    Operator(usize, Option<NodeId>),
    /// Another output of the node is read.
    Output(usize),
    Attribute(usize, &'static str),
    FurtherAttribute(usize, String),
    MissingInput(usize, usize),
    FurtherInputs(usize),
    /// Two operands that must be one value are two.
    Variable(usize),
    NotConstant(usize, usize),
    NotNumber(usize, usize, f64),
    /// A value inside the pattern is also read elsewhere.
    Used(usize, ValueId),
    OtherBlock(usize),
}

impl Mismatch {
    /// The reason in words.
    pub(super) fn describe(&self, pattern: &Pattern, graph: &Graph) -> String {
        let op = |index: usize| pattern.nodes.get(index).map_or("?", |n| n.op);
        match &self.why {
            Why::Operator(index, Some(found)) => {
                format!("there is a `{}` where `{}` is needed", graph.nodes[*found].op, op(*index))
            }
            Why::Operator(index, None) => {
                format!("an input of the graph or a constant stands where `{}` is needed", op(*index))
            }
            Why::Output(index) => format!("another output of `{}` is read", op(*index)),
            Why::Attribute(index, name) => {
                format!("the attribute `{name}` of `{}` is not what the pattern says", op(*index))
            }
            Why::FurtherAttribute(index, name) => {
                format!("`{}` has an attribute `{name}`, which the pattern does not mention", op(*index))
            }
            Why::MissingInput(index, input) => format!("`{}` has no input {input}", op(*index)),
            Why::FurtherInputs(index) => {
                format!("`{}` has more inputs than the pattern mentions", op(*index))
            }
            Why::Variable(variable) => {
                let name = pattern.variables.get(*variable).copied().unwrap_or("?");
                format!("`{name}` would be two different things")
            }
            Why::NotConstant(index, input) => {
                format!("input {input} of `{}` is not a constant", op(*index))
            }
            Why::NotNumber(index, input, number) => {
                format!("input {input} of `{}` is not {number} throughout", op(*index))
            }
            Why::Used(index, value) => {
                let name = graph.values[*value].name.as_deref();
                let name = name.map_or_else(String::new, |name| format!(", `{name}`,"));
                format!("what the inner `{}` makes{name} is read elsewhere", op(*index))
            }
            Why::OtherBlock(index) => format!("the inner `{}` lies in another block", op(*index)),
        }
    }
}

/// Finds out whether `pattern` fits with its root at `root`. Of several ways to fit the first counts: operands as they stand go before swapped ones.
pub(super) fn find(pattern: &Pattern, graph: &Graph, root: NodeId) -> Result<Match, Mismatch> {
    let mut best: Option<Mismatch> = None;
    for swapped in 0..1_u32 << pattern.commutative {
        let mut attempt = Attempt {
            pattern,
            graph,
            swapped,
            depth: 0,
            nodes: vec![None; pattern.nodes.len()],
            values: vec![Variable::Free; pattern.variables.len()],
            captures: vec![Variable::Free; pattern.captures],
        };
        let fits = attempt.node(0, root).and_then(|()| attempt.interior(root));
        match fits {
            Ok(()) => {
                let value = |variable| match variable {
                    Variable::Free => None,
                    Variable::Bound(value) => value,
                };
                let values = attempt.values.into_iter().map(value).collect();
                return Ok(Match { nodes: attempt.nodes, values });
            }
            Err(why) => {
                let mismatch = Mismatch { depth: attempt.depth, why };
                if best.as_ref().is_none_or(|best| best.depth < mismatch.depth) {
                    best = Some(mismatch);
                }
            }
        }
    }
    Err(best.unwrap_or(Mismatch { depth: 0, why: Why::Operator(0, Some(root)) }))
}

struct Attempt<'a> {
    pattern: &'a Pattern,
    graph: &'a Graph,
    /// The commutative nodes whose first operands are taken in the other order, a bit each.
    swapped: u32,
    /// How much fitted.
    depth: usize,
    nodes: Vec<Option<NodeId>>,
    values: Vec<Variable<ValueId>>,
    captures: Vec<Variable<&'a Attr>>,
}

/// What a variable of the pattern stands for.
#[derive(Clone, Copy)]
enum Variable<T> {
    /// Nothing yet.
    Free,
    /// This, or something that is left out.
    Bound(Option<T>),
}

impl<'a> Attempt<'a> {
    fn node(&mut self, index: usize, id: NodeId) -> Result<(), Why> {
        let (pattern, graph) = (self.pattern, self.graph);
        let (Some(wanted), node) = (pattern.nodes.get(index), &graph.nodes[id]) else {
            return Err(Why::Operator(index, Some(id)));
        };
        if wanted.op != node.op || wanted.domain != node.domain {
            return Err(Why::Operator(index, Some(id)));
        }
        self.depth += 1;
        if let Some(place) = self.nodes.get_mut(index) {
            *place = Some(id);
        }
        for attribute in &wanted.attributes {
            self.attribute(index, attribute, node.attr(attribute.name))?;
        }
        if !wanted.open {
            let known = |name: &str| wanted.attributes.iter().any(|a| a.name == name);
            if let Some(further) = node.attributes.iter().find(|a| !known(&a.name)) {
                return Err(Why::FurtherAttribute(index, further.name.clone()));
            }
            if node.inputs.iter().skip(wanted.operands.len()).any(Option::is_some) {
                return Err(Why::FurtherInputs(index));
            }
        }
        let swap = wanted.commutative.is_some_and(|bit| self.swapped >> bit & 1 == 1);
        for (position, operand) in wanted.operands.iter().enumerate() {
            let position = if swap && position < 2 { 1 - position } else { position };
            let input = node.inputs.get(position).copied().flatten();
            self.operand(index, position, operand, input)?;
            self.depth += 1;
        }
        Ok(())
    }

    fn attribute(&mut self, index: usize, wanted: &Attribute, found: Option<&'a Attr>) -> Result<(), Why> {
        let no = Err(Why::Attribute(index, wanted.name));
        if found.is_none() && !wanted.optional {
            return no;
        }
        let fits = match (&wanted.wants, found) {
            (AttributeWants::Capture(variable), found) => match self.captures.get_mut(*variable) {
                Some(Variable::Bound(bound)) => same(*bound, found),
                Some(free) => {
                    *free = Variable::Bound(found);
                    true
                }
                None => false,
            },
            (_, None) => true,
            (AttributeWants::Int(a), Some(Attr::Int(b))) => a == b,
            (AttributeWants::Float(a), Some(Attr::Float(b))) => a == b,
            (AttributeWants::Str(a), Some(Attr::Str(b))) => a == b,
            (AttributeWants::Ints(a), Some(Attr::Ints(b))) => a == b,
            (AttributeWants::Floats(a), Some(Attr::Floats(b))) => a == b,
            _ => false,
        };
        if fits { Ok(()) } else { no }
    }

    fn operand(
        &mut self,
        node: usize,
        position: usize,
        operand: &Operand,
        input: Option<ValueId>,
    ) -> Result<(), Why> {
        if input.is_none() && !operand.optional {
            return Err(Why::MissingInput(node, position));
        }
        match (operand.wants, input) {
            (Wants::Any, _) => Ok(()),
            (Wants::Value(variable), input) => self.bind(variable, input),
            (Wants::Constant(variable), input) => {
                if input.is_some_and(|value| self.graph.initializer(value).is_none()) {
                    return Err(Why::NotConstant(node, position));
                }
                self.bind(variable, input)
            }
            (Wants::Node(_) | Wants::Number(_), None) => Ok(()),
            (Wants::Number(number), Some(value)) => {
                // The bytes of weights do not decide what a graph looks like.
                let data = self.graph.initializer(value).filter(|_| !self.graph.is_weight(value));
                if data.is_some_and(|data| is_throughout(data, number)) {
                    return Ok(());
                }
                Err(Why::NotNumber(node, position, number))
            }
            (Wants::Node(inner), Some(value)) => match self.graph.values[value].def {
                Def::Node(made_by, output) => {
                    self.node(inner, made_by)?;
                    let wanted = self.pattern.nodes.get(inner).map_or(0, |n| n.output);
                    if output == wanted { Ok(()) } else { Err(Why::Output(inner)) }
                }
                _ => Err(Why::Operator(inner, None)),
            },
        }
    }

    fn bind(&mut self, variable: usize, value: Option<ValueId>) -> Result<(), Why> {
        match self.values.get_mut(variable) {
            Some(Variable::Bound(bound)) if *bound == value => Ok(()),
            Some(free @ Variable::Free) => {
                *free = Variable::Bound(value);
                Ok(())
            }
            _ => Err(Why::Variable(variable)),
        }
    }

    /// Nothing outside of the match reads what lies inside of it.
    fn interior(&mut self, root: NodeId) -> Result<(), Why> {
        for (index, (wanted, id)) in self.pattern.nodes.iter().zip(&self.nodes).enumerate().skip(1) {
            let Some(id) = id.filter(|_| !wanted.shared) else { continue };
            let node = &self.graph.nodes[id];
            if node.block != self.graph.nodes[root].block {
                return Err(Why::OtherBlock(index));
            }
            for value in node.outputs.iter().flatten() {
                let mut uses = self.graph.values[*value].uses().iter();
                if self.graph.is_returned(*value) || uses.any(|u| !self.nodes.contains(&Some(u.node))) {
                    return Err(Why::Used(index, *value));
                }
            }
            self.depth += 1;
        }
        Ok(())
    }
}

/// Whether two attributes say the same.
fn same(a: Option<&Attr>, b: Option<&Attr>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Attr::Int(a)), Some(Attr::Int(b))) => a == b,
        (Some(Attr::Float(a)), Some(Attr::Float(b))) => a == b,
        (Some(Attr::Str(a)), Some(Attr::Str(b))) | (Some(Attr::Ref(a, _)), Some(Attr::Ref(b, _))) => a == b,
        (Some(Attr::Ints(a)), Some(Attr::Ints(b))) => a == b,
        (Some(Attr::Floats(a)), Some(Attr::Floats(b))) => a == b,
        (Some(Attr::Strs(a)), Some(Attr::Strs(b))) => a == b,
        (Some(Attr::Tensor(a)), Some(Attr::Tensor(b))) => a.same_bytes(b),
        _ => false,
    }
}

/// Whether the tensor is small and all of its elements, at least one, are `number`.
fn is_throughout(data: &LazyTensor, number: f64) -> bool {
    if data.byte_len().is_none_or(|bytes| bytes == 0 || bytes > MAX_NUMBERS) {
        return false;
    }
    let Some(bytes) = data.read() else { return false };
    let whole = |n: i64| n as f64 == number && n == number as i64;
    let each = |size: usize, is: &dyn Fn(&[u8]) -> bool| bytes.chunks_exact(size).all(is);
    match data.dtype {
        DType::F32 => each(4, &|b| f64::from(f32::from_le_bytes(array(b))) == number),
        DType::F64 => each(8, &|b| f64::from_le_bytes(array(b)) == number),
        DType::F16 => each(2, &|b| half::f16::from_le_bytes(array(b)).to_f64() == number),
        DType::BF16 => each(2, &|b| half::bf16::from_le_bytes(array(b)).to_f64() == number),
        DType::U8 | DType::Bool => each(1, &|b| b.iter().all(|b| whole(i64::from(*b)))),
        DType::I8 => each(1, &|b| b.iter().all(|b| whole(i64::from(*b as i8)))),
        DType::I16 => each(2, &|b| whole(i64::from(i16::from_le_bytes(array(b))))),
        DType::U16 => each(2, &|b| whole(i64::from(u16::from_le_bytes(array(b))))),
        DType::I32 => each(4, &|b| whole(i64::from(i32::from_le_bytes(array(b))))),
        DType::U32 => each(4, &|b| whole(i64::from(u32::from_le_bytes(array(b))))),
        DType::I64 => each(8, &|b| whole(i64::from_le_bytes(array(b)))),
        _ => false,
    }
}

/// The bytes of one element.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}

//! Whether a pattern fits at a node.

use crate::lent::Lent;
use onnxport_abi::lowering::attr_kind;
use onnxport_abi::rules::{
    CAPTURE, PatternAttribute, PatternNode, PatternOperand, RuleRecord, node_flags, operand_kind,
};

use super::super::eval::Lowered;
use super::super::graph::{Attr, Node};
use super::Place;

/// Where a pattern fits, by numbers of nodes in the order of the graph, and by values.
#[derive(Clone, Debug)]
pub(super) struct Match {
    /// One per node of the pattern; `None` below an optional input that is left out.
    pub(super) nodes: Vec<Option<usize>>,
    /// One per variable that stands for a value.
    pub(super) values: Vec<Option<usize>>,
}

/// Fits the pattern of `rule` with its root at `root`; operands as they stand go before swapped ones.
pub(super) fn find(rule: &RuleRecord, lowered: &Lowered, root: Place) -> Option<Match> {
    let commutative = rule.nodes.lent().iter().filter(|n| n.flags & node_flags::COMMUTATIVE != 0).count();
    (0..1_u32 << commutative.min(6)).find_map(|swapped| {
        let mut attempt = Attempt {
            rule,
            lowered,
            swapped,
            nodes: vec![None; rule.nodes.len()],
            values: vec![Variable::Free; rule.variables.len()],
            captures: vec![Variable::Free; rule.captures.len()],
        };
        attempt.node(0, root)?;
        attempt.interior(root)?;
        let numbers = |place: Option<Place>| place.and_then(|place| number(lowered, place));
        let value = |variable| match variable {
            Variable::Free => None,
            Variable::Bound(value) => value,
        };
        Some(Match {
            nodes: attempt.nodes.iter().map(|place| numbers(*place)).collect(),
            values: attempt.values.into_iter().map(value).collect(),
        })
    })
}

/// The number of the node at `place`.
fn number(lowered: &Lowered, (block, at): Place) -> Option<usize> {
    let before = lowered.graph.blocks.get(..block)?;
    Some(before.iter().map(|b| b.nodes.len()).sum::<usize>() + at)
}

struct Attempt<'a> {
    rule: &'a RuleRecord,
    lowered: &'a Lowered,
    /// The commutative nodes whose first operands are taken in the other order, a bit each.
    swapped: u32,
    nodes: Vec<Option<Place>>,
    values: Vec<Variable<usize>>,
    captures: Vec<Variable<&'a Attr>>,
}

/// What a variable of the pattern stands for.
#[derive(Clone, Copy, PartialEq)]
enum Variable<T> {
    /// Nothing yet.
    Free,
    /// This, or something that is left out.
    Bound(Option<T>),
}

impl<T: Copy + PartialEq> Variable<T> {
    /// Stands for `found` from now on, if it does not for something else.
    fn bind(&mut self, found: Option<T>) -> Option<()> {
        if *self == Self::Free {
            *self = Self::Bound(found);
        }
        (*self == Self::Bound(found)).then_some(())
    }
}

impl<'a> Attempt<'a> {
    fn at(&self, (block, at): Place) -> &'a Node {
        &self.lowered.graph.blocks[block].nodes[at]
    }

    fn node(&mut self, index: usize, place: Place) -> Option<()> {
        let rule = self.rule;
        let wanted: &PatternNode = rule.nodes.lent().get(index)?;
        let node = self.at(place);
        if wanted.op.lent() != node.op || wanted.domain.lent() != node.domain {
            return None;
        }
        self.nodes[index] = Some(place);
        let attributes = part(rule.attributes.lent(), wanted.first_attribute, wanted.attributes)?;
        for attribute in attributes {
            self.attribute(attribute, node.attributes.get(attribute.name.lent()))?;
        }
        let operands = part(rule.operands.lent(), wanted.first_operand, wanted.operands)?;
        if wanted.flags & node_flags::OPEN == 0 {
            let known = |name: &String| attributes.iter().any(|a| a.name.lent() == name);
            let further = node.inputs.iter().skip(operands.len()).any(Option::is_some);
            if further || !node.attributes.keys().all(known) {
                return None;
            }
        }
        let earlier =
            rule.nodes.lent().iter().take(index).filter(|n| n.flags & node_flags::COMMUTATIVE != 0).count();
        let swap = wanted.flags & node_flags::COMMUTATIVE != 0 && self.swapped >> earlier & 1 == 1;
        for (position, operand) in operands.iter().enumerate() {
            let position = if swap && position < 2 { 1 - position } else { position };
            self.operand(operand, node.inputs.get(position).copied().flatten())?;
        }
        Some(())
    }

    fn attribute(&mut self, wanted: &PatternAttribute, found: Option<&'a Attr>) -> Option<()> {
        if found.is_none() && wanted.optional == 0 {
            return None;
        }
        let fits = match (wanted.kind, found) {
            (CAPTURE, found) => self.captures.get_mut(wanted.index as usize)?.bind(found).is_some(),
            (_, None) => true,
            (attr_kind::INT, Some(Attr::Int(n))) => wanted.ints.lent().first() == Some(n),
            (attr_kind::FLOAT, Some(Attr::Float(x))) => wanted.floats.lent().first() == Some(x),
            (attr_kind::STR, Some(Attr::Str(text))) => wanted.text.lent() == text,
            (attr_kind::INTS, Some(Attr::Ints(ints))) => wanted.ints.lent() == ints,
            (attr_kind::FLOATS, Some(Attr::Floats(floats))) => wanted.floats.lent() == floats,
            _ => false,
        };
        fits.then_some(())
    }

    fn operand(&mut self, wanted: &PatternOperand, input: Option<usize>) -> Option<()> {
        if input.is_none() && wanted.optional == 0 {
            return None;
        }
        let index = wanted.index as usize;
        match (wanted.kind, input) {
            (operand_kind::ANY, _) | (operand_kind::NODE | operand_kind::NUMBER, None) => Some(()),
            (operand_kind::VALUE, input) => self.bind(index, input),
            (operand_kind::CONSTANT, input) => {
                let constant = |value: usize| self.lowered.graph.values[value].constant.is_some();
                input.is_none_or(constant).then_some(())?;
                self.bind(index, input)
            }
            (operand_kind::NUMBER, Some(value)) => {
                let tensor = self.lowered.graph.values[value].constant.as_ref()?;
                let all = !tensor.is_empty() && tensor.to_f64().iter().all(|x| *x == wanted.number);
                all.then_some(())
            }
            (operand_kind::NODE, Some(value)) => {
                let (place, output) = maker(self.lowered, value)?;
                self.node(index, place)?;
                (output as u32 == self.rule.nodes.lent().get(index)?.output).then_some(())
            }
            _ => None,
        }
    }

    fn bind(&mut self, variable: usize, value: Option<usize>) -> Option<()> {
        self.values.get_mut(variable)?.bind(value)
    }

    /// Nothing outside of the match reads what lies inside of it.
    fn interior(&self, root: Place) -> Option<()> {
        for (wanted, place) in self.rule.nodes.lent().iter().zip(&self.nodes).skip(1) {
            let Some(place) = place.filter(|_| wanted.flags & node_flags::SHARED == 0) else { continue };
            if place.0 != root.0 {
                return None;
            }
            for value in &self.at(place).outputs {
                let mut readers = readers(self.lowered, *value);
                let returned = self.lowered.results.contains(&Some(*value))
                    || self.lowered.graph.blocks.iter().any(|b| b.outputs.contains(value));
                if returned || !readers.all(|(reader, _)| self.nodes.contains(&Some(reader))) {
                    return None;
                }
            }
        }
        Some(())
    }
}

fn part<T>(items: &[T], first: u32, count: u32) -> Option<&[T]> {
    items.get(first as usize..(first as usize).checked_add(count as usize)?)
}

/// The node that makes `value`, and which of its outputs it is.
pub(super) fn maker(lowered: &Lowered, value: usize) -> Option<(Place, usize)> {
    let blocks = lowered.graph.blocks.iter().enumerate();
    let mut nodes =
        blocks.flat_map(|(block, b)| b.nodes.iter().enumerate().map(move |(at, n)| ((block, at), n)));
    nodes.find_map(|(place, node)| Some((place, node.outputs.iter().position(|v| *v == value)?)))
}

/// The nodes that read `value`, each with the position among its inputs.
pub(super) fn readers(lowered: &Lowered, value: usize) -> impl Iterator<Item = (Place, usize)> {
    let blocks = lowered.graph.blocks.iter().enumerate();
    let nodes = blocks.flat_map(|(block, b)| b.nodes.iter().enumerate().map(move |(at, n)| ((block, at), n)));
    nodes.flat_map(move |(place, node)| {
        let inputs = node.inputs.iter().enumerate().filter(move |(_, v)| **v == Some(value));
        inputs.map(move |(index, _)| (place, index))
    })
}

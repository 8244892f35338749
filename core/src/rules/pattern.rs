//! The pattern compiler: from the records of a plugin to patterns that are known to be trees.

use crate::host::Known;
use onnxport_abi::lowering::attr_kind;
use onnxport_abi::rules::{
    CAPTURE, PatternAttribute, PatternNode, PatternOperand, RuleRecord, node_flags, operand_kind,
};

/// More commutative nodes than this would have too many orders to try.
const MAX_COMMUTATIVE: u32 = 6;

/// A tree of nodes; the first one is its root.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) nodes: Vec<Node>,
    /// The names of the variables that stand for values.
    pub(crate) variables: Vec<&'static str>,
    /// The number of variables that stand for attributes.
    pub(crate) captures: usize,
    /// The number of commutative nodes.
    pub(crate) commutative: u32,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) domain: &'static str,
    pub(crate) op: &'static str,
    pub(crate) operands: Vec<Operand>,
    pub(crate) attributes: Vec<Attribute>,
    /// The output that the pattern around it reads.
    pub(crate) output: u32,
    /// Its number among the commutative nodes, when it is one.
    pub(crate) commutative: Option<u32>,
    pub(crate) open: bool,
    pub(crate) shared: bool,
}

#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) wants: Wants,
    pub(crate) optional: bool,
}

/// What an input must be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wants {
    Any,
    Value(usize),
    Constant(usize),
    Node(usize),
    Number(f64),
}

#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) wants: AttributeWants,
    pub(crate) optional: bool,
}

/// What an attribute must be.
#[derive(Debug)]
pub(crate) enum AttributeWants {
    Capture(usize),
    Int(i64),
    Float(f32),
    Str(&'static str),
    Ints(&'static [i64]),
    Floats(&'static [f32]),
}

impl Pattern {
    /// Compiles the pattern of a rule.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn compile(rule: &RuleRecord) -> Result<Self, String> {
        let mut pattern = Self {
            nodes: Vec::new(),
            variables: rule.variables.known().iter().map(|name| name.known()).collect(),
            captures: rule.captures.len(),
            commutative: 0,
        };
        if rule.nodes.is_empty() {
            return Err("the pattern has no nodes".to_owned());
        }
        let mut readers = vec![0_u32; rule.nodes.len()];
        for (index, record) in rule.nodes.known().iter().enumerate() {
            let node = pattern.node(rule, record, index, &mut readers)?;
            pattern.nodes.push(node);
        }
        // With larger indices below smaller ones, one reader each makes it a tree.
        match readers.iter().skip(1).position(|count| *count != 1) {
            Some(at) => Err(format!("node {} is not the operand of one node", at + 1)),
            None if pattern.commutative > MAX_COMMUTATIVE => {
                Err(format!("more than {MAX_COMMUTATIVE} nodes are commutative"))
            }
            None => Ok(pattern),
        }
    }

    fn node(
        &mut self,
        rule: &RuleRecord,
        record: &PatternNode,
        index: usize,
        readers: &mut [u32],
    ) -> Result<Node, String> {
        let part = |first: u32, count: u32| first as usize..(first as usize).saturating_add(count as usize);
        let operands = rule.operands.known().get(part(record.first_operand, record.operands));
        let attributes = rule.attributes.known().get(part(record.first_attribute, record.attributes));
        let (Some(operands), Some(attributes)) = (operands, attributes) else {
            return Err(format!("node {index} has operands or attributes that are not there"));
        };
        if record.op.is_empty() {
            return Err(format!("node {index} has no operator"));
        }
        let commutative = if record.flags & node_flags::COMMUTATIVE == 0 {
            None
        } else if operands.len() < 2 {
            return Err(format!("node {index} is commutative in fewer than two operands"));
        } else {
            self.commutative += 1;
            Some(self.commutative - 1)
        };
        Ok(Node {
            domain: record.domain.known(),
            op: record.op.known(),
            operands: operands.iter().map(|o| self.operand(o, index, readers)).collect::<Result<_, _>>()?,
            attributes: attributes.iter().map(|a| self.attribute(a)).collect::<Result<_, _>>()?,
            output: record.output,
            commutative,
            open: record.flags & node_flags::OPEN != 0,
            shared: record.flags & node_flags::SHARED != 0,
        })
    }

    fn operand(&self, record: &PatternOperand, node: usize, readers: &mut [u32]) -> Result<Operand, String> {
        let index = record.index as usize;
        let variable = |wants: Wants| match self.variables.get(index) {
            Some(_) => Ok(wants),
            None => Err(format!("node {node} names a variable {index} that is not there")),
        };
        let wants = match record.kind {
            operand_kind::ANY => Wants::Any,
            operand_kind::VALUE => variable(Wants::Value(index))?,
            operand_kind::CONSTANT => variable(Wants::Constant(index))?,
            operand_kind::NUMBER => Wants::Number(record.number),
            operand_kind::NODE => {
                let count = readers.get_mut(index).filter(|_| index > node);
                let count = count.ok_or_else(|| format!("node {node} reads node {index}"))?;
                *count += 1;
                Wants::Node(index)
            }
            kind => return Err(format!("node {node} has an operand of the unknown kind {kind}")),
        };
        Ok(Operand { wants, optional: record.optional == 1 })
    }

    fn attribute(&self, record: &PatternAttribute) -> Result<Attribute, String> {
        let name = record.name.known();
        let wrong = || format!("the attribute `{name}` has no value");
        let wants = match record.kind {
            CAPTURE if (record.index as usize) < self.captures => {
                AttributeWants::Capture(record.index as usize)
            }
            attr_kind::INT => AttributeWants::Int(*record.ints.known().first().ok_or_else(wrong)?),
            attr_kind::FLOAT => AttributeWants::Float(*record.floats.known().first().ok_or_else(wrong)?),
            attr_kind::STR => AttributeWants::Str(record.text.known()),
            attr_kind::INTS => AttributeWants::Ints(record.ints.known()),
            attr_kind::FLOATS => AttributeWants::Floats(record.floats.known()),
            _ => return Err(wrong()),
        };
        Ok(Attribute { name, wants, optional: record.optional == 1 })
    }
}

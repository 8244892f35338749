//! The patterns of `rules/1`: flat records, checked to be trees.

use onnxport_abi::RStr;
use onnxport_abi::lowering::attr_kind;
use onnxport_abi::rules::{
    CAPTURE, PatternAttribute, PatternNode, PatternOperand, RuleRecord, node_flags, operand_kind,
};

use crate::incoming::Known;

use super::pattern::{Attribute, AttributeWants, Kind, NodeTerm, Number, Pattern, Term, Wanted};

/// Compiles the pattern of a rule.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn compile(rule: &RuleRecord) -> Result<Pattern, String> {
    let name = |name: &RStr<'static>| name.known().to_owned();
    let count = rule.nodes.len();
    let mut pattern = Pattern {
        roots: vec![0],
        values: rule.variables.known().iter().map(name).collect(),
        captures: rule.captures.known().iter().map(name).collect(),
        wanted: Wanted {
            nodes: (0..count).collect(),
            values: (0..rule.variables.len()).collect(),
            ..Wanted::default()
        },
        ..Pattern::default()
    };
    if rule.nodes.is_empty() {
        return Err("the pattern has no nodes".to_owned());
    }
    // The nodes come first, each at its own number; the other operands follow.
    let mut readers = vec![0_u32; count];
    let mut leaves = Vec::new();
    for (index, record) in rule.nodes.known().iter().enumerate() {
        let kind = node(rule, record, index, &mut readers, &mut leaves)?;
        pattern.terms.push(Term { kind, optional: false, shape: None });
    }
    pattern.terms.extend(leaves);
    // With larger indices below smaller ones, one reader each makes it a tree.
    match readers.iter().skip(1).position(|count| *count != 1) {
        Some(at) => Err(format!("node {} is not the operand of one node", at + 1)),
        None => Ok(pattern),
    }
}

fn node(
    rule: &RuleRecord,
    record: &PatternNode,
    index: usize,
    readers: &mut [u32],
    leaves: &mut Vec<Term>,
) -> Result<Kind, String> {
    let part = |first: u32, count: u32| first as usize..(first as usize).saturating_add(count as usize);
    let operands = rule.operands.known().get(part(record.first_operand, record.operands));
    let attributes = rule.attributes.known().get(part(record.first_attribute, record.attributes));
    let (Some(operands), Some(attributes)) = (operands, attributes) else {
        return Err(format!("node {index} has operands or attributes that are not there"));
    };
    if record.op.known().is_empty() {
        return Err(format!("node {index} has no operator"));
    }
    let commutative = record.flags & node_flags::COMMUTATIVE != 0;
    if commutative && operands.len() < 2 {
        return Err(format!("node {index} is commutative in fewer than two operands"));
    }
    let mut terms = Vec::new();
    for operand in operands {
        terms.push(match operand.kind {
            operand_kind::NODE => {
                let inner = operand.index as usize;
                let count = readers.get_mut(inner).filter(|_| inner > index);
                *count.ok_or_else(|| format!("node {index} reads node {inner}"))? += 1;
                inner
            }
            _ => {
                leaves.push(leaf(rule, operand, index)?);
                rule.nodes.len() + leaves.len() - 1
            }
        });
    }
    Ok(Kind::Node(NodeTerm {
        domain: record.domain.known().to_owned(),
        op: record.op.known().to_owned(),
        operands: terms,
        attributes: attributes.iter().map(|a| attribute(rule, a)).collect::<Result<_, _>>()?,
        output: record.output,
        commutative,
        open: record.flags & node_flags::OPEN != 0,
        shared: record.flags & node_flags::SHARED != 0,
    }))
}

fn leaf(rule: &RuleRecord, record: &PatternOperand, node: usize) -> Result<Term, String> {
    let index = record.index as usize;
    let variable = |kind: Kind| match rule.variables.known().get(index) {
        Some(_) => Ok(kind),
        None => Err(format!("node {node} names a variable {index} that is not there")),
    };
    let kind = match record.kind {
        operand_kind::ANY => Kind::Any,
        operand_kind::VALUE => variable(Kind::Value(index))?,
        operand_kind::CONSTANT => variable(Kind::Constant(index))?,
        operand_kind::NUMBER => Kind::Number(Number { value: record.number, tolerance: 0.0 }),
        kind => return Err(format!("node {node} has an operand of the unknown kind {kind}")),
    };
    Ok(Term { kind, optional: record.optional == 1, shape: None })
}

fn attribute(rule: &RuleRecord, record: &PatternAttribute) -> Result<Attribute, String> {
    let name = record.name.known().to_owned();
    let wrong = || format!("the attribute `{}` has no value", record.name.known());
    let wants = match record.kind {
        CAPTURE if (record.index as usize) < rule.captures.len() => {
            AttributeWants::Capture(record.index as usize)
        }
        attr_kind::INT => AttributeWants::Int(*record.ints.known().first().ok_or_else(wrong)?),
        attr_kind::FLOAT => {
            let value = f64::from(*record.floats.known().first().ok_or_else(wrong)?);
            AttributeWants::Float(Number { value, tolerance: 0.0 })
        }
        attr_kind::STR => AttributeWants::Str(record.text.known().to_owned()),
        attr_kind::INTS => AttributeWants::Ints(record.ints.known().to_vec()),
        attr_kind::FLOATS => AttributeWants::Floats(record.floats.known().to_vec()),
        _ => return Err(wrong()),
    };
    Ok(Attribute { name, wants, optional: record.optional == 1 })
}

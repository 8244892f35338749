//! The decision tree of rules: which of them can match at a node, by its operator and those of its operands.
//!
//! It only leaves out rules that cannot match; the matcher decides about the others, in the order of their priorities.

use rustc_hash::FxHashMap;

use super::pattern::{Kind, NodeTerm, Pattern, TermId};
use crate::ir::{Def, Graph, NodeId};

/// Fewer rules are tried one by one.
const FEW: usize = 2;

/// The rules of one root operator.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// All rules, those to try first in front.
    all: Vec<usize>,
    /// The question that tells them apart.
    question: Option<Question>,
}

/// The operator that produces an operand of the root.
#[derive(Debug)]
struct Question {
    operand: usize,
    /// The rules that remain for each operator that some rule demands.
    by_op: FxHashMap<String, Tree>,
    /// The rules that demand none.
    other: Box<Tree>,
}

impl Tree {
    /// Builds the tree of the root operator `op` over rules in the order in which they are tried.
    pub(crate) fn new(op: &str, rules: &[(usize, &Pattern)]) -> Self {
        Self::beyond(op, rules, &mut Vec::new())
    }

    /// Builds a tree that asks about no operand of `asked`.
    fn beyond(op: &str, rules: &[(usize, &Pattern)], asked: &mut Vec<usize>) -> Self {
        let all = rules.iter().map(|(index, _)| *index).collect();
        if rules.len() <= FEW {
            return Self { all, question: None };
        }
        let operands =
            rules.iter().filter_map(|(_, pattern)| root(pattern, op)).map(|node| node.operands.len());
        let count = |operand: usize| {
            rules.iter().filter(|(_, pattern)| demanded(pattern, op, operand).is_some()).count()
        };
        let free = (0..operands.max().unwrap_or(0)).filter(|operand| !asked.contains(operand));
        let Some((_, operand)) = free
            .map(|operand| (count(operand), operand))
            .filter(|(count, _)| *count > 0)
            .max_by_key(|(n, at)| {
                // The first operand, if several are demanded as often.
                (*n, std::cmp::Reverse(*at))
            })
        else {
            return Self { all, question: None };
        };
        let demands: Vec<Option<Vec<&str>>> =
            rules.iter().map(|(_, pattern)| demanded(pattern, op, operand)).collect();
        let mut ops: Vec<&str> = demands.iter().flatten().flatten().copied().collect();
        ops.sort_unstable();
        ops.dedup();
        let remain = |wanted: Option<&str>| -> Vec<(usize, &Pattern)> {
            let fits = |demand: &Option<Vec<&str>>| match (demand, wanted) {
                (None, _) => true,
                (Some(ops), Some(op)) => ops.contains(&op),
                (Some(_), None) => false,
            };
            rules.iter().zip(&demands).filter(|(_, demand)| fits(demand)).map(|(rule, _)| *rule).collect()
        };
        asked.push(operand);
        let by_op =
            ops.iter().map(|of| ((*of).to_owned(), Self::beyond(op, &remain(Some(of)), asked))).collect();
        let other = Box::new(Self::beyond(op, &remain(None), asked));
        asked.pop();
        Self { all, question: Some(Question { operand, by_op, other }) }
    }

    /// All rules of the operator, in the order in which they are tried.
    pub(crate) fn all(&self) -> &[usize] {
        &self.all
    }

    /// The rules that may match at `node`, in the order in which they are tried.
    pub(crate) fn at(&self, graph: &Graph, node: NodeId) -> &[usize] {
        let mut tree = self;
        while let Some(Question { operand, by_op, other }) = &tree.question {
            let value = graph.nodes[node].inputs.get(*operand).copied().flatten();
            let producer = value.and_then(|value| match graph.values[value].def {
                Def::Node(producer, _) => by_op.get(&*graph.nodes[producer].op),
                _ => None,
            });
            tree = producer.unwrap_or(other);
        }
        &tree.all
    }
}

/// The node of the first root, if it is one node of the operator.
fn root<'p>(pattern: &'p Pattern, op: &str) -> Option<&'p NodeTerm> {
    node(pattern, *pattern.roots.first()?).filter(|node| node.class.is_some() || node.op == op)
}

fn node(pattern: &Pattern, term: TermId) -> Option<&NodeTerm> {
    match &pattern.terms.get(term)?.kind {
        Kind::Node(node) => Some(node),
        Kind::Output(of, _) if *of < term => node(pattern, *of),
        _ => None,
    }
}

/// The operators that may produce an operand of the root `op`; `None` if any may, or none.
fn demanded<'p>(pattern: &'p Pattern, op: &str, operand: usize) -> Option<Vec<&'p str>> {
    let root = root(pattern, op)?;
    // Operands of a commutative operator may be swapped.
    if root.commutative && operand < 2 {
        return None;
    }
    producers(pattern, *root.operands.get(operand)?)
}

fn producers(pattern: &Pattern, id: TermId) -> Option<Vec<&str>> {
    let term = pattern.terms.get(id).filter(|term| !term.optional)?;
    match &term.kind {
        Kind::Node(node) if node.class.is_none() => Some(vec![&node.op]),
        Kind::Output(of, _) if *of < id => producers(pattern, *of),
        Kind::Either(terms) => {
            let all: Option<Vec<Vec<&str>>> =
                terms.iter().map(|term| if *term < id { producers(pattern, *term) } else { None }).collect();
            all.map(|all| all.concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Model;
    use crate::rules::parse;

    const PATTERNS: [&str; 6] = [
        "Div(x, y)",
        "Div(Neg(x), Neg(y))",
        "Div((Neg(x) | Abs(x)), y)",
        "Div(maybe Neg(Exp(x)), y)",
        "Div(x, const c)",
        "Div(Exp(x), Sqrt(y))",
    ];

    fn found(body: &str) -> Vec<usize> {
        let patterns: Vec<Pattern> = PATTERNS.iter().map(|text| parse(text).unwrap().0).collect();
        let rules: Vec<(usize, &Pattern)> = patterns.iter().enumerate().collect();
        let tree = Tree::new("Div", &rules);
        assert_eq!(tree.all(), [0, 1, 2, 3, 4, 5]);
        let text = format!(
            "opset 20\ngraph {{\n  input %x: f32[3]\n  input %y: f32[3]\n{body}  output %z as z\n}}\n"
        );
        let model = Model::parse(&text).unwrap();
        let graph = &model.graph;
        let (node, _) = graph.nodes.iter().find(|(_, node)| node.op == "Div").unwrap();
        tree.at(graph, node).to_vec()
    }

    #[test]
    fn rules_are_left_out_by_the_operators_of_operands() {
        assert_eq!(found("  %z: f32[3] = Div(%x, %y)\n"), [0, 4]);
        let a = |op: &str| format!("  %a: f32[3] = {op}(%x)\n  %z: f32[3] = Div(%a, %y)\n");
        assert_eq!(found(&a("Abs")), [0, 2, 4]);
        assert_eq!(found(&a("Sin")), [0, 4]);
        // Either operator of a node that may be missing.
        assert!(found(&a("Exp")).starts_with(&[0, 3, 4]));
        assert!(found(&a("Neg")).contains(&3));
    }

    #[test]
    fn commutative_and_optional_operands_demand_nothing() {
        let read = |text: &str| parse(text).unwrap().0;
        let demand = |text: &str, op: &str, operand: usize| {
            demanded(&read(text), op, operand).map(|ops| ops.join(" "))
        };
        assert_eq!(demand("Add(Neg(x), y)", "Add", 0), None);
        assert_eq!(demand("ordered Add(Neg(x), y)", "Add", 0), Some("Neg".to_owned()));
        assert_eq!(demand("Sub(each(x), y)", "Sub", 0), None);
        assert_eq!(demand("(Sub(Neg(x), y) | Neg(x))", "Sub", 0), None);
        assert_eq!(demand("let p = Split(x); Sub(y, p.1)", "Sub", 1), Some("Split".to_owned()));
        assert_eq!(demand("Sub(Neg(x), y)", "Div", 0), None);
    }
}

//! `rules/1`: a rule of the plugin, applied to a small graph as the host applies it.
//!
//! What differs from the host: only the one rule is applied; a view of an initializer is always
//! possible; and of the types of a patch only those are checked that the evaluator knows.

mod host;
mod matching;
mod reading;

use crate::lent::Lent;
use onnxport_abi::RStr;
use onnxport_abi::graph::GraphContext;
use onnxport_abi::rules::{RuleRecord, rule_flags};

pub(super) use host::host_table;
use matching::Match;
pub(super) use reading::host_table as graph_table;

use super::eval::Lowered;
use super::graph::{Attr, Node};
use super::{Failure, Plugin};
use crate::abi::status;
use crate::{DType, Dim, Refusal};

/// A rule that is applied so often does not come to an end.
const LIMIT: usize = 1000;

/// What became of a graph.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The graph, without the nodes that nothing needs any more.
    pub graph: Lowered,
    /// How often the rule was applied.
    pub applied: usize,
    /// Why it was not applied at places where its pattern fits the resulting graph.
    pub refusals: Vec<Refusal>,
}

impl Plugin {
    /// The names of its rules, in the order of its table.
    pub fn rules(&self) -> Vec<&str> {
        self.rules.iter().flat_map(|table| table.rules.lent()).map(|r| r.name.lent()).collect()
    }

    /// Applies the rule called `name` to `graph`, a [`Sample`](super::Sample) or a lowered call, until it
    /// applies nowhere.
    ///
    /// # Errors
    /// When there is no such rule, it panics, breaks the contract, or describes a patch of another type.
    pub fn rewrite(&self, name: &str, graph: &Lowered) -> Result<Rewritten, Failure> {
        let Some(table) = self.rules else {
            return Err(Failure::Setup("the plugin has no rules".to_owned()));
        };
        let found = table.rules.lent().iter().enumerate().find(|(_, rule)| rule.name.lent() == name);
        let (index, rule) = found.ok_or_else(|| {
            let names = self.rules().join(", ");
            Failure::Setup(format!("there is no rule `{name}`; there are {names}"))
        })?;
        let opsets = i64::from(rule.min_opset)..=i64::from(rule.max_opset);
        if !opsets.contains(&graph.opset) {
            let problem = format!("`{name}` is for opsets {} to {}", opsets.start(), opsets.end());
            return Err(Failure::Setup(problem));
        }
        let mut graph = graph.clone();
        for applied in 0..LIMIT {
            let (next, refusals) = self.once(index as u32, rule, &graph)?;
            let Some(next) = next else { return Ok(Rewritten { graph, applied, refusals }) };
            graph = next;
        }
        Err(Failure::Contract(format!("`{name}` was applied {LIMIT} times and still applies")))
    }

    /// Applies the rule at the first place where it does; with why it did not before that.
    fn once(
        &self,
        index: u32,
        rule: &RuleRecord,
        graph: &Lowered,
    ) -> Result<(Option<Lowered>, Vec<Refusal>), Failure> {
        let mut refusals = Vec::new();
        for block in 0..graph.graph.blocks.len() {
            for position in 0..graph.graph.blocks[block].nodes.len() {
                let Some(matched) = matching::find(rule, graph, (block, position)) else { continue };
                match self.patch(index, rule, graph, matched) {
                    Ok(next) => return Ok((Some(next), refusals)),
                    Err(Failure::Refused(refusal)) => refusals.push(refusal),
                    Err(other) => return Err(other),
                }
            }
        }
        Ok((None, refusals))
    }

    fn patch(
        &self,
        index: u32,
        rule: &RuleRecord,
        graph: &Lowered,
        matched: Match,
    ) -> Result<Lowered, Failure> {
        let Some(table) = self.rules else { return Err(Failure::Setup("there are no rules".to_owned())) };
        let mut frame = Frame::new(graph.clone(), matched);
        if rule.flags & rule_flags::CONDITION != 0 {
            let status = (table.check)(index, &host_table(), &graph_table(), frame.context());
            frame.outcome(status)?;
        }
        frame.building = true;
        let status = (table.build)(index, &host_table(), &graph_table(), frame.context());
        frame.outcome(status)?;
        frame.apply()
    }
}

/// A place in a graph: a block and a position in it.
type Place = (usize, usize);

/// Everything behind the context of a call.
struct Frame {
    lowered: Lowered,
    matched: Match,
    /// Every node by the number that the plugin knows it by; the first ones in the order of the graph.
    places: Vec<Place>,
    building: bool,
    answer: Option<Vec<Option<usize>>>,
    refusal: Option<Refusal>,
    scratch: Scratch,
}

/// What the last answers refer to.
#[derive(Default)]
struct Scratch {
    ids: [Vec<u64>; 3],
    names: Vec<RStr<'static>>,
    texts: Vec<RStr<'static>>,
    attribute: Option<Attr>,
    number: Vec<i64>,
    float: Vec<f32>,
    uses: Vec<onnxport_abi::graph::UseRecord>,
    dims: Vec<onnxport_abi::lowering::DimRecord>,
    extents: Vec<u64>,
    bytes: Vec<u8>,
    text: String,
}

impl Frame {
    fn new(lowered: Lowered, matched: Match) -> Self {
        let blocks = lowered.graph.blocks.iter().enumerate();
        let places = blocks.flat_map(|(block, b)| (0..b.nodes.len()).map(move |at| (block, at))).collect();
        Self {
            lowered,
            matched,
            places,
            building: false,
            answer: None,
            refusal: None,
            scratch: Scratch::default(),
        }
    }

    fn context(&mut self) -> GraphContext {
        GraphContext(std::ptr::from_mut(self).cast())
    }

    fn outcome(&mut self, answer: u32) -> Result<(), Failure> {
        let refusal = self.refusal.take();
        match (answer, refusal) {
            (status::OK, None) => Ok(()),
            (status::REFUSED, Some(refusal)) => Err(Failure::Refused(refusal)),
            (status::PANICKED, Some(refusal)) => Err(Failure::Panicked(refusal.message)),
            (status, _) => Err(Failure::Contract(format!("the rule ended with the status {status}"))),
        }
    }

    /// The matched root.
    fn root(&self) -> Place {
        self.matched.nodes.first().copied().flatten().map_or((0, 0), |node| self.places[node])
    }

    /// Adds a node before the root.
    fn insert(&mut self, node: Node) {
        let (block, at) = self.root();
        super::infer::infer(&mut self.lowered.symbols, &mut self.lowered.graph, &node);
        self.lowered.graph.blocks[block].nodes.insert(at, node);
        for place in &mut self.places {
            if place.0 == block && place.1 >= at {
                place.1 += 1;
            }
        }
        self.places.push((block, at));
    }

    /// The graph with the answer in the place of the root's outputs.
    fn apply(mut self) -> Result<Lowered, Failure> {
        let broken = |what: &str| Failure::Contract(what.to_owned());
        let answer = self.answer.take().ok_or_else(|| broken("the rule set no outputs"))?;
        let (block, at) = self.root();
        let root = self.lowered.graph.blocks[block].nodes[at].clone();
        if answer.len() != root.outputs.len() {
            return Err(broken("the rule set another number of outputs than the root has"));
        }
        for (old, new) in root.outputs.iter().zip(answer) {
            match new {
                Some(new) => {
                    self.same_type(*old, new)?;
                    self.replace(*old, new);
                }
                None if self.is_read(*old) => {
                    return Err(broken("the rule leaves out an output that is read"));
                }
                None => {}
            }
        }
        remove_unused(&mut self.lowered);
        Ok(self.lowered)
    }

    fn same_type(&self, old: usize, new: usize) -> Result<(), Failure> {
        let values = &self.lowered.graph.values;
        let (old, new) = (&values[old], &values[new]);
        let wrong = |what: String| Err(Failure::Contradiction(format!("the patch is {what}")));
        if let (Some(a), Some(b)) = (old.dtype, new.dtype)
            && a != b
        {
            return wrong(format!("{} where {} stood", DType::as_str(b), DType::as_str(a)));
        }
        if let (Some(a), Some(b)) = (&old.shape, &new.shape) {
            let differ = |(a, b): (&Dim, &Dim)| matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b);
            if a.len() != b.len() || a.iter().zip(b).any(differ) {
                let symbols = &self.lowered.symbols;
                return wrong(format!("[{}] where [{}] stood", symbols.list(b), symbols.list(a)));
            }
        }
        Ok(())
    }

    fn replace(&mut self, old: usize, new: usize) {
        for block in &mut self.lowered.graph.blocks {
            let inputs = block.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().flatten());
            inputs.chain(&mut block.outputs).filter(|value| **value == old).for_each(|value| *value = new);
        }
        for result in self.lowered.results.iter_mut().flatten() {
            if *result == old {
                *result = new;
            }
        }
    }

    fn is_read(&self, value: usize) -> bool {
        reads(&self.lowered, value)
    }
}

fn reads(lowered: &Lowered, value: usize) -> bool {
    lowered.results.contains(&Some(value))
        || lowered.graph.blocks.iter().any(|block| {
            block.outputs.contains(&value) || block.nodes.iter().any(|n| n.inputs.contains(&Some(value)))
        })
}

/// Removes nodes whose outputs nothing reads.
fn remove_unused(lowered: &mut Lowered) {
    loop {
        let unused = (0..lowered.graph.blocks.len()).find_map(|block| {
            let nodes = &lowered.graph.blocks[block].nodes;
            let at = nodes.iter().position(|node| !node.outputs.iter().any(|v| reads(lowered, *v)))?;
            Some((block, at))
        });
        let Some((block, at)) = unused else { return };
        lowered.graph.blocks[block].nodes.remove(at);
    }
}

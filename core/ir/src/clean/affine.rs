//! Integers that grow by the same step along each axis, as positions in a sequence do.

use crate::ir::{Attr, Def, Graph, Node, Shape, ValueId};
use crate::op;
use crate::sym::{Dim, Symbols};
use crate::tensor::DType;

/// How many producers are followed.
const DEPTH: usize = 32;

/// `base + Σ steps[k] * i_k`, where `i_k` counts along the axis `k`, the last one being 0. Along an axis of size 1 the step
/// is 0.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    pub(super) base: Dim,
    pub(super) steps: Vec<i64>,
}

impl Affine {
    /// The elements of a value of 64-bit integers.
    pub(super) fn from_value(graph: &Graph, symbols: &mut Symbols, value: ValueId) -> Option<Self> {
        followed(graph, symbols, value, DEPTH)
    }

    /// The difference of two; both have their axes from the last one on.
    pub(super) fn minus(&self, other: &Self, symbols: &mut Symbols) -> Option<Self> {
        self.with(other, -1, symbols)
    }

    /// This and `times` another one.
    pub(super) fn with(&self, other: &Self, times: i64, symbols: &mut Symbols) -> Option<Self> {
        let scaled = symbols.mul(Dim::Const(times), other.base);
        let rank = self.steps.len().max(other.steps.len());
        let step = |at: usize| {
            let [own, more] = [self, other].map(|one| one.steps.get(at).copied().unwrap_or(0));
            own.checked_add(more.checked_mul(times)?)
        };
        Some(Self {
            base: symbols.add(self.base, scaled),
            steps: (0..rank).map(step).collect::<Option<_>>()?,
        })
    }

    /// By how much the greater operand of a comparison is ahead: the comparison holds where this is 0 or more.
    pub(super) fn lead(graph: &Graph, symbols: &mut Symbols, node: &Node, output: ValueId) -> Option<Self> {
        let (less, or_equal) = match node.op.as_str() {
            op::Less => (true, false),
            op::LessOrEqual => (true, true),
            op::Greater => (false, false),
            op::GreaterOrEqual => (false, true),
            _ => return None,
        };
        let [Some(a), Some(b)] = node.inputs[..] else { return None };
        fits(graph, a, output)?;
        fits(graph, b, output)?;
        let (low, high) = if less { (a, b) } else { (b, a) };
        let (low, high) = (Self::from_value(graph, symbols, low)?, Self::from_value(graph, symbols, high)?);
        let mut lead = high.minus(&low, symbols)?;
        if !or_equal {
            lead.base = symbols.add(lead.base, Dim::Const(-1));
        }
        Some(lead)
    }

    /// Whether every element is 0 or more, where `extents` are stated from the last axis on.
    pub(super) fn is_natural(&self, symbols: &mut Symbols, extents: &[Dim]) -> bool {
        let mut least = self.base;
        for (step, extent) in self.steps.iter().zip(extents) {
            if *step < 0 {
                let end = symbols.add(*extent, Dim::Const(-1));
                let change = symbols.mul(Dim::Const(*step), end);
                least = symbols.add(least, change);
            }
        }
        if symbols.range(least).min.is_some_and(|least| least >= 0) {
            return true;
        }
        // Where there is an element, each axis has at least one.
        extents.iter().any(|extent| {
            let end = symbols.add(*extent, Dim::Const(-1));
            let more = symbols.sub(least, end);
            symbols.range(more).min.is_some_and(|more| more >= 0)
        })
    }

    /// The negative of each element, less 1: this is 0 or more where the element is below 0.
    pub(super) fn opposite(&self, symbols: &mut Symbols) -> Option<Self> {
        Self { base: Dim::Const(-1), steps: Vec::new() }.minus(self, symbols)
    }

    /// Returns the steps of the output of a node that only rearranges elements.
    pub(super) fn arranged(&self, graph: &Graph, node: &Node) -> Option<Self> {
        let output = node.outputs.first().copied().flatten()?;
        let steps = match node.op.as_str() {
            op::Identity | op::Expand => self.steps.clone(),
            op::Unsqueeze => {
                let rank = dims(graph, output)?.len();
                let axes = unsqueezed(graph, node, rank)?;
                let mut own = self.steps.iter().copied();
                // From the last axis to the first one.
                (0..rank)
                    .map(|at| if axes.contains(&(rank - 1 - at)) { 0 } else { own.next().unwrap_or(0) })
                    .collect()
            }
            _ => return None,
        };
        Some(Self { base: self.base, steps })
    }
}

/// The sizes of a value, if all are known.
pub(super) fn dims(graph: &Graph, value: ValueId) -> Option<Vec<Dim>> {
    graph.values[value].ty.shape().and_then(Shape::dims)?.iter().copied().collect()
}

/// Requires each size of `part` to be that of `whole`, or 1. An unknown size fails.
pub(super) fn fits(graph: &Graph, part: ValueId, whole: ValueId) -> Option<()> {
    let (part, whole) = (dims(graph, part)?, dims(graph, whole)?);
    let mut pairs = part.iter().rev().zip(whole.iter().rev());
    let all = part.len() <= whole.len() && pairs.all(|(own, wide)| own == wide || *own == Dim::Const(1));
    all.then_some(())
}

/// The node that makes a value alone, and its operator.
pub(super) fn maker(graph: &Graph, value: ValueId) -> Option<&Node> {
    match graph.values[value].def {
        Def::Node(node, 0) => Some(&graph.nodes[node]).filter(|node| node.domain.is_empty()),
        _ => None,
    }
}

/// The axes that an `Unsqueeze` adds to make `rank` of them.
fn unsqueezed(graph: &Graph, node: &Node, rank: usize) -> Option<Vec<usize>> {
    let axes = graph.shape_value(node.inputs.get(1).copied().flatten()?)?;
    let positive = |axis: Dim| {
        let axis = axis.as_const()?;
        let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
        usize::try_from(axis).ok().filter(|axis| *axis < rank)
    };
    axes.into_iter().map(positive).collect()
}

fn followed(graph: &Graph, symbols: &mut Symbols, value: ValueId, depth: usize) -> Option<Affine> {
    let depth = depth.checked_sub(1)?;
    if graph.values[value].ty.dtype() != Some(DType::I64) {
        return None;
    }
    let shape = dims(graph, value)?;
    let mut found = match listed(graph, value, shape.len()) {
        Some(found) => found,
        None => made(graph, symbols, value, depth)?,
    };
    found.steps.resize(shape.len(), 0);
    for (step, extent) in found.steps.iter_mut().zip(shape.iter().rev()) {
        if *extent == Dim::Const(1) {
            *step = 0;
        }
    }
    Some(found)
}

/// Elements that are known and lie at equal distances.
fn listed(graph: &Graph, value: ValueId, rank: usize) -> Option<Affine> {
    let contents = graph.shape_value(value)?;
    let (first, rest) = contents.split_first()?;
    if rest.is_empty() {
        return Some(Affine { base: *first, steps: vec![0; rank] });
    }
    let numbers: Vec<i64> = contents.iter().map(|one| one.as_const()).collect::<Option<_>>()?;
    let mut steps = numbers.windows(2).map(|pair| match pair {
        [a, b] => b.checked_sub(*a),
        _ => None,
    });
    let step = steps.next()??;
    steps.all(|other| other == Some(step)).then(|| Affine { base: *first, steps: vec![step] })
}

fn made(graph: &Graph, symbols: &mut Symbols, value: ValueId, depth: usize) -> Option<Affine> {
    let node = maker(graph, value)?;
    let input = |at: usize| node.inputs.get(at).copied().flatten();
    match node.op.as_str() {
        op::Range => {
            let only = |value: ValueId| match graph.shape_value(value)?[..] {
                [only] => Some(only),
                _ => None,
            };
            Some(Affine { base: only(input(0)?)?, steps: vec![only(input(2)?)?.as_const()?] })
        }
        op::Add | op::Sub => {
            let (a, b) = (input(0)?, input(1)?);
            fits(graph, a, value)?;
            fits(graph, b, value)?;
            let times = if node.op == op::Add { 1 } else { -1 };
            let (a, b) = (followed(graph, symbols, a, depth)?, followed(graph, symbols, b, depth)?);
            a.with(&b, times, symbols)
        }
        op::Cast if node.attr("to").is_some_and(|to| matches!(to, Attr::Int(_))) => {
            followed(graph, symbols, input(0)?, depth)
        }
        _ => {
            let x = input(0)?;
            if node.op == op::Expand {
                fits(graph, x, value)?;
            }
            followed(graph, symbols, x, depth)?.arranged(graph, node)
        }
    }
}

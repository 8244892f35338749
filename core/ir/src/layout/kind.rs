//! How operators depend on axes.

use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op;
use crate::ops::{Axes, Traits, lookup};
use crate::sym::Dim;

/// How a node changes when its operands are transposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Unchanged: it combines elements at equal positions.
    Pointwise,
    /// Nothing: it treats each element of its first input alone; the other inputs are numbers for all.
    Alone,
    /// The attribute `axis`, which is this.
    Axis(usize),
    /// Its list of axes, which is this: an attribute, or an input.
    Axes(Vec<usize>, Option<usize>),
    /// Reorder inputs with a fixed number of elements per axis: (index of the input, elements per axis).
    Lists(Vec<(usize, usize)>),
    /// As `Axes`, of a reduction whose result has no transposed axis: it accepts either layout.
    Absorbs(Vec<usize>, Option<usize>),
}

impl Kind {
    /// Returns how `id` depends on the axes of operands of rank `rank`; `None` if that is unknown or the operator
    /// requires a layout. `sums` allows the terms of sums to be added in another order.
    pub(super) fn for_node(
        graph: &Graph,
        opset: i64,
        id: NodeId,
        perm: &[usize],
        sums: bool,
    ) -> Option<Kind> {
        let (node, rank) = (&graph.nodes[id], perm.len());
        let attributes = node.at(opset);
        let op = lookup(&node.domain, &node.op).filter(|op| op.domain.is_empty())?;
        let traits = op.traits();
        let has_rank =
            |value: Option<ValueId>| value.is_some_and(|value| rank_of(graph, value) == Some(rank));
        let has_inputs_up_to_rank =
            || node.inputs.iter().all(|v| v.is_some_and(|v| rank_of(graph, v).is_some_and(|r| r <= rank)));
        let others = || node.inputs.iter().skip(1).flatten();
        let broadcasts = traits.has(Traits::BROADCASTING) || op.axis_mapping() == Some(Axes::Together);
        if broadcasts && has_inputs_up_to_rank() {
            return node.outputs.iter().all(|output| has_rank(*output)).then_some(Kind::Pointwise);
        }
        if !has_rank(node.inputs.first().copied().flatten()) {
            return None;
        }
        let is_alone = traits.has(Traits::ELEMENTWISE) && others().all(|v| is_single(graph, *v))
            // With one scale for all.
            || traits.has(Traits::QUANTIZES) && others().all(|v| rank_of(graph, *v) == Some(0));
        // Another layout is another order in which elements are added; a nearest `Resize` copies them.
        let in_order = traits.has(Traits::ACCUMULATES)
            && !(node.is(op::Resize) && attributes.text("mode") == Some("nearest"));
        let keeps_rank = attributes.int("keepdims").is_none_or(|n| n == 1);
        let kind = match op.axis_mapping() {
            _ if is_alone => Kind::Alone,
            _ if in_order && !sums => return None,
            Some(Axes::Along(since)) if opset >= since && keeps_rank => {
                Kind::Axis(axis(attributes.int("axis")?, rank)?)
            }
            Some(Axes::PerAxis(places)) => Kind::Lists(lists(graph, node, places, rank)?),
            Some(Axes::Listed(input)) => {
                let place = node.attr("axes").is_none().then_some(input);
                let axes = listed(graph, node, place, rank)?;
                if keeps_rank {
                    Kind::Axes(axes, place)
                } else {
                    // The remaining axes keep their order.
                    let left: Vec<usize> =
                        (0..rank).filter(|axis| !axes.contains(axis)).map(|axis| perm[axis]).collect();
                    if !left.is_sorted() {
                        return None;
                    }
                    return Some(Kind::Absorbs(axes, place));
                }
            }
            _ => return None,
        };
        node.outputs.iter().all(|output| has_rank(*output)).then_some(kind)
    }

    /// Whether input `index` of a node is transposed with it.
    pub(super) fn transposes(&self, index: usize, op: &str) -> bool {
        match self {
            Kind::Pointwise => true,
            Kind::Axis(_) => index == 0 || op == op::Concat,
            _ => index == 0,
        }
    }
}

/// The rank of a value.
pub(super) fn rank_of(graph: &Graph, value: ValueId) -> Option<usize> {
    graph.values[value].ty.shape()?.rank()
}

/// Whether a value is a single element whatever it is broadcast with.
pub(super) fn is_single(graph: &Graph, value: ValueId) -> bool {
    let dims = graph.values[value].ty.shape().and_then(|shape| shape.dims());
    dims.is_some_and(|dims| dims.iter().all(|dim| *dim == Some(Dim::Const(1))))
}

fn axis(axis: i64, rank: usize) -> Option<usize> {
    let counted = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(counted).ok().filter(|axis| *axis < rank)
}

/// The axes that an input or the attribute `axes` lists.
fn listed(graph: &Graph, node: &Node, input: Option<usize>, rank: usize) -> Option<Vec<usize>> {
    let found: Vec<i64> = match input {
        None => node.ints("axes")?.to_vec(),
        Some(index) => {
            let value = node.inputs.get(index).copied().flatten()?;
            graph.shape_value(value)?.into_iter().map(Dim::as_const).collect::<Option<_>>()?
        }
    };
    if found.is_empty() {
        return None;
    }
    found.into_iter().map(|n| axis(n, rank)).collect()
}

/// Returns those of `places` that a node has, if each has the stated number of elements per axis.
fn lists(graph: &Graph, node: &Node, places: &[(usize, usize)], rank: usize) -> Option<Vec<(usize, usize)>> {
    let mut found = Vec::new();
    // The elements belong to the axes that another input or attribute picks.
    let picks_axes =
        node.attr("axes").is_some() || node.is(op::Pad) && node.inputs.get(3).is_some_and(Option::is_some);
    if picks_axes {
        return None;
    }
    for (index, times) in places {
        let Some(value) = node.inputs.get(*index).copied().flatten() else { continue };
        match graph.values[value].ty.shape()?.dims()? {
            [Some(Dim::Const(0))] => {}
            [Some(Dim::Const(n))] if *n == (rank * times) as i64 => found.push((*index, *times)),
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}

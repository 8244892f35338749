//! Guards against fully masked rows, where no row can be fully masked.
//!
//! Attention outputs zeros for such rows: `Where(ReduceMax(bias) == 0, product, 0)` with `bias = Where(mask, 0,
//! -inf)`. A mask of comparisons of positions, such as `key <= query`, leaves an open element in every row if all
//! comparisons hold for some column, which may depend on the row. That column is guessed (the first one, the last
//! one, and those at which a comparison holds with equality) and then proven for all sizes.

use super::affine::{Affine, dims, fits, maker};
use crate::ir::{Attr, Def, Graph, NodeId, ValueId};
use crate::op;
use crate::ops::{Traits, traits};
use crate::sym::{Dim, Symbols};

/// How deep conjunctions are followed, and how many comparisons.
const DEPTH: usize = 16;
const MAX_COMPARISONS: usize = 16;

/// Removes choices by a guard that always holds; returns how many nodes were removed.
pub(super) fn graph(graph: &mut Graph, symbols: &mut Symbols) -> usize {
    let mut count = 0;
    let nodes: Vec<NodeId> = graph.nodes.ids().filter(|node| graph.nodes[*node].block.is_some()).collect();
    for node in nodes {
        let Some((output, kept)) = idle(graph, symbols, node) else { continue };
        graph.replace_uses(output, kept);
        graph.remove(node);
        count += 1;
    }
    count
}

/// The output of a choice that always takes the same value, and this value.
fn idle(graph: &Graph, symbols: &mut Symbols, node: NodeId) -> Option<(ValueId, ValueId)> {
    let data = &graph.nodes[node];
    if !data.is(op::Where) {
        return None;
    }
    let ([Some(condition), Some(kept), Some(_)], [Some(output)]) = (&data.inputs[..], &data.outputs[..])
    else {
        return None;
    };
    let alike = dims(graph, *kept).filter(|shape| dims(graph, *output).as_ref() == Some(shape));
    // No block returns a value twice, nor one that it was given.
    let is_own = |value| match graph.values[value].def {
        Def::Node(node, _) => graph.nodes[node].block == data.block && !graph.is_returned(value),
        _ => false,
    };
    if alike.is_none() || graph.is_returned(*output) && !is_own(*kept) {
        return None;
    }
    let bias = greatest_is_zero(graph, *condition)?;
    let mask = zero_where(graph, bias)?;
    // A mask that is broadcast along the columns may have none.
    (dims(graph, mask)?.last() == dims(graph, bias)?.last()).then_some(())?;
    let mut comparisons = Vec::new();
    conjuncts(graph, symbols, mask, DEPTH, &mut comparisons)?;
    is_open(symbols, &dims(graph, mask)?, &comparisons).then_some((*output, *kept))
}

/// `bias` of `ReduceMax(bias, -1) == 0`.
fn greatest_is_zero(graph: &Graph, condition: ValueId) -> Option<ValueId> {
    let equal = maker(graph, condition).filter(|node| node.is(op::Equal))?;
    let [Some(a), Some(b)] = equal.inputs[..] else { return None };
    let greatest = if number(graph, b) == Some(0.0) { a } else { (number(graph, a)? == 0.0).then_some(b)? };
    let reduction = maker(graph, greatest).filter(|node| node.is(op::ReduceMax))?;
    let bias = reduction.inputs.first().copied().flatten()?;
    let axes: Vec<i64> = match (reduction.inputs.get(1).copied().flatten(), reduction.attr("axes")) {
        (Some(axes), _) => graph.shape_value(axes)?.into_iter().map(Dim::as_const).collect::<Option<_>>()?,
        (None, Some(Attr::Ints(axes))) => axes.clone(),
        _ => return None,
    };
    let last = i64::try_from(dims(graph, bias)?.len()).ok()? - 1;
    matches!(axes[..], [axis] if axis == -1 || axis == last).then_some(bias)
}

/// `mask` of `Where(mask, 0, low)`, where `low` is below 0.
fn zero_where(graph: &Graph, bias: ValueId) -> Option<ValueId> {
    let choice = maker(graph, bias).filter(|node| node.is(op::Where))?;
    let [Some(mask), Some(open), Some(closed)] = choice.inputs[..] else { return None };
    (number(graph, open)? == 0.0 && number(graph, closed)? < 0.0).then_some(mask)
}

/// The only element of a small constant of floats.
fn number(graph: &Graph, value: ValueId) -> Option<f64> {
    let data = graph.initializer(value).filter(|_| !graph.is_weight(value))?;
    (data.elements() == Some(1)).then_some(())?;
    crate::ops::Tensor::read(data).ok()?.floats().ok()?.first().copied()
}

/// Returns the expressions that must be 0 or more for `mask` to be open.
fn conjuncts(
    graph: &Graph,
    symbols: &mut Symbols,
    mask: ValueId,
    depth: usize,
    found: &mut Vec<Affine>,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let node = maker(graph, mask)?;
    let input = |at: usize| node.inputs.get(at).copied().flatten();
    let op = node.op.as_str();
    match op {
        op::And => {
            for at in 0..2 {
                fits(graph, input(at)?, mask)?;
                conjuncts(graph, symbols, input(at)?, depth, found)?;
            }
        }
        _ if traits(node).has(Traits::BROADCASTING.with(Traits::DISCONTINUOUS)) => {
            let lead = Affine::lead(graph, symbols, node, mask)?;
            (found.len() < MAX_COMPARISONS).then(|| found.push(lead))?;
        }
        _ => {
            let x = input(0)?;
            if op == op::Expand {
                fits(graph, x, mask)?;
            }
            let mut inner = Vec::new();
            conjuncts(graph, symbols, x, depth, &mut inner)?;
            for one in inner {
                (found.len() < MAX_COMPARISONS).then_some(())?;
                found.push(one.arranged(graph, node)?);
            }
        }
    }
    Some(())
}

/// Whether every row of a mask of this shape has a column in which all `comparisons` are 0 or more.
fn is_open(symbols: &mut Symbols, shape: &[Dim], comparisons: &[Affine]) -> bool {
    let Some((places, rows)) = shape.split_last() else { return false };
    let rows: Vec<Dim> = rows.iter().rev().copied().collect();
    // Nothing that is asked about changes along the last axis.
    let is_natural = |symbols: &mut Symbols, mut one: Affine| {
        one.steps.drain(..one.steps.len().min(1));
        one.is_natural(symbols, &rows)
    };
    let last = symbols.add(*places, Dim::Const(-1));
    let fixed = |base: Dim| Affine { base, steps: Vec::new() };
    let mut columns = vec![fixed(Dim::Const(0)), fixed(last)];
    for one in comparisons {
        // `base + step * j + rows = 0`.
        let step = one.steps.first().copied().unwrap_or(0);
        if step == 1 || step == -1 {
            let mut rest = one.clone();
            rest.steps.iter_mut().take(1).for_each(|step| *step = 0);
            columns.extend(fixed(Dim::Const(0)).with(&rest, -step, symbols));
        }
    }
    columns.into_iter().any(|column| {
        let within = [Some(column.clone()), fixed(last).minus(&column, symbols)];
        let held = comparisons.iter().map(|one| {
            let step = one.steps.first().copied().unwrap_or(0);
            let mut rest = one.clone();
            rest.steps.iter_mut().take(1).for_each(|step| *step = 0);
            rest.with(&column, step, symbols)
        });
        let all: Vec<Option<Affine>> = held.collect();
        within.into_iter().chain(all).all(|one| one.is_some_and(|one| is_natural(symbols, one)))
    })
}

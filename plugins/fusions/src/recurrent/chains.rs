//! Steps that follow each other.

use std::collections::{HashMap, HashSet};

use onnxport_sdk::prelude::*;

use super::cells::{Kind, Linear, Step};
use super::layers::{Layer, LayerOutputs};
use super::places::Slice;

/// So many steps are at least replaced: of fewer the operator takes as long as they do.
const LEAST: usize = 3;

/// Replaces chains of steps whose inputs are available with layers, and returns whether there was one. `replaced` has the
/// results of steps that were replaced before, which nothing reads any more.
pub(super) fn replace<'h>(cx: &Edit<'h>, replaced: &mut HashSet<ValueRef<'h>>) -> Res<bool> {
    let mut order = HashMap::new();
    let mut steps = Vec::new();
    for (at, node) in cx.graph().nodes().into_iter().enumerate() {
        order.insert(node, at);
        if node.is(op::Split)
            && let Some(step) = Step::at(node)
            && !replaced.contains(&step.next)
        {
            steps.push(step);
        }
    }
    let before = replaced.len();
    for chain in chains(&steps) {
        // Readers of the result of another chain follow in the next round; the nodes of that chain are removed.
        let mut reads = chain.steps.iter().flat_map(|(step, _)| step.linears.map(|linear| linear.x));
        if reads.any(|x| replaced.contains(&x)) || !chain.inputs_are_early(&order) {
            continue;
        }
        match chain.layer() {
            Ok(layer) => {
                chain.replace(cx, &layer)?;
                chain.remove(cx, &order)?;
                replaced.extend(chain.steps.iter().map(|(step, _)| step.next));
            }
            Err(why) => cx.note(chain.start().last, &why.message),
        }
    }
    Ok(replaced.len() > before)
}

/// Steps, each with the index of the state among its products.
struct Chain<'s, 'h> {
    steps: Vec<(&'s Step<'h>, usize)>,
}

/// The chains of at least [`LEAST`] steps, in the order of their first ones.
fn chains<'s, 'h>(steps: &'s [Step<'h>]) -> Vec<Chain<'s, 'h>> {
    let made: HashMap<ValueRef<'h>, usize> =
        steps.iter().enumerate().map(|(at, step)| (step.next, at)).collect();
    let mut follower: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut follows: HashSet<usize> = HashSet::new();
    for (at, step) in steps.iter().enumerate() {
        for (state, linear) in step.linears.iter().enumerate() {
            let Some(before) = made.get(&linear.x).copied() else { continue };
            if follower.contains_key(&before) || follows.contains(&at) {
                continue;
            }
            if steps.get(before).is_some_and(|before| goes_on(before, step, state)) {
                follower.insert(before, (at, state));
                follows.insert(at);
            }
        }
    }
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate().filter(|(at, _)| !follows.contains(at)) {
        let Some((_, state)) = follower.get(&at).copied() else { continue };
        // The product of the first step that has the weights of the state in the second one.
        let Some(weights) = follower.get(&at).and_then(|(next, _)| steps.get(*next)?.linears.get(state))
        else {
            continue;
        };
        let places = step.linears.iter().map(|linear| linear.weights);
        let own: Vec<usize> =
            places.enumerate().filter(|(_, own)| *own == weights.weights).map(|(place, _)| place).collect();
        let mut chain = Vec::new();
        let mut next = match own[..] {
            [only] => {
                chain.push((step, only));
                follower.get(&at).copied()
            }
            _ => follower.get(&at).copied(),
        };
        while let Some((at, state)) = next {
            let Some(step) = steps.get(at) else { break };
            // Where the weights change, another layer begins.
            let same = |before: &(&Step<'h>, usize)| {
                let pair = |(step, state): (&Step<'h>, usize)| {
                    [step.linears.get(state), step.linears.get(1 - state)]
                        .map(|linear| linear.map(|l| l.weights))
                };
                pair(*before) == pair((step, state))
            };
            if chain.last().is_some_and(|before| !same(before)) {
                found.push(Chain { steps: std::mem::take(&mut chain) });
            }
            chain.push((step, state));
            next = follower.get(&at).copied();
        }
        found.push(Chain { steps: chain });
    }
    found.retain(|chain| chain.steps.len() >= LEAST);
    found
}

/// Whether `step` continues `before`, with `state` the index of the state among its products. Nothing else reads the cell
/// of `before`.
fn goes_on<'h>(before: &Step<'h>, step: &Step<'h>, state: usize) -> bool {
    if before.kind != step.kind || (step.kind == Kind::Gru && state != 1) {
        return false;
    }
    match (before.next_cell, step.cell) {
        (None, None) => true,
        (Some(made), Some(taken)) => {
            let readers = made.uses();
            made == taken
                && !made.is_returned()
                && readers.iter().all(|(node, _)| before.nodes.contains(node) || step.nodes.contains(node))
        }
        _ => false,
    }
}

impl<'h> Chain<'_, 'h> {
    fn start(&self) -> &Step<'h> {
        self.steps[0].0
    }

    /// The products of the inputs, and of the states.
    fn products(&self, of_state: bool) -> impl Iterator<Item = Linear<'h>> + '_ {
        self.steps.iter().filter_map(move |(step, state)| {
            step.linears.get(if of_state { *state } else { 1 - state }).copied()
        })
    }

    /// Whether everything that goes in is there before the first step ends.
    fn inputs_are_early(&self, order: &HashMap<NodeRef<'h>, usize>) -> bool {
        let end = self.start().last;
        let early = |value: ValueRef<'h>| match value.producer() {
            None => true,
            // Values of an outer block are available.
            Some((node, _)) => node.block() != end.block() || order.get(&node) < order.get(&end),
        };
        match self.sequence() {
            Some(place) => early(place.x),
            None => self.products(false).all(|linear| early(linear.x)),
        }
    }

    /// If the inputs are steps of one tensor in order: the tensor, its axis, and the first index.
    fn sequence(&self) -> Option<Slice<'h>> {
        let mut found: Option<Slice<'h>> = None;
        for (at, linear) in self.products(false).enumerate() {
            let place = Slice::from_value(linear.x)?;
            let first = *found.get_or_insert(place);
            let index = first.index.checked_add(i64::try_from(at).ok()?)?;
            if place != (Slice { index, ..first }) {
                return None;
            }
        }
        found
    }

    /// The inputs, `[steps, batch, inputs]`.
    fn stacked(&self, cx: &Edit<'h>) -> Res<ValueRef<'h>> {
        let count = i64::try_from(self.steps.len()).map_err(|_| "it has too many steps")?;
        let Some(Slice { x, axis, index: first }) = self.sequence() else {
            let places: Vec<ValueRef<'h>> =
                self.products(false).map(|linear| cx.unsqueeze(linear.x, &[0])).collect();
            return Ok(cx.concat(&places, 0));
        };
        let end = first.checked_add(count).ok_or("it has too many steps")?;
        let extent = cx.dim(x, usize::try_from(axis).unwrap_or_default());
        let all = first == 0 && extent.is(count);
        let part = if all { x } else { cx.slice(x, axis, first, end, 1) };
        Ok(if axis == 1 { cx.transpose(part, &[1, 0, 2]) } else { part })
    }

    /// The layer that the steps are.
    fn layer(&self) -> Res<Layer<'h>> {
        let first = self.start();
        let state = self.products(true).next().ok_or("there is no state")?;
        let input = self.products(false).next().ok_or("there is no input")?;
        // A state may be one for all of a batch.
        let wide = |value: ValueRef<'h>| value.shape().is_some_and(|shape| Some(shape) == first.next.shape());
        if !wide(state.x) || !first.cell.is_none_or(wide) {
            return Err("the first state has another shape than the next one".into());
        }
        let rows = |value: ValueRef<'h>| value.shape().and_then(|shape| shape.first().copied());
        if self
            .products(false)
            .any(|linear| rows(linear.x) != rows(state.x) || linear.x.shape() != input.x.shape())
        {
            return Err("the inputs have other rows than the state".into());
        }
        let layer = Layer {
            kind: first.kind,
            input: input.weights,
            state: state.weights,
            inputs: input.x.shape().and_then(|shape| shape.get(1).copied()),
            first: (state.x, first.cell),
        };
        layer.check().map(|_| layer)
    }

    /// Replaces the steps with an operator.
    fn replace(&self, cx: &Edit<'h>, layer: &Layer<'h>) -> Res<()> {
        let first = self.start();
        let last = self.steps.last().map_or(first, |(step, _)| *step);
        cx.before(first.last);
        let made = layer.emit(cx, self.stacked(cx)?)?;
        self.hand_out(cx, &made)?;
        if let (Some(old), Some(new)) = (last.next_cell, made.last.1) {
            cx.replace_uses(old, new)?;
        }
        cx.replace_uses(last.next, made.last.0)
    }

    /// Removes unread nodes, from the last one to the first one.
    fn remove(&self, cx: &Edit<'h>, order: &HashMap<NodeRef<'h>, usize>) -> Res<()> {
        let mut nodes: Vec<NodeRef<'h>> = self
            .steps
            .iter()
            .flat_map(|(step, _)| step.nodes.iter().copied().chain(step.linears.map(|linear| linear.reader)))
            .collect();
        nodes.sort_by_key(|node| std::cmp::Reverse(order.get(node)));
        nodes.dedup();
        for node in nodes {
            let idle = |value: &ValueRef<'h>| value.uses().is_empty() && !value.is_returned();
            if node.outputs().iter().flatten().all(idle) {
                cx.remove(node)?;
            }
        }
        Ok(())
    }

    /// Gives each state to those who read it outside of the steps.
    fn hand_out(&self, cx: &Edit<'h>, made: &LayerOutputs<'h>) -> Res<()> {
        let own: HashSet<NodeRef<'h>> = self
            .steps
            .iter()
            .flat_map(|(step, _)| step.nodes.iter().copied().chain(step.linears.map(|linear| linear.reader)))
            .collect();
        let states: Vec<ValueRef<'h>> = self.steps.iter().map(|(step, _)| step.next).collect();
        for (node, _) in states.first().map(|state| state.uses()).unwrap_or_default() {
            stack(cx, node, &states, made.all)?;
        }
        let outside = |state: &ValueRef<'h>| {
            state.is_returned() || state.uses().iter().any(|(node, _)| !own.contains(node))
        };
        let Some((_, inner)) = states.split_last() else { return Ok(()) };
        if !inner.iter().any(outside) {
            return Ok(());
        }
        let parts = cx
            .op(op::Split)
            .input(made.all)
            .input(cx.ints(&vec![1; states.len()]))
            .axis(0)
            .many(states.len());
        for (state, part) in inner.iter().zip(parts) {
            if outside(state) {
                cx.replace_uses(*state, cx.squeeze(part, &[0]))?;
            }
        }
        Ok(())
    }
}

/// Replaces `node` where it joins all states, one behind the other or side by side.
fn stack<'h>(cx: &Edit<'h>, node: NodeRef<'h>, states: &[ValueRef<'h>], all: ValueRef<'h>) -> Res<()> {
    let joined: Option<Vec<ValueRef<'h>>> = node.inputs().into_iter().collect();
    let Some(concat) = node.as_op(op::Concat).filter(|_| joined.as_deref() == Some(states)) else {
        return Ok(());
    };
    let Some(output) = concat.output(0) else { return Ok(()) };
    let width = cx.dim(all, 2).as_const().ok_or("the states are unknown")?;
    let count = i64::try_from(states.len()).map_err(|_| "it has too many steps")?;
    let wide = width.checked_mul(count).ok_or("it has too many steps")?;
    let whole = match concat.axis() {
        Some(0 | -2) => cx.reshape(all, &[-1, width]),
        Some(1 | -1) => cx.reshape(cx.transpose(all, &[1, 0, 2]), &[-1, wide]),
        _ => return Ok(()),
    };
    cx.replace_uses(output, whole)
}

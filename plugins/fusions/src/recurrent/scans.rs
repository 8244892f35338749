//! A `Scan` over a step.

use onnxport_sdk::prelude::*;

use super::cells::{Kind, Step};
use super::layers::Layer;

/// Replaces every `Scan` that is a layer.
pub(super) fn replace(cx: &Edit<'_>) -> Res<()> {
    for node in cx.graph().nodes() {
        if let Some(scan) = node.as_op(op::Scan).and_then(Scan::at) {
            if let Err(why) = scan.layer().check() {
                cx.note(node, &why.message);
                continue;
            }
            cx.before(node);
            let made = scan.layer().emit(cx, scan.x)?;
            for (output, place) in node.outputs().into_iter().zip(&scan.outputs) {
                let Some(output) = output else { continue };
                let value = match place {
                    OutputKind::State => made.last.0,
                    OutputKind::Cell => made.last.1.ok_or("there is no cell")?,
                    OutputKind::All => made.all,
                };
                cx.replace_uses(output, value)?;
            }
            cx.remove(node)?;
        }
    }
    Ok(())
}

/// The kind of an output of a scan.
enum OutputKind {
    State,
    Cell,
    All,
}

struct Scan<'h> {
    step: Step<'h>,
    /// Which of the step's products is that of the state.
    state: usize,
    x: ValueRef<'h>,
    first: (ValueRef<'h>, Option<ValueRef<'h>>),
    outputs: Vec<OutputKind>,
}

impl<'h> Scan<'h> {
    fn at(node: op::View<'h, op::Scan>) -> Option<Self> {
        let forward = |all: Option<Vec<i64>>| all.is_none_or(|all| all.iter().all(|one| *one == 0));
        let axes = [node.scan_input_axes(), node.scan_output_axes()];
        let directions = [node.scan_input_directions(), node.scan_output_directions()];
        let plain = axes.into_iter().chain(directions).all(forward);
        if node.num_scan_inputs() != Some(1) || !plain {
            return None;
        }
        let [body] = node.blocks()[..] else { return None };
        let inner = body.nodes();
        let mut steps = inner.iter().filter_map(|node| Step::at(*node));
        let (step, None) = (steps.next()?, steps.next()) else { return None };
        let formal = body.inputs();
        let count = if step.kind == Kind::Lstm { 2 } else { 1 };
        if formal.len() != count + 1 || node.inputs().len() != count + 1 {
            return None;
        }
        let scanned = *formal.last()?;
        let state = (0..2).find(|at| step.linears.get(1 - at).is_some_and(|linear| linear.x == scanned))?;
        let state = if step.kind == Kind::Gru && state == 0 { return None } else { state };
        let carried = step.linears.get(state)?.x;
        // The body has no other nodes, and nothing else reads the input of the step.
        let own = |node: &NodeRef<'h>| {
            step.nodes.contains(node)
                || step.linears.iter().any(|linear| linear.reader == *node)
                || is_bias(*node, &step)
                || node.is(op::Transpose) && node.input(0).is_some_and(ValueRef::is_initializer)
        };
        if !inner.iter().all(own) {
            return None;
        }
        let at =
            |value: ValueRef<'h>| formal.iter().position(|formal| *formal == value).filter(|at| *at < count);
        let state_at = at(carried)?;
        let cell_at = match step.cell {
            Some(cell) => Some(at(cell).filter(|at| *at != state_at)?),
            None => None,
        };
        let returned = body.outputs();
        let mut outputs = Vec::new();
        for (index, value) in returned.iter().enumerate() {
            let is_state = *value == step.next;
            let is_cell = Some(*value) == step.next_cell;
            outputs.push(match index {
                _ if index == state_at && is_state => OutputKind::State,
                _ if Some(index) == cell_at && is_cell => OutputKind::Cell,
                _ if index >= count && is_state => OutputKind::All,
                _ => return None,
            });
        }
        let x = node.input(count)?;
        // Of no steps at all the operator makes nothing.
        let steps = *x.shape()?.first()?;
        if x.graph().dim_range(steps).min < 1 {
            return None;
        }
        let first = (node.input(state_at)?, cell_at.and_then(|at| node.input(at)));
        // Inputs of one row would be repeated for the rows of the state.
        if x.shape()?.get(1) != first.0.shape()?.first()
            || first.1.is_some_and(|cell| cell.shape() != first.0.shape())
        {
            return None;
        }
        (first.0.rank() == Some(2) && x.rank() == Some(3)).then_some(Self { step, state, x, first, outputs })
    }

    fn layer(&self) -> Layer<'h> {
        let [a, b] = self.step.linears;
        let (input, state) = if self.state == 1 { (a, b) } else { (b, a) };
        Layer {
            kind: self.step.kind,
            input: input.weights,
            state: state.weights,
            inputs: self.x.shape().and_then(|shape| shape.get(2).copied()),
            first: self.first,
        }
    }
}

/// Whether a node adds the bias of a product of the step.
fn is_bias<'h>(node: NodeRef<'h>, step: &Step<'h>) -> bool {
    let biases = step.linears.iter().filter_map(|linear| linear.weights.bias);
    node.is(op::Add) && biases.into_iter().any(|bias| node.inputs().contains(&Some(bias)))
}

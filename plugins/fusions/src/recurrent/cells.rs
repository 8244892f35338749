//! Single steps, as PyTorch computes them.

use onnxport_sdk::prelude::*;

/// The kind of cell of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lstm,
    Gru,
}

impl Kind {
    pub(super) fn op(self) -> op::Named<'static> {
        match self {
            Kind::Lstm => op::LSTM.named(),
            Kind::Gru => op::GRU.named(),
        }
    }

    /// Where the gates of PyTorch stand in the order of ONNX: `iofc` of `ifco`, `zrh` of `rzn`.
    pub(super) fn order(self) -> &'static [u64] {
        match self {
            Kind::Lstm => &[0, 3, 1, 2],
            Kind::Gru => &[1, 0, 2],
        }
    }
}

/// `x Wᵀ + b` of constant weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear<'h> {
    pub(super) x: ValueRef<'h>,
    /// The node that reads `x`.
    pub(super) reader: NodeRef<'h>,
    pub(super) weights: Weights<'h>,
}

/// The weights of a [`Linear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Weights<'h> {
    pub(super) matrix: ValueRef<'h>,
    /// Whether the matrix has a row for each input.
    pub(super) transposed: bool,
    pub(super) bias: Option<ValueRef<'h>>,
}

/// A step.
#[derive(Clone, Debug)]
pub(super) struct Step<'h> {
    pub(super) kind: Kind,
    /// The products with weights. In an LSTM, any of them may be that of the state.
    pub(super) linears: [Linear<'h>; 2],
    pub(super) cell: Option<ValueRef<'h>>,
    pub(super) next: ValueRef<'h>,
    pub(super) next_cell: Option<ValueRef<'h>>,
    /// The node that makes `next`.
    pub(super) last: NodeRef<'h>,
    /// Everything that is done in the step.
    pub(super) nodes: Vec<NodeRef<'h>>,
}

impl<'h> Step<'h> {
    /// The step that a split into gates belongs to.
    pub(super) fn at(split: NodeRef<'h>) -> Option<Self> {
        match pieces(split)?.as_slice() {
            [i, f, g, o] => lstm(split, [*i, *f, *g, *o]),
            [r, z, n] => gru(split, [*r, *z, *n]),
            _ => None,
        }
    }
}

/// The result of the only reader of `x`, if that is this operator.
fn only<'h>(x: ValueRef<'h>, op: impl Operator<'static>) -> Option<ValueRef<'h>> {
    let (node, _) = x.only_use()?;
    node.is(op).then(|| node.output(0))?
}

/// The node that makes `value`, if it is of this operator.
pub(super) fn made_by<'h>(value: ValueRef<'h>, op: impl Operator<'static>) -> Option<NodeRef<'h>> {
    value.producer().map(|(node, _)| node).filter(|node| node.is(op))
}

/// The other operand of a node of two.
fn other<'h>(node: NodeRef<'h>, one: ValueRef<'h>) -> Option<ValueRef<'h>> {
    match (node.input(0)?, node.input(1)?) {
        (a, b) if a == one => Some(b),
        (a, b) if b == one => Some(a),
        _ => None,
    }
}

/// The only reader of `x`, an operator of two operands, and the other one.
fn beside<'h>(x: ValueRef<'h>, op: impl Operator<'static>) -> Option<(NodeRef<'h>, ValueRef<'h>)> {
    let (node, _) = x.only_use()?;
    node.is(op).then_some(node).and_then(|node| Some((node, other(node, x)?)))
}

/// The parts of a split of the last of two axes into equal ones.
fn pieces(split: NodeRef<'_>) -> Option<Vec<ValueRef<'_>>> {
    let split = split.as_op(op::Split)?;
    let whole = split.input(0)?;
    let parts: Vec<ValueRef<'_>> = split.outputs().into_iter().collect::<Option<_>>()?;
    if whole.rank() != Some(2) || !matches!(split.axis(), Some(-1 | 1)) {
        return None;
    }
    let width = |part: &ValueRef<'_>| part.shape()?.get(1)?.as_const();
    let first = width(parts.first()?)?;
    (first > 0 && parts.iter().all(|part| width(part) == Some(first))).then_some(parts)
}

fn lstm<'h>(split: NodeRef<'h>, [i, f, g, o]: [ValueRef<'h>; 4]) -> Option<Step<'h>> {
    let sum = made_by(split.input(0)?, op::Add)?;
    let linears = [linear(sum.input(0)?)?, linear(sum.input(1)?)?];
    let (input, forget, output) = (only(i, op::Sigmoid)?, only(f, op::Sigmoid)?, only(o, op::Sigmoid)?);
    let (new, with) = beside(input, op::Mul)?;
    if only(g, op::Tanh)? != with {
        return None;
    }
    let (kept, cell) = beside(forget, op::Mul)?;
    let (next_cell, with) = beside(new.output(0)?, op::Add)?;
    if kept.output(0)? != with {
        return None;
    }
    with.only_use()?;
    let (last, shown) = beside(output, op::Mul)?;
    let tanh = made_by(shown, op::Tanh)?;
    shown.only_use()?;
    if tanh.input(0)? != next_cell.output(0)? {
        return None;
    }
    let mut nodes = vec![split, sum, new, kept, next_cell, tanh, last];
    nodes.extend([i, f, g, o].into_iter().filter_map(|gate| Some(gate.only_use()?.0)));
    Some(Step {
        kind: Kind::Lstm,
        linears,
        cell: Some(cell),
        next: last.output(0)?,
        next_cell: next_cell.output(0),
        last,
        nodes,
    })
}

/// `split` is that of the state, which the reset gate is a factor of.
fn gru<'h>(split: NodeRef<'h>, [r, z, n]: [ValueRef<'h>; 3]) -> Option<Step<'h>> {
    let state = linear(split.input(0)?)?;
    let (reset_sum, input_reset) = beside(r, op::Add)?;
    let (update_sum, input_update) = beside(z, op::Add)?;
    let inputs = made_by(input_reset, op::Split)?;
    let [ir, iz, input_new] = pieces(inputs)?[..] else { return None };
    if (input_reset, input_update) != (ir, iz) {
        return None;
    }
    let reset = only(reset_sum.output(0)?, op::Sigmoid)?;
    let update = reset_after(update_sum)?;
    let (product, with) = beside(n, op::Mul)?;
    if with != reset {
        return None;
    }
    reset.only_use()?;
    let (new_sum, with) = beside(product.output(0)?, op::Add)?;
    if with != input_new {
        return None;
    }
    input_new.only_use()?;
    let new = only(new_sum.output(0)?, op::Tanh)?;
    let (last, mixing) = mixed(new, update, state.x)?;
    let mut nodes =
        vec![split, inputs, reset_sum, update_sum, product, new_sum, made_by(new, op::Tanh)?, last];
    nodes.extend([made_by(reset, op::Sigmoid)?, made_by(update, op::Sigmoid)?]);
    nodes.extend(mixing);
    Some(Step {
        kind: Kind::Gru,
        linears: [linear(inputs.input(0)?)?, state],
        cell: None,
        next: last.output(0)?,
        next_cell: None,
        last,
        nodes,
    })
}

/// The gate that a sum is the argument of; several may read it.
fn reset_after(sum: NodeRef<'_>) -> Option<ValueRef<'_>> {
    only(sum.output(0)?, op::Sigmoid)
}

/// `n + z (h - n)`, or `(1 - z) n + z h`: the node that makes it, and those in between.
fn mixed<'h>(
    new: ValueRef<'h>,
    update: ValueRef<'h>,
    state: ValueRef<'h>,
) -> Option<(NodeRef<'h>, Vec<NodeRef<'h>>)> {
    let readers: Vec<NodeRef<'h>> = new.uses().into_iter().map(|(node, _)| node).collect();
    if new.is_returned() || update.is_returned() {
        return None;
    }
    if let Some(difference) = readers.iter().find(|node| node.is(op::Sub)) {
        let (scaled, with) = beside(difference.output(0)?, op::Mul)?;
        let last = scaled.output(0)?.only_use()?.0;
        let fits = (difference.input(0)?, difference.input(1)?) == (state, new)
            && with == update
            && update.only_use().is_some()
            && last.is(op::Add)
            && other(last, scaled.output(0)?)? == new
            && readers.len() == 2;
        return fits.then(|| (last, vec![*difference, scaled]));
    }
    let (fresh, rest) = beside(new, op::Mul)?;
    let rest = made_by(rest, op::Sub)?;
    let one = rest.input(0)?.constant()?.floats()?;
    let (last, old) = beside(fresh.output(0)?, op::Add)?;
    let old_node = made_by(old, op::Mul)?;
    let fits = one == [1.0]
        && rest.input(1)? == update
        && rest.output(0)?.only_use().is_some()
        && old.only_use().is_some()
        && other(old_node, update)? == state
        && update.uses().len() == 2;
    fits.then(|| (last, vec![fresh, rest, old_node]))
}

/// The product with constant weights that computes `value`, if nothing else reads that.
fn linear(value: ValueRef<'_>) -> Option<Linear<'_>> {
    value.only_use()?;
    let (node, _) = value.producer()?;
    let found = match node.op().as_str() {
        "Gemm" => {
            let gemm = node.as_op(op::Gemm)?;
            let plain = gemm.alpha() == Some(1.0) && gemm.beta() == Some(1.0) && gemm.trans_a() == Some(0);
            let matrix = node.input(1).filter(|matrix| plain && matrix.is_initializer())?;
            let transposed = gemm.trans_b()? == 0;
            Linear {
                x: node.input(0)?,
                reader: node,
                weights: Weights { matrix, transposed, bias: node.input(2) },
            }
        }
        "Add" => {
            let (a, b) = (node.input(0)?, node.input(1)?);
            let (product, bias) = if b.is_initializer() { (a, b) } else { (b, a) };
            let product = linear(product).filter(|product| product.weights.bias.is_none())?;
            Linear { weights: Weights { bias: Some(bias), ..product.weights }, ..product }
        }
        "MatMul" => {
            let factor = node.input(1)?;
            let source = made_by(factor, op::Transpose).and_then(|node| node.input(0));
            let (matrix, transposed) = source.map_or((factor, true), |matrix| (matrix, false));
            if !matrix.is_initializer() {
                return None;
            }
            Linear { x: node.input(0)?, reader: node, weights: Weights { matrix, transposed, bias: None } }
        }
        _ => return None,
    };
    let bias = found.weights.bias;
    let fits = found.x.rank() == Some(2)
        && found.weights.matrix.extents().is_some_and(|extents| extents.len() == 2)
        && bias.is_none_or(|bias| bias.is_initializer() && bias.rank() == Some(1));
    fits.then_some(found)
}

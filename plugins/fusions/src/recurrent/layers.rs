//! The operators that stand for several steps.

use onnxport_sdk::Weight;
use onnxport_sdk::prelude::*;

use super::cells::{Kind, Weights};

/// A layer and its inputs.
pub(super) struct Layer<'h> {
    pub(super) kind: Kind,
    pub(super) input: Weights<'h>,
    pub(super) state: Weights<'h>,
    /// The size of the input of each step.
    pub(super) inputs: Option<Dim>,
    /// The first state and cell, `[batch, hidden]`.
    pub(super) first: (ValueRef<'h>, Option<ValueRef<'h>>),
}

/// The outputs of a layer.
pub(super) struct LayerOutputs<'h> {
    /// Every state, `[steps, batch, hidden]`.
    pub(super) all: ValueRef<'h>,
    /// The last state and cell, `[batch, hidden]`.
    pub(super) last: (ValueRef<'h>, Option<ValueRef<'h>>),
}

impl<'h> Layer<'h> {
    /// The number of states, if the weights fit it and each other, and the operator takes the type.
    ///
    /// # Errors
    /// Why they do not.
    pub(super) fn check(&self) -> Res<u64> {
        let states = |value: ValueRef<'h>| value.shape()?.get(1)?.as_const();
        let hidden = states(self.first.0).and_then(|hidden| u64::try_from(hidden).ok());
        let hidden = hidden.filter(|hidden| *hidden > 0).ok_or("the states are unknown")?;
        let gates = self.kind.order().len() as u64;
        let rows = gates.checked_mul(hidden).ok_or("it has too many states")?;
        let inputs = self.inputs.and_then(Dim::as_const);
        for (weights, columns) in [(&self.input, inputs), (&self.state, i64::try_from(hidden).ok())] {
            let mut extents = weights.matrix.extents().ok_or("a weight has no shape")?;
            if weights.transposed {
                extents.reverse();
            }
            if extents != [i64::try_from(rows).unwrap_or(-1), columns.unwrap_or(-1)] {
                return Err("a weight is of another shape".into());
            }
            if weights
                .bias
                .is_some_and(|bias| bias.extents().is_none_or(|own| extents.first() != own.first()))
            {
                return Err("a bias is of another shape".into());
            }
        }
        let graph = self.first.0.graph();
        let opset = graph.opset();
        // A batch of 0 ends the process in ONNX Runtime's kernels.
        let batch = self.first.0.shape().and_then(|shape| shape.first().copied());
        let has_rows = |batch: Dim| batch.as_const().unwrap_or_else(|| graph.dim_range(batch).min) > 0;
        if !batch.is_some_and(has_rows) {
            return Err("the batch may be empty".into());
        }
        match self.first.0.dtype() {
            // Runtimes have no kernel for f64.
            Some(DType::F16 | DType::F32) => Ok(hidden),
            Some(DType::BF16) if opset >= 22 => Ok(hidden),
            _ => Err("the operator does not take this type".into()),
        }
    }

    /// Emits the operator over `x`, `[steps, batch, inputs]`.
    pub(super) fn emit(&self, cx: &Edit<'h>, x: ValueRef<'h>) -> Res<LayerOutputs<'h>> {
        let hidden = self.check()?;
        let order = self.kind.order();
        let gates = order.len() as u64;
        let sorted = |weight: &Weight<'h>| {
            let parts: Vec<Weight<'h>> =
                order.iter().map(|gate| weight.slice(0, gate * hidden..(gate + 1) * hidden)).collect();
            Weight::concat(&parts, 0)
        };
        let matrix = |weights: &Weights<'h>| {
            let own = weights.matrix.weight();
            let rows = sorted(&if weights.transposed { own.permute(&[1, 0]) } else { own });
            let extents = weights.matrix.extents().unwrap_or_default();
            let columns = extents.get(usize::from(!weights.transposed)).copied().unwrap_or_default();
            rows.reshape(&[1, gates * hidden, columns.unsigned_abs()]).value()
        };
        let (w, r) = (matrix(&self.input)?, matrix(&self.state)?);
        let bias = match (self.input.bias, self.state.bias) {
            (None, None) => None,
            both => {
                let count = usize::try_from(gates * hidden).map_err(|_| "it has too many states")?;
                let zeros = || cx.numbers(&vec![0.0; count], x.dtype().unwrap_or(DType::F32));
                let part = |bias: Option<ValueRef<'h>>| sorted(&bias.unwrap_or_else(zeros).weight());
                let whole = Weight::concat(&[part(both.0), part(both.1)], 0);
                Some(whole.reshape(&[1, 2 * gates * hidden]).value()?)
            }
        };
        let (state, cell) = self.first;
        let node = cx.op(self.kind.op()).input(x).input(w).input(r).maybe(bias).maybe(None);
        let node = node.input(cx.unsqueeze(state, &[0]));
        let width = i64::try_from(hidden).map_err(|_| "it has too many states")?;
        let made = match (self.kind, cell) {
            (Kind::Lstm, Some(cell)) => {
                node.input(cx.unsqueeze(cell, &[0])).int("hidden_size", width).many(3)
            }
            (Kind::Lstm, None) => return Err("there is no cell".into()),
            (Kind::Gru, _) => node.int("hidden_size", width).int("linear_before_reset", 1).many(2),
        };
        let [all, last, ..] = made[..] else { return Err("it makes nothing".into()) };
        Ok(LayerOutputs {
            all: cx.squeeze(all, &[1]),
            last: (cx.squeeze(last, &[0]), made.get(2).map(|cell| cx.squeeze(*cell, &[0]))),
        })
    }
}

//! Which values of a graph are constants.

use rustc_hash::FxHashSet;

use crate::ir::{Def, Graph, Shape, ValueId};
use crate::op;
use crate::ops::{self, Tensor};
use crate::sym::Dim;

/// How many nodes are followed from a value to the constants that it is computed from.
const FOLLOWED: usize = 256;

/// Constants with more elements than this are not read.
const LARGEST: u64 = 1 << 16;

/// Whether `value` does not depend on the inputs of the model: runtimes compute it when they load the model.
pub(super) fn is_constant(graph: &Graph, value: ValueId) -> bool {
    let (mut seen, mut waiting) = (FxHashSet::default(), vec![value]);
    while let Some(value) = waiting.pop() {
        let node = match graph.values[value].def {
            Def::Initializer(_) | Def::Literal(_) => continue,
            Def::Node(node, _) => node,
            Def::Input(..) | Def::Gone => return false,
        };
        if !seen.insert(node) {
            continue;
        }
        let data = &graph.nodes[node];
        let is_known = |x: &ValueId| graph.values[*x].ty.shape().is_some_and(is_static);
        if (data.is(op::Shape) || data.is(op::Size)) && data.inputs.iter().flatten().all(is_known) {
            continue;
        }
        let is_random = ops::lookup("", &data.op).is_none_or(ops::Op::is_random);
        if is_random || !data.domain.is_empty() || data.blocks().next().is_some() || seen.len() > FOLLOWED {
            return false;
        }
        waiting.extend(data.inputs.iter().flatten());
    }
    true
}

/// Whether the size of each axis is known.
pub(super) fn is_static(shape: &Shape) -> bool {
    let is_known = |dim: &Option<Dim>| dim.is_some_and(|dim| dim.as_const().is_some());
    shape.dims().is_some_and(|dims| dims.iter().all(is_known))
}

/// The elements of a small constant tensor of numbers.
pub(super) fn numbers(graph: &Graph, value: ValueId) -> Option<Vec<f64>> {
    let data = graph.initializer(value).filter(|data| data.elements().is_some_and(|n| n <= LARGEST))?;
    let tensor = Tensor::read(data).ok()?;
    let ints = || Some(tensor.ints().ok()?.into_iter().map(|n| n as f64).collect());
    tensor.floats().ok().or_else(ints)
}

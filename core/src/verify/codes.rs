//! How far neighbouring codes are from each other in the outputs of a quantised model.
//!
//! Integer kernels round sums to codes once where a program in floating point rounds every step: what lies in the
//! middle between two codes becomes either. Such a difference is one step and not a mistake.

use crate::ir::{Attr, Def, Graph, Node, ValueId};
use crate::op;
use crate::ops::{Traits, traits};
use crate::tensor::DType;

/// The step between the neighbouring codes that `value` is computed from, through operators that keep differences.
pub(super) fn step(graph: &Graph, value: ValueId) -> Option<f64> {
    let mut at = value;
    loop {
        let Def::Node(node, _) = graph.values[at].def else { return None };
        let node = graph.nodes.find(node).filter(|node| node.domain.is_empty())?;
        let input = |index: usize| node.inputs.get(index).copied().flatten();
        match node.op.as_str() {
            op::DequantizeLinear if !integers(graph, input(0)?) => return None,
            op::DequantizeLinear => return largest(graph, input(1)?),
            op::QuantizeLinear => return integers(graph, at).then_some(1.0),
            op::Cast if widens(graph, node, input(0)?) => {}
            // Its results differ by no more than its first operand does.
            _ if traits(node).has_any(Traits::MOVES.with(Traits::NONEXPANSIVE)) => {}
            _ => return None,
        }
        at = input(0)?;
    }
}

fn integers(graph: &Graph, value: ValueId) -> bool {
    let coded = [DType::I8, DType::U8, DType::I16, DType::U16];
    graph.values[value].ty.dtype().is_some_and(|dtype| coded.contains(&dtype))
}

/// Whether a cast keeps differences: one between floats does, to within its rounding.
fn widens(graph: &Graph, node: &Node, from: ValueId) -> bool {
    let to = node.attributes.iter().find(|a| a.name == "to").and_then(|a| match a.value {
        Attr::Int(code) => DType::from_onnx(i32::try_from(code).ok()?),
        _ => None,
    });
    let float = |dtype: DType| [DType::F16, DType::BF16, DType::F32, DType::F64].contains(&dtype);
    graph.values[from].ty.dtype().is_some_and(float) && to.is_some_and(float)
}

/// The largest of the scales, if they are constants.
fn largest(graph: &Graph, scale: ValueId) -> Option<f64> {
    let data = graph.initializer(scale).filter(|data| data.dtype == DType::F32)?;
    let bytes = data.read()?;
    let scales = bytes.chunks_exact(4).filter_map(|b| b.try_into().ok()).map(f32::from_le_bytes);
    let largest = scales.map(f64::from).fold(0.0, f64::max);
    (largest.is_finite() && largest > 0.0).then_some(largest)
}

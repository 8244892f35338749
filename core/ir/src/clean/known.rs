//! Sizes with known values.

use crate::ir::{Graph, NodeId, Type, ValueId};
use crate::op;
use crate::ops::Folding;
use crate::sym::Dim;
use crate::tensor::{DType, LazyTensor};

/// Replaces nodes that compute small integers known to inference by constants; returns how many nodes were
/// replaced.
pub(super) fn sizes(graph: &mut Graph, folding: &mut Folding) -> usize {
    let mut count = 0;
    let nodes: Vec<NodeId> = graph.nodes.ids().filter(|node| graph.nodes[*node].block.is_some()).collect();
    for node in nodes {
        let Some((output, data)) = constant(graph, node) else { continue };
        if !folding.takes(data.byte_len().unwrap_or(u64::MAX)) {
            continue;
        }
        let constant = graph.add_initializer(None, data);
        graph.replace_uses(output, constant);
        graph.remove(node);
        count += 1;
    }
    count
}

/// The only output of a node, which somebody reads, and its elements where they are numbers.
fn constant(graph: &Graph, node: NodeId) -> Option<(ValueId, LazyTensor)> {
    let data = &graph.nodes[node];
    let [Some(output)] = data.outputs[..] else { return None };
    let plain = data.domain.is_empty() && data.op != op::Constant && data.blocks().next().is_none();
    if !plain || graph.values[output].uses().is_empty() || graph.is_returned(output) {
        return None;
    }
    let elements: Vec<i64> =
        graph.shape_value(output)?.into_iter().map(Dim::as_const).collect::<Option<_>>()?;
    let Type::Tensor { dtype: Some(dtype), shape } = &graph.values[output].ty else { return None };
    let shape = match (shape.rank()?, elements.len()) {
        (0, 1) => Vec::new(),
        (1, n) => vec![n as u64],
        _ => return None,
    };
    let bytes: Vec<u8> = match dtype {
        DType::I64 => elements.iter().flat_map(|n| n.to_le_bytes()).collect(),
        DType::I32 => {
            let narrow: Vec<i32> = elements.iter().map(|n| i32::try_from(*n).ok()).collect::<Option<_>>()?;
            narrow.iter().flat_map(|n| n.to_le_bytes()).collect()
        }
        _ => return None,
    };
    Some((output, LazyTensor::inline(*dtype, shape, bytes)))
}

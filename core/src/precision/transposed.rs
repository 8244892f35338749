//! Stores weights in the layout that products take.
//!
//! PyTorch's linear layers keep a row for each output, so a `MatMul` reads its weight through a `Transpose`. A
//! runtime computes that whenever it creates a session; stored as `[K, N]`, the weight costs one pass when it
//! is written, through the same buffers as any other view. The results of a product are bit-identical: its
//! operands are the same numbers.

use super::edit;
use super::readers::Readers;
use super::select::weights;
use crate::ir::{Graph, ValueId};
use crate::op;
use crate::tensor::LazyTensor;
use crate::tidy;

/// The size in bytes below which weights stay: a pass costs nothing in either place.
const SMALL_BYTES: u64 = 1024;

/// A weight to be stored transposed.
struct Transposed {
    value: ValueId,
    name: String,
    data: LazyTensor,
    readers: Readers,
}

/// Stores the weights that only `MatMul`s behind a `Transpose` read in the layout that these take. A weight with
/// other readers stays, so that it is stored once; so does a missing one, which will be supplied in the program's
/// layout.
pub(super) fn apply(graph: &mut Graph, opset: i64) {
    let found: Vec<Transposed> =
        weights(graph).filter_map(|(value, name)| transposed(graph, opset, value, name)).collect();
    for Transposed { value, name, data, readers } in &found {
        let new = edit::supplant(graph, *value, data.clone());
        graph.values[new].name = Some(tidy::transposed(name));
        for product in &readers.products {
            graph.set_input(product.node, 1, Some(new));
        }
    }
}

fn transposed(graph: &Graph, opset: i64, value: ValueId, name: &str) -> Option<Transposed> {
    let data = graph.initializer(value)?;
    if data.shape.len() != 2 || data.byte_len()? < SMALL_BYTES || data.unbound().is_some() {
        return None;
    }
    let readers = Readers::for_value(graph, opset, value);
    let only_products = !readers.others && readers.lookups.is_empty() && !readers.products.is_empty();
    let behind_transposes =
        readers.products.iter().all(|product| product.axis == 1 && graph.nodes[product.node].is(op::MatMul));
    if !only_products || !behind_transposes {
        return None;
    }
    Some(Transposed { value, name: name.to_owned(), data: data.permute(&[1, 0])?, readers })
}

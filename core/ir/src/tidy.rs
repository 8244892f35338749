//! Cleanup for every graph: removes dead nodes and values, and merges duplicates.
//!
//! Linear in the size of the graph, and the result depends on the graph alone.

mod dead;
mod duplicates;
mod inputs;
mod layouts;
mod names;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::ir::{Function, Graph, Model};
use crate::name::Name;

pub use duplicates::constants;
pub use inputs::drop_inputs;
pub use layouts::layouts;
pub use names::{folded, names, transposed, underived};

/// The number of removed items by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tidied {
    /// Nodes whose results nothing reads.
    pub dead_nodes: usize,
    /// Initializers that nothing reads.
    pub dead_initializers: usize,
    /// Constants that equal an earlier one.
    pub merged_constants: usize,
    /// Computations with sizes that equal an earlier one.
    pub merged_nodes: usize,
}

/// [`tidy`] of the main graph, and removes the functions that nothing calls. Bodies of functions are tidy from
/// the start.
pub fn model(model: &mut Model) -> Tidied {
    let tidied = tidy(&mut model.graph);
    // A function calls earlier ones only.
    let mut called = calls(&model.graph);
    for function in model.functions.iter().rev() {
        if called.contains(&called_as(function)) {
            called.extend(calls(&function.graph));
        }
    }
    model.functions.retain(|f| called.contains(&called_as(f)));
    tidied
}

/// Returns the identity that calls use for a function: domain, name, overload.
fn called_as(function: &Function) -> (Name, Name, Name) {
    (function.domain.as_str().into(), function.name.as_str().into(), function.overload.as_str().into())
}

/// The operators outside of ONNX that a graph uses, by domain, name and overload.
fn calls(graph: &Graph) -> BTreeSet<(Name, Name, Name)> {
    let nodes = graph.nodes.iter().filter(|(_, node)| node.block.is_some() && !node.domain.is_empty());
    nodes.map(|(_, node)| (node.domain.clone(), node.op.clone(), node.overload.clone())).collect()
}

/// Merges equal small constants and equal computations with sizes, then removes the nodes and the
/// initializers that nothing reads. Inputs stay.
pub fn tidy(graph: &mut Graph) -> Tidied {
    let merged_constants = duplicates::constants(graph);
    let merged_nodes = duplicates::sizes(graph);
    let dead_nodes = dead::nodes(graph);
    let dead_initializers = dead::initializers(graph);
    // Merged nodes and constants are dead after merging; count each once.
    Tidied {
        dead_nodes: dead_nodes.saturating_sub(merged_nodes),
        dead_initializers: dead_initializers.saturating_sub(merged_constants),
        merged_constants,
        merged_nodes,
    }
}

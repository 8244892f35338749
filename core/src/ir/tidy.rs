//! Hygiene that every graph gets: what nothing reads goes, and what stands twice stands once.
//!
//! Linear in the size of the graph, and the result depends on the graph alone.

mod dead;
mod duplicates;

#[cfg(test)]
mod tests;

use super::Graph;

/// What was removed.
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

/// Merges equal small constants and equal computations with sizes, then removes the nodes and the
/// initializers that nothing reads. Inputs stay.
pub fn tidy(graph: &mut Graph) -> Tidied {
    let merged_constants = duplicates::constants(graph);
    let merged_nodes = duplicates::sizes(graph);
    let dead_nodes = dead::nodes(graph);
    let dead_initializers = dead::initializers(graph);
    // Merged nodes and constants are what is dead after merging; each counts once.
    Tidied {
        dead_nodes: dead_nodes.saturating_sub(merged_nodes),
        dead_initializers: dead_initializers.saturating_sub(merged_constants),
        merged_constants,
        merged_nodes,
    }
}

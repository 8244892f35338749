//! Exported programs of any length, as `torch.export.save` would write them.
//!
//! A chain is a stack of small blocks over `[batch, 64]` with a dynamic batch: sums with a parameter
//! of the block, with an earlier value and with a buffer, activations, views there and back. With
//! [`Chain::writes`] some activations happen in place, one of them through a view, and the buffer is
//! added to now and then.

pub(crate) mod archive;
pub(crate) mod graph;

use std::io;
use std::path::Path;

/// A chain to generate.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// The number of calls.
    pub nodes: usize,
    /// Whether some of them write to their arguments.
    pub writes: bool,
}

impl Chain {
    /// A chain with writes.
    pub fn new(nodes: usize) -> Self {
        Self { nodes, writes: true }
    }

    /// Writes the archive to `path`.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        archive::write(&graph::Graph::of(self), path)
    }
}

#[cfg(test)]
mod tests {
    use onnxport_core::pt2;

    use super::*;

    #[test]
    fn chains_are_programs_of_the_length_that_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.pt2");
        for (nodes, writes) in [(1, true), (13, true), (1000, true), (1000, false)] {
            Chain { nodes, writes }.write(&path).unwrap();
            let archive = pt2::read(&path).unwrap();
            let calls = &archive.program.body.calls;
            assert_eq!(calls.len(), nodes);
            let in_place = calls.iter().any(|call| call.target == "aten.relu_.default");
            assert_eq!(in_place, writes && nodes > 4);
        }
    }
}

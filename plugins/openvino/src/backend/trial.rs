//! Whether a device takes a node: it is compiled on its own.
//!
//! Equal nodes are compiled once. The answer depends on the node, its types and its small constants alone; weights are
//! replaced by zeros.

use std::collections::HashMap;
use std::fs;

use onnxport_sdk::{NodeRef, Res};
use tempfile::TempDir;

use super::part::Trial;
use crate::runtime::Runtime;

/// The trials of one claim.
pub(super) struct Trials<'a> {
    runtime: &'a Runtime,
    folder: TempDir,
    /// By the bytes of a node's model: the reason against it.
    known: HashMap<Vec<u8>, Option<String>>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(runtime: &'a Runtime) -> Res<Self> {
        Ok(Self { runtime, folder: super::folder()?, known: HashMap::new() })
    }

    /// Why `node` is not taken; `None` if it is.
    ///
    /// # Errors
    /// If nothing can be written.
    pub(super) fn refusal(&mut self, node: NodeRef<'_>) -> Res<Option<String>> {
        let path = match Trial(node).write(self.folder.path()) {
            Ok(path) => path,
            Err(refusal) => return Ok(Some(refusal.message)),
        };
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(known) = self.known.get(&bytes) {
            return Ok(known.clone());
        }
        let refused = self.runtime.compile(&path).err().map(|failure| failure.message);
        self.known.insert(bytes, refused.clone());
        Ok(refused)
    }
}

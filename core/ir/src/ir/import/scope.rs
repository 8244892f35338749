//! The names in scope while blocks are read.

use rustc_hash::FxHashMap;

use super::Res;
use crate::ir::ValueId;

/// The value of a name, and the depth of the block that defines it.
type Meaning = (ValueId, usize);

/// Names of nested blocks; an inner one hides an outer one.
#[derive(Default)]
pub(super) struct Scope {
    names: FxHashMap<String, Meaning>,
    /// The meanings to restore at the end of each open block.
    open: Vec<Vec<(String, Option<Meaning>)>>,
}

impl Scope {
    pub(super) fn enter(&mut self) {
        self.open.push(Vec::new());
    }

    pub(super) fn leave(&mut self) {
        for (name, hidden) in self.open.pop().unwrap_or_default().into_iter().rev() {
            match hidden {
                Some(outer) => self.names.insert(name, outer),
                None => self.names.remove(&name),
            };
        }
    }

    /// Names a value in the innermost block.
    pub(super) fn define(&mut self, name: &str, value: ValueId) -> Res<()> {
        let depth = self.open.len();
        let hidden = self.names.insert(name.to_owned(), (value, depth));
        if hidden.is_some_and(|(_, at)| at == depth) {
            return Err(format!("`{name}` is defined twice"));
        }
        if let Some(block) = self.open.last_mut() {
            block.push((name.to_owned(), hidden));
        }
        Ok(())
    }

    /// Resolves `name`.
    pub(super) fn find(&self, name: &str) -> Option<ValueId> {
        self.names.get(name).map(|(value, _)| *value)
    }
}

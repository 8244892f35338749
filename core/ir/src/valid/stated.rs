//! The types that the exported program states for values of the model.

use std::sync::Arc;

use crate::ir::{Shape, ValueId};
use crate::tensor::DType;

/// The types that the exported program states of values of the main graph; values of one type may share it.
#[derive(Clone, Debug, Default)]
pub struct StatedTypes {
    /// By the numbers of the values: nearly all of a model that was just lowered have one.
    types: Vec<Option<Arc<(DType, Shape)>>>,
}

impl StatedTypes {
    /// Returns the stated type of `value`.
    pub fn get(&self, value: ValueId) -> Option<&Arc<(DType, Shape)>> {
        self.types.get(value.index())?.as_ref()
    }

    /// Everything that is stated, to change it.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Arc<(DType, Shape)>> {
        self.types.iter_mut().flatten()
    }

    /// States `ty` about `value`, unless something is stated already.
    pub fn offer(&mut self, value: ValueId, ty: Arc<(DType, Shape)>) {
        if self.types.len() <= value.index() {
            self.types.resize(value.index() + 1, None);
        }
        if let Some(slot) = self.types.get_mut(value.index()) {
            slot.get_or_insert(ty);
        }
    }
}

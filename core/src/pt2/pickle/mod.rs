//! An allow-listed reader of the pickles that `torch.save` writes.
//!
//! A pickle is a program for a small stack machine. This one runs the opcodes that build data, and knows
//! the meaning of a closed list of globals; it imports nothing and calls nothing. Everything else is
//! refused by name.

mod cursor;
mod global;
mod item;
mod machine;
mod tensor;

pub(crate) use global::dtype;
pub(crate) use item::{Heap, Item, Ref};
pub(crate) use machine::load;

use crate::diagnose::{Code, Diagnostic};
use crate::tensor::zip_index::Region;

/// Finds the bytes of a storage by its key.
pub(crate) trait Storages {
    /// The bytes of the storage `key`.
    fn storage(&self, key: &str) -> Result<Region, Diagnostic>;
}

fn refuse(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::READ_PICKLE, message)
}

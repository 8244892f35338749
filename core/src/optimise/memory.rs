//! The order of nodes, last of all: what is written runs in it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Level, OptimiseOptions};
use crate::ir::Model;
use crate::schedule;
use crate::trace;

/// How many bytes of values are alive at once, weights and inputs not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Memory {
    /// The most in the order that nodes had, at the sizes of the example inputs, or 16 for a size without an example.
    pub before: u64,
    /// The most in the order that they have.
    pub after: u64,
    /// How many nodes stand behind another node than before.
    pub moved: usize,
    /// How many values count as nothing, because their ranks or element types are not known.
    pub unknown: usize,
}

/// Orders the nodes of `model` so that fewer bytes are alive at once, where the options ask for it and the level is not 0.
/// Its types are known. What it computes stays the same, bit for bit.
pub fn order(model: &mut Model, options: &OptimiseOptions) -> Option<Memory> {
    if options.level == Level::Nothing || !options.reorder {
        return None;
    }
    let _span = trace::span("rules", "order");
    let schedule::Ordered { before, after, moved, unknown } = schedule::order(model);
    Some(Memory { before, after, moved, unknown })
}

//! Orders the nodes as the last step: runtimes execute the file in its order.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Level, OptimiseOptions};
use crate::ir::Model;
use crate::schedule;
use crate::trace;

/// The peak number of bytes of live values, without weights and inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Memory {
    /// The peak in the original order, at the sizes of the example inputs, or 16 for a size without an example.
    pub before: u64,
    /// The peak in the new order.
    pub after: u64,
    /// The number of nodes that follow another node than before.
    pub moved: usize,
    /// The number of values counted as 0 bytes, because their ranks or element types are not known.
    pub unknown: usize,
}

/// Orders the nodes of `model` so that fewer bytes are alive at once, if the options ask for it and the level is not 0.
/// All types must be known. The results stay the same, bit for bit.
pub fn order(model: &mut Model, options: &OptimiseOptions) -> Option<Memory> {
    if options.level == Level::Nothing || !options.reorder {
        return None;
    }
    let _span = trace::span("rules", "order");
    let schedule::Ordered { before, after, moved, unknown } = schedule::order(model);
    Some(Memory { before, after, moved, unknown })
}

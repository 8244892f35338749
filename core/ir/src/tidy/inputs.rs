//! Removes inputs that nothing reads.

use rustc_hash::FxHashSet;

use crate::ir::{Def, Model, ValueId};

/// Removes the inputs of `model` that nothing reads, with their defaults.
pub fn drop_inputs(model: &mut Model) {
    let graph = &mut model.graph;
    let main = graph.main();
    let inputs = std::mem::take(&mut graph.blocks[main].inputs);
    let (read, unread): (Vec<ValueId>, Vec<ValueId>) =
        inputs.into_iter().partition(|value| graph.is_read(*value));
    for (at, value) in read.iter().enumerate() {
        graph.values[*value].def = Def::Input(main, at as u32);
    }
    for value in &unread {
        graph.values[*value].def = Def::Gone;
    }
    let gone: FxHashSet<ValueId> = unread.into_iter().collect();
    graph.defaults.retain(|default| !gone.contains(&default.value));
    graph.blocks[main].inputs = read;
}

//! Metadata that a lowering puts on the nodes that it emitted.

use onnxport_abi::lowering::Context;
use onnxport_abi::{RStr, status};

use super::callbacks::with;
use crate::ir::Def;

pub(super) extern "C" fn metadata(cx: Context, value: u32, key: RStr<'_>, text: RStr<'_>) -> u32 {
    let mut is_computed = true;
    let answer = with(cx, |frame, driver| {
        let (value, key, text) = (frame.told.value(value)?, key.get().ok()?, text.get().ok()?);
        if key.is_empty() {
            return None;
        }
        let graph = &mut driver.model.graph;
        let Def::Node(node, _) = graph.values[value].def else {
            is_computed = false;
            return Some(());
        };
        let entries = &mut graph.notes.nodes.entry(node).or_default().about.metadata;
        match entries.binary_search_by(|(known, _)| known.as_str().cmp(key)) {
            Ok(at) => text.clone_into(&mut entries.get_mut(at)?.1),
            Err(at) => entries.insert(at, (key.to_owned(), text.to_owned())),
        }
        Some(())
    });
    if is_computed { answer } else { status::REFUSED }
}

//! The changes made for a target, as text.

use std::fmt::Write;

use onnxport_core::legalise::Legalised;

use crate::format::{bold, count};
use crate::outcome::Outcome;

/// Adds the changes to `outcome`; there is no text if nothing changed.
pub(crate) fn describe(done: &Legalised, outcome: &mut Outcome) {
    outcome.put("target", done);
    if done.computed.is_empty() {
        return;
    }
    let nodes = done.computed.iter().map(|c| c.nodes).sum();
    let each: Vec<String> =
        done.computed.iter().map(|c| format!("{} of {} in {}", c.operator, c.of, c.within)).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(
        outcome.summary,
        "{}  {} cast to another type for {}: {}",
        bold("target"),
        count(nodes, "node"),
        done.target,
        each.join(", ")
    );
}

//! The changes to weights, as text.

use std::fmt::Write;

use onnxport_core::precision::Changed;

use crate::format::{bold, bytes};
use crate::outcome::Outcome;

/// Adds the changes to weights to an outcome.
pub(crate) fn describe(changed: &Changed, outcome: &mut Outcome) {
    let Changed { narrowed, quantised, foreign, bytes_before, bytes_after } = *changed;
    if narrowed + quantised + foreign == 0 {
        return;
    }
    let mut what = Vec::new();
    if quantised > 0 {
        what.push(format!("{quantised} quantised"));
    }
    if foreign > 0 {
        what.push(format!("{foreign} changed by plugins"));
    }
    if narrowed > 0 {
        what.push(format!("{narrowed} in a lower type"));
    }
    // Writing to a String cannot fail.
    let _ = writeln!(
        outcome.summary,
        "{}  {}, {} instead of {}",
        bold("weights"),
        what.join(", "),
        bytes(bytes_after),
        bytes(bytes_before)
    );
    outcome.put("weights_quantised", quantised);
    outcome.put("weights_narrowed", narrowed);
    outcome.put("weights_changed_by_plugins", foreign);
    outcome.put("changed_weight_bytes", bytes_after);
}

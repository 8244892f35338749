//! Decomposed operators, as text.

use std::fmt::Write;

use onnxport_core::decompose::Decomposed;

use crate::format::bold;
use crate::outcome::Outcome;

/// Adds the decomposed operators to `outcome`, if there are any.
pub(crate) fn describe(done: &Decomposed, outcome: &mut Outcome) {
    if done.operators.is_empty() {
        return;
    }
    outcome.put("decomposed", &done.operators);
    let counts: Vec<String> = done.operators.iter().map(|(name, count)| format!("{name} {count}")).collect();
    // Writing to a String cannot fail.
    let _ = writeln!(outcome.summary, "{}  {}", bold("decomposed"), counts.join(", "));
}

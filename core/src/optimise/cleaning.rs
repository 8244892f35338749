//! Constant folding and common subexpression elimination between sweeps of the rules.

use super::engine::Engine;
use super::report::Optimised;
use super::{Level, OptimiseOptions};
use crate::clean::{self, Cleaned, Growth, clean, weights};
use crate::ir::Model;
use crate::ops::infer::complete_all;
use crate::trace;

/// The limit on rounds of rules. After the third round there is rarely anything left to do.
const ROUNDS: usize = 16;

/// Runs constant folding and common subexpression elimination as far as the options allow. A run that is limited to
/// some patches skips them, so that the patches of two such runs can be compared. Weights grow by `room` bytes at most.
pub(super) fn run(model: &mut Model, options: &OptimiseOptions, room: &mut Growth) -> Cleaned {
    if leaves(options) {
        return Cleaned::default();
    }
    let _span = trace::span("rules", "folding");
    let made = if options.separate { 0 } else { weights(model, options.level == Level::Exact, room) };
    let mut done = clean(model, options.fold);
    done.folded += made;
    done
}

/// Whether a model is not cleaned.
fn leaves(options: &OptimiseOptions) -> bool {
    options.fold == 0 || options.stop_after.is_some()
}

/// Merges nodes of target-specific forms with equal nodes of the model, as far as the options allow; returns the number
/// of removed nodes.
pub fn merge(model: &mut Model, options: &OptimiseOptions) -> usize {
    if options.level == Level::Nothing || leaves(options) { 0 } else { clean::merge(model) }
}

impl Engine<'_> {
    /// Cleans the model; whether there is something new for the rules.
    pub(super) fn clean(&mut self) -> bool {
        if self.cleanings == ROUNDS {
            return false;
        }
        self.cleanings += 1;
        // Patches may determine later sizes.
        let opset = self.model.opset();
        complete_all(&mut self.model.graph, &mut self.model.symbols, opset);
        let done = run(self.model, self.options, self.room);
        self.cleaned += done;
        done.total() > 0
    }
}

impl Optimised {
    /// Adds the counts of a cleaning.
    pub(super) fn add(&mut self, done: Cleaned) {
        self.folded += done.folded + done.known;
        self.merged += done.merged;
        self.decided += done.decided;
    }
}

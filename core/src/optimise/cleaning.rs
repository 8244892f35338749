//! Constant folding and common subexpression elimination between sweeps of the rules.

use super::engine::Engine;
use super::report::Optimised;
use super::{Level, OptimiseOptions};
use crate::clean::{self, Cleaned, Growth, apart, clean, weights};
use crate::ir::Model;
use crate::ops::infer::complete_all;
use crate::{tidy, trace};

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

/// Cleans a model whose nodes were replaced by forms for the target: these reshape weights and compute shapes, which are
/// often constants. If weights are supplied separately or were narrowed, equal nodes are merged and nothing is folded.
pub fn clean_forms(model: &mut Model, options: &OptimiseOptions, done: &mut Optimised) {
    if options.level == Level::Nothing || leaves(options) {
        return;
    }
    if options.separate {
        done.merged += clean::merge(model);
        return;
    }
    let mut room = Growth::from_model(model);
    let cleaned = run(model, options, &mut room);
    if cleaned.total() > 0 {
        tidy::model(model);
        tidy::names(&mut model.graph);
        apart(&mut model.graph);
    }
    done.add(cleaned);
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

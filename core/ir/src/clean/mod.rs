//! Constant folding, common subexpression elimination and simplification of control flow.
//!
//! Everything here is exact: the results of a model stay the same, bit for bit. Random nodes are neither removed
//! nor merged, and neither are quantization and dequantization, between which runtimes compute with codes. The time
//! is linear in the size of the graph, and the result depends on the model alone.

mod affine;
mod apart;
mod common;
mod compared;
mod constants;
mod decide;
mod guards;
mod known;
mod weights;

#[cfg(test)]
mod tests;

use std::ops::AddAssign;

pub use apart::{apart, once};
pub use constants::constants;
pub use weights::{Growth, summed, weights};

use crate::ir::{Graph, Model};
use crate::ops::infer::complete_all;
use crate::ops::{Folding, Local, fold_graph};
use crate::tidy;

/// The largest number of rounds. Two usually reach the fixed point.
const ROUNDS: usize = 4;

/// The number of changes by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Nodes that were computed in advance.
    pub folded: usize,
    /// Nodes that compute sizes, which are known.
    pub known: usize,
    /// Nodes that were merged into an equal earlier one.
    pub merged: usize,
    /// Branches, loops that run at most once, redundant guards, and comparisons with a known outcome.
    pub decided: usize,
}

impl Cleaned {
    /// All that was done.
    pub fn total(self) -> usize {
        self.folded + self.known + self.merged + self.decided
    }
}

impl AddAssign for Cleaned {
    fn add_assign(&mut self, more: Self) {
        self.folded += more.folded;
        self.known += more.known;
        self.merged += more.merged;
        self.decided += more.decided;
    }
}

/// Folds and simplifies a model and its functions, and removes dead nodes. The constants of the model grow by at
/// most `bytes`. The names of its inputs, outputs, weights and states stay.
pub fn clean(model: &mut Model, bytes: u64) -> Cleaned {
    let mut done = Cleaned::default();
    let local = Local::from_model(model);
    let mut folding = Folding::within(bytes);
    // Merges equal constants of different patches, so that nodes which read them can be merged too.
    tidy::constants(&mut model.graph);
    for _ in 0..ROUNDS {
        let before = done.total();
        let opset = model.opset();
        graph(&mut model.graph, opset, &local, &mut folding, &mut done);
        done.decided += guards::graph(&mut model.graph, &mut model.symbols);
        done.decided += compared::graph(&mut model.graph, &mut model.symbols);
        let opsets: Vec<i64> = model.functions.iter().map(|function| function.opset(model)).collect();
        for (function, opset) in model.functions.iter_mut().zip(opsets) {
            graph(&mut function.graph, opset, &local, &mut folding, &mut done);
            tidy::tidy(&mut function.graph);
        }
        if done.total() == before {
            break;
        }
        tidy::model(model);
        // Sizes that are known now make others known.
        complete_all(&mut model.graph, &mut model.symbols, opset);
    }
    done
}

/// Eliminates common subexpressions of a model and its functions, and does nothing else; returns how many nodes
/// were removed.
pub fn merge(model: &mut Model) -> usize {
    let functions = model.functions.iter_mut().map(|function| &mut function.graph);
    let mut count = 0;
    for graph in functions.chain([&mut model.graph]) {
        let merged = common::graph(graph);
        if merged > 0 {
            tidy::tidy(graph);
        }
        count += merged;
    }
    count
}

fn graph(graph: &mut Graph, opset: i64, local: &Local, folding: &mut Folding, done: &mut Cleaned) {
    done.decided += decide::graph(graph);
    done.known += known::sizes(graph, folding);
    done.folded += fold_graph(graph, opset, local, folding);
    done.merged += common::graph(graph);
}

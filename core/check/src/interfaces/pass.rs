//! `pass/1`: the passes, and a run without a graph.

use super::Subject;
use super::graph::{Named, entries, without_graph};
use crate::journal::Journal;
use onnxport_core::host::Validated;

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(table) = subject.plugin.pass else { return };
    let named = |pass: &onnxport_abi::pass::PassRecord| Named {
        name: pass.name,
        opsets: (pass.min_opset, pass.max_opset),
    };
    let names: Vec<Named> = table.passes.validated().iter().map(named).collect();
    entries("pass/1 table", &names, journal);
    without_graph("pass/1", "runs", &names, table.run, journal);
}

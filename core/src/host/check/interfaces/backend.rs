//! `backend/1`: the backends, and claims and regions without a graph.

use super::Subject;
use super::graph::{Named, entries, without_graph};
use crate::host::check::journal::Journal;

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(table) = subject.plugin.backend else { return };
    // A backend states the opsets of each operator, not its own.
    let named = |entry: &onnxport_abi::backend::BackendEntry| Named { name: entry.id, opsets: (0, u32::MAX) };
    let names: Vec<Named> = table.entries.iter().map(named).collect();
    entries("backend/1 table", &names, journal);
    without_graph("backend/1", "claims", &names, table.claim, journal);
    without_graph("backend/1", "regions", &names, table.compile, journal);
}

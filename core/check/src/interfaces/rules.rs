//! `rules/1`: the patterns, and conditions and patches without a graph.

use super::Subject;
use super::graph::{Named, entries, without_graph};
use crate::Finding;
use crate::journal::Journal;
use onnxport_core::host::Host;
use onnxport_core::host::Known;

const NAME: &str = "rules/1";

pub(super) fn probe(subject: &Subject, journal: &mut Journal) {
    let Some(table) = subject.plugin.rules else { return };
    let named = |rule: &onnxport_abi::rules::RuleRecord| Named {
        name: rule.name,
        opsets: (rule.min_opset, rule.max_opset),
    };
    let names: Vec<Named> = table.rules.known().iter().map(named).collect();
    entries("rules/1 table", &names, journal);
    journal.step("rules/1 patterns", |_| {
        // The host compiles every pattern when it takes a plugin in.
        let mut problems = Vec::new();
        let _ = Host::index(vec![subject.plugin.clone()], &mut problems);
        Some(match problems.first() {
            None => Finding::pass("rules/1 patterns", format!("{} compile", table.rules.len())),
            Some(problem) => Finding::of("rules/1 patterns", problem),
        })
    });
    without_graph(NAME, "conditions", &names, table.check, journal);
    without_graph(NAME, "patches", &names, table.build, journal);
}

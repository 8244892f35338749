//! `rules/1`: the patterns, and conditions and patches without a graph.

use onnxport_abi::Table;
use onnxport_abi::graph::GraphContext;

use super::Subject;
use super::graph::{Named, entries, without_graph};
use crate::Finding;
use crate::journal::Journal;
use onnxport_core::host::Host;
use onnxport_core::host::Validated;

type Ask = extern "C" fn(u32, &Table, &Table, GraphContext) -> u32;

pub(super) fn rules(subject: &Subject, journal: &mut Journal) {
    let Some(table) = subject.plugin.rules else { return };
    let named = |rule: &onnxport_abi::rules::RuleText| Named {
        name: rule.name,
        opsets: (rule.min_opset, rule.max_opset),
    };
    let names: Vec<Named> = table.rules.validated().iter().map(named).collect();
    probe("rules/1", &names, [table.check, table.build], subject, journal);
}

fn probe(name: &'static str, names: &[Named], asks: [Ask; 2], subject: &Subject, journal: &mut Journal) {
    entries(&format!("{name} table"), names, journal);
    let patterns = format!("{name} patterns");
    journal.step(&patterns, |_| {
        // The host compiles every pattern when it takes a plugin in.
        let mut problems = Vec::new();
        let _ = Host::index(vec![subject.plugin.clone()], &mut problems);
        Some(match problems.first() {
            None => Finding::pass(&patterns, format!("{} compile", names.len())),
            Some(problem) => Finding::from_diagnostic(&patterns, problem),
        })
    });
    let [check, build] = asks;
    without_graph(name, "conditions", names, check, journal);
    without_graph(name, "patches", names, build, journal);
}

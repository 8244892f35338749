//! Passes: a plugin edits the graph as a whole, and the host reverts the edit if it breaks the graph.

mod callbacks;

use onnxport_abi::status;
use rustc_hash::FxHashSet;

pub(crate) use callbacks::host_table;

use super::edit::Journal;
use super::engine::Engine;
use super::report::Outcome;
use super::{supported, versions};
use crate::diagnose::{Code, Diagnostic};
use crate::graph_access::{self, Access, Frame};
use crate::host::{Site, cross};
use crate::ir::{BlockId, Graph, Model, OpsetImport};
use crate::ops::infer;
use crate::rules::Pass;
use crate::tidy;
use crate::valid::{self, StatedTypes};
use callbacks::Run;

/// The number of findings shown for a graph that a pass broke.
const SHOWN: usize = 4;

/// A copy of everything that a pass may change.
struct Backup {
    graph: Graph,
    opsets: Vec<OpsetImport>,
    stated: StatedTypes,
}

impl Engine<'_> {
    /// Runs a pass, unless something speaks against it.
    pub(super) fn pass(&mut self, position: usize) {
        let host = self.host;
        let Some(pass) = host.catalog.passes.get(position) else { return };
        let name = host.catalog.pass_name(position);
        let id = self.plugin_id(pass.plugin);
        let obstacle =
            obstacle(pass, self.model).or_else(|| self.not_at_level(pass.plugin, name, &pass.class));
        if let Some(why) = obstacle {
            self.tell(name, id, Outcome::NoMatch, why);
            return;
        }
        let Some(table) = host.plugins.get(pass.plugin).and_then(|p| p.pass) else { return };
        if self.is_done() || host.quarantine.skips(pass.plugin) {
            return;
        }
        let backup = Backup {
            graph: self.model.graph.clone(),
            opsets: self.model.opsets.clone(),
            stated: self.stated.clone(),
        };
        let stated = std::mem::take(self.stated);
        let journal = Journal::new(self.model);
        let access = Access::edit(self.model).separate(self.options.separate);
        let mut frame = Frame::new(access, Run::new(journal, stated));
        let (cx, graph) = (frame.context(), graph_access::host_table());
        let site = Site { plugin: id, task: "running the pass", subject: name };
        let answer = cross(site, || (table.run)(pass.index, &host_table(), &graph, cx));
        let Run { journal, stated, edits, notes, refusal, .. } = frame.state;
        *self.stated = stated;
        for (place, message) in notes {
            if self.explanation.wants(name) {
                self.explanation.add(id, place, Outcome::Note, message);
            }
        }
        let refusal = refusal.unwrap_or_default();
        let (code, outcome, what) = match answer {
            status::OK if edits == 0 => {
                self.tell(name, id, Outcome::NoMatch, "it changed nothing".to_owned());
                return;
            }
            status::OK => match self.broken(&backup, journal.problem) {
                None if let Some(why) = self.unsupported(&backup) => {
                    (Code::OPTIMISE_PASS, Outcome::Refused, vec![why])
                }
                None => {
                    let nodes = self.model.graph.node_count() as i64 - backup.graph.node_count() as i64;
                    self.count(pass.plugin, true, position, nodes);
                    self.tell(name, id, Outcome::Applied, String::new());
                    return;
                }
                Some(why) => (Code::OPTIMISE_PASS, Outcome::Rejected, why),
            },
            status::REFUSED => {
                let code = match refusal.code.as_str() {
                    "" => Code::OPTIMISE_REFUSED,
                    own => Code::of_plugin(id, own),
                };
                (code, Outcome::Refused, vec![refusal.text()])
            }
            status::PANICKED => {
                host.quarantine.add(pass.plugin);
                (Code::PLUGIN_PANIC, Outcome::Rejected, vec![format!("it panicked: {}", refusal.message)])
            }
            _ => (Code::PLUGIN_CONTRACT, Outcome::Rejected, vec!["it did not finish".to_owned()]),
        };
        (self.model.graph, self.model.opsets, *self.stated) = (backup.graph, backup.opsets, backup.stated);
        self.tell(name, id, outcome, what.join("; "));
        let message = format!("the pass `{name}` of plugin `{id}` was taken back");
        let mut diagnostic = Diagnostic::warning(code, message);
        diagnostic.notes = what;
        self.report(diagnostic, id, None);
    }

    /// Explains why the target does not run a node that a pass added; `None` if it does.
    fn unsupported(&self, backup: &Backup) -> Option<String> {
        supported::pass(&backup.graph, &self.model.graph, self.model.opset(), &self.options.target)
    }

    fn tell(&mut self, name: &str, plugin: &str, outcome: Outcome, reason: String) {
        if self.explanation.wants(name) {
            self.explanation.add(plugin, "the model".to_owned(), outcome, reason);
        }
    }

    /// Returns the findings that the graph did not have before the pass, if any.
    fn broken(&mut self, backup: &Backup, problem: Option<String>) -> Option<Vec<String>> {
        if let Some(problem) = problem {
            return Some(vec![problem]);
        }
        tidy::names(&mut self.model.graph);
        let main = self.model.graph.main();
        // Inference walks the graph and relies on its structure.
        let mut found = messages(valid::structure(self.model));
        if found.is_empty() {
            let mut nodes = Vec::new();
            collect(&self.model.graph, main, &mut nodes);
            let opset = self.model.opset();
            for node in nodes {
                infer::infer(&mut self.model.graph, &mut self.model.symbols, opset, node);
            }
            found = messages(valid::validate(self.model, self.stated));
            found.extend(self.interface(backup));
        }
        if found.is_empty() {
            return None;
        }
        // Problems from before are not the pass's fault.
        let edited = std::mem::replace(&mut self.model.graph, backup.graph.clone());
        let known: FxHashSet<String> =
            messages(valid::validate(self.model, &backup.stated)).into_iter().collect();
        self.model.graph = edited;
        found.retain(|message| !known.contains(message));
        found.truncate(SHOWN);
        (!found.is_empty()).then_some(found)
    }

    /// Inputs and outputs of the model keep their types.
    fn interface(&mut self, backup: &Backup) -> Vec<String> {
        let ends = |graph: &Graph| -> Vec<_> {
            let main = &graph.blocks[graph.main()];
            let values = main.inputs.iter().chain(main.outputs());
            values.map(|value| graph.values[*value].ty.clone()).collect()
        };
        let (before, after) = (ends(&backup.graph), ends(&self.model.graph));
        if before.len() != after.len() {
            return vec!["the model has another number of inputs or outputs".to_owned()];
        }
        let symbols = &mut self.model.symbols;
        let pairs = before.iter().zip(&after);
        let differ = pairs.filter_map(|(was, is)| valid::contradiction(symbols, was, is));
        differ
            .map(|(was, is)| format!("an input or output of the model would be {is} instead of {was}"))
            .collect()
    }
}

/// Why a pass does not run on this model.
fn obstacle(pass: &Pass, model: &Model) -> Option<String> {
    let opset = model.opset();
    if !pass.opsets.contains(&opset) {
        return Some(format!("it knows opsets {}, not {opset}", versions(&pass.opsets)));
    }
    pass.domains.iter().find_map(|(domain, known)| {
        let import = model.opsets.iter().find(|o| o.domain == *domain)?;
        (!known.contains(&import.version))
            .then(|| format!("it knows `{domain}` {}, not {}", versions(known), import.version))
    })
}

fn messages(found: Vec<Diagnostic>) -> Vec<String> {
    found.into_iter().map(|diagnostic| diagnostic.message).collect()
}

/// Collects the nodes in the order that inference needs: those of a body before the node that contains it.
fn collect(graph: &Graph, block: BlockId, nodes: &mut Vec<crate::ir::NodeId>) {
    for node in graph.order(block) {
        for inner in graph.nodes[node].blocks() {
            collect(graph, inner, nodes);
        }
        nodes.push(node);
    }
}

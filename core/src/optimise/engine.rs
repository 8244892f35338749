//! The engine: rules go over the graph in node order until nothing changes.

mod problems;

use std::collections::BTreeMap;

use onnxport_abi::graph::GraphContext;
use onnxport_abi::{Table, status};
use rustc_hash::FxHashSet;

use super::callbacks::{Attempt, Refusal, rules_table};
use super::edit::{Insertion, Journal};
use super::explain::{self, Journal as Explanation};
use super::matched::{self, Matched};
use super::matcher::{self, Match};
use super::origin::Merged;
use super::report::{Count, Optimised, Outcome};
use super::unused::Unused;
use super::{OptimiseOptions, growth, patch, supported, versions};
use crate::clean::{Cleaned, Growth};
use crate::diagnose::{Code, Diagnostic, OriginId};
use crate::graph_access::{self, Access, Frame};
use crate::host::{Host, Site, cross};
use crate::ir::{BlockId, Model, NodeId, ValueId};
use crate::rules::{Class, Rule};
use crate::trace;
use crate::valid::StatedTypes;

/// The state of a run.
pub(super) struct Engine<'a> {
    pub(super) host: &'a Host,
    pub(super) model: &'a mut Model,
    pub(super) stated: &'a mut StatedTypes,
    pub(super) options: &'a OptimiseOptions,
    /// The number of plugins that the host had set aside at the start.
    set_aside: usize,
    pub(super) explanation: Explanation,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Which rules run here, by position; the others are not tried.
    runs: Vec<bool>,
    /// The numbers of applications and of net added nodes, by plugin, then rules before passes, then position.
    counts: BTreeMap<(usize, bool, usize), (usize, i64)>,
    /// Both sides of each applied match, if the user asks for them.
    matches: Vec<Matched>,
    applied: usize,
    sweeps: usize,
    stopped: bool,
    /// The net number of nodes that rules added, in all and by rule, and its limit.
    grown: i64,
    growth: BTreeMap<usize, i64>,
    budget: i64,
    /// Whether they added more.
    halted: bool,
    /// Unsound patches, which are not requested again.
    rejected: FxHashSet<(usize, NodeId)>,
    /// Rules whose rejection was already reported.
    reported: FxHashSet<usize>,
    merged: Merged,
    /// The work done between sweeps, and how often.
    pub(super) cleaned: Cleaned,
    pub(super) cleanings: usize,
    pub(super) room: &'a mut Growth,
    pub(super) unused: Vec<Unused>,
}

/// The plugin's functions for a rule.
#[derive(Clone, Copy)]
struct Calls {
    check: Ask,
    build: Ask,
    /// The host's callbacks for rules and passes.
    host: Table,
}

type Ask = extern "C" fn(u32, &Table, &Table, GraphContext) -> u32;

/// A patch that is sound, and is not applied yet.
struct Patch {
    journal: Journal,
    matched: Match,
    outputs: Vec<Option<ValueId>>,
}

/// The outcome of a rule at a node.
enum Verdict {
    Applied,
    Not(Outcome, String),
    /// It was not tried.
    Skipped,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        host: &'a Host,
        model: &'a mut Model,
        stated: &'a mut StatedTypes,
        options: &'a OptimiseOptions,
        room: &'a mut Growth,
    ) -> Self {
        let nodes = model.graph.node_count();
        Self {
            host,
            model,
            stated,
            options,
            set_aside: host.quarantine.len(),
            explanation: Explanation::new(options.explain.clone()),
            diagnostics: Vec::new(),
            runs: Vec::new(),
            counts: BTreeMap::new(),
            matches: Vec::new(),
            applied: 0,
            sweeps: 0,
            stopped: false,
            grown: 0,
            growth: BTreeMap::new(),
            budget: options.max_growth.unwrap_or_else(|| growth(nodes)) as i64,
            halted: false,
            rejected: FxHashSet::default(),
            reported: FxHashSet::default(),
            merged: Merged::default(),
            cleaned: Cleaned::default(),
            cleanings: 0,
            room,
            unused: Vec::new(),
        }
    }

    /// Runs the rules to a fixed point, and finds out which would run with other options.
    pub(super) fn rules(&mut self) {
        self.sweeps_to_the_end();
        self.look_for_unused();
    }

    fn sweeps_to_the_end(&mut self) {
        if self.host.catalog.rules.is_empty() {
            return;
        }
        for (index, rule) in self.host.catalog.rules.iter().enumerate() {
            let obstacle = self.obstacle(index, rule);
            self.runs.push(obstacle.is_none());
            let name = self.host.catalog.rule_name(index);
            if let Some(reason) = obstacle.filter(|_| self.explanation.wants(name)) {
                let plugin = self.plugin_id(rule.plugin);
                self.explanation.add(plugin, "the model".to_owned(), Outcome::Note, reason);
            }
        }
        while !self.is_done() {
            if self.sweeps == self.options.max_sweeps {
                self.capped();
                return;
            }
            self.sweeps += 1;
            self.explanation.sweep(self.sweeps);
            let before = self.applied;
            let main = self.model.graph.main();
            let span = trace::span_of("rules", || format!("sweep {}", self.sweeps));
            self.sweep(main);
            drop(span);
            if self.applied == before && !self.clean() {
                return;
            }
        }
    }

    /// Why a rule is not tried in this model.
    fn obstacle(&self, index: usize, rule: &Rule) -> Option<String> {
        let opset = self.model.opset();
        if !rule.opsets.contains(&opset) {
            return Some(format!("it is right at opsets {}, not at {opset}", versions(&rule.opsets)));
        }
        self.not_at_level(rule.plugin, self.host.catalog.rule_name(index), &rule.class)
    }

    /// Explains why the user's options exclude the rule or pass `name` of `plugin`, of this class; `None` if they do
    /// not.
    pub(super) fn not_at_level(&self, plugin: usize, name: &str, class: &Class) -> Option<String> {
        let plugin = self.host.plugins.get(plugin)?;
        self.options.obstacle(plugin, name, class)
    }

    /// Whether the user's number of patches is reached.
    pub(super) fn is_done(&mut self) -> bool {
        let done = self.options.stop_after.is_some_and(|limit| self.applied >= limit);
        self.stopped |= done;
        done || self.halted || self.host.quarantine.stops(self.set_aside)
    }

    /// Counts an application of a rule, or of a pass, and the net number of nodes that it added.
    pub(super) fn count(&mut self, plugin: usize, is_pass: bool, position: usize, nodes: i64) {
        self.applied += 1;
        let (applied, grown) = self.counts.entry((plugin, is_pass, position)).or_default();
        *applied += 1;
        *grown += nodes;
    }

    pub(super) fn plugin_id(&self, plugin: usize) -> &'static str {
        self.host.plugins.get(plugin).map_or("unknown", |p| p.id)
    }

    pub(super) fn finish(self) -> (Optimised, Vec<Diagnostic>) {
        let Self { host, mut diagnostics, explanation, counts, cleaned, .. } = self;
        diagnostics.extend(host.set_aside());
        let counts = counts.into_iter().map(|((plugin, is_pass, position), (applied, nodes))| Count {
            plugin: host.plugins.get(plugin).map_or("unknown", |p| p.id).to_owned(),
            name: if is_pass {
                host.catalog.pass_name(position).to_owned()
            } else {
                host.catalog.rule_name(position).to_owned()
            },
            applied,
            nodes,
        });
        let mut done = Optimised {
            counts: counts.collect(),
            applied: self.applied,
            before: 0,
            after: 0,
            folded: 0,
            merged: 0,
            decided: 0,
            sweeps: self.sweeps,
            inlined: 0,
            outlined: 0,
            layouts: 0,
            functions: Vec::new(),
            memory: None,
            stopped: self.stopped,
            places: explanation.finish(),
            matches: self.matches,
            unused: self.unused,
        };
        done.add(cleaned);
        (done, diagnostics)
    }

    /// Reports that the rules still changed the graph when they were stopped.
    fn capped(&mut self) {
        let mut names: Vec<String> = Vec::new();
        for (plugin, is_pass, position) in self.counts.keys() {
            if !is_pass {
                let (rule, id) = (self.host.catalog.rule_name(*position), self.plugin_id(*plugin));
                names.push(format!("`{rule}` of `{id}`"));
            }
        }
        let message = format!("the rules still changed the graph after {} sweeps", self.sweeps);
        let diagnostic = Diagnostic::warning(Code::OPTIMISE_CAP, message)
            .note(format!("applied were {}", names.join(", ")))
            .help("two of them may undo each other; the model is right, but more could be done to it");
        self.diagnostics.push(diagnostic);
    }

    fn sweep(&mut self, block: BlockId) {
        // A patch can remove later nodes.
        let order: Vec<NodeId> = self.model.graph.order(block).collect();
        for node in order {
            if self.model.graph.nodes[node].block != Some(block) {
                continue;
            }
            let inner: Vec<BlockId> = self.model.graph.nodes[node].blocks().collect();
            for block in inner {
                self.sweep(block);
            }
            self.visit(node);
            if self.is_done() {
                return;
            }
        }
    }

    /// Applies the first rule that matches at `node`.
    fn visit(&mut self, node: NodeId) {
        let host = self.host;
        // An explanation tells why a rule does not match.
        let rules = if self.options.explain.is_some() {
            host.catalog.of_root(&self.model.graph.nodes[node].op)
        } else {
            host.catalog.at(&self.model.graph, node)
        };
        for index in rules {
            let Some(rule) = host.catalog.rules.get(*index) else { continue };
            if !self.runs.get(*index).is_some_and(|runs| *runs) {
                continue;
            }
            let explained = self.explanation.wants(host.catalog.rule_name(*index));
            let place = if explained { explain::place(self.model, node) } else { String::new() };
            let tried = self.attempt(*index, rule, node);
            if explained {
                let plugin = self.plugin_id(rule.plugin);
                match &tried {
                    Verdict::Applied => {
                        self.explanation.add(plugin, place, Outcome::Applied, String::new());
                    }
                    Verdict::Not(outcome, reason) => {
                        self.explanation.add(plugin, place, *outcome, reason.clone());
                    }
                    Verdict::Skipped => {}
                }
            }
            if matches!(tried, Verdict::Applied) {
                return;
            }
        }
    }

    fn attempt(&mut self, index: usize, rule: &Rule, root: NodeId) -> Verdict {
        if self.rejected.contains(&(index, root)) {
            return Verdict::Skipped;
        }
        let matched = match matcher::find(&rule.pattern, &self.model.graph, self.model.opset(), root) {
            Ok(matched) => matched,
            Err(mismatch) => {
                let wanted = self.explanation.wants(self.host.catalog.rule_name(index));
                let reason =
                    if wanted { mismatch.describe(&rule.pattern, &self.model.graph) } else { String::new() };
                return Verdict::Not(Outcome::NoMatch, reason);
            }
        };
        let Some(calls) = self.calls(rule) else { return Verdict::Skipped };
        if self.host.quarantine.skips(rule.plugin) {
            return Verdict::Skipped;
        }
        if rule.condition
            && let Err(not) = self.check(index, rule, calls, matched.clone())
        {
            return not;
        }
        self.build(index, rule, calls, matched, root)
    }

    /// Asks the plugin whether the rule applies.
    fn check(&mut self, index: usize, rule: &Rule, calls: Calls, matched: Match) -> Result<(), Verdict> {
        let origin = self.origin(&matched);
        let site = self.site(index, rule, "checking the rule");
        let mut frame =
            Frame::new(Access::read(self.model), Attempt::new(matched, &rule.pattern.wanted, None));
        let (cx, graph) = (frame.context(), graph_access::host_table());
        let answer = cross(site, || (calls.check)(rule.index, &calls.host, &graph, cx));
        let refusal = frame.state.refusal.take();
        if answer == status::OK {
            return Ok(());
        }
        Err(self.declined(index, rule, answer, refusal, origin))
    }

    /// Asks the plugin for a patch, checks it and applies it.
    fn build(&mut self, index: usize, rule: &Rule, calls: Calls, matched: Match, root: NodeId) -> Verdict {
        let Patch { journal, matched, outputs } = match self.propose(index, rule, calls, matched, root) {
            Ok(patch) => patch,
            Err(not) => return not,
        };
        if self.options.keep_matches
            && let Some((before, after)) = matched::models(self.model, &matched, &journal, &outputs)
        {
            let (plugin, name) = (self.plugin_id(rule.plugin), self.host.catalog.rule_name(index));
            self.matches.push(Matched { plugin: plugin.to_owned(), rule: name.to_owned(), before, after });
        }
        // Roots first, then inner nodes.
        let inner = matched.nodes.iter().copied().flatten().rev();
        let nodes = matched.roots.iter().copied().chain(inner);
        let nodes: Vec<NodeId> = nodes.collect();
        let parts: Vec<OriginId> =
            nodes.iter().filter_map(|node| self.model.graph.nodes[*node].origin).collect();
        let notes = &self.model.graph.notes.merged;
        let further: Vec<OriginId> =
            nodes.iter().filter_map(|node| notes.get(node)).flatten().copied().collect();
        let origin = self.merged.of(&mut self.model.origins, parts.into_iter());
        let gone = patch::apply(self.model, self.stated, &journal, &matched, &outputs, origin);
        for node in &journal.nodes {
            self.model.graph.record_origins(*node, &further);
        }
        self.grow(index, journal.nodes.len(), gone);
        self.count(rule.plugin, false, index, journal.nodes.len() as i64 - gone as i64);
        Verdict::Applied
    }

    /// Asks the plugin for a patch and checks it; its nodes are in the graph already, and nobody uses them.
    fn propose(
        &mut self,
        index: usize,
        rule: &Rule,
        calls: Calls,
        matched: Match,
        root: NodeId,
    ) -> Result<Patch, Verdict> {
        let origin = self.origin(&matched);
        let Some(block) = self.model.graph.nodes[matched.place].block else { return Err(Verdict::Skipped) };
        let journal = Journal::new(self.model);
        let place = Insertion { block, before: Some(matched.place), origin };
        let state = Attempt::new(matched, &rule.pattern.wanted, Some((place, journal)));
        let site = self.site(index, rule, "applying the rule");
        let access = Access::edit(self.model).separate(self.options.separate);
        let mut frame = Frame::new(access, state);
        let (cx, graph) = (frame.context(), graph_access::host_table());
        let answer = cross(site, || (calls.build)(rule.index, &calls.host, &graph, cx));
        let kept = frame.access.has_kept();
        let Attempt { matched, patch, answer: outputs, refusal, .. } = frame.state;
        let refusal = if kept { refusal.map(Refusal::of_kept) } else { refusal };
        let Some((_, journal)) = patch else { return Err(Verdict::Skipped) };
        let (true, Some(outputs)) = (answer == status::OK, outputs) else {
            journal.undo(self.model);
            let answer = if answer == status::OK { status::INVALID } else { answer };
            return Err(self.declined(index, rule, answer, refusal, origin));
        };
        if let Err(why) = patch::check(self.model, &journal, &matched, &outputs) {
            journal.undo(self.model);
            self.rejected.insert((index, root));
            self.reject(index, rule, &why, origin);
            return Err(Verdict::Not(Outcome::Rejected, why));
        }
        if let Some(why) = supported::patch(self.model, &self.options.target, &journal, &matched) {
            journal.undo(self.model);
            self.rejected.insert((index, root));
            return Err(Verdict::Not(Outcome::Refused, why));
        }
        Ok(Patch { journal, matched, outputs })
    }

    /// Whether the rule would be applied at `root`; the graph stays as it is.
    pub(super) fn would_apply(&mut self, index: usize, rule: &Rule, root: NodeId) -> bool {
        let Ok(matched) = matcher::find(&rule.pattern, &self.model.graph, self.model.opset(), root) else {
            return false;
        };
        let Some(calls) = self.calls(rule).filter(|_| !self.host.quarantine.skips(rule.plugin)) else {
            return false;
        };
        if rule.condition && self.check(index, rule, calls, matched.clone()).is_err() {
            return false;
        }
        let patch = self.propose(index, rule, calls, matched, root);
        patch.map(|patch| patch.journal.undo(self.model)).is_ok()
    }

    /// Returns the functions of the plugin that has the rule.
    fn calls(&self, rule: &Rule) -> Option<Calls> {
        let table = self.host.plugins.get(rule.plugin)?.rules?;
        Some(Calls { check: table.check, build: table.build, host: rules_table() })
    }

    fn site(&self, index: usize, rule: &Rule, task: &'static str) -> Site {
        Site { plugin: self.plugin_id(rule.plugin), task, subject: self.host.catalog.rule_name(index) }
    }

    fn origin(&self, matched: &Match) -> Option<OriginId> {
        let root = matched.roots.first().copied()?;
        self.model.graph.nodes[root].origin.filter(|o| o.index() < self.model.origins.len())
    }
}

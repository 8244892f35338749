//! Rules that decline, fail, or make the graph grow without end.

use onnxport_abi::status;

use super::{Engine, Verdict};
use crate::diagnose::{Code, Diagnostic, OriginId};
use crate::optimise::callbacks::Refusal;
use crate::optimise::report::Outcome;
use crate::rules::Rule;

impl Engine<'_> {
    /// Records the numbers of added and removed nodes, and stops when the graph grows without end.
    pub(super) fn grow(&mut self, rule: usize, added: usize, gone: usize) {
        let change = added as i64 - gone as i64;
        self.grown += change;
        *self.growth.entry(rule).or_default() += change;
        if self.grown <= self.budget || self.halted {
            return;
        }
        self.halted = true;
        let mut growing: Vec<(i64, usize)> = self.growth.iter().map(|(rule, by)| (*by, *rule)).collect();
        growing.retain(|(by, _)| *by > 0);
        growing.sort_by_key(|(by, rule)| (std::cmp::Reverse(*by), *rule));
        let named = growing.into_iter().filter_map(|(by, rule)| {
            let plugin = self.host.catalog.rules.get(rule)?.plugin;
            let (rule, id) = (self.host.catalog.rule_name(rule), self.plugin_id(plugin));
            Some(format!("`{rule}` of `{id}` by {by}"))
        });
        let notes = format!("nodes were added on balance by {}", named.collect::<Vec<_>>().join(", "));
        let message = format!("the rules enlarged the graph by more than {} nodes", self.budget);
        let diagnostic = Diagnostic::warning(Code::OPTIMISE_CAP, message).note(notes).help(
            "a rule applies to its own result or another rule's; the model is correct, but larger. `--max-growth` sets the limit",
        );
        self.diagnostics.push(diagnostic);
    }

    /// Records that the plugin declined.
    pub(super) fn declined(
        &mut self,
        index: usize,
        rule: &Rule,
        answer: u32,
        refusal: Option<Refusal>,
        origin: Option<OriginId>,
    ) -> Verdict {
        let reason = refusal.unwrap_or_default();
        match answer {
            status::REFUSED => {
                if !reason.code.is_empty() && self.reported.insert(index) {
                    let (name, id) = (self.host.catalog.rule_name(index), self.plugin_id(rule.plugin));
                    let message = format!("the rule `{name}` of plugin `{id}`: {}", reason.message);
                    let warning = Diagnostic::warning(Code::of_plugin(id, &reason.code), message);
                    let next =
                        if reason.help.is_empty() { "the graph was left as it was" } else { &reason.help };
                    self.report(warning.help(next), id, origin);
                }
                Verdict::Not(Outcome::Refused, reason.text())
            }
            status::PANICKED => {
                self.host.quarantine.add(rule.plugin);
                let (name, id) = (self.host.catalog.rule_name(index), self.plugin_id(rule.plugin));
                let message = format!("the rule `{name}` of plugin `{id}` panicked: {}", reason.message);
                self.report(Diagnostic::warning(Code::PLUGIN_PANIC, message), id, origin);
                Verdict::Not(Outcome::Rejected, "it panicked".to_owned())
            }
            _ => {
                let why = "the plugin did not finish it".to_owned();
                self.reject(index, rule, &why, origin);
                Verdict::Not(Outcome::Rejected, why)
            }
        }
    }

    /// Reports an unsound patch, once per rule.
    pub(super) fn reject(&mut self, index: usize, rule: &Rule, why: &str, origin: Option<OriginId>) {
        if !self.reported.insert(index) {
            return;
        }
        let (name, id) = (self.host.catalog.rule_name(index), self.plugin_id(rule.plugin));
        let message = format!("a patch of the rule `{name}` of plugin `{id}` was refused: {why}");
        let diagnostic = Diagnostic::warning(Code::OPTIMISE_PATCH, message)
            .help(format!("the graph is unchanged; `--explain-rule {name}` lists every such match"));
        self.report(diagnostic, id, origin);
    }

    pub(in crate::optimise) fn report(
        &mut self,
        mut diagnostic: Diagnostic,
        plugin: &str,
        origin: Option<OriginId>,
    ) {
        diagnostic.provider = Some(plugin.to_owned());
        diagnostic.origin = origin;
        self.diagnostics.push(diagnostic);
    }
}

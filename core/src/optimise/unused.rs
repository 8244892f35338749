//! Rules that would be applied with other options: for a named target, or at a higher opset.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::engine::Engine;
use super::level::Level;
use crate::ir::{Model, NodeId};
use crate::rules::{Class, Rule};

/// A rule that was not applied because of an option.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Unused {
    /// The plugin.
    pub plugin: String,
    /// The rule.
    pub name: String,
    /// At how many places of the optimized graph it would be applied.
    pub places: usize,
    /// The option with which it would be.
    pub with: With,
}

/// An option with which a rule would be applied.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum With {
    /// This target, by its name.
    Target(String),
    /// This opset, or a higher one.
    Opset(i64),
}

impl Engine<'_> {
    /// Tries the rules that are for the target only, or for higher opsets, once at every place, and applies none of them. A
    /// user who asks for exact results, or for certain rules or patches, has chosen.
    pub(super) fn look_for_unused(&mut self) {
        let options = self.options;
        let chosen = options.level < Level::Bounded
            || options.only.is_some()
            || options.explain.is_some()
            || options.stop_after.is_some();
        if chosen || self.is_done() {
            return;
        }
        let host = self.host;
        let rules: Vec<Option<With>> =
            host.catalog.rules.iter().enumerate().map(|(at, rule)| self.with(at, rule)).collect();
        let blocks: Vec<_> = self.model.graph.blocks.ids().collect();
        let nodes: Vec<NodeId> =
            blocks.into_iter().flat_map(|block| self.model.graph.order(block).collect::<Vec<_>>()).collect();
        let said = self.diagnostics.len();
        let mut places: BTreeMap<usize, usize> = BTreeMap::new();
        for node in nodes {
            for index in host.catalog.at(&self.model.graph, node) {
                let (Some(rule), Some(Some(with))) = (host.catalog.rules.get(*index), rules.get(*index))
                else {
                    continue;
                };
                let stated = self.model.opset();
                if let With::Opset(opset) = with {
                    set_opset(self.model, *opset);
                }
                if self.would_apply(*index, rule, node) {
                    *places.entry(*index).or_default() += 1;
                }
                set_opset(self.model, stated);
            }
        }
        // The diagnostics of a rule that is not applied do not concern the result.
        self.diagnostics.truncate(said);
        self.unused = places
            .into_iter()
            .filter_map(|(index, places)| {
                let rule = host.catalog.rules.get(index)?;
                let with = rules.get(index)?.clone()?;
                let (plugin, name) =
                    (self.plugin_id(rule.plugin).to_owned(), host.catalog.rule_name(index).to_owned());
                Some(Unused { plugin, name, places, with })
            })
            .collect();
    }

    /// The option with which a rule that does not run would; `None` for those that run, and of plugins that were loaded.
    fn with(&self, index: usize, rule: &Rule) -> Option<With> {
        let plugin = self.host.plugins.get(rule.plugin).filter(|plugin| plugin.library.is_none())?;
        let name = self.host.catalog.rule_name(index);
        let (opset, first) = (self.model.opset(), *rule.opsets.start());
        match &rule.class {
            Class::Target { target, .. } if rule.opsets.contains(&opset) => {
                let with = super::OptimiseOptions { level: Level::Target, ..self.options.clone() };
                with.obstacle(plugin, name, &rule.class).is_none().then(|| With::Target(target.clone()))
            }
            class if opset < first && self.options.obstacle(plugin, name, class).is_none() => {
                Some(With::Opset(first))
            }
            _ => None,
        }
    }
}

/// Changes the version of ONNX's own operators that `model` states.
fn set_opset(model: &mut Model, version: i64) {
    if let Some(own) = model.opsets.iter_mut().find(|opset| opset.domain.is_empty()) {
        own.version = version;
    }
}

//! Listing the rules and passes of the optimizer.

mod example;

use clap::Args;
use onnxport_core::Host;
use onnxport_core::diagnose::{Diagnostic, Report};
use onnxport_core::optimise::{self, Class, Level, Listed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Request;
use crate::optimizing::FUSIONS;
use crate::progress::Progress;

pub use example::Example;

/// The number of test models in which each rule is applied, and of its applications: `PLUGIN RULE MODELS PLACES`,
/// as counted by `python -m tests.python.models applied`.
const APPLIED: &str = include_str!("applied.txt");

/// Lists the optimizer's rules and passes, or describes one.
#[derive(Args, Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub struct RulesRequest {
    /// A rule or pass to show in detail; without one, list all
    pub name: Option<String>,
}

/// A rule or a pass.
#[derive(Clone, Debug)]
pub struct KnownRule {
    /// Its name, class, opsets and pattern, as the plugin states them.
    pub listed: Listed,
    /// The plugin.
    pub plugin: String,
    /// The lowest level at which it runs; `None` for one that does not run unless its plugin is loaded in place of
    /// the linked-in one.
    pub level: Option<Level>,
    /// An example, if it is one of onnxport's own.
    pub example: Option<Example>,
    /// Its use in onnxport's test models.
    pub applied: Applied,
    /// The rules of the same priority that are tried before, and may match at the same node.
    pub tried_after: Vec<&'static str>,
}

/// The number of test models in which a rule was applied, and of its applications.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// The number of models.
    pub models: u64,
    /// The number of applications.
    pub places: u64,
}

impl RulesRequest {
    /// Creates a request about the rule or pass `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()) }
    }
}

impl Request for RulesRequest {
    type Outcome = Vec<KnownRule>;

    fn check(&self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn run(&self, host: &Host, _: &mut dyn Progress) -> Result<Vec<KnownRule>, Report> {
        if let Some(name) = &self.name {
            optimise::known(host, name)?;
        }
        let listed = host.catalog.listed();
        let all = listed.iter().zip(optimise::overlaps(listed));
        let wanted = all.filter(|(rule, _)| self.name.as_ref().is_none_or(|name| *name == rule.name));
        let known = wanted.map(|(rule, before)| {
            let before = before.into_iter().filter_map(|at| listed.get(at)).map(|rule| rule.name);
            KnownRule::new(host, rule, before.collect())
        });
        Ok(known.collect::<Result<_, _>>()?)
    }
}

impl KnownRule {
    fn new(host: &Host, listed: &Listed, tried_after: Vec<&'static str>) -> Result<Self, Diagnostic> {
        let plugin = host.plugins.get(listed.plugin);
        let id = plugin.map_or("unknown", |plugin| plugin.id);
        let is_linked = plugin.is_none_or(|plugin| plugin.library.is_none());
        let level = match &listed.class {
            Class::Exact => Some(Level::Exact),
            Class::Unstated if is_linked && id == FUSIONS => None,
            Class::Bounded { .. } | Class::Unstated => Some(Level::Bounded),
            Class::Target { .. } => Some(Level::Target),
        };
        Ok(Self {
            listed: listed.clone(),
            plugin: id.to_owned(),
            level,
            example: Example::find(host, id, listed)?,
            applied: Applied::read(id, listed.name),
            tried_after,
        })
    }
}

impl Applied {
    /// Returns the counts of a rule; those of an unknown one are 0.
    fn read(plugin: &str, rule: &str) -> Self {
        let counts = APPLIED.lines().filter_map(|line| {
            let mut cells = line.split(' ');
            let own = (cells.next()?, cells.next()?) == (plugin, rule);
            let mut number = || cells.next()?.parse().ok();
            own.then(|| Some(Self { models: number()?, places: number()? }))?
        });
        counts.into_iter().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host::new(&[&onnxport_optimise::ROOT, &onnxport_fusions::ROOT]).unwrap()
    }

    #[test]
    fn a_rule_is_known_with_its_example() {
        let known = RulesRequest::new("negate_twice").run(&host(), &mut ()).unwrap();
        let [rule] = known.as_slice() else { panic!("{known:?}") };
        assert_eq!((rule.listed.pattern, rule.level), ("Neg(Neg(x))", Some(Level::Exact)));
        assert_eq!(rule.plugin, "optimise");
        let Example { text, before, after } = rule.example.as_ref().expect("an example");
        assert_eq!(text.matches("Neg(").count(), 2);
        assert_eq!((before.graph.node_count(), after.graph.node_count()), (2, 0));
    }

    #[test]
    fn all_rules_of_the_host_are_listed() {
        let host = host();
        let all = RulesRequest::default().run(&host, &mut ()).unwrap();
        assert_eq!(all.len(), host.catalog.listed().len());
        assert!(all.iter().any(|rule| rule.applied.models > 0 && rule.applied.places > 0));
        assert!(all.iter().any(|rule| !rule.tried_after.is_empty()));
        let unknown = RulesRequest::new("negate_thrice").run(&host, &mut ()).unwrap_err();
        assert_eq!(unknown.diagnostics[0].message, "unknown rule or pass `negate_thrice`");
    }
}

//! Every rule and pass of every plugin, compiled, and which rules to try at a node.

use std::ops::RangeInclusive;

use onnxport_abi::RStr;
use onnxport_abi::pass::{PassRecord, PassTable, when};
use onnxport_abi::rules::{RuleText, RulesTable, rule_flags};
use rustc_hash::FxHashMap;

use super::class::Class;
use super::pattern::Pattern;
use super::text;
use super::tree::Tree;
use crate::diagnose::{Code, Diagnostic};
use crate::incoming::Validated;
use crate::ir::{Graph, NodeId};

/// A rule of a plugin.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The plugin, by position in the host's list.
    pub(crate) plugin: usize,
    /// The position in the plugin's table.
    pub(crate) index: u32,
    pub(crate) opsets: RangeInclusive<i64>,
    pub(crate) condition: bool,
    pub(crate) class: Class,
    pub(crate) pattern: Pattern,
    priority: i32,
}

/// A pass of a plugin.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) plugin: usize,
    pub(crate) index: u32,
    pub(crate) opsets: RangeInclusive<i64>,
    pub(crate) domains: Vec<(&'static str, RangeInclusive<i64>)>,
    /// Whether it runs after the rules.
    pub(crate) after: bool,
    pub(crate) class: Class,
    priority: i32,
}

/// A rule or a pass, as it is listed.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The plugin, by position in the host's list.
    pub plugin: usize,
    /// The name.
    pub name: &'static str,
    /// A one-line description.
    pub documentation: &'static str,
    /// Whether it is a pass.
    pub is_pass: bool,
    /// Its exactness.
    pub class: Class,
    /// The opsets at which it is right.
    pub opsets: RangeInclusive<i64>,
    /// Those of a higher priority come first.
    pub priority: i32,
    /// The pattern that it replaces; empty for a pass.
    pub pattern: &'static str,
}

/// The rules and passes of all plugins.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) rules: Vec<Rule>,
    pub(crate) passes: Vec<Pass>,
    listed: Vec<Listed>,
    /// The rules by the operator of their root.
    by_root: FxHashMap<String, Tree>,
    rule_names: Vec<&'static str>,
    pass_names: Vec<&'static str>,
}

impl Catalog {
    /// Adds the rules and passes of `plugin`, called `id`; reports any that cannot be compiled.
    pub(crate) fn add(
        &mut self,
        plugin: usize,
        id: &str,
        rules: Option<&RulesTable>,
        passes: Option<&PassTable>,
        problems: &mut Vec<Diagnostic>,
    ) {
        if let Some(table) = rules {
            for (index, record) in (0..).zip(table.rules.validated()) {
                let class = Class::asked(index, table.class_of);
                if let Err(why) = class.and_then(|class| self.rule(plugin, index, record, class)) {
                    problems.push(malformed(id, "rule", record.name, &why));
                }
            }
        }
        if let Some(table) = passes {
            for (index, record) in (0..).zip(table.passes.validated()) {
                let class = Class::asked(index, table.class_of);
                if let Err(why) = class.and_then(|class| self.pass(plugin, index, record, class)) {
                    problems.push(malformed(id, "pass", record.name, &why));
                }
            }
        }
    }

    /// Sorts the entries. Must be called once, after the last plugin.
    pub(crate) fn finish(&mut self) {
        let mut rules: Vec<(usize, &Rule)> = self.rules.iter().enumerate().collect();
        rules.sort_by_key(|(_, rule)| std::cmp::Reverse(rule.priority));
        let mut by_root: FxHashMap<&str, Vec<(usize, &Pattern)>> = FxHashMap::default();
        for (index, rule) in rules {
            for op in rule.pattern.root_ops() {
                by_root.entry(op).or_default().push((index, &rule.pattern));
            }
        }
        self.by_root =
            by_root.into_iter().map(|(op, rules)| (op.to_owned(), Tree::new(op, &rules))).collect();
    }

    fn rule(&mut self, plugin: usize, index: u32, record: &RuleText, class: Class) -> Result<(), String> {
        let opsets = i64::from(record.min_opset)..=i64::from(record.max_opset);
        self.list(Listed {
            plugin,
            name: record.name.validated(),
            documentation: record.documentation.validated(),
            is_pass: false,
            class: class.clone(),
            opsets: opsets.clone(),
            priority: record.priority,
            pattern: record.pattern.validated(),
        })?;
        self.rules.push(Rule {
            plugin,
            index,
            opsets,
            condition: record.flags & rule_flags::CONDITION != 0,
            class,
            pattern: text::compile(record)?,
            priority: record.priority,
        });
        self.rule_names.push(record.name.validated());
        Ok(())
    }

    fn pass(&mut self, plugin: usize, index: u32, record: &PassRecord, class: Class) -> Result<(), String> {
        let opsets = i64::from(record.min_opset)..=i64::from(record.max_opset);
        self.list(Listed {
            plugin,
            name: record.name.validated(),
            documentation: record.documentation.validated(),
            is_pass: true,
            class: class.clone(),
            opsets: opsets.clone(),
            priority: record.priority,
            pattern: "",
        })?;
        let after = match record.when {
            when::BEFORE_RULES => false,
            when::AFTER_RULES => true,
            other => return Err(format!("it runs at the unknown time {other}")),
        };
        let domains = record.domains.validated().iter();
        self.passes.push(Pass {
            plugin,
            index,
            opsets,
            domains: domains.map(|d| (d.domain.validated(), i64::from(d.min)..=i64::from(d.max))).collect(),
            after,
            class,
            priority: record.priority,
        });
        self.pass_names.push(record.name.validated());
        Ok(())
    }

    fn list(&mut self, one: Listed) -> Result<(), String> {
        if one.name.is_empty() {
            return Err("it has no name".to_owned());
        }
        if self.listed.iter().any(|other| other.plugin == one.plugin && other.name == one.name) {
            return Err("the plugin has another one of this name".to_owned());
        }
        self.listed.push(one);
        Ok(())
    }

    /// Every rule and pass, in the order of the plugins.
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// The rules that may match at `node`, in the order in which they are tried.
    pub(crate) fn at(&self, graph: &Graph, node: NodeId) -> &[usize] {
        self.by_root.get(&*graph.nodes[node].op).map_or(&[], |tree| tree.at(graph, node))
    }

    /// The rules whose root is the operator `op` of any domain, in the order in which they are tried.
    pub(crate) fn of_root(&self, op: &str) -> &[usize] {
        self.by_root.get(op).map_or(&[], Tree::all)
    }

    pub(crate) fn rule_name(&self, rule: usize) -> &'static str {
        self.rule_names.get(rule).copied().unwrap_or("?")
    }

    pub(crate) fn pass_name(&self, pass: usize) -> &'static str {
        self.pass_names.get(pass).copied().unwrap_or("?")
    }

    /// Returns the passes that run before or after the rules, in order.
    pub(crate) fn passes(&self, after: bool) -> Vec<usize> {
        let mut found: Vec<(i32, usize)> = (self.passes.iter().enumerate())
            .filter(|(_, pass)| pass.after == after)
            .map(|(index, pass)| (pass.priority, index))
            .collect();
        found.sort_by_key(|(priority, index)| (std::cmp::Reverse(*priority), *index));
        found.into_iter().map(|(_, index)| index).collect()
    }
}

fn malformed(id: &str, kind: &str, name: RStr<'_>, why: &str) -> Diagnostic {
    let message = format!("the {kind} `{}` of plugin `{id}` cannot be used: {why}", name.validated());
    let mut diagnostic = Diagnostic::error(Code::OPTIMISE_MALFORMED, message)
        .help("this is a defect of the plugin; use another version of it, or go without");
    diagnostic.provider = Some(id.to_owned());
    diagnostic
}

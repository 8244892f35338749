//! Rules: what `rules!` registers, and what conditions and builders are handed.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use onnxport_abi::abi_stable::std_types::{RSlice, RStr};

use crate::abi::graph::{GraphContext, NOTHING};
use crate::abi::rules::{MatchView, RuleRecord, RulesHost, RulesTable};
use crate::abi::{Table, status};
use crate::edit::{Editor, Slots};
use crate::graph::{Attribute, GraphSession, GraphView, NodeRef, ValueRef};
use crate::{Refusal, Res, panic};

/// A registered rule.
pub struct Rule {
    /// The package that registered it.
    pub package: &'static str,
    /// Where: file, line of `rules!`, position in it. Rules of one priority are tried in this order.
    pub place: (&'static str, u32, u32),
    /// The pattern and what is said about it.
    pub record: RuleRecord,
    /// Per variable that stands for an attribute: the node of the pattern, and the attribute.
    pub captures: &'static [(u32, &'static str)],
    /// The nodes of the pattern that have names.
    pub nodes: &'static [(&'static str, u32)],
    /// Whether the rule applies to what matched.
    pub condition: Option<fn(&Matched<'_>) -> Res<()>>,
    /// What stands in its place, an entry per output.
    pub build: for<'h> fn(&Rewrite<'h>) -> Res<Vec<Option<ValueRef<'h>>>>,
}

inventory::collect!(Rule);

/// What the pattern of a rule matched.
pub struct Matched<'h> {
    graph: GraphView<'h>,
    rule: &'static Rule,
    nodes: Vec<u64>,
    values: Vec<u64>,
}

impl<'h> Matched<'h> {
    /// The graph.
    pub fn graph(&self) -> GraphView<'h> {
        self.graph
    }

    /// The node at the root of the pattern.
    pub fn root(&self) -> NodeRef<'h> {
        self.graph.node(self.nodes.first().copied().unwrap_or(NOTHING))
    }

    /// The value that the variable `name` stands for.
    ///
    /// # Errors
    /// When the pattern has no such variable, or its optional input is left out.
    pub fn value(&self, name: &str) -> Res<ValueRef<'h>> {
        self.maybe(name).ok_or_else(|| Refusal::new(format!("`{name}` stands for no value")))
    }

    /// The same; `None` when the pattern has no such variable or its optional input is left out.
    pub fn maybe(&self, name: &str) -> Option<ValueRef<'h>> {
        let position = self.rule.record.variables.iter().position(|v| v.as_str() == name)?;
        self.value_at(position)
    }

    /// The attribute that the variable `name` stands for; [`Attribute::None`] when there is none.
    pub fn attribute(&self, name: &str) -> Attribute {
        let position = self.rule.record.captures.iter().position(|v| v.as_str() == name);
        position.map_or(Attribute::None, |position| self.attribute_at(position))
    }

    /// The node that the pattern calls `name`.
    ///
    /// # Errors
    /// When it calls none so, or the node stands below an optional input that is left out.
    pub fn node(&self, name: &str) -> Res<NodeRef<'h>> {
        let named = self.rule.nodes.iter().find(|(known, _)| *known == name);
        named
            .and_then(|(_, index)| self.node_at(*index as usize))
            .ok_or_else(|| Refusal::new(format!("`{name}` stands for no node")))
    }

    #[doc(hidden)]
    pub fn value_at(&self, position: usize) -> Option<ValueRef<'h>> {
        let id = self.values.get(position).copied().filter(|id| *id != NOTHING)?;
        Some(self.graph.value(id))
    }

    #[doc(hidden)]
    pub fn node_at(&self, position: usize) -> Option<NodeRef<'h>> {
        let id = self.nodes.get(position).copied().filter(|id| *id != NOTHING)?;
        Some(self.graph.node(id))
    }

    #[doc(hidden)]
    pub fn attribute_at(&self, position: usize) -> Attribute {
        let Some((node, name)) = self.rule.captures.get(position) else { return Attribute::None };
        self.node_at(*node as usize).map_or(Attribute::None, |node| node.attribute(name))
    }
}

/// What matched, and the patch that takes its place.
pub struct Rewrite<'h> {
    matched: Matched<'h>,
    editor: Editor<'h>,
}

impl<'h> Rewrite<'h> {
    /// What matched.
    pub fn matched(&self) -> &Matched<'h> {
        &self.matched
    }

    /// The value that the variable `name` stands for.
    ///
    /// # Errors
    /// As [`Matched::value`].
    pub fn value(&self, name: &str) -> Res<ValueRef<'h>> {
        self.matched.value(name)
    }

    /// The attribute that the variable `name` stands for.
    pub fn attribute(&self, name: &str) -> Attribute {
        self.matched.attribute(name)
    }
}

impl<'h> Deref for Rewrite<'h> {
    type Target = Editor<'h>;

    fn deref(&self) -> &Editor<'h> {
        &self.editor
    }
}

/// What a condition says: a truth value, or a refusal with a reason of its own.
pub trait Verdict {
    /// The answer; `condition` is its text.
    ///
    /// # Errors
    /// When the rule does not apply.
    fn verdict(self, condition: &str) -> Res<()>;
}

impl Verdict for bool {
    fn verdict(self, condition: &str) -> Res<()> {
        if self { Ok(()) } else { Err(Refusal::new(format!("`{condition}` does not hold"))) }
    }
}

impl Verdict for Res<()> {
    fn verdict(self, _: &str) -> Res<()> {
        self
    }
}

impl Verdict for Res<bool> {
    fn verdict(self, condition: &str) -> Res<()> {
        self.and_then(|holds| holds.verdict(condition))
    }
}

/// What stands for the outputs of the root, one after the other.
pub trait Replacement<'h> {
    /// An entry per output.
    ///
    /// # Errors
    /// When the builder refuses.
    fn outputs(self) -> Res<Vec<Option<ValueRef<'h>>>>;
}

impl<'h> Replacement<'h> for ValueRef<'h> {
    fn outputs(self) -> Res<Vec<Option<ValueRef<'h>>>> {
        Ok(vec![Some(self)])
    }
}

impl<'h> Replacement<'h> for Vec<ValueRef<'h>> {
    fn outputs(self) -> Res<Vec<Option<ValueRef<'h>>>> {
        Ok(self.into_iter().map(Some).collect())
    }
}

impl<'h> Replacement<'h> for Vec<Option<ValueRef<'h>>> {
    fn outputs(self) -> Res<Vec<Option<ValueRef<'h>>>> {
        Ok(self)
    }
}

impl<'h, T: Replacement<'h>> Replacement<'h> for Res<T> {
    fn outputs(self) -> Res<Vec<Option<ValueRef<'h>>>> {
        self.and_then(T::outputs)
    }
}

/// The `rules/1` table of a plugin and the rules behind its entries.
#[doc(hidden)]
pub type RuleList = OnceLock<(RulesTable, Vec<&'static Rule>)>;

type Ask = extern "C" fn(u32, &Table, &Table, GraphContext) -> u32;

/// The `rules/1` table of `package`, built once.
#[doc(hidden)]
pub fn rules_table(
    list: &'static RuleList,
    package: &'static str,
    check: Ask,
    build: Ask,
) -> &'static RulesTable {
    let (table, _) = list.get_or_init(|| {
        let registered = inventory::iter::<Rule>.into_iter();
        let mut rules: Vec<&Rule> = registered.filter(|rule| rule.package == package).collect();
        // The order of submission depends on the linker; the order of the table must not.
        rules.sort_by_key(|rule| rule.place);
        let records: Vec<RuleRecord> = rules.iter().map(|rule| rule.record).collect();
        (RulesTable { rules: RSlice::from_slice(Vec::leak(records)), check, build }, rules)
    });
    table
}

/// Asks the condition of the rule at `index`.
#[doc(hidden)]
pub fn check_rule(list: &RuleList, index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    ask(list, index, host, graph, cx, |rule, matched, _| match rule.condition {
        Some(condition) => condition(&matched).map(|()| None),
        None => Ok(None),
    })
}

/// Builds the patch of the rule at `index`.
#[doc(hidden)]
pub fn build_rule(list: &RuleList, index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    ask(list, index, host, graph, cx, |rule, matched, host| {
        let slots =
            Slots { emit: host.emit, constant: host.constant, view: host.view, set_type: host.set_type };
        let editor = Editor::new(matched.graph, slots);
        (rule.build)(&Rewrite { matched, editor }).map(Some)
    })
}

fn ask(
    list: &RuleList,
    index: u32,
    host: &Table,
    graph: &Table,
    cx: GraphContext,
    answer: impl for<'h> FnOnce(&'static Rule, Matched<'h>, &RulesHost) -> Res<Option<Vec<Option<ValueRef<'h>>>>>,
) -> u32 {
    let rule = list.get().and_then(|(_, rules)| rules.get(index as usize).copied());
    // SAFETY: the host passes the envelope of its table of this interface.
    let host = unsafe { host.read::<RulesHost>() };
    let (Some(rule), Ok(Some(host)), Some(session)) = (rule, host, GraphSession::new(graph, cx)) else {
        return status::INVALID;
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut view = MatchView { nodes: RSlice::EMPTY, values: RSlice::EMPTY };
        if (host.matched)(cx, &mut view) != status::OK {
            return Err(Refusal::new("the host states no match"));
        }
        let (nodes, values) = (view.nodes.to_vec(), view.values.to_vec());
        let matched = Matched { graph: session.graph(), rule, nodes, values };
        let outputs = answer(rule, matched, &host)?;
        if let Some(failure) = session.take_failure() {
            return Err(failure);
        }
        let Some(outputs) = outputs else { return Ok(()) };
        let ids: Vec<u64> = outputs.iter().map(|v| v.map_or(NOTHING, ValueRef::id)).collect();
        match (host.finish)(cx, RSlice::from_slice(&ids)) {
            status::OK => Ok(()),
            _ => Err(Refusal::new("the host refused what the rule returns")),
        }
    }));
    match outcome {
        Ok(Ok(())) => status::OK,
        Ok(Err(refusal)) => {
            let (message, help) = (refusal.message.as_str(), refusal.help.as_str());
            (host.refuse)(cx, RStr::from_str(&refusal.code), RStr::from_str(message), RStr::from_str(help));
            status::REFUSED
        }
        Err(payload) => {
            let text = panic::message(payload.as_ref());
            (host.refuse)(cx, RStr::from_str(""), RStr::from_str(&text), RStr::from_str(""));
            status::PANICKED
        }
    }
}

//! Rules: their registration by `rules!`, and the arguments of conditions and builders.

use crate::lent::Lent;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use onnxport_abi::{RSlice, RStr};

use crate::abi::graph::AttributeView;
use crate::abi::graph::{GraphContext, NOTHING};
use crate::abi::rules::{Bindings, ClassRecord, RuleText, RulesHost, RulesTable};
use crate::abi::{Table, status};
use crate::edit::{Editor, Slots, delegate_emit};
use crate::graph::{Attribute, GraphSession, GraphView, NodeRef, ValueRef};
use crate::register::is_below;
use crate::{Dim, Refusal, Res, panic};

/// A registered rule.
pub struct Rule {
    /// The module that registered it.
    pub module: &'static str,
    /// Where: file, line of `rules!`, position in it. Rules of one priority are tried in this order.
    pub place: (&'static str, u32, u32),
    /// The pattern and its description.
    pub record: RuleText,
    /// How exact it is.
    pub class: ClassRecord,
    /// Whether the rule applies to a match.
    pub condition: Option<fn(&Matched<'_>) -> Res<()>>,
    /// The replacement, an entry per output.
    pub build: for<'h> fn(&Rewrite<'h>) -> Res<Vec<Option<ValueRef<'h>>>>,
}

inventory::collect!(Rule);

/// A match of a rule's pattern. Conditions and replacements access it by the names of the pattern.
pub struct Matched<'h> {
    graph: GraphView<'h>,
    attribute: AttributeOf,
    roots: Vec<u64>,
    nodes: Vec<u64>,
    values: Vec<u64>,
    dims: Vec<Dim>,
}

type AttributeOf = for<'a> extern "C" fn(GraphContext, u32, &mut AttributeView<'a>) -> u32;

impl<'h> Matched<'h> {
    /// The graph.
    pub fn graph(&self) -> GraphView<'h> {
        self.graph
    }

    /// The node at the root of the pattern; the first one of several.
    pub fn root(&self) -> NodeRef<'h> {
        self.graph.node(self.roots.first().copied().unwrap_or(NOTHING))
    }

    /// The nodes at the roots of the pattern.
    pub fn roots(&self) -> Vec<NodeRef<'h>> {
        self.roots.iter().map(|id| self.graph.node(*id)).collect()
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
    pub fn dim_at(&self, position: usize) -> Option<Dim> {
        self.dims.get(position).copied().filter(|dim| *dim != Dim::Unknown)
    }

    #[doc(hidden)]
    pub fn attribute_at(&self, position: usize) -> Attribute {
        self.graph.attribute_by(|cx, view| (self.attribute)(cx, position as u32, view))
    }

    /// The binding of a name in a pattern.
    #[doc(hidden)]
    pub fn there<T>(found: Option<T>, name: &str) -> Res<T> {
        found.ok_or_else(|| Refusal::new(format!("`{name}` is unbound")))
    }
}

/// A match, and the patch that replaces it.
pub struct Rewrite<'h> {
    matched: Matched<'h>,
    editor: Editor<'h>,
}

impl<'h> Rewrite<'h> {
    /// The match.
    pub fn matched(&self) -> &Matched<'h> {
        &self.matched
    }
}

delegate_emit!(Rewrite);

impl<'h> Deref for Rewrite<'h> {
    type Target = Editor<'h>;

    fn deref(&self) -> &Editor<'h> {
        &self.editor
    }
}

/// The result of a condition: a boolean, or a refusal with its own reason.
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

/// The replacements of the outputs of the roots, in order.
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

type State = extern "C" fn(u32, &mut ClassRecord) -> u32;
type Ask = extern "C" fn(u32, &Table, &Table, GraphContext) -> u32;

/// The `rules/1` table of the plugin of `module`, built once.
#[doc(hidden)]
pub fn rules_table(
    list: &'static RuleList,
    module: &'static str,
    check: Ask,
    build: Ask,
    class_of: State,
) -> &'static RulesTable {
    let (table, _) = list.get_or_init(|| {
        let registered = inventory::iter::<Rule>.into_iter();
        let mut rules: Vec<&Rule> = registered.filter(|rule| is_below(rule.module, module)).collect();
        // The order of submission depends on the linker; the order of the table must not.
        rules.sort_by_key(|rule| rule.place);
        let records: Vec<RuleText> = rules.iter().map(|rule| rule.record).collect();
        let records = RSlice::from_slice(Vec::leak(records));
        (RulesTable { rules: records, check, build, class_of: Some(class_of) }, rules)
    });
    table
}

/// States how exact the rule at `index` is.
#[doc(hidden)]
pub fn class_of_rule(list: &RuleList, index: u32, out: &mut ClassRecord) -> u32 {
    let rule = list.get().and_then(|(_, rules)| rules.get(index as usize).copied());
    state(rule.map(|rule| rule.class), out)
}

/// Hands `class` to the host.
#[doc(hidden)]
pub fn state(class: Option<ClassRecord>, out: &mut ClassRecord) -> u32 {
    let Some(class) = class else { return status::INVALID };
    *out = class;
    status::OK
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
        let none = RSlice::EMPTY;
        let mut view = Bindings { roots: none, nodes: none, values: none, dims: RSlice::EMPTY };
        if (host.bindings)(cx, &mut view) != status::OK {
            return Err(Refusal::new("the host states no match"));
        }
        let matched = Matched {
            graph: session.graph(),
            attribute: host.attribute,
            roots: view.roots.lent().to_vec(),
            nodes: view.nodes.lent().to_vec(),
            values: view.values.lent().to_vec(),
            dims: view.dims.lent().iter().copied().map(Dim::from_record).collect(),
        };
        let outputs = answer(rule, matched, &host)?;
        if let Some(failure) = session.take_failure() {
            return Err(failure);
        }
        let Some(outputs) = outputs else { return Ok(()) };
        let ids: Vec<u64> = outputs.iter().map(|v| v.map_or(NOTHING, ValueRef::id)).collect();
        match (host.finish)(cx, RSlice::from_slice(&ids)) {
            status::OK => Ok(()),
            _ => Err(Refusal::new("the host refused the result of the rule")),
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

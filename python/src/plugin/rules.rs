//! Rules written in Python: the pattern is a text, the condition and the replacement are functions.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use onnxport_core::optimise::{self, Names};
use onnxport_sdk::abi::graph::GraphContext;
use onnxport_sdk::abi::rules::rule_flags;
use onnxport_sdk::abi::rules::{ClassRecord, RuleText, RulesTable};
use onnxport_sdk::abi::{RSlice, RStr, Table};
use onnxport_sdk::{GraphView, Matched, Refusal, Res, Rewrite, RuleList, ValueRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::call::Entered;
use super::context::Context;
use super::graph::Node;
use super::value::{self, Value};
use super::{attribute, class, dim, functions};

/// A rule: its name, a one-line description, its pattern, the lowest and the highest opset, its priority, how far
/// results may differ (0 for not at all), its condition and the builder of the replacement.
pub(super) type Given = (String, String, String, u32, u32, i32, f64, Option<Py<PyAny>>, Py<PyAny>);

/// The functions of a rule, and the names of its pattern.
pub(crate) struct Rule {
    condition: Option<Py<PyAny>>,
    build: Py<PyAny>,
    names: Names,
    class: ClassRecord,
}

/// The rule that the SDK's glue calls for every rule.
static RULE: onnxport_sdk::Rule = onnxport_sdk::Rule {
    module: module_path!(),
    place: (file!(), line!(), 0),
    record: RuleText {
        name: RStr::from_str("python"),
        documentation: RStr::from_str(""),
        pattern: RStr::from_str(""),
        min_opset: 0,
        max_opset: u32::MAX,
        priority: 0,
        flags: 0,
        nodes: RSlice::EMPTY,
        values: RSlice::EMPTY,
        dims: RSlice::EMPTY,
        attributes: RSlice::EMPTY,
    },
    class: class::UNSTATED,
    condition: Some(holds),
    build: builds,
};

/// Returns the table of the rules, and their functions in its order: that in which they are tried.
pub(super) fn tabled(given: Vec<Given>) -> PyResult<(&'static RulesTable, Vec<Rule>)> {
    let (mut texts, mut rules) = (Vec::new(), Vec::new());
    for (name, documentation, pattern, min_opset, max_opset, priority, bound, condition, build) in given {
        let names = optimise::names(&pattern)
            .map_err(|why| PyValueError::new_err(format!("the rule `{name}` cannot be read: {why}")))?;
        let checked = condition.is_some();
        texts.push(Text { name, documentation, pattern, opsets: (min_opset, max_opset), priority, checked });
        rules.push(Rule { condition, build, names, class: class::within(bound) });
    }
    let names: Vec<&Names> = rules.iter().map(|rule| &rule.names).collect();
    Ok((table(texts, &names), rules))
}

/// The description of a rule for the host.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Text {
    name: String,
    documentation: String,
    pattern: String,
    opsets: (u32, u32),
    priority: i32,
    checked: bool,
}

/// The table of these rules, which lives as long as the process: there is one of each.
fn table(texts: Vec<Text>, names: &[&Names]) -> &'static RulesTable {
    static TABLES: Mutex<BTreeMap<Vec<Text>, &'static RulesTable>> = Mutex::new(BTreeMap::new());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.get(&texts) {
        return table;
    }
    let lasting = |text: &str| RStr::from_str(text.to_owned().leak());
    let list = |names: &[String]| -> RSlice<'static, RStr<'static>> {
        RSlice::from_slice(names.iter().map(|name| lasting(name)).collect::<Vec<_>>().leak())
    };
    let record = |(text, names): (&Text, &&Names)| RuleText {
        name: lasting(&text.name),
        documentation: lasting(&text.documentation),
        pattern: lasting(&text.pattern),
        min_opset: text.opsets.0,
        max_opset: text.opsets.1,
        priority: text.priority,
        flags: if text.checked { rule_flags::CONDITION } else { 0 },
        nodes: list(&names.nodes),
        values: list(&names.values),
        dims: list(&names.dims),
        attributes: list(&names.attributes),
    };
    let records: Vec<RuleText> = texts.iter().zip(names).map(record).collect();
    let records = RSlice::from_slice(records.leak());
    let made = Box::leak(Box::new(RulesTable { rules: records, check, build, class_of: Some(class_of) }));
    tables.insert(texts, made);
    made
}

fn list() -> &'static RuleList {
    static LIST: RuleList = RuleList::new();
    LIST.get_or_init(|| {
        (RulesTable { rules: RSlice::EMPTY, check, build, class_of: Some(class_of) }, vec![&RULE])
    });
    &LIST
}

extern "C" fn check(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    functions::at(index);
    onnxport_sdk::check_rule(list(), 0, host, graph, cx)
}

extern "C" fn build(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    functions::at(index);
    onnxport_sdk::build_rule(list(), 0, host, graph, cx)
}

extern "C" fn class_of(index: u32, out: &mut ClassRecord) -> u32 {
    functions::at(index);
    let stated = functions::current().ok();
    let stated = stated.and_then(|(all, index)| all.get().rules.get(index).map(|rule| rule.class));
    onnxport_sdk::state(stated, out)
}

/// Evaluates the condition of the rule that the host selected.
fn holds(matched: &Matched<'_>) -> Res<()> {
    let (current, index) = functions::current()?;
    let rule = current.get().rules.get(index).ok_or("there is no such rule")?;
    let Some(condition) = &rule.condition else { return Ok(()) };
    let context = Context::graph_of(matched.graph());
    let entered = Entered::new(&context);
    Python::attach(|py| {
        let answer = bindings(py, entered.id(), matched, &rule.names)
            .and_then(|bindings| condition.bind(py).call1((bindings,))?.is_truthy());
        match answer {
            Ok(true) => Ok(()),
            Ok(false) => Err(Refusal::new("its condition does not hold")),
            Err(error) => Err(current.get().refusal(py, error, "its condition")),
        }
    })
}

/// Builds the replacement of the rule that the host selected.
fn builds<'h>(rewrite: &Rewrite<'h>) -> Res<Vec<Option<ValueRef<'h>>>> {
    let (current, index) = functions::current()?;
    let rule = current.get().rules.get(index).ok_or("there is no such rule")?;
    let graph: GraphView<'h> = rewrite.matched().graph();
    let context = Context::graph_of(graph);
    let entered = Entered::new(&context);
    let values = Python::attach(|py| {
        let results = bindings(py, entered.id(), rewrite.matched(), &rule.names).and_then(|bindings| {
            let emitter = super::Emitter::new(entered.id());
            value::results(&rule.build.bind(py).call1((emitter, bindings))?, entered.id())
        });
        results.map_err(|error| current.get().refusal(py, error, "its replacement"))
    })?;
    Ok(Context::replacement(graph, values))
}

/// Returns the values of the names of a pattern, and of `root` and `roots`, unless the pattern has names of its own
/// like these.
fn bindings<'py>(
    py: Python<'py>,
    call: u64,
    matched: &Matched<'_>,
    names: &Names,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let roots: Vec<Node> = matched.roots().into_iter().map(|root| Node::new(call, root)).collect();
    dict.set_item("root", Node::new(call, matched.root()))?;
    dict.set_item("roots", PyList::new(py, roots)?)?;
    for (at, name) in names.nodes.iter().enumerate() {
        dict.set_item(name, matched.node_at(at).map(|node| Node::new(call, node)))?;
    }
    for (at, name) in names.values.iter().enumerate() {
        dict.set_item(name, matched.value_at(at).map(|value| Value::new(call, value.into())))?;
    }
    for (at, name) in names.dims.iter().enumerate() {
        let extent = matched.dim_at(at).map(|extent| dim::to_python(py, call, extent)).transpose()?;
        dict.set_item(name, extent)?;
    }
    for (at, name) in names.attributes.iter().enumerate() {
        dict.set_item(name, attribute::to_python(py, matched.attribute_at(at))?)?;
    }
    Ok(dict)
}

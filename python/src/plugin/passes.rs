//! Passes written in Python.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use onnxport_sdk::abi::graph::GraphContext;
use onnxport_sdk::abi::pass::{PassRecord, PassTable, when};
use onnxport_sdk::abi::rules::ClassRecord;
use onnxport_sdk::abi::{RSlice, RStr, Table};
use onnxport_sdk::{Edit, Pass, PassList, Res};
use pyo3::prelude::*;

use super::call::Entered;
use super::context::Context;
use super::graph::Graph;
use super::{call, class, functions};

/// A pass: its name, a one-line description, the lowest and the highest opset, its priority, whether it runs after the
/// rules, how far results may differ (0 for not at all) if stated, and the function.
pub(super) type Given = (String, String, u32, u32, i32, bool, Option<f64>, Py<PyAny>);

/// A pass of Python.
pub(crate) struct Own {
    function: Py<PyAny>,
    class: ClassRecord,
}

/// The description of a pass for the host, without the function.
type Text = (String, String, u32, u32, i32, bool);

const RECORD: PassRecord = PassRecord {
    name: RStr::from_str("python"),
    documentation: RStr::from_str(""),
    min_opset: 0,
    max_opset: u32::MAX,
    priority: 0,
    when: when::BEFORE_RULES,
    domains: RSlice::EMPTY,
};

/// The pass that the SDK's glue calls for every pass.
static PASS: Pass = Pass { module: module_path!(), record: RECORD, class: class::UNSTATED, run: in_python };

/// The table of the passes, and their functions in its order.
pub(super) fn tabled(given: Vec<Given>) -> (&'static PassTable, Vec<Own>) {
    let (texts, functions) = given
        .into_iter()
        .map(|(name, documentation, low, high, priority, after, bound, function)| {
            let class = bound.map_or(class::UNSTATED, class::within);
            ((name, documentation, low, high, priority, after), Own { function, class })
        })
        .unzip();
    (table(texts), functions)
}

/// The table of these passes, which lives as long as the process: there is one of each.
fn table(texts: Vec<Text>) -> &'static PassTable {
    static TABLES: Mutex<BTreeMap<Vec<Text>, &'static PassTable>> = Mutex::new(BTreeMap::new());
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.get(&texts) {
        return table;
    }
    let lasting = |text: &str| RStr::from_str(text.to_owned().leak());
    let record = |(name, documentation, min_opset, max_opset, priority, after): &Text| PassRecord {
        name: lasting(name),
        documentation: lasting(documentation),
        min_opset: *min_opset,
        max_opset: *max_opset,
        priority: *priority,
        when: if *after { when::AFTER_RULES } else { when::BEFORE_RULES },
        domains: RSlice::EMPTY,
    };
    let records: Vec<PassRecord> = texts.iter().map(record).collect();
    let passes = RSlice::from_slice(records.leak());
    let made = Box::leak(Box::new(PassTable { passes, run, class_of: Some(class_of) }));
    tables.insert(texts, made);
    made
}

extern "C" fn run(index: u32, host: &Table, graph: &Table, cx: GraphContext) -> u32 {
    static LIST: PassList = PassList::new();
    LIST.get_or_init(|| (PassTable { passes: RSlice::EMPTY, run, class_of: Some(class_of) }, vec![&PASS]));
    functions::at(index);
    onnxport_sdk::run_pass(&LIST, 0, host, graph, cx)
}

extern "C" fn class_of(index: u32, out: &mut ClassRecord) -> u32 {
    functions::at(index);
    let stated = functions::current().ok();
    let stated = stated.and_then(|(all, index)| all.get().passes.get(index).map(|pass| pass.class));
    onnxport_sdk::state(stated, out)
}

/// Runs the pass that the host selected.
fn in_python(edit: &Edit<'_>) -> Res<()> {
    let (current, index) = functions::current()?;
    let Own { function, .. } = current.get().passes.get(index).ok_or("there is no such pass")?;
    let context = Context::editing(edit);
    let entered = Entered::new(&context);
    Python::attach(|py| {
        let id = entered.id();
        let done = function.bind(py).call1((super::Emitter::new(id), Graph::new(id)));
        done.and_then(|_| call::with(id, |_| Ok(()))).map_err(|error| current.get().refusal(py, error, "it"))
    })
}

//! Lowerings written in Python.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use onnxport_sdk::abi::lowering::{Context as Call, LoweringEntry, LoweringTable, entry_flags};
use onnxport_sdk::abi::{RSlice, RStr, Table};
use onnxport_sdk::{Lower, Lowering, LoweringList, Res, Results};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::call::Entered;
use super::context::{self, Context};
use super::{arguments, functions, value};

/// A lowering: the operator, its schema if that is known, whether it takes precedence over those of others, whether it
/// takes complex tensors, and the function.
pub(super) type Given = (String, Option<String>, bool, bool, Py<PyAny>);

/// The lowering that the SDK's glue calls for every operator.
static LOWERING: Lowering = Lowering {
    module: module_path!(),
    targets: &[],
    parameters: &[],
    min_opset: 0,
    max_opset: u32::MAX,
    priority: 0,
    complex: false,
    lower: in_python,
};

/// The table of the lowerings, and their functions in its order.
pub(super) fn tabled(mut given: Vec<Given>) -> PyResult<(&'static LoweringTable, Vec<Py<PyAny>>)> {
    given.sort_by(|a, b| a.0.cmp(&b.0));
    if let Some([(target, ..), _]) = given.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(PyValueError::new_err(format!("there are two lowerings of `{target}`")));
    }
    let mut schemas: Vec<&str> = given
        .iter()
        .filter_map(|(_, schema, ..)| schema.as_deref().filter(|text| !text.contains('\n')))
        .collect();
    schemas.sort_unstable();
    let targets: Vec<(&str, bool)> =
        given.iter().map(|(target, .., complex, _)| (target.as_str(), *complex)).collect();
    let table = table(&schemas.join("\n"), &targets);
    Ok((table, given.into_iter().map(|(.., function)| function).collect()))
}

/// The table for these schemas and operators, which the contract wants to live as long as the process: there is one of
/// each, however often a program is converted.
fn table(schemas: &str, targets: &[(&str, bool)]) -> &'static LoweringTable {
    static TABLES: Mutex<BTreeMap<String, &'static LoweringTable>> = Mutex::new(BTreeMap::new());
    let key = format!("{targets:?}\n{schemas}");
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.get(&key) {
        return table;
    }
    let entry = |(target, complex): &(&str, bool)| LoweringEntry {
        target: RStr::from_str((*target).to_owned().leak()),
        min_opset: 0,
        max_opset: u32::MAX,
        priority: 0,
        flags: if *complex { entry_flags::COMPLEX } else { 0 },
    };
    let entries: Vec<LoweringEntry> = targets.iter().map(entry).collect();
    let table = LoweringTable {
        schemas: RStr::from_str(schemas.to_owned().leak()),
        entries: RSlice::from_slice(entries.leak()),
        lower,
    };
    let table = Box::leak(Box::new(table));
    tables.insert(key, table);
    table
}

extern "C" fn lower(index: u32, host: &Table, cx: Call) -> u32 {
    static LIST: LoweringList = LoweringList::new();
    LIST.get_or_init(|| (*table("", &[]), vec![&LOWERING]));
    functions::at(index);
    onnxport_sdk::lower_entry(&LIST, 0, host, cx)
}

/// Lowers a call by the Python function that the host selected.
fn in_python(cx: &mut Lower<'_>) -> Res<()> {
    let (current, index) = functions::current()?;
    let all = current.get();
    let function = all.lowerings.get(index).ok_or("there is no such lowering")?;
    let cx = &*cx;
    let context = Context::Call(cx);
    let entered = Entered::new(&context);
    let values = Python::attach(|py| {
        let results = arguments::of(py, cx, entered.id()).and_then(|(names, values)| {
            let emitter = super::Emitter::new(entered.id());
            value::results(&function.bind(py).call1((emitter, names, values))?, entered.id())
        });
        results.map_err(|error| all.refusal(py, error, "its lowering in Python"))
    })?;
    Results::finish(context::of_call(cx, &values), cx)
}

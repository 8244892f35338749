//! The plugin `python`: one root for the process, whose lowerings are those of the thread that converts.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use onnxport::{Guests, with_guests};
use onnxport_sdk::abi::about::{self, AboutTable};
use onnxport_sdk::abi::lowering::{self, Context, LoweringEntry, LoweringTable};
use onnxport_sdk::abi::{HostRoot, PANIC_PROBE, PluginRoot, RSlice, RStr, Table, Version};
use onnxport_sdk::{Lower, Lowering, LoweringList, Refusal, Res, Results};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arguments;
use super::call::{self, Entered};
use super::value;

/// The plugin's id.
pub(super) const ID: &str = "python";

static ROOT: PluginRoot = PluginRoot { query, attach };

static ABOUT: AboutTable = AboutTable {
    id: RStr::from_str(ID),
    version: RStr::from_str(env!("CARGO_PKG_VERSION")),
    description: RStr::from_str("lowerings that are written in Python"),
    contract: Version::CURRENT,
    needs: Version { major: Version::CURRENT.major, minor: 0 },
    provides: RSlice::from_slice(&[RStr::from_str(lowering::INTERFACE)]),
    options: None,
    configure: None,
};

/// What the SDK's glue calls for every operator.
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

thread_local! {
    /// The lowerings of the conversion on this thread.
    static CURRENT: RefCell<Option<Arc<Py<Lowerings>>>> = const { RefCell::new(None) };
    /// Which of them is wanted.
    static INDEX: Cell<u32> = const { Cell::new(0) };
}

/// A lowering: the operator, its schema if that is known, whether it goes before those of others, and the function.
type Given = (String, Option<String>, bool, Py<PyAny>);

/// The lowerings of a conversion, for the plugin that hands them to the host.
///
/// A function takes an emitter, the names of the call's arguments and the arguments, and returns the call's results: a
/// value, `None`, or a list of the two.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Lowerings {
    table: &'static LoweringTable,
    functions: Vec<Py<PyAny>>,
    choices: Vec<(String, String)>,
    /// What the functions raised, in order.
    raised: Mutex<Vec<Py<PyAny>>>,
}

#[pymethods]
impl Lowerings {
    #[new]
    fn new(mut given: Vec<Given>) -> PyResult<Self> {
        given.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some([(target, ..), _]) = given.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(PyValueError::new_err(format!("there are two lowerings of `{target}`")));
        }
        let chosen = given.iter().filter(|(_, _, first, _)| *first);
        let choices = chosen.map(|(target, ..)| (target.clone(), ID.to_owned())).collect();
        let mut schemas: Vec<&str> = given
            .iter()
            .filter_map(|(_, schema, ..)| schema.as_deref().filter(|text| !text.contains('\n')))
            .collect();
        schemas.sort_unstable();
        let targets: Vec<&str> = given.iter().map(|(target, ..)| target.as_str()).collect();
        let table = table(&schemas.join("\n"), &targets);
        let functions = given.into_iter().map(|(.., function)| function).collect();
        Ok(Self { table, functions, choices, raised: Mutex::default() })
    }

    /// What the functions raised in the last conversion, but for refusals.
    fn take_raised(&self) -> Vec<Py<PyAny>> {
        std::mem::take(&mut *self.raised.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes the lowerings away from the thread when it is dropped.
struct Done;

impl Drop for Done {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Does `work`, whose hosts have these lowerings.
pub(crate) fn run<T>(lowerings: Option<Py<Lowerings>>, work: impl FnOnce() -> T) -> T {
    let Some(lowerings) = lowerings.filter(|given| !given.get().functions.is_empty()) else { return work() };
    let guests = Guests { roots: vec![&ROOT], choices: lowerings.get().choices.clone() };
    CURRENT.set(Some(Arc::new(lowerings)));
    let _done = Done;
    with_guests(guests, work)
}

/// The table for these schemas and operators, which the contract wants to live as long as the process: there is one of
/// each, however often a program is converted.
fn table(schemas: &str, targets: &[&str]) -> &'static LoweringTable {
    static TABLES: Mutex<BTreeMap<String, &'static LoweringTable>> = Mutex::new(BTreeMap::new());
    let key = format!("{}\n\n{schemas}", targets.join("\n"));
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.get(&key) {
        return table;
    }
    let entry = |target: &&str| LoweringEntry {
        target: RStr::from_str(target.to_owned().to_owned().leak()),
        min_opset: 0,
        max_opset: u32::MAX,
        priority: 0,
        flags: 0,
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

extern "C" fn query(interface: RStr<'_>) -> Table {
    onnxport_sdk::answer(|| match interface.get().unwrap_or_default() {
        PANIC_PROBE => onnxport_sdk::panic_probe(),
        about::INTERFACE => Table::of(&ABOUT),
        lowering::INTERFACE => CURRENT
            .with_borrow(|current| current.as_ref().map_or(Table::NONE, |all| Table::of(all.get().table))),
        _ => Table::NONE,
    })
}

extern "C" fn attach(host: &HostRoot) -> u32 {
    onnxport_sdk::attach(host, module_path!(), ID)
}

extern "C" fn lower(index: u32, host: &Table, cx: Context) -> u32 {
    static LIST: LoweringList = LoweringList::new();
    LIST.get_or_init(|| (*table("", &[]), vec![&LOWERING]));
    INDEX.set(index);
    onnxport_sdk::lower_entry(&LIST, 0, host, cx)
}

/// Lowers a call by the function at [`INDEX`].
fn in_python(cx: &mut Lower<'_>) -> Res<()> {
    let index = INDEX.get() as usize;
    let current = CURRENT.with_borrow(Option::clone);
    let current = current.ok_or("no lowerings of Python belong to this conversion")?;
    let lowerings = current.get();
    let function = lowerings.functions.get(index).ok_or("there is no such lowering")?;
    let cx = &*cx;
    let entered = Entered::new(cx);
    let values = Python::attach(|py| {
        let results = arguments::of(py, cx, entered.id()).and_then(|(names, values)| {
            let emitter = super::Emitter::new(entered.id());
            value::results(&function.bind(py).call1((emitter, names, values))?, entered.id())
        });
        results.map_err(|error| lowerings.refusal(py, error))
    })?;
    Results::finish(values, cx)
}

impl Lowerings {
    /// What the host is told about an exception.
    fn refusal(&self, py: Python<'_>, error: PyErr) -> Refusal {
        if let Some(refusal) = call::refusal(py, &error) {
            return refusal;
        }
        let message = format!("its lowering in Python raised {}", described(py, &error));
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).push(error.into_value(py).into_any());
        Refusal::new(message).code("raised")
    }
}

/// The exception with its traceback, from the line of the lowering that it comes from.
fn described(py: Python<'_>, error: &PyErr) -> String {
    let text = || -> PyResult<String> {
        let described = py.import("onnxport._operators.raised")?.getattr("described")?;
        described.call1((error.value(py),))?.extract()
    };
    text().unwrap_or_else(|_| error.to_string())
}

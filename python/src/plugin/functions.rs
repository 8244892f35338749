//! The Python functions that take part in a conversion: lowerings, rules and passes.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use onnxport::{Guests, with_guests};
use onnxport_sdk::abi::lowering::LoweringTable;
use onnxport_sdk::abi::pass::PassTable;
use onnxport_sdk::abi::rules::RulesTable;
use onnxport_sdk::{Refusal, Res};
use pyo3::prelude::*;

use super::{call, lowerings, passes, root, rules};

/// The lowerings, rules and passes of one conversion, for the plugin that hands them to the host.
#[pyclass(module = "onnxport._native", frozen)]
pub(crate) struct Functions {
    pub(super) lowerings: Vec<Py<PyAny>>,
    pub(super) rules: Vec<rules::Rule>,
    pub(super) passes: Vec<passes::Own>,
    pub(super) tables: Tables,
    choices: Vec<(String, String)>,
    /// The exceptions that the functions raised, in order.
    raised: Mutex<Vec<Py<PyAny>>>,
}

/// The tables for the host; `None` if there is nothing in one.
#[derive(Clone, Copy)]
pub(super) struct Tables {
    pub(super) lowering: Option<&'static LoweringTable>,
    pub(super) rules: Option<&'static RulesTable>,
    pub(super) pass: Option<&'static PassTable>,
}

#[pymethods]
impl Functions {
    /// `lowerings`: an operator, its schema if that is known, whether it takes precedence over those of others, whether
    /// it takes complex tensors, and a function. The function takes an emitter, the names of the call's arguments and
    /// the arguments, and returns the call's results: a value, `None`, or a list of the two.
    ///
    /// `rules`: a name, a one-line description, a pattern, the lowest and the highest opset, a priority, how far
    /// results may differ (0 for not at all), a condition or `None`, and a builder of the replacement. A condition
    /// takes a dict of the values of the pattern's names, and a builder an emitter and the dict.
    ///
    /// `passes`: a name, a one-line description, the lowest and the highest opset, a priority, whether it runs after
    /// the rules, how far results may differ or `None`, and a function, which takes an emitter and the graph.
    #[new]
    #[pyo3(signature = (lowerings=Vec::new(), rules=Vec::new(), passes=Vec::new()))]
    fn new(
        lowerings: Vec<lowerings::Given>,
        rules: Vec<rules::Given>,
        passes: Vec<passes::Given>,
    ) -> PyResult<Self> {
        let chosen = lowerings.iter().filter(|(_, _, first, ..)| *first);
        let choices = chosen.map(|(target, ..)| (target.clone(), root::ID.to_owned())).collect();
        let (lowering, lowerings) = lowerings::tabled(lowerings)?;
        let (rule_table, rules) = rules::tabled(rules)?;
        let (pass, passes) = passes::tabled(passes);
        let tables = Tables {
            lowering: (!lowerings.is_empty()).then_some(lowering),
            rules: (!rules.is_empty()).then_some(rule_table),
            pass: (!passes.is_empty()).then_some(pass),
        };
        Ok(Self { lowerings, rules, passes, tables, choices, raised: Mutex::default() })
    }

    /// Takes the exceptions that the functions raised in the last conversion, except for refusals.
    fn take_raised(&self) -> Vec<Py<PyAny>> {
        std::mem::take(&mut *self.raised.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

thread_local! {
    /// The functions of the conversion on this thread.
    static CURRENT: RefCell<Option<Arc<Py<Functions>>>> = const { RefCell::new(None) };
    /// Which entry of a table is wanted.
    static INDEX: Cell<u32> = const { Cell::new(0) };
}

/// Removes the functions from the thread on drop.
struct Done;

impl Drop for Done {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

/// Does `work`, whose hosts have these functions.
pub(crate) fn run<T>(functions: Option<Py<Functions>>, work: impl FnOnce() -> T) -> T {
    let empty = |functions: &Functions| {
        functions.lowerings.is_empty() && functions.rules.is_empty() && functions.passes.is_empty()
    };
    let Some(functions) = functions.filter(|given| !empty(given.get())) else { return work() };
    let guests = Guests { roots: vec![&root::ROOT], choices: functions.get().choices.clone() };
    CURRENT.set(Some(Arc::new(functions)));
    let _done = Done;
    with_guests(guests, work)
}

/// The tables of the functions on this thread.
pub(super) fn tables() -> Tables {
    const NONE: Tables = Tables { lowering: None, rules: None, pass: None };
    CURRENT.with_borrow(|current| current.as_ref().map_or(NONE, |all| all.get().tables))
}

/// Sets the index of the table entry that the host selected.
pub(super) fn at(index: u32) {
    INDEX.set(index);
}

/// Returns the functions on this thread, and the index that the host selected.
pub(super) fn current() -> Res<(Arc<Py<Functions>>, usize)> {
    let current = CURRENT.with_borrow(Option::clone);
    Ok((current.ok_or("no functions of Python belong to this conversion")?, INDEX.get() as usize))
}

impl Functions {
    /// Converts an exception to a refusal for the host; `what` raised it.
    pub(super) fn refusal(&self, py: Python<'_>, error: PyErr, what: &str) -> Refusal {
        if let Some(refusal) = call::refusal(py, &error) {
            return refusal;
        }
        // The exception knows its traceback only now.
        let error = error.into_value(py).into_any();
        let message = format!("{what} raised {}", described(py, &error));
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).push(error);
        Refusal::new(message).code("raised")
    }
}

/// Formats the exception with its traceback, from the line of the function that raised it.
fn described(py: Python<'_>, error: &Py<PyAny>) -> String {
    let text = || -> PyResult<String> {
        let described = py.import("onnxport._operators.raised")?.getattr("described")?;
        described.call1((error,))?.extract()
    };
    text().unwrap_or_else(|_| error.to_string())
}

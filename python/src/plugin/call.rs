//! A call into Python: its handles on the model are valid during the call, and on its thread.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use onnxport_sdk::Refusal;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use super::context::Context;

// The exception that a function raises to refuse a call or a place. The package's class extends it: `message`, `help`
// and `code` are fields.
pyo3::create_exception!(
    onnxport._native,
    Refused,
    pyo3::exceptions::PyException,
    "A lowering refuses a call, or a rule a place: the sentence says why."
);

thread_local! {
    /// The calls of this thread, the innermost one last.
    static CALLS: RefCell<Vec<(u64, *const Context<'static>)>> = const { RefCell::new(Vec::new()) };
    /// The exception that passes through the SDK's own code.
    static PASSING: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// A call, until this is dropped.
pub(super) struct Entered<'c> {
    id: u64,
    call: PhantomData<&'c ()>,
}

impl<'c> Entered<'c> {
    pub(super) fn new(cx: &'c Context<'_>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let pointer = std::ptr::from_ref(cx).cast::<Context<'static>>();
        CALLS.with_borrow_mut(|calls| calls.push((id, pointer)));
        Self { id, call: PhantomData }
    }

    /// The id that the call's values carry.
    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CALLS.with_borrow_mut(|calls| calls.retain(|(id, _)| *id != self.id));
    }
}

/// Runs `work` with the call `id`; raises refusals of the host.
///
/// # Errors
/// If the call is over, or runs on another thread, and those of `work`.
pub(super) fn with<R>(id: u64, work: impl FnOnce(&Context<'_>) -> PyResult<R>) -> PyResult<R> {
    let found =
        CALLS.with_borrow(|calls| calls.last().filter(|(innermost, _)| *innermost == id).map(|call| call.1));
    let Some(pointer) = found else {
        let message = "values, nodes and emitters are of use only during the call that they were given to, on its thread";
        return Err(PyRuntimeError::new_err(message));
    };
    // SAFETY: `Entered` borrows the pointee, and takes the pointer off the list before the borrow ends. `work` cannot
    // depend on the lifetime.
    let cx = unsafe { &*pointer };
    let result = work(cx);
    let failure = cx.take_failure();
    if let Some(passing) = PASSING.take() {
        return Err(passing);
    }
    let result = result?;
    failure.map_or(Ok(result), |failure| Err(refused(failure)))
}

/// Lets an exception pass through the SDK, which [`with`] raises again.
pub(super) fn passing(error: PyErr) -> Refusal {
    PASSING.set(Some(error));
    Refusal::new("a function in Python raised an exception")
}

/// The exception for a refusal.
pub(super) fn refused(refusal: Refusal) -> PyErr {
    Python::attach(|py| {
        let error = Refused::new_err(refusal.message);
        match error.value(py).setattr("help", refusal.help) {
            Ok(()) => error,
            Err(other) => other,
        }
    })
}

/// Returns the refusal in an exception.
pub(super) fn refusal(py: Python<'_>, error: &PyErr) -> Option<Refusal> {
    let value = error.value(py);
    if !error.is_instance_of::<Refused>(py) {
        return None;
    }
    let text = |name: &str| value.getattr(name).ok()?.extract::<Option<String>>().ok()?;
    let sentence = value.str().map(|text| text.to_string()).unwrap_or_default();
    let sentence = sentence.trim_end_matches('.').to_owned();
    Some(
        Refusal { code: text("code").unwrap_or_default().into(), ..Refusal::new(sentence) }
            .help(text("help").unwrap_or_default()),
    )
}

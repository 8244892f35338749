//! Plugins of the enclosing program, and its own Python, for the work of one thread.

use std::cell::{Cell, RefCell};

use onnxport_core::bisect::modules::Caller;
use onnxport_core::host::PluginRoot;

/// Plugins, and the operators that they lower with precedence over others.
#[derive(Clone, Default)]
pub struct Guests {
    /// The roots of the plugins, which are linked into the program.
    pub roots: Vec<&'static PluginRoot>,
    /// Operators, such as `aten.add.Tensor`, each with the id of the plugin that lowers it.
    pub choices: Vec<(String, String)>,
}

thread_local! {
    static GUESTS: RefCell<Guests> = RefCell::default();
    static CALLER: Cell<Option<Caller>> = const { Cell::new(None) };
}

/// Restores the previous plugins on drop, also after a panic.
struct Before(Guests);

impl Drop for Before {
    fn drop(&mut self) {
        GUESTS.set(std::mem::take(&mut self.0));
    }
}

/// Runs `work`, whose commands use `guests` beside the bundled plugins.
pub fn with_guests<T>(guests: Guests, work: impl FnOnce() -> T) -> T {
    let _before = Before(GUESTS.replace(guests));
    work()
}

/// The guests of this thread.
pub(crate) fn guests() -> Guests {
    GUESTS.with_borrow(Guests::clone)
}

/// Restores the previous caller on drop, also after a panic.
struct CallerBefore(Option<Caller>);

impl Drop for CallerBefore {
    fn drop(&mut self) {
        CALLER.set(self.0);
    }
}

/// Does `work`, whose `bisect --modules` calls `caller` and starts no Python.
pub fn with_caller<T>(caller: Caller, work: impl FnOnce() -> T) -> T {
    let _before = CallerBefore(CALLER.replace(Some(caller)));
    work()
}

/// Returns the function that calls the Python package within this process, on this thread.
pub(crate) fn caller() -> Option<Caller> {
    CALLER.get()
}

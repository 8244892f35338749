//! Plugins that the program around brings along, for the work of one thread.

use std::cell::RefCell;

use onnxport_core::host::PluginRoot;

/// Plugins, and the operators that they lower though others do as well.
#[derive(Clone, Default)]
pub struct Guests {
    /// The roots of the plugins, which are linked into the program.
    pub roots: Vec<&'static PluginRoot>,
    /// Operators, such as `aten.add.Tensor`, each with the id of the plugin that lowers it.
    pub choices: Vec<(String, String)>,
}

thread_local! {
    static GUESTS: RefCell<Guests> = RefCell::default();
}

/// Puts back what was there before, also after a panic.
struct Before(Guests);

impl Drop for Before {
    fn drop(&mut self) {
        GUESTS.set(std::mem::take(&mut self.0));
    }
}

/// Does `work`, whose commands use `guests` beside the bundled plugins.
pub fn with_guests<T>(guests: Guests, work: impl FnOnce() -> T) -> T {
    let _before = Before(GUESTS.replace(guests));
    work()
}

/// The guests of this thread.
pub(crate) fn guests() -> Guests {
    GUESTS.with_borrow(Guests::clone)
}

//! The message of a panic.

use std::any::Any;
use std::cell::RefCell;

thread_local! {
    /// Where the last panic of this thread happened, when the plugin has a hook of its own.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Remembers where panics happen instead of printing them. A shared library has a panic hook of its
/// own; a plugin that is linked in uses the host's, which is not ours to set.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
        // Only a panic while this thread ends cannot be remembered.
        let _ = PLACE.try_with(|slot| *slot.borrow_mut() = place);
    }));
}

/// The text of a panic, and where it happened when that is known.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or(payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    match PLACE.with(|slot| slot.borrow_mut().take()) {
        Some(place) => format!("{text} ({place})"),
        None => text.to_owned(),
    }
}

//! The host's side of `log/1`: messages from plugins to the user, collected per stretch of work.
//!
//! Nothing is printed here. The messages of a thread that collects go to it; those of threads that a plugin
//! started wait for [`others`], because it is unknown which of several conversions they belong to.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use onnxport_abi::log::level;

use crate::diagnose::{Code, Diagnostic, OriginId, Severity};

/// The number of messages that one collection keeps; the others are counted.
const KEPT: usize = 1000;

/// Which messages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Warnings only.
    Warnings = level::WARN as isize,
    /// Also progress that may interest a user.
    Info = level::INFO as isize,
    /// Everything.
    Debug = level::DEBUG as isize,
}

static LEVEL: AtomicU32 = AtomicU32::new(level::WARN);

/// Sets the level of collected messages, for the whole process. Plugins need not create the others.
pub fn show(level: Level) {
    LEVEL.store(level as u32, Ordering::Relaxed);
}

#[derive(Default)]
struct Messages {
    kept: Vec<Diagnostic>,
    dropped: usize,
}

impl Messages {
    fn push(&mut self, message: Diagnostic) {
        if self.kept.len() < KEPT {
            self.kept.push(message);
        } else {
            self.dropped += 1;
        }
    }

    fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut all = self.kept;
        if self.dropped > 0 {
            let text = format!("more than {KEPT} messages of plugins; not shown: {}", self.dropped);
            all.push(Diagnostic {
                severity: Severity::Note,
                ..Diagnostic::error(Code::PLUGIN_MESSAGE, text)
            });
        }
        all
    }
}

thread_local! {
    /// The collections of this thread, innermost last.
    static OPEN: RefCell<Vec<Messages>> = const { RefCell::new(Vec::new()) };
}

/// Messages of threads that do not collect.
static STRAY: Mutex<Messages> = Mutex::new(Messages { kept: Vec::new(), dropped: 0 });

/// Runs `work`, and returns the plugins' messages during it as warnings and notes.
pub fn collect<T>(work: impl FnOnce() -> T) -> (T, Vec<Diagnostic>) {
    let open = Collection::open();
    let result = work();
    (result, open.close())
}

/// Returns the plugins' messages so far in the innermost collection of this thread, and from threads that do not
/// collect, each once.
pub fn so_far() -> Vec<Diagnostic> {
    let own = OPEN.with_borrow_mut(|open| open.last_mut().map(std::mem::take)).unwrap_or_default();
    let mut all = own.into_diagnostics();
    all.extend(others());
    all
}

/// Takes the messages of plugins from threads that do not collect.
pub fn others() -> Vec<Diagnostic> {
    std::mem::take(&mut *STRAY.lock().unwrap_or_else(PoisonError::into_inner)).into_diagnostics()
}

/// One collection; dropped without a close by a panic.
struct Collection {
    depth: usize,
}

impl Collection {
    fn open() -> Self {
        OPEN.with_borrow_mut(|open| open.push(Messages::default()));
        Self { depth: OPEN.with_borrow(Vec::len) }
    }

    fn close(self) -> Vec<Diagnostic> {
        let own = OPEN.with_borrow_mut(|open| {
            open.truncate(self.depth);
            open.pop()
        });
        own.unwrap_or_default().into_diagnostics()
    }
}

impl Drop for Collection {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.truncate(self.depth.saturating_sub(1)));
    }
}

/// Sets the level of collected messages by its number in [`level`], as passed to another process.
pub(crate) fn show_level(level: u32) {
    LEVEL.store(level, Ordering::Relaxed);
}

/// Returns the level of collected messages, as [`level`] numbers them.
pub(crate) fn shown() -> u32 {
    LEVEL.load(Ordering::Relaxed)
}

/// Takes a warning of the host itself, about plugins.
pub(super) fn warn(warning: Diagnostic) {
    take(warning);
}

/// Hands collected messages to the enclosing collection.
pub(crate) fn hand_back(messages: Vec<Diagnostic>) {
    messages.into_iter().for_each(take);
}

/// Collects a message of `plugin` about `origin`.
pub(crate) fn said(plugin: String, level: u32, text: &str, origin: Option<OriginId>) {
    take(diagnostic(plugin, level, text, origin));
}

fn diagnostic(plugin: String, level: u32, text: &str, origin: Option<OriginId>) -> Diagnostic {
    let severity = if level <= level::WARN { Severity::Warning } else { Severity::Note };
    let message = format!("plugin `{plugin}`: {text}");
    Diagnostic {
        severity,
        origin,
        provider: Some(plugin),
        ..Diagnostic::error(Code::PLUGIN_MESSAGE, message)
    }
}

fn take(message: Diagnostic) {
    let mut message = Some(message);
    let _ = OPEN.try_with(|open| {
        if let Ok(mut open) = open.try_borrow_mut()
            && let Some(inner) = open.last_mut()
            && let Some(message) = message.take()
        {
            inner.push(message);
        }
    });
    if let Some(message) = message {
        STRAY.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

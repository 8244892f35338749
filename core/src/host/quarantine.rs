//! Plugins that panicked, which the host does not call again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::diagnose::{Code, Diagnostic, Severity};

/// The reaction to a plugin's panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnPanic {
    /// The plugin is set aside and the run goes on without it: every other problem is found too, and work
    /// that does not need the plugin succeeds.
    #[default]
    Continue,
    /// The stage ends at once.
    Stop,
}

/// The plugins that were set aside, by position in the host's list, with the calls that were skipped since
/// the last `Quarantine::notes`.
#[derive(Debug, Default)]
pub struct Quarantine {
    policy: OnPanic,
    skipped: Mutex<BTreeMap<usize, usize>>,
}

impl Quarantine {
    pub(super) fn new(policy: OnPanic) -> Self {
        Self { policy, skipped: Mutex::default() }
    }

    fn skipped(&self) -> MutexGuard<'_, BTreeMap<usize, usize>> {
        self.skipped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a plugin aside.
    pub(crate) fn add(&self, plugin: usize) {
        self.skipped().entry(plugin).or_insert(0);
    }

    /// Whether calls must not go to the plugin.
    pub(crate) fn holds(&self, plugin: usize) -> bool {
        self.skipped().contains_key(&plugin)
    }

    /// Whether a call must not go to the plugin; counts the call.
    pub(crate) fn skips(&self, plugin: usize) -> bool {
        let mut skipped = self.skipped();
        let Some(count) = skipped.get_mut(&plugin) else { return false };
        *count += 1;
        true
    }

    /// Returns the number of plugins that were set aside.
    pub(crate) fn len(&self) -> usize {
        self.skipped().len()
    }

    /// Whether a stage that began with `before` plugins set aside must end: another one panicked, and the
    /// user chose to stop.
    pub(crate) fn stops(&self, before: usize) -> bool {
        self.policy == OnPanic::Stop && self.len() > before
    }

    /// A note per plugin whose calls were skipped since the last notes.
    pub(crate) fn notes(&self, id: impl Fn(usize) -> &'static str) -> Vec<Diagnostic> {
        let mut notes = Vec::new();
        for (plugin, count) in self.skipped().iter_mut() {
            let skipped = std::mem::take(count);
            if skipped == 0 {
                continue;
            }
            let id = id(*plugin);
            let calls = if skipped == 1 { "1 more call".to_owned() } else { format!("{skipped} more calls") };
            let message = format!("plugin `{id}` was set aside after its panic; not tried: {calls}");
            let mut note =
                Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::PLUGIN_PANIC, message) };
            note.provider = Some(id.to_owned());
            notes.push(note);
        }
        notes
    }
}

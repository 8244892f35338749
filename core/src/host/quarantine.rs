//! Plugins that panicked: they are not called again in the run.

use std::collections::BTreeMap;

use crate::diagnose::{Code, Diagnostic, Severity};

/// The plugins that were set aside, by position in the host's list.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    skipped: BTreeMap<usize, usize>,
}

impl Quarantine {
    /// Sets a plugin aside.
    pub(crate) fn add(&mut self, plugin: usize) {
        self.skipped.entry(plugin).or_insert(0);
    }

    /// Whether a call must not go to the plugin; counts the call.
    pub(crate) fn skips(&mut self, plugin: usize) -> bool {
        let Some(skipped) = self.skipped.get_mut(&plugin) else { return false };
        *skipped += 1;
        true
    }

    /// A note per plugin whose calls were skipped.
    pub(crate) fn notes<'a>(
        &'a self,
        id: impl Fn(usize) -> &'static str + 'a,
    ) -> impl Iterator<Item = Diagnostic> + 'a {
        self.skipped.iter().filter(|(_, skipped)| **skipped > 0).map(move |(plugin, skipped)| {
            let id = id(*plugin);
            let calls =
                if *skipped == 1 { "1 more call".to_owned() } else { format!("{skipped} more calls") };
            let message = format!("plugin `{id}` was set aside after its panic; not tried: {calls}");
            let mut note =
                Diagnostic { severity: Severity::Note, ..Diagnostic::error(Code::PLUGIN_PANIC, message) };
            note.provider = Some(id.to_owned());
            note
        })
    }
}

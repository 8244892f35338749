//! Which backends the user means.

use onnxport_abi::backend::{BackendEntry, BackendTable};

use super::profile;
use crate::diagnose::{Code, Diagnostic, Report};
use crate::host::Host;
use crate::host::Validated;

/// A backend that the user requested.
#[derive(Clone, Copy)]
pub(super) struct Selected {
    /// The plugin, by position in the host's list.
    pub(super) plugin: usize,
    /// The plugin's id.
    pub(super) plugin_id: &'static str,
    /// The backend, by position in the plugin's table.
    pub(super) index: u32,
    pub(super) entry: BackendEntry,
    pub(super) table: BackendTable,
}

/// Returns the backends that `ids` name, in their order, each once. The id of a plugin names all of its
/// backends, the one of highest priority first.
pub(super) fn select(host: &Host, ids: &[String]) -> Result<Vec<Selected>, Report> {
    let all: Vec<Selected> =
        host.plugins.iter().enumerate().flat_map(|(plugin, of)| all_of(plugin, of)).collect();
    let mut chosen: Vec<Selected> = Vec::new();
    let mut problems = Vec::new();
    for id in ids {
        let mut named: Vec<Selected> = all.iter().filter(|b| b.entry.id.validated() == id).copied().collect();
        if let [first, second, ..] = named.as_slice() {
            problems.push(ambiguous(id, first, second));
            continue;
        }
        if named.is_empty() {
            named = all.iter().filter(|b| b.plugin_id == id).copied().collect();
            named.sort_by_key(|b| (std::cmp::Reverse(b.entry.priority), b.entry.id.validated()));
        }
        if named.is_empty() {
            problems.push(unknown(id, &all));
        }
        for backend in named {
            if let Some(flaw) = profile::flaw(&backend.entry) {
                problems.push(profile::malformed(backend.plugin_id, &backend.entry, &flaw));
            } else if !chosen.iter().any(|c| (c.plugin, c.index) == (backend.plugin, backend.index)) {
                chosen.push(backend);
            }
        }
    }
    if problems.is_empty() {
        return Ok(chosen);
    }
    Err(Report { diagnostics: problems, ..Report::default() })
}

/// The backend at `index` of a plugin on its own.
pub(super) fn at(plugin: &crate::host::Plugin, index: u32) -> Option<Selected> {
    all_of(0, plugin).nth(index as usize)
}

/// The backend `id` of a plugin of `host`.
pub(super) fn find(host: &Host, plugin: &str, id: &str) -> Option<Selected> {
    let of = host.plugins.iter().enumerate().find(|(_, of)| of.id == plugin)?;
    all_of(of.0, of.1).find(|backend| backend.entry.id.validated() == id)
}

fn all_of(plugin: usize, of: &crate::host::Plugin) -> impl Iterator<Item = Selected> {
    let plugin_id = of.id;
    of.backend.into_iter().flat_map(move |table| {
        let entries = table.entries.validated().iter().enumerate();
        entries.map(move |(index, entry)| Selected {
            plugin,
            plugin_id,
            index: index as u32,
            entry: *entry,
            table,
        })
    })
}

fn unknown(id: &str, all: &[Selected]) -> Diagnostic {
    let ids: Vec<&str> = all.iter().map(|b| b.entry.id.validated()).collect();
    let help = if ids.is_empty() {
        "no plugin has any; load one with `--plugin`".to_owned()
    } else {
        format!("there are {}", ids.join(", "))
    };
    Diagnostic::error(Code::BACKEND_UNKNOWN, format!("unknown backend `{id}`")).help(help)
}

fn ambiguous(id: &str, first: &Selected, second: &Selected) -> Diagnostic {
    let (a, b) = (first.plugin_id, second.plugin_id);
    let message = format!("plugin `{a}` and plugin `{b}` both have a backend `{id}`");
    let help = "load one of the plugins, or name the plugin instead of the backend";
    Diagnostic::error(Code::BACKEND_UNKNOWN, message).help(help)
}

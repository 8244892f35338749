//! The top module: it knows every stage, and connects them to the tables of the contract.
//!
//! A plugin that is attached asks the host's root for interfaces; each is answered by the stage that owns
//! it. No stage imports from here.

mod log;

use std::path::Path;

use onnxport_abi::RStr;
use onnxport_abi::{HostRoot, PluginRoot, Table, backend, graph, lowering, pass, rules};

use crate::diagnose::Report;
use crate::host::discover::Search;
use crate::host::{self, CONTRACT, Host, Manifest, Plugin};

/// The host's side of the contract, which every plugin is attached to.
pub static HOST_ROOT: HostRoot = HostRoot { version: CONTRACT, query };

/// Returns the host's table for an interface; [`Table::NONE`] if it has none.
pub extern "C" fn query(interface: RStr<'_>) -> Table {
    let Ok(interface) = interface.get() else { return Table::NONE };
    match interface {
        lowering::INTERFACE => crate::lower::host_table(),
        onnxport_abi::log::INTERFACE => log::host_table(),
        graph::INTERFACE => crate::graph_access::host_table(),
        backend::INTERFACE => crate::backend::host_table(),
        rules::INTERFACE => crate::optimise::rules_table(),
        pass::INTERFACE => crate::optimise::pass_table(),
        _ => Table::NONE,
    }
}

impl Host {
    /// Attaches plugins that are linked into this program.
    ///
    /// # Errors
    /// [`Code::PLUGIN_CONTRACT`](crate::Code::PLUGIN_CONTRACT) if one refuses to attach, provides nothing, or has a
    /// table of operators without entries: the linker drops a linked crate whose list is then empty.
    pub fn new(linked: &[&'static PluginRoot]) -> Result<Self, Report> {
        Self::with(linked, &Search::default())
    }

    /// Attaches the linked-in plugins and those that `search` finds. A loaded plugin replaces a linked-in
    /// one with the same id; of two loaded ones, the one whose source comes first in
    /// [`Source`](host::Source) is used.
    ///
    /// # Errors
    /// A report of every plugin that cannot be used.
    pub fn with(linked: &[&'static PluginRoot], search: &Search) -> Result<Self, Report> {
        Self::attach(&HOST_ROOT, linked, search)
    }
}

/// Loads one plugin to inspect it: its manifest and its description.
///
/// # Errors
/// If it cannot be loaded, or refuses this host.
pub fn inspect(library: &Path) -> Result<(Plugin, Option<Manifest>), Report> {
    host::inspect(&HOST_ROOT, library)
}

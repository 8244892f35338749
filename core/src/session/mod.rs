//! The top room: it knows every stage, and wires them to the tables of the contract.
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

/// The host's table for an interface; [`Table::NONE`] for one that it does not have.
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
    /// [`Code::PLUGIN_CONTRACT`](crate::Code::PLUGIN_CONTRACT) when one refuses to attach, provides nothing, or lists no
    /// operators although it has a table of them: a linked crate whose list is empty was dropped by
    /// the linker.
    pub fn new(linked: &[&'static PluginRoot]) -> Result<Self, Report> {
        Self::with(linked, &Search::default())
    }

    /// Attaches the linked-in plugins and those that `search` finds. A loaded plugin takes the place
    /// of a linked-in one with the same id; of two loaded ones the source that comes first in
    /// [`Source`](host::Source) counts.
    ///
    /// # Errors
    /// A report of every plugin that cannot be used.
    pub fn with(linked: &[&'static PluginRoot], search: &Search) -> Result<Self, Report> {
        Self::attach(&HOST_ROOT, linked, search)
    }
}

/// Loads one plugin to look at it: its manifest and what it says about itself.
///
/// # Errors
/// When it cannot be loaded, or refuses this host.
pub fn inspect(library: &Path) -> Result<(Plugin, Option<Manifest>), Report> {
    host::inspect(&HOST_ROOT, library)
}

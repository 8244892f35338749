//! The host's plugins: attached once, asked for their tables, indexed.

use onnxport_abi::abi_stable::std_types::RStr;
use onnxport_abi::executor::{self, ExecutorTable};
use onnxport_abi::lowering::{self, LoweringTable, entry_flags};
use onnxport_abi::{HostRoot, PluginRoot, Table, Version, status};

use crate::diagnose::{Code, Diagnostic, Report};
use crate::registry::{Choice, Provider, Registry, Schemas};

/// A plugin that was attached.
#[derive(Clone, Copy)]
pub struct Plugin {
    /// Its id.
    pub id: &'static str,
    /// Its lowerings, if it has any.
    pub lowering: Option<&'static LoweringTable>,
    /// Its executor, if it has one.
    pub executor: Option<&'static ExecutorTable>,
}

/// The plugins of a run and what they provide.
pub struct Host {
    /// The plugins, in the order in which they were given.
    pub plugins: Vec<Plugin>,
    /// Who lowers what.
    pub registry: Registry,
    /// The schemas of all plugins.
    pub schemas: Schemas,
    /// Which plugin the user wants for an operator.
    pub choice: Choice,
}

static HOST_ROOT: HostRoot = HostRoot { version: Version::CURRENT, query: no_interfaces };

extern "C" fn no_interfaces(_: RStr<'_>) -> Table {
    Table::NONE
}

impl Host {
    /// Attaches plugins that are linked into this program.
    ///
    /// # Errors
    /// [`Code::PLUGIN_CONTRACT`] when one refuses to attach, provides nothing, or lists no
    /// operators although it has a table of them: a linked crate whose list is empty was dropped by
    /// the linker.
    pub fn new(roots: &[&'static PluginRoot]) -> Result<Self, Report> {
        let mut plugins = Vec::new();
        let mut registry = Registry::default();
        let mut schemas = Vec::new();
        for root in roots {
            if (root.attach)(&HOST_ROOT) != status::OK {
                return Err(contract("a plugin refused to attach".to_owned()));
            }
            let table = (root.query)(RStr::from_str(lowering::INTERFACE));
            // SAFETY: the plugin made the envelope for this interface.
            let lowering = unsafe { table.get::<LoweringTable>() };
            let table = (root.query)(RStr::from_str(executor::INTERFACE));
            // SAFETY: as above.
            let executor = unsafe { table.get::<ExecutorTable>() };
            let id = match (lowering, executor) {
                (Some(table), _) => table.id.as_str(),
                (None, Some(table)) => table.id.as_str(),
                (None, None) => return Err(contract("a plugin provides no known interface".to_owned())),
            };
            if let Some(table) = lowering {
                if table.entries.is_empty() {
                    return Err(contract(format!("plugin `{id}` lists no operators")));
                }
                for (index, entry) in table.entries.iter().enumerate() {
                    let provider = Provider {
                        plugin: plugins.len(),
                        entry: index as u32,
                        min_opset: entry.min_opset,
                        max_opset: entry.max_opset,
                        priority: entry.priority,
                        complex: entry.flags & entry_flags::COMPLEX != 0,
                    };
                    registry.add(entry.target.as_str(), provider);
                }
                schemas.push(table.schemas.as_str());
            }
            plugins.push(Plugin { id, lowering, executor });
        }
        Ok(Self { plugins, registry, schemas: Schemas::new(schemas), choice: Choice::new() })
    }

    /// The id of the plugin behind a provider.
    pub fn plugin_id(&self, provider: &Provider) -> &'static str {
        self.plugins.get(provider.plugin).map_or("unknown", |p| p.id)
    }
}

fn contract(message: String) -> Report {
    Diagnostic::error(Code::PLUGIN_CONTRACT, message).into()
}

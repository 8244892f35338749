//! Listing, inspecting, checking and creating plugins.

mod check;
mod info;
mod list;
mod new;

use std::path::Path;

use onnxport_core::diagnose::{Code, Diagnostic};
use onnxport_core::host::{Plugin, PluginOption, Source, WeightsPlugin};
use schemars::JsonSchema;
use serde::Serialize;

pub use check::PluginCheckRequest;
pub use info::{LibraryInfo, PluginInfoRequest};
pub use list::{PluginListRequest, PluginsFound};
pub use new::{PluginKind, PluginNewRequest};

/// A plugin.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct PluginInfo {
    /// Its id.
    pub id: String,
    /// Its own version.
    pub version: String,
    /// One sentence; may be empty.
    pub description: String,
    /// The revision of the contract that it was built with.
    pub contract: String,
    /// The interfaces that it provides.
    pub provides: Vec<String>,
    /// The number of its lowerings.
    pub lowerings: usize,
    /// The tensors that it computes.
    pub tensors: Vec<String>,
    /// The names of its transforms of weights.
    pub transforms: Vec<String>,
    /// Its quantizers.
    pub quantisers: Vec<QuantiserInfo>,
    /// The options that it takes.
    pub options: Vec<PluginOption>,
    /// The way in which it was found.
    pub source: Source,
    /// The shared library; `None` if it is linked in.
    pub library: Option<String>,
    /// Whether it replaces a linked-in plugin with the same id.
    pub replaces_linked: bool,
}

/// A quantizer, which chooses scales and codes of weights.
#[derive(Clone, Debug, JsonSchema, PartialEq, Eq, Serialize)]
pub struct QuantiserInfo {
    /// Its name.
    pub name: String,
    /// A description; may be empty.
    pub doc: String,
}

impl From<&Plugin> for PluginInfo {
    fn from(plugin: &Plugin) -> Self {
        let weights = || plugin.weights.iter();
        let quantiser =
            |(name, doc): (&str, &str)| QuantiserInfo { name: name.to_owned(), doc: doc.to_owned() };
        Self {
            id: plugin.id.to_owned(),
            version: plugin.version.to_owned(),
            description: plugin.description.to_owned(),
            contract: plugin.contract.to_string(),
            provides: plugin.provides.iter().map(|name| (*name).to_owned()).collect(),
            lowerings: plugin.lowering.map_or(0, |table| table.entries.len()),
            tensors: weights().flat_map(WeightsPlugin::tensors).map(str::to_owned).collect(),
            transforms: weights().flat_map(WeightsPlugin::transforms).map(str::to_owned).collect(),
            quantisers: weights().flat_map(WeightsPlugin::quantisers).map(quantiser).collect(),
            options: plugin.options.clone(),
            source: plugin.source,
            library: plugin.library.as_ref().map(|path| path.display().to_string()),
            replaces_linked: plugin.replaces_linked,
        }
    }
}

/// Fails if there is no library at `path`.
fn exists(path: &Path) -> Result<(), Diagnostic> {
    if path.is_file() {
        return Ok(());
    }
    let message = format!("plugin library not found: {}", path.display());
    Err(Diagnostic::error(Code::PLUGIN_FILE, message))
}

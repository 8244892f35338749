//! Attaches a plugin: reads its description from the root, checks its contract, and takes its tables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onnxport_abi::RStr;
use onnxport_abi::about::AboutTable;
use onnxport_abi::backend::BackendTable;
use onnxport_abi::compare::CompareTable;
use onnxport_abi::executor::ExecutorTable;
use onnxport_abi::lowering::LoweringTable;
use onnxport_abi::pass::PassTable;
use onnxport_abi::rules::RulesTable;
use onnxport_abi::weights::WeightsTable;
use onnxport_abi::{HostRoot, Interface, Mismatch, PluginRoot, status};

use super::WeightsPlugin;
use super::listing;
pub use super::listing::About;
use super::{CONTRACT, Plugin, Site, Source, cross, options};
use crate::diagnose::{Code, Diagnostic};

/// Returns the description of the plugin behind `root` if its contract fits this host's. Until then the
/// plugin is called `name`.
pub fn about(root: &PluginRoot, name: &'static str) -> Result<About, Diagnostic> {
    let about = match table::<AboutTable>(root, name) {
        Ok(Some(about)) => about,
        Ok(None) => {
            return Err(Diagnostic::error(Code::PLUGIN_CONTRACT, "a plugin does not describe itself")
                .help(format!("it does not answer for `{}`", AboutTable::NAME)));
        }
        Err(mismatch) => {
            return Err(Diagnostic::error(
                Code::PLUGIN_VERSION,
                format!("a plugin cannot be used: {mismatch}"),
            ));
        }
    };
    // Reading a malformed description can crash.
    let site = Site { plugin: name, task: "describing itself", subject: "" };
    let about = cross(site, || About::read(about))
        .map_err(|what| Diagnostic::error(Code::PLUGIN_CONTRACT, format!("a plugin {what}")))?;
    if about.contract.major == CONTRACT.major && about.needs <= CONTRACT {
        return Ok(about);
    }
    let (id, contract, needs) = (about.id, about.contract, about.needs);
    let (message, help) = if about.contract.major == CONTRACT.major {
        let message = format!(
            "plugin `{id}` needs a host of plugin contract {needs} or newer, this one has {CONTRACT}"
        );
        (message, "use a newer onnxport, or an older version of the plugin")
    } else {
        let message =
            format!("plugin `{id}` is built for plugin contract {contract}, this host has {CONTRACT}");
        (message, "use the version of the plugin that is built for this onnxport")
    };
    Err(named(Diagnostic::error(Code::PLUGIN_VERSION, message).help(help), id))
}

/// Creates a plugin that is not attached yet.
pub fn plugin(about: &About, source: Source, library: Option<PathBuf>) -> Plugin {
    Plugin {
        id: about.id,
        version: about.version,
        description: about.description,
        contract: about.contract,
        provides: about.provides.clone(),
        source,
        library,
        replaces_linked: false,
        options: Vec::new(),
        given: BTreeMap::new(),
        configure: about.table.configure,
        lowering: None,
        executor: None,
        comparer: None,
        weights: None,
        backend: None,
        rules: None,
        pass: None,
    }
}

/// Attaches a plugin to `host` and takes its tables.
pub fn attach(plugin: &mut Plugin, root: &PluginRoot, host: &'static HostRoot) -> Result<(), Diagnostic> {
    let id = plugin.id;
    let failed = |code: Code, message: String| named(Diagnostic::error(code, message), id);
    let site = Site { plugin: id, task: "attaching", subject: "" };
    match cross(site, || (root.attach)(host)) {
        status::OK => {}
        status::PANICKED => {
            return Err(failed(Code::PLUGIN_PANIC, format!("plugin `{id}` panicked while it was attached")));
        }
        _ => {
            let message = format!(
                "plugin `{id}` of plugin contract {} refuses this host of contract {CONTRACT}",
                plugin.contract
            );
            return Err(failed(Code::PLUGIN_VERSION, message));
        }
    }
    let misfit = |mismatch: Mismatch| {
        failed(Code::PLUGIN_VERSION, format!("plugin `{id}` cannot be used: {mismatch}"))
    };
    let broken = |what: String| failed(Code::PLUGIN_CONTRACT, format!("plugin `{id}` {what}"));
    let reading = |task| Site { plugin: id, task, subject: "" };
    if let Some(about) = table::<AboutTable>(root, id).map_err(misfit)? {
        plugin.options = options::schema(id, &about)?;
    }
    plugin.lowering = table::<LoweringTable>(root, id).map_err(misfit)?;
    plugin.executor = table::<ExecutorTable>(root, id).map_err(misfit)?;
    plugin.comparer = table::<CompareTable>(root, id).map_err(misfit)?;
    if let Some(table) = table::<WeightsTable>(root, id).map_err(misfit)? {
        let weights = cross(reading("listing its weights"), || WeightsPlugin::new(table));
        plugin.weights = Some(weights.map_err(broken)?);
    }
    plugin.backend = table::<BackendTable>(root, id).map_err(misfit)?;
    plugin.rules = table::<RulesTable>(root, id).map_err(misfit)?;
    plugin.pass = table::<PassTable>(root, id).map_err(misfit)?;
    let optimises = plugin.rules.is_some() || plugin.pass.is_some();
    let tables = [
        plugin.lowering.is_some(),
        plugin.executor.is_some(),
        plugin.comparer.is_some(),
        plugin.weights.is_some(),
        plugin.backend.is_some(),
        optimises,
    ];
    if !tables.contains(&true) {
        let message = format!("plugin `{id}` provides no interface that this host knows");
        return Err(failed(Code::PLUGIN_CONTRACT, message)
            .note(format!("it provides {}", plugin.provides.join(", "))));
    }
    if let Some(table) = &plugin.lowering {
        cross(reading("listing its operators"), || listing::operators(table))
            .map_err(|malformed| broken(format!("lists operators with {malformed}")))?;
        if table.entries.is_empty() {
            return Err(broken("lists no operators".to_owned()));
        }
    }
    if let Some(table) = &plugin.backend {
        cross(reading("listing its backends"), || listing::backends(table))
            .map_err(|malformed| broken(format!("lists backends with {malformed}")))?;
        if table.entries.is_empty() {
            return Err(broken("lists no backends".to_owned()));
        }
    }
    if optimises {
        let (rules, passes) = (&plugin.rules, &plugin.pass);
        cross(reading("listing its rules and passes"), || {
            rules.iter().try_for_each(listing::rules)?;
            passes.iter().try_for_each(listing::passes)
        })
        .map_err(|malformed| broken(format!("lists rules or passes with {malformed}")))?;
        let count = rules.map_or(0, |table| table.rules.len()) + passes.map_or(0, |table| table.passes.len());
        if count == 0 {
            return Err(broken("lists no rules and no passes".to_owned()));
        }
    }
    Ok(())
}

fn table<T: Interface>(root: &PluginRoot, plugin: &'static str) -> Result<Option<T>, Mismatch> {
    let site = Site { plugin, task: "answering for", subject: T::NAME };
    let table = cross(site, || (root.query)(RStr::from_str(T::NAME)));
    // SAFETY: the plugin answered for the interface of `T`.
    unsafe { table.read::<T>() }
}

fn named(mut diagnostic: Diagnostic, id: &str) -> Diagnostic {
    diagnostic.provider = Some(id.to_owned());
    diagnostic
}

#[cfg(test)]
mod tests;

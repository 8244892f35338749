//! From a root to a plugin: what it is, whether it fits, its tables.

use std::path::PathBuf;

use onnxport_abi::abi_stable::std_types::RStr;
use onnxport_abi::about::AboutTable;
use onnxport_abi::backend::{BackendEntry, BackendTable};
use onnxport_abi::compare::CompareTable;
use onnxport_abi::executor::ExecutorTable;
use onnxport_abi::lowering::LoweringTable;
use onnxport_abi::pass::{PassRecord, PassTable};
use onnxport_abi::rules::{RuleRecord, RulesTable};
use onnxport_abi::weights::WeightsTable;
use onnxport_abi::{HostRoot, Interface, Mismatch, PluginRoot, status};

use super::WeightsPlugin;
use super::{CONTRACT, Plugin, Site, Source, cross, options};
use crate::diagnose::{Code, Diagnostic};

/// What the plugin behind `root` says about itself, when its contract fits this host's. Until then it is
/// called `name`.
pub fn about(root: &PluginRoot, name: &'static str) -> Result<AboutTable, Diagnostic> {
    let about = match table::<AboutTable>(root, name) {
        Ok(Some(about)) => about,
        Ok(None) => {
            return Err(Diagnostic::error(Code::PLUGIN_CONTRACT, "a plugin does not say what it is")
                .help(format!("it does not answer for `{}`", AboutTable::NAME)));
        }
        Err(mismatch) => {
            return Err(Diagnostic::error(
                Code::PLUGIN_VERSION,
                format!("a plugin cannot be used: {mismatch}"),
            ));
        }
    };
    let texts = [about.id, about.version, about.description];
    if !texts.iter().chain(about.provides.iter()).all(readable) {
        let problem = Diagnostic::error(Code::PLUGIN_CONTRACT, "a plugin's texts about itself are not UTF-8");
        return Err(problem);
    }
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
    Err(named(Diagnostic::error(Code::PLUGIN_VERSION, message).help(help), id.as_str()))
}

/// A plugin that is not attached yet.
pub fn plugin(about: &AboutTable, source: Source, library: Option<PathBuf>) -> Plugin {
    Plugin {
        id: about.id.as_str(),
        version: about.version.as_str(),
        description: about.description.as_str(),
        contract: about.contract,
        provides: about.provides.iter().map(RStr::as_str).collect(),
        source,
        library,
        replaces_linked: false,
        options: Vec::new(),
        configure: about.configure,
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
    if let Some(about) = table::<AboutTable>(root, id).map_err(misfit)? {
        plugin.options = options::schema(&about)?;
    }
    plugin.lowering = table::<LoweringTable>(root, id).map_err(misfit)?;
    plugin.executor = table::<ExecutorTable>(root, id).map_err(misfit)?;
    plugin.comparer = table::<CompareTable>(root, id).map_err(misfit)?;
    if let Some(table) = table::<WeightsTable>(root, id).map_err(misfit)? {
        let site = Site { plugin: id, task: "listing its weights", subject: "" };
        let weights = cross(site, || WeightsPlugin::new(table, readable));
        plugin.weights =
            Some(weights.map_err(|what| failed(Code::PLUGIN_CONTRACT, format!("plugin `{id}` {what}")))?);
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
        let site = Site { plugin: id, task: "listing its operators", subject: "" };
        let broken = cross(site, || {
            if table.entries.is_empty() {
                Some("lists no operators")
            } else if !readable(&table.schemas) || !table.entries.iter().all(|entry| readable(&entry.target))
            {
                Some("lists operators in texts that are not UTF-8")
            } else {
                None
            }
        });
        if let Some(what) = broken {
            return Err(failed(Code::PLUGIN_CONTRACT, format!("plugin `{id}` {what}")));
        }
    }
    if let Some(table) = &plugin.backend {
        let site = Site { plugin: id, task: "listing its backends", subject: "" };
        let broken = cross(site, || {
            if table.entries.is_empty() {
                Some("lists no backends")
            } else if !table.entries.iter().all(backend_reads) {
                Some("lists backends in texts that are not UTF-8")
            } else {
                None
            }
        });
        if let Some(what) = broken {
            return Err(failed(Code::PLUGIN_CONTRACT, format!("plugin `{id}` {what}")));
        }
    }
    if optimises {
        let site = Site { plugin: id, task: "listing its rules and passes", subject: "" };
        let rules = plugin.rules.iter().flat_map(|table| table.rules.iter());
        let passes = plugin.pass.iter().flat_map(|table| table.passes.iter());
        if !cross(site, || rules.clone().all(rule_reads) && passes.clone().all(pass_reads)) {
            let message = format!("plugin `{id}` lists rules or passes in texts that are not UTF-8");
            return Err(failed(Code::PLUGIN_CONTRACT, message));
        }
        if cross(site, || rules.count() + passes.count()) == 0 {
            let message = format!("plugin `{id}` lists no rules and no passes");
            return Err(failed(Code::PLUGIN_CONTRACT, message));
        }
    }
    Ok(())
}

/// Whether every text of a rule is one.
fn rule_reads(rule: &RuleRecord) -> bool {
    let nodes = rule.nodes.iter().flat_map(|node| [&node.domain, &node.op]);
    let attributes = rule.attributes.iter().flat_map(|attribute| [&attribute.name, &attribute.text]);
    let names = rule.variables.iter().chain(rule.captures.iter());
    [&rule.name, &rule.documentation].into_iter().chain(nodes).chain(attributes).chain(names).all(readable)
}

/// Whether every text of a backend is one.
fn backend_reads(entry: &BackendEntry) -> bool {
    let ops = entry.ops.iter().flat_map(|record| [&record.domain, &record.op]);
    [&entry.id, &entry.description, &entry.domain].into_iter().chain(ops).all(readable)
}

/// Whether every text of a pass is one.
fn pass_reads(pass: &PassRecord) -> bool {
    let domains = pass.domains.iter().map(|domain| &domain.domain);
    [&pass.name, &pass.documentation].into_iter().chain(domains).all(readable)
}

fn table<T: Interface>(root: &PluginRoot, plugin: &'static str) -> Result<Option<T>, Mismatch> {
    let site = Site { plugin, task: "answering for", subject: T::NAME };
    let table = cross(site, || (root.query)(RStr::from_str(T::NAME)));
    // SAFETY: the plugin answered for the interface of `T`.
    unsafe { table.read::<T>() }
}

/// Whether a text that came over the boundary is one.
fn readable(text: &RStr<'_>) -> bool {
    std::str::from_utf8(text.as_bytes()).is_ok()
}

fn named(mut diagnostic: Diagnostic, id: &str) -> Diagnostic {
    diagnostic.provider = Some(id.to_owned());
    diagnostic
}

#[cfg(test)]
mod tests;

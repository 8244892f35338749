//! `onnxport plugin`.

mod check;
mod new;

use std::fmt::Write;

use clap::{Args, Subcommand};
use onnxport_core::Host;
use onnxport_core::host::{self, Absent, Manifest};
use onnxport_requests::plugin::{
    LibraryInfo, PluginCheckRequest, PluginInfo, PluginInfoRequest, PluginListRequest, PluginNewRequest,
    PluginsFound,
};
use onnxport_requests::{Hosted, Request};
use serde_json::Value;

use crate::format::{bold, count, faint, table};
use crate::outcome::{CommandResult, Outcome};
use crate::plugins;
use crate::progress::Progress;

/// Arguments of `plugin`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the available plugins
    List(Hosted<PluginListRequest>),
    /// Load a plugin library and describe it
    Info(PluginInfoRequest),
    /// Check a plugin library, with each step in a separate process
    Check(PluginCheckRequest),
    #[command(hide = true)]
    Probe(check::ProbeArguments),
    #[command(hide = true)]
    Serve,
    /// Create a plugin project
    New(PluginNewRequest),
}

impl From<Command> for Arguments {
    fn from(command: Command) -> Self {
        Self { command }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, progress: &Progress) -> CommandResult {
    match &arguments.command {
        Command::List(arguments) => list(arguments, progress),
        Command::Info(request) => info(request, progress),
        Command::Check(request) => check::run(request, progress),
        Command::Probe(arguments) => check::probe(arguments),
        Command::Serve => plugins::serve(),
        Command::New(request) => new::run(request, progress),
    }
}

fn list(arguments: &Hosted<PluginListRequest>, progress: &Progress) -> CommandResult {
    let Hosted { request, plugins } = arguments;
    let PluginsFound { plugins, absent } = request.run(&plugins::host(plugins)?, &mut progress.clone())?;
    let row = |plugin: &PluginInfo| {
        let place = plugin.library.as_ref().map(|path| format!(" {path}"));
        let replaces = if plugin.replaces_linked { ", replaces the linked-in one" } else { "" };
        vec![
            bold(&plugin.id),
            plugin.version.clone(),
            provides(plugin),
            faint(&format!("{}{}{replaces}", plugin.source, place.unwrap_or_default())),
        ]
    };
    let mut outcome = Outcome::text(table(&plugins.iter().map(row).collect::<Vec<_>>()))
        .with("plugins", &plugins)
        .with("absent", &absent);
    outcome.summary = format!("{}\n", bold(&count(plugins.len(), "plugin")));
    for Absent { id, help } in absent {
        // Writing to a String cannot fail.
        let _ = writeln!(outcome.text, "{}: {help}", bold(id));
    }
    Ok(outcome)
}

fn info(request: &PluginInfoRequest, progress: &Progress) -> CommandResult {
    let found = request.run(&Host::new(&[])?, &mut progress.clone())?;
    let LibraryInfo { plugin, sha256, target, manifest } = &found;
    let mut rows = vec![
        ("id", plugin.id.clone()),
        ("version", plugin.version.clone()),
        ("description", plugin.description.clone()),
        ("contract", format!("{} (this host has {})", plugin.contract, host::CONTRACT)),
        ("provides", provides(plugin)),
        ("target", target.clone()),
        ("sha256", sha256.clone()),
    ];
    let [toml, _] = Manifest::paths(&request.library);
    rows.push((
        "manifest",
        match manifest {
            None => format!("none; expected at {}", toml.display()),
            Some(manifest) if manifest.sha256.is_some() => "matches, with its hash".to_owned(),
            Some(_) => "matches, without a hash".to_owned(),
        },
    ));
    for option in &plugin.options {
        rows.push(("option", format!("{}: {} ({})", option.name, option.doc, option.summary())));
    }
    rows.extend(plugin.transforms.iter().map(|name| ("transform", format!("{}/{name}", plugin.id))));
    rows.extend(plugin.quantisers.iter().map(|quantiser| {
        let does = if quantiser.doc.is_empty() { String::new() } else { format!(": {}", quantiser.doc) };
        ("quantiser", format!("{}/{}{does}", plugin.id, quantiser.name))
    }));
    rows.retain(|(_, value)| !value.is_empty());
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, value)| vec![bold(name), value]).collect();
    let mut outcome = Outcome::text(table(&rows));
    if let Ok(Value::Object(object)) = serde_json::to_value(&found) {
        outcome.json = object;
    }
    Ok(outcome)
}

/// Lists the interfaces of the plugin, with their contents.
fn provides(plugin: &PluginInfo) -> String {
    let interface = |name: &String| {
        let parts = match name.split_once('/') {
            Some(("lowering", _)) => vec![(plugin.lowerings, "lowering")],
            Some(("weights", _)) => vec![
                (plugin.tensors.len(), "tensor"),
                (plugin.transforms.len(), "transform"),
                (plugin.quantisers.len(), "quantiser"),
            ],
            _ => Vec::new(),
        };
        let parts: Vec<String> =
            parts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| count(n, noun)).collect();
        if parts.is_empty() { name.clone() } else { format!("{name} ({})", parts.join(", ")) }
    };
    plugin.provides.iter().map(interface).collect::<Vec<_>>().join(", ")
}
